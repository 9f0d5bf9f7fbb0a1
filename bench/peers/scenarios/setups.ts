/**
 * The same flips in other set-ups: whole controller managers, default flags, best flags, many watchers, a long time.
 */
import { parseMetrics, sumOf } from '../../../src/metrics/text.ts';
import { endpointdPeer, managerPeer, together, writesFor } from '../peers.ts';
import {
  CONTROLLERS,
  ENDPOINTD,
  ENDPOINTD_AGAIN,
  type Mark,
  type Peer,
  type RunningPeer,
  type Scenario,
  type Settings,
  type Stage,
} from '../scenario.ts';
import { CHURN_RATES, CHURN_SECONDS, READY, steadyFlips } from './flips.ts';
import { SPREAD } from './profiles.ts';

const ENDPOINT_CONTROLLERS = [...CONTROLLERS, 'endpointslice-mirroring-controller'];
/** Without kubelets no node renews its Lease, so these controllers would evict every pod. */
const ALL_IN_ONE = 'all in one';
const WITHOUT_KUBELETS = ['node-lifecycle-controller', 'taint-eviction-controller'];
/** Nine tenths of what kube-controller-manager's 20 requests a second of each controller can do. */
const SHIPPED_RATES = { tiny: 10, small: 18, full: 18 };
/** The best of the syncs that `bench -- sweep` has tried, for both, and the most that either of them allows. */
const BEST_SYNCS = 50;

const WITHOUT_JOURNAL = 'without the journal';

const churn = (stage: Stage): Promise<void> => steadyFlips(stage, CHURN_RATES, CHURN_SECONDS);

/** The saving of the whole cluster: kube-controller-manager's other controllers keep their caches. */
export const NET: Scenario = {
  name: 'net',
  what: 'kube-controller-manager with all controllers but two that evict pods where no kubelet is, or without those of endpoints and with endpointd beside it, under flips',
  pairSeconds: 100,
  server: 'kube',
  outset: 'right',
  controllers: ENDPOINT_CONTROLLERS,
  profile: SPREAD,
  peers: (settings) => [managerPeer(settings, controllersWithout(WITHOUT_KUBELETS), ALL_IN_ONE), bothPeer(settings)],
  base: ALL_IN_ONE,
  story: churn,
};

export const SHIPPED: Scenario = {
  name: 'shipped',
  what: 'flips with the flags that both have by default: 20 and 30 requests a second',
  pairSeconds: 70,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  settings: { qps: 20, burst: 30 },
  story: (stage) => steadyFlips(stage, SHIPPED_RATES, CHURN_SECONDS),
};

export const BEST: Scenario = {
  ...READY,
  name: 'best',
  what: '10,000 pods are patched to ready, 50 syncs of each controller side by side, which both do better with than with 5',
  pairSeconds: 45,
  settings: { syncs: BEST_SYNCS, endpointdFlags: writesFor(BEST_SYNCS) },
};

/** By the number of additional watchers of all Endpoints and slices. */
export const WATCHERS: readonly Scenario[] = [1, 50, 200].map((watchers) => ({
  name: `watchers-${watchers}`,
  what: `flips while ${watchers} more watch all Endpoints, and as many all slices`,
  pairSeconds: 75 + Math.round(watchers / 5),
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  settings: { watchers },
  story: churn,
}));

export const FLOW_CONTROL: Scenario = {
  name: 'flow-control',
  what: 'flips where each controller is its own user, with priority and fairness, and etcd waits for the disk',
  pairSeconds: 80,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  settings: { priorityAndFairness: true, fsync: true },
  story: flowControlled,
};

/** Memory goes up and down between collections of the old generation. A leak adds up beyond that. */
const FLAT_SHARE = 0.1;

const FLAT_MEMORY: Mark = {
  what: `memory in the last tenth <= ${1 + FLAT_SHARE} x that in the first`,
  look: (of) => {
    const [first, growth] = [of(ENDPOINTD, 'firstMB'), of(ENDPOINTD, 'growthMB')];
    const times = (first + growth) / first;
    return Number.isFinite(times) ? { got: textOf(times, first, growth), reached: times <= 1 + FLAT_SHARE } : null;
  },
};

function textOf(times: number, first: number, growth: number): string {
  return `${times.toFixed(2)} x, ${(first + growth).toFixed(1)} of ${first.toFixed(1)} MB`;
}

export const SOAK: Scenario = {
  name: 'soak',
  what: 'flips for half an hour: memory stays flat',
  pairSeconds: 3900,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  story: (stage) => steadyFlips(stage, { tiny: 20, small: 20, full: 20 }, { tiny: 0.5, small: 30, full: 1800 }),
  marks: [FLAT_MEMORY],
};

/** The cost of the journal: the same endpointd twice with it, which shows the noise, and once without. */
export const JOURNAL: Scenario = {
  name: 'journal',
  what: 'flips without the journal of changes and with it',
  pairSeconds: 75,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  peers: (settings) => [
    endpointdPeer(
      { ...settings, endpointdFlags: [...settings.endpointdFlags, '--journal-size=0'] },
      CONTROLLERS,
      WITHOUT_JOURNAL,
    ),
    endpointdPeer(settings, CONTROLLERS),
    endpointdPeer(settings, CONTROLLERS, ENDPOINTD_AGAIN),
  ],
  base: WITHOUT_JOURNAL,
  story: churn,
};

/** @throws Error if flow control has let through no request of the controller */
async function flowControlled(stage: Stage): Promise<void> {
  const before = await letThrough(stage);
  await churn(stage);
  const count = (await letThrough(stage)) - before;
  if (stage.server.kind === 'kube' && count === 0) throw new Error('flow control has not seen the controller');
  stage.note('letThrough', count);
}

/** The requests of the level of both controllers. */
async function letThrough({ server }: Stage): Promise<number> {
  const metrics = parseMetrics(await server.client.text('/metrics'));
  const labels = { priority_level: 'workload-high' };
  return sumOf(metrics, 'apiserver_flowcontrol_dispatched_requests_total', labels) ?? 0;
}

function controllersWithout(names: readonly string[]): string[] {
  return ['*', ...names.map((name) => `-${name}`)];
}

function bothPeer(settings: Settings): Peer {
  const rest = managerPeer(settings, controllersWithout([...WITHOUT_KUBELETS, ...ENDPOINT_CONTROLLERS]));
  const own = endpointdPeer(settings, ENDPOINT_CONTROLLERS);
  return {
    name: 'with endpointd',
    echoes: false,
    writer: ENDPOINTD,
    start: async (on) => {
      const parts: RunningPeer[] = [];
      for (const part of [own, rest]) parts.push(await part.start(on));
      return together(parts);
    },
  };
}
