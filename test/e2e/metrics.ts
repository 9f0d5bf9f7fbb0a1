import { parseMetrics, sumOf, type Sample } from '../../src/metrics/text.ts';

/** What a program tells at /metrics. */
export interface Metrics {
  /** Sum of all series of a metric with these labels; 0 = there are none. */
  sum(name: string, labels?: Sample['labels']): number;
  /** The lines of a metric as they came, for messages. */
  lines(name: string): string;
}

/** @param text in Prometheus' text format */
export function readMetrics(text: string): Metrics {
  const metrics = parseMetrics(text);
  return {
    lines: (name) =>
      text
        .split('\n')
        .filter((line) => line.startsWith(name))
        .join('\n'),
    sum: (name, labels) => sumOf(metrics, name, labels) ?? 0,
  };
}
