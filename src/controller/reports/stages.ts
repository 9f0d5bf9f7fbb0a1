/** Where the time of a change goes: the same stages in the metrics and in the journal (docs/live-view.md "The journal"). */

/** How long each stage took, in milliseconds; -1 = there was no such stage. */
export interface StageTimes {
  /** From the pod's Ready transition, which has whole seconds, until it was seen: before its sync. */
  readonly watchInMs: number;
  /** From the first change seen until its turn, batch period included. */
  readonly queueMs: number;
  /** From its turn until its batch left for the shard, reads of uncertain objects included. */
  readonly batchWaitMs: number;
  readonly planMs: number;
  /** The longest that one of its writes waited for a token, or a pause. */
  readonly throttleMs: number;
  /** The longest that an answer to one of its writes took. */
  readonly writeMs: number;
  /** From the first change seen, or else from its turn, to the end. */
  readonly totalMs: number;
}

/** The names in the metrics, each with its time, in the order in which a change passes the stages. */
export const STAGES = {
  watch_in: 'watchInMs',
  queue: 'queueMs',
  batch_wait: 'batchWaitMs',
  plan: 'planMs',
  throttle: 'throttleMs',
  write: 'writeMs',
  total: 'totalMs',
} as const satisfies Readonly<Record<string, keyof StageTimes>>;

export type Stage = keyof typeof STAGES;
export const STAGE_NAMES = Object.keys(STAGES) as readonly Stage[];

/** What a sync notes: monotonic ms, of the last two a duration in ms; -1 = it has not come that far. */
interface SyncTimes {
  /** -1 = there was no transition. */
  readonly watchInSeconds: number;
  readonly startedAtMs: number;
  readonly postedAtMs: number;
  readonly plannedAtMs: number;
  readonly throttledMs: number;
  readonly answeredMs: number;
}

/**
 * How long a stage of the sync took.
 * @param changedAtMs when the first change was seen; -1 = there was none
 * @param nowMs when it ended
 */
export function stageMs(stage: Stage, sync: SyncTimes, changedAtMs: number, nowMs: number): number {
  const { watchInSeconds, startedAtMs, postedAtMs, plannedAtMs, throttledMs, answeredMs } = sync;
  switch (stage) {
    case 'watch_in':
      return watchInSeconds < 0 ? -1 : watchInSeconds * 1000;
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
