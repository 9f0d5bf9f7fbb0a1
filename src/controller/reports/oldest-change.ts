import { oldestChangeMs } from '../queues/workqueue.ts';
import type { FailureClass } from '../queues/backoff.ts';
import type { Controller } from '../caches/service-state.ts';

/** What the server refuses, or planning cannot do, of one Service. All others may be written meanwhile. */
const OWN_FAULTS: ReadonlySet<FailureClass | undefined> = new Set(['invalid', 'forbidden', 'poison'] as const);

/**
 * When the oldest change came that waits to be written; -1 = there is none. A Service that is stuck through a fault of its
 * own is told by its name. If it counted here, it would hide for days that all other changes are late. One that is stuck
 * because the server does not answer counts.
 */
export function oldestUnwrittenMs({ queue, stuck }: Controller): number {
  return oldestChangeMs(queue, { has: (unit) => OWN_FAULTS.has(stuck.get(unit)?.class) });
}
