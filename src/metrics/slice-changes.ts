/** How many objects a controller of slices has written, by its own count. */
import type { Metrics, Sample } from './text.ts';
import type { Grown } from './two-looks.ts';

/**
 * From Kubernetes 1.38 on the metric's name ends in `_total`. A process may have both names, with the same value.
 * @returns null = no metric has them
 */
export function changesBetween(
  metric: string,
  grown: Grown,
  after: Metrics,
  labels: Sample['labels'] = {},
): number | null {
  const names = [metric, `${metric}_total`].filter((name) => after.has(name));
  return names.length === 0 ? null : Math.max(...names.map((name) => grown(name, labels)));
}
