/** How few writes any controller can do with that shows the same changes as soon: the limit of all coalescing. */
import { percentile } from '../../src/lib/percentile.ts';
import { SEEN_FIELDS, type StreamKind, type TimedChange } from './stream.ts';

type Change = Pick<TimedChange, 'services' | 'ackedMs' | 'endpointsMs' | 'slicesMs'>;

/** How many changes may be later than a p99 says. */
const LATE_SHARE = 0.01;

/**
 * Of both kinds together. No change may be one that a later one takes back, because such a pair needs no write.
 * @param share of the p99 that was measured: 1 = shown as soon as they were, 0.5 = in half that time
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
  // One more write for each change that is late would make a schedule in which none is.
  return Math.max(services.size, writes - Math.floor(awaited.length * LATE_SHARE));
}

/** Each write comes as late as the first change that it shows allows, and shows all that have come by then. */
function windows(ackedMs: readonly number[], limitMs: number): number {
  let [count, untilMs] = [0, -Infinity];
  for (const ms of ackedMs.toSorted((a, b) => a - b)) {
    if (ms <= untilMs) continue;
    count++;
    untilMs = ms + limitMs;
  }
  return count;
}
