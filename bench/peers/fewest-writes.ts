/** The fewest writes with which any controller can show the same changes of both outputs as soon. */
import { percentile } from '../../src/lib/percentile.ts';
import { SEEN_FIELDS, type StreamKind, type TimedChange } from './stream.ts';

type Change = Pick<TimedChange, 'services' | 'ackedMs' | 'endpointsMs' | 'slicesMs'>;

/** The share of changes that may be later than a p99. */
const LATE_SHARE = 0.01;

/**
 * The fewest writes of both kinds of objects together. No change may be taken back by a later one, because such a pair
 * needs no write.
 * @param share of the measured p99: 1 = shown as soon as they were, 0.5 = in half that time
 */
export function fewestWrites(changes: readonly Change[], share: number): number {
  return (['endpoints', 'slices'] as const).reduce((sum, kind) => sum + fewestOf(changes, kind, share), 0);
}

function fewestOf(changes: readonly Change[], kind: StreamKind, share: number): number {
  const field = SEEN_FIELDS[kind];
  const awaited = changes.filter((change) => change[field] !== null);
  const limitMs =
    share *
    percentile(
      awaited.map((change) => change[field]! - change.ackedMs),
      0.99,
    );
  const each = awaited.flatMap(({ services, ackedMs }) => services.map((service) => ({ service, ackedMs })));
  const services = Map.groupBy(each, ({ service }) => service);
  let writes = 0;
  for (const of of services.values()) {
    writes += windows(
      of.map(({ ackedMs }) => ackedMs),
      limitMs,
    );
  }
  // With one more write for each late change, no change would be late.
  return Math.max(services.size, writes - Math.floor(awaited.length * LATE_SHARE));
}

/** Each write comes as late as the first change that it shows allows, and shows all changes until then. */
function windows(ackedMs: readonly number[], limitMs: number): number {
  let [count, untilMs] = [0, -Infinity];
  for (const ms of ackedMs.toSorted((a, b) => a - b)) {
    if (ms <= untilMs) continue;
    count++;
    untilMs = ms + limitMs;
  }
  return count;
}
