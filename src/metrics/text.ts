/** Reads the text format of Prometheus. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by the name in front of the labels. A histogram has three names: `_bucket`, `_sum`, `_count`. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>;

/** A quoted label may hold a brace. What follows the value, such as a time or an exemplar with braces of its own, is none of it. */
const LINE = /^[ \t]*([a-zA-Z_:][\w:]*)(?:[ \t]*\{((?:"(?:[^"\\]|\\.)*"|[^"}])*)\}[ \t]*|[ \t]+)(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' };

/** Lines that are no samples are passed over. */
export function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const match = LINE.exec(line);
    if (match === null) continue;
    const [, name, labelText = '', valueText] = match;
    const labels: Record<string, string> = {};
    for (const [, label, value] of labelText.matchAll(LABEL)) {
      labels[label!] = value!.replaceAll(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char);
    }
    const value = valueText === '+Inf' ? Infinity : Number(valueText);
    if (Number.isNaN(value)) continue;
    const samples = metrics.get(name!);
    if (samples === undefined) metrics.set(name!, [{ labels, value }]);
    else samples.push({ labels, value });
  }
  return metrics;
}

/** The samples with these labels. */
export function samplesOf(metrics: Metrics, name: string, labels: Sample['labels'] = {}): readonly Sample[] {
  const wanted = Object.entries(labels);
  return (metrics.get(name) ?? []).filter((sample) => wanted.every(([key, value]) => sample.labels[key] === value));
}

/** The sum of the samples with these labels; null = there are none. */
export function sumOf(metrics: Metrics, name: string, labels: Sample['labels'] = {}): number | null {
  const samples = samplesOf(metrics, name, labels);
  return samples.length === 0 ? null : samples.reduce((sum, { value }) => sum + value, 0);
}

/**
 * A quantile of what a histogram has counted, or has counted since `before`: the upper bound of its bucket; null =
 * nothing was counted, Infinity = the quantile is above the last bound.
 * @param share in [0, 1]
 */
export function quantileOf(
  metrics: Metrics,
  before: Metrics | null,
  name: string,
  labels: Sample['labels'],
  share: number,
): number | null {
  const counts = bucketsOf(metrics, name, labels);
  for (const [bound, count] of before === null ? [] : bucketsOf(before, name, labels)) {
    counts.set(bound, (counts.get(bound) ?? 0) - count);
  }
  const bounds = [...counts].sort(([a], [b]) => a - b);
  const total = bounds.at(-1)?.[1] ?? 0;
  if (total <= 0) return null;
  return bounds.find(([, count]) => count >= share * total)![0];
}

/** Cumulative counts by upper bound. A sample without a bound or a count is passed over. */
export function bucketsOf(metrics: Metrics, name: string, labels: Sample['labels']): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { labels: own, value } of samplesOf(metrics, `${name}_bucket`, labels)) {
    const bound = own['le'] === '+Inf' ? Infinity : Number(own['le']);
    if (!Number.isNaN(bound) && Number.isFinite(value)) counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  return counts;
}
