/** Both controllers as clusters run them: one that leads, and a standby. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../../src/node/api-client.ts';
import { endpointdPeer, managerPeer, together } from '../peers.ts';
import { CONTROLLERS, ENDPOINTD, MANAGER, type Peer, type Scenario, type Settings, type Stage } from '../scenario.ts';
import { CHURN_RATES, CHURN_SECONDS, steadyFlips } from './flips.ts';
import { SPREAD } from './profiles.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
/** The name of each controller's Lease is its own. */
const NAMES: readonly string[] = [MANAGER, ENDPOINTD];
const POLL_MS = 50;
const LED_MS_MAX = 60_000;

/** endpointd's standby is warm, as in `deploy/`. That of kube-controller-manager keeps no caches. */
export const STANDBY: Scenario = {
  name: 'standby',
  what: 'flips where each controller has a standby: the figures are of both its processes together',
  pairSeconds: 90,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  peers: (settings) => [
    ledPeer(MANAGER, managerPeer(electing(settings), CONTROLLERS)),
    ledPeer(ENDPOINTD, endpointdPeer(electing(settings), CONTROLLERS)),
  ],
  story: standby,
};

function electing(settings: Settings): Settings {
  const flag = '--leader-elect=true';
  return {
    ...settings,
    endpointdFlags: [...settings.endpointdFlags, flag],
    managerFlags: [...settings.managerFlags, flag],
  };
}

/** The second process starts when the first one leads. It ends first, so that it never leads. */
function ledPeer(name: string, each: Peer): Peer {
  return {
    name,
    echoes: false,
    writer: each.writer,
    start: async (on) => {
      const leader = await each.start(on);
      await Promise.race([leader.failed, isLed(on.server.client, name)]);
      const second = await each.start(on);
      const renamed = Object.entries(second.processes).map(([process, pid]) => [`${process} standby`, pid] as const);
      const both = together([{ ...second, processes: Object.fromEntries(renamed) }, leader]);
      // The standby has no changes of its own to tell of.
      return leader.tell === undefined ? both : { ...both, tell: leader.tell };
    },
  };
}

async function isLed(client: ApiClient, name: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < LED_MS_MAX; waitedMs += POLL_MS) {
    if ((await holders(client)).some((held) => held.startsWith(`${name}: `))) return;
    await sleep(POLL_MS);
  }
  throw new Error(`nobody has held the Lease ${name} for ${LED_MS_MAX / 1000} s`);
}

/** Who holds the Leases of both controllers, and since when. */
async function holders(client: ApiClient): Promise<string[]> {
  const { items } = await client.list(LEASES);
  return items.flatMap(({ metadata: { name }, ...rest }) => {
    const { holderIdentity, acquireTime } = rest['spec'] as { holderIdentity?: string; acquireTime?: string };
    return NAMES.includes(name!) && (holderIdentity ?? '') !== '' ? [`${name}: ${holderIdentity} ${acquireTime}`] : [];
  });
}

/** @throws Error if another process leads at the end of the measure */
async function standby(stage: Stage): Promise<void> {
  const measure = async (work: () => Promise<void>): Promise<void> => {
    const before = await holders(stage.server.client);
    await stage.measure(work);
    const after = await holders(stage.server.client);
    if (before.length !== 1 || after.join() !== before.join())
      throw new Error(`the leader has changed: ${before.join()}, then ${after.join()}`);
  };
  await steadyFlips(Object.assign(Object.create(stage) as Stage, { measure }), CHURN_RATES, CHURN_SECONDS);
}
