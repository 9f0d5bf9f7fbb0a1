/** The stages of a change, from its acknowledgement to the watcher. Plain data in and out. */
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

/** The stages in the order in which a change meets them. */
export const STAGES = {
  In: 'from the acknowledged change to its event at the controller',
  Queue: 'from its event to its turn',
  BatchWait: 'until its batch left for the planner',
  Plan: 'until it was planned',
  Throttle: 'waiting for a token',
  Write: 'until the write was answered',
  Out: 'from the answer to the watcher',
} as const;

export type StageName = keyof typeof STAGES;

/** The milliseconds of each stage, by change. */
export type StageSamples = Readonly<Record<StageName, readonly number[]>>;

/** The controllers that write slices. */
const CONTROLLERS = new Set(['endpointslice', 'endpointslice-mirroring']);

/**
 * Pairs each change whose slice was seen with the sync of its service that ended nearest to that moment. A change that
 * the journal no longer has is left out.
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
    Out: [],
  };
  const written = journal.filter(({ controller, result }) => CONTROLLERS.has(controller) && result === 'written');
  const skewMs = written.reduce((most, entry) => Math.max(most, entry.endedWallMs - endedMs(entry)), -Infinity);
  const byService = Map.groupBy(written, ({ namespace, name }) => `${namespace}/${name}`);
  for (const { services, ackedMs, slicesMs } of changes) {
    if (slicesMs === null || Number.isNaN(slicesMs)) continue;
    const shownMs = slicesMs + originMs - skewMs;
    const entries = services.flatMap((service) => byService.get(service) ?? []);
    const entry = nearest(entries, shownMs, ackedMs + originMs - skewMs);
    if (entry === null) continue;
    samples.In.push(Math.max(0, seenMs(entry) - (ackedMs + originMs - skewMs)));
    samples.Queue.push(Math.max(0, entry.queueMs));
    samples.BatchWait.push(Math.max(0, entry.batchWaitMs));
    samples.Plan.push(Math.max(0, entry.planMs));
    samples.Throttle.push(Math.max(0, entry.throttleMs));
    samples.Write.push(Math.max(0, entry.writeMs));
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

/** The nearest of the entries that ended after the change was made. */
function nearest(entries: readonly JournalEntry[], shownMs: number, ackedMs: number): JournalEntry | null {
  let [found, least]: [JournalEntry | null, number] = [null, Infinity];
  for (const entry of entries) {
    const away = Math.abs(endedMs(entry) - shownMs);
    if (endedMs(entry) < ackedMs - ACK_LATE_MS || away >= least) continue;
    [found, least] = [entry, away];
  }
  return found;
}

/** All stages may be over before the client reads the answer to its change. */
const ACK_LATE_MS = 50;

/** The p50 and p99 of each stage, as figures. */
export function stageFigures(samples: StageSamples): Record<string, number> {
  return Object.fromEntries(
    Object.entries(samples).flatMap(([stage, ms]) =>
      ms.length === 0
        ? []
        : [
            [`stage${stage}P50`, percentile(ms, 0.5)],
            [`stage${stage}P99`, percentile(ms, 0.99)],
          ],
    ),
  );
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
  return figures;
}
