/** Who may write, by what the server has done to the Lease and when that was sent: true times, no clock of a process. */
import type { Sim } from '../support/sim.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

/** A write of the Lease that the server has done. */
interface Grant {
  /** '' = it was given back. */
  readonly holder: string;
  readonly sentAtMs: number;
  readonly doneAtMs: number;
}

/**
 * Follows all requests of the replicas. A write has to be sent while its process holds the Lease, no later than the
 * deadline after it sent a renewal that was done by then.
 * @param onLeader the Lease has another holder
 */
export function watchLeases(
  sims: readonly Sim[],
  renewDeadlineMs: number,
  onLeader: () => void,
  breach: (text: string) => void,
): void {
  const sent = new WeakMap<HttpRequest, { readonly atMs: number; readonly by: string }>();
  const grants: Grant[] = [];
  for (const sim of sims) {
    sim.observer = {
      sent(request) {
        sent.set(request, { atMs: sim.nowMs(), by: identityOf(sim) });
      },
      before() {},
      stepped() {},
      after(request, status) {
        const told = sent.get(request);
        if (told === undefined || status >= 300) return;
        if (request.pool === 'lease' && request.body !== null) {
          const holder = holderIn(request.body);
          if (holder !== '' && holder !== grants.at(-1)?.holder) onLeader();
          grants.push({ holder, sentAtMs: told.atMs, doneAtMs: sim.nowMs() });
        } else if (request.pool === 'write') {
          const wrong = outsideLease(grants, told.by, told.atMs, renewDeadlineMs);
          if (wrong !== '')
            breach(`${request.method} ${request.path} was sent by ${told.by} at ${told.atMs} ms: ${wrong}`);
        }
      },
    };
  }
}

function outsideLease(grants: readonly Grant[], by: string, atMs: number, renewDeadlineMs: number): string {
  const last = grants.findLast(({ doneAtMs }) => doneAtMs <= atMs);
  if (last?.holder !== by) return `${last?.holder ?? 'nobody'} held the Lease`;
  const sentAtMs = Math.max(
    ...grants.filter(({ holder, doneAtMs }) => holder === by && doneAtMs <= atMs).map((one) => one.sentAtMs),
  );
  return atMs - sentAtMs < renewDeadlineMs ? '' : `its last renewal was sent at ${sentAtMs} ms`;
}

function identityOf({ loop }: Sim): string {
  return loop?.state.leadership?.elector.options.identity ?? '';
}

function holderIn(body: Uint8Array): string {
  const { spec } = JSON.parse(Buffer.from(body).toString('utf8')) as { spec: { holderIdentity: string } };
  return spec.holderIdentity;
}
