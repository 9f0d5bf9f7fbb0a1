/** Where the time of a change goes: the same stages in the metrics and in the journal (docs/live-view.md "The journal"). */

export const TIMED_STAGES = ['queue', 'batch_wait', 'plan', 'throttle', 'write', 'total'] as const;

/** Before its sync a change has one stage more: from the pod's Ready transition until it was seen. */
export type Stage = 'watch_in' | TimedStage;
type TimedStage = (typeof TIMED_STAGES)[number];

/** What a sync notes: monotonic ms, of the last two a duration in ms; -1 = it has not come that far. */
interface SyncTimes {
  readonly changedAtMs: number;
  readonly startedAtMs: number;
  readonly postedAtMs: number;
  readonly plannedAtMs: number;
  readonly throttledMs: number;
  readonly answeredMs: number;
}

/** How long a stage of the sync took, in milliseconds; -1 = the sync had no such stage. @param nowMs when it ended */
export function stageMs(stage: TimedStage, sync: SyncTimes, nowMs: number): number {
  const { changedAtMs, startedAtMs, postedAtMs, plannedAtMs, throttledMs, answeredMs } = sync;
  switch (stage) {
    case 'queue':
      return changedAtMs < 0 ? -1 : startedAtMs - changedAtMs;
    case 'batch_wait':
      return postedAtMs < 0 ? -1 : postedAtMs - startedAtMs;
    case 'plan':
      return plannedAtMs < 0 ? -1 : plannedAtMs - postedAtMs;
    case 'throttle':
      return throttledMs;
    case 'write':
      return answeredMs;
    case 'total':
      return nowMs - (changedAtMs < 0 ? startedAtMs : changedAtMs);
  }
}
