/** The stages of a change on its way to the watcher, each by itself. Plain data in and out. */
import type { JournalEntry } from '../../src/controller/reports/journal.ts';
import { percentile } from '../../src/lib/percentile.ts';
import { sumOf, type Metrics } from '../../src/metrics/text.ts';
import type { TimedChange } from './stream.ts';

/** A controller's own metrics and journal at one moment. */
export interface Telling {
  readonly metrics: Metrics;
  /** The newest changes that it remembers; [] = it has no journal. */
  readonly journal: readonly JournalEntry[];
}

/**
 * The stages in the order in which a change meets them. The first two count from the acknowledgement, and the last one from
 * the answer: what is before has no time there.
 */
export const STAGES = {
  In: 'from the acknowledged change to its event at the controller',
  Queue: 'from its event to its turn',
  BatchWait: 'until its batch left for the planner',
  Plan: 'until it was planned',
  Throttle: 'until its write was sent: a token, its turn, others under way',
  Write: 'until the write was answered',
  Other: 'of its sync, in none of these',
  Out: 'from the answer to the watcher',
} as const;

export type StageName = keyof typeof STAGES;

/** The milliseconds of each stage, by change. */
export type StageSamples = Readonly<Record<StageName, readonly number[]>>;

/** The controllers that write slices. */
const CONTROLLERS = new Set(['endpointslice', 'endpointslice-mirroring']);

/**
 * Pairs each change whose slice was seen with the sync of its service that ended nearest to that moment. A change whose
 * sync the journal no longer has is left out. Where a sync took in several changes, the time before a later one belongs to
 * the first. The stages of a sync are whole, although it often begins before the load has the answer to its change, and the
 * watcher often has a write before the controller has its answer. Of several writes the longest wait and the longest answer
 * count. So the stages of a change together may be longer than the time from its acknowledgement until it was seen.
 * @param originMs the zero of the changes' clock, in milliseconds since the epoch
 */
export function stageSamples(
  changes: readonly TimedChange[],
  journal: readonly JournalEntry[],
  originMs: number,
): StageSamples {
  const samples: Record<StageName, number[]> = {
    In: [],
    Queue: [],
    BatchWait: [],
    Plan: [],
    Throttle: [],
    Write: [],
    Other: [],
    Out: [],
  };
  const written = journal.filter(({ controller, result }) => CONTROLLERS.has(controller) && result === 'written');
  const skewMs = written.reduce((most, entry) => Math.max(most, entry.endedWallMs - endedMs(entry)), -Infinity);
  const byService = Map.groupBy(written, ({ namespace, name }) => `${namespace}/${name}`);
  for (const { services, ackedMs, slicesMs } of changes) {
    if (slicesMs === null || Number.isNaN(slicesMs)) continue;
    const shownMs = slicesMs + originMs - skewMs;
    const madeMs = ackedMs + originMs - skewMs;
    const entries = services.flatMap((service) => byService.get(service) ?? []);
    const entry = nearest(entries, shownMs, madeMs);
    if (entry === null) continue;
    const { startedAtMs } = entry;
    const batchWait = Math.max(0, entry.batchWaitMs);
    const plan = Math.max(0, entry.planMs);
    const throttle = Math.max(0, entry.throttleMs);
    const write = Math.max(0, entry.writeMs);
    samples.In.push(Math.max(0, seenMs(entry) - madeMs));
    samples.Queue.push(Math.max(0, startedAtMs - Math.max(seenMs(entry), madeMs)));
    samples.BatchWait.push(batchWait);
    samples.Plan.push(plan);
    samples.Throttle.push(throttle);
    samples.Write.push(write);
    samples.Other.push(Math.max(0, endedMs(entry) - startedAtMs - batchWait - plan - throttle - write));
    samples.Out.push(Math.max(0, shownMs - endedMs(entry)));
  }
  return samples;
}

/** When the sync ended, by the controller's clock, which has whole milliseconds. */
function endedMs(entry: JournalEntry): number {
  return seenMs(entry) + entry.totalMs;
}

function seenMs({ startedAtMs, queueMs }: JournalEntry): number {
  return startedAtMs - Math.max(0, queueMs);
}

/** The nearest of the entries that ended after the change was made, and by the time it was seen. */
function nearest(entries: readonly JournalEntry[], shownMs: number, ackedMs: number): JournalEntry | null {
  let [found, least]: [JournalEntry | null, number] = [null, Infinity];
  for (const entry of entries) {
    const ended = endedMs(entry);
    const away = Math.abs(ended - shownMs);
    if (ended < ackedMs - ANSWER_LATE_MS || ended > shownMs + ANSWER_LATE_MS || away >= least) continue;
    [found, least] = [entry, away];
  }
  return found;
}

/** An answer may be read later than a watcher sees what it answers: the load's to its change, the controller's to a write. */
const ANSWER_LATE_MS = 50;

/** The p50 and p99 of each stage, and of how many changes they are, as figures. */
export function stageFigures(samples: StageSamples): Record<string, number> {
  const changes = samples.In.length;
  if (changes === 0) return {};
  const byStage = Object.fromEntries(
    Object.entries(samples).flatMap(([stage, ms]) => [
      [`stage${stage}P50`, percentile(ms, 0.5)],
      [`stage${stage}P99`, percentile(ms, 0.99)],
    ]),
  );
  return { ...byStage, stageChanges: changes };
}

/** Means by figure. Both programs have these metrics, in buckets that are too wide for a quantile. */
const MEANS = {
  queueMean: { metric: 'workqueue_queue_duration_seconds', labels: {} },
  syncMean: { metric: 'workqueue_work_duration_seconds', labels: {} },
  putMean: { metric: 'rest_client_request_duration_seconds', labels: { verb: 'PUT' } },
  throttleMean: { metric: 'rest_client_rate_limiter_duration_seconds', labels: { verb: 'PUT' } },
} as const;

export function meanFigures(before: Metrics, after: Metrics): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [figure, { metric, labels }] of Object.entries(MEANS)) {
    const since = (part: 'sum' | 'count'): number =>
      (sumOf(after, `${metric}_${part}`, labels) ?? 0) - (sumOf(before, `${metric}_${part}`, labels) ?? 0);
    if (since('count') > 0) figures[figure] = (since('sum') / since('count')) * 1000;
  }
  // client-go's time of a request includes its wait for a token.
  const waits = after.has('endpointd_build_info') ? 0 : (figures['throttleMean'] ?? 0);
  if (figures['putMean'] !== undefined) figures['putMean'] -= waits;
  return figures;
}
