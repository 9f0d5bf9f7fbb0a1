/** What has grown between two looks at the metrics of one process, and whether that can be told at all. */
import { sumOf, type Metrics, type Sample } from './text.ts';

/** By how much the sum of a metric's series has grown. A metric that a look does not have counts as 0. */
export type Grown = (name: string, labels?: Sample['labels']) => number;

/** Only for looks that `whyNotComparable` has nothing against. */
export function grownBetween(before: Metrics, after: Metrics): Grown {
  return (name, labels = {}) => (sumOf(after, name, labels) ?? 0) - (sumOf(before, name, labels) ?? 0);
}

const START = 'process_start_time_seconds';
/** Metrics of which a process has one sample. */
const SINGLE = [START, 'process_cpu_seconds_total', 'endpointd_build_info'];

/** A load balancer may lead each look to another process. */
const OR_TWO = 'or they are of two processes, such as two API servers behind one address';

/** Whether looks of several processes were put together, as a federation does. */
function isOfSeveral(look: Metrics): boolean {
  return SINGLE.some((name) => (look.get(name) ?? []).length > 1);
}

/**
 * Why the looks cannot be compared; null = they can.
 * @param counters names of metrics whose series fall only when a new process begins
 */
export function whyNotComparable(before: Metrics, after: Metrics, counters: readonly string[]): string | null {
  if ([before, after].some(isOfSeveral))
    return 'these are the metrics of several processes in one: sums of them are those of none, so take the metrics of one process';
  const [first, second] = [sumOf(before, START), sumOf(after, START)];
  if ((first === null) !== (second === null) || (before.size === 0 && after.size > 0))
    return 'one of the two looks is of something else: it lacks what the other one has';
  // Sums that have not fallen may have overtaken those of an earlier process.
  if (first === null || second === null)
    return `these metrics lack ${START}: whether the process was started anew cannot be told`;
  if (first !== second)
    return first < second
      ? `the process was started anew between the looks, ${OR_TWO}: their sums cannot be compared`
      : `the process of the first look was started after that of the second: the looks are in the wrong order, ${OR_TWO}`;
  if (counters.some((name) => hasFallen(before, after, name)))
    return 'sums have fallen in a process that went on: the looks are in the wrong order';
  return null;
}

/**
 * What one of the looks has if it was not cut off: metrics of kube-controller-manager and of API servers come in the order of
 * their names, and those of endpointd end with this one. Each has them from its begin on.
 */
const LAST = ['workqueue_work_duration_seconds_count', 'endpointd_build_info'];

/**
 * Why the looks are not whole: a metric that the first one lacks would count with all that the process has done in its life.
 * null = both have these metrics, or neither.
 * @param lasting further names of metrics that a process has from its begin on
 */
export function whyNotWhole(before: Metrics, after: Metrics, lasting: readonly string[] = []): string | null {
  const name = [...lasting, ...LAST].find((one) => before.has(one) !== after.has(one));
  if (name === undefined) return null;
  return `one of the two looks was cut off, or filtered: it lacks ${name}, which the other one has`;
}

function hasFallen(before: Metrics, after: Metrics, name: string): boolean {
  const key = ({ labels }: Sample): string =>
    JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const values = new Map((after.get(name) ?? []).map((sample) => [key(sample), sample.value]));
  return (before.get(name) ?? []).some((sample) => (values.get(key(sample)) ?? 0) < sample.value);
}
