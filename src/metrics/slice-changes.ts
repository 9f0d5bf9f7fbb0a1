/** How many objects a controller has written, by its own count. */
import type { QueueName } from './program-of.ts';
import type { Metrics, Sample } from './text.ts';
import type { Grown } from './two-looks.ts';

/** No metric has the writes of Endpoints. */
const METRICS: Readonly<Partial<Record<QueueName, string>>> = {
  endpoint_slice: 'endpoint_slice_controller_changes',
  endpoint_slice_mirroring: 'endpoint_slice_mirroring_controller_changes',
};

/**
 * From Kubernetes 1.38 on the metric's name ends in `_total`. A process may have both names, with the same value.
 * @returns null = no metric has them
 */
export function changesOf(
  queue: QueueName,
  grown: Grown,
  after: Metrics,
  labels: Sample['labels'] = {},
): number | null {
  const metric = METRICS[queue];
  if (metric === undefined) return null;
  const names = [metric, `${metric}_total`].filter((name) => after.has(name));
  return names.length === 0 ? null : Math.max(...names.map((name) => grown(name, labels)));
}
