import { readMetric, type MetricStore } from '../../metrics/store.ts';

/** Sums over all services. */
interface SliceCounts {
  endpoints: number;
  slices: number;
  slicesDesired: number;
}

/** Registers the gauges of these sums in `metrics`, under the names of upstream's controller. */
export function createSliceCounts(
  metrics: MetricStore,
  controller: 'endpoint_slice_controller' | 'endpoint_slice_mirroring_controller',
): SliceCounts {
  const counts = { endpoints: 0, slices: 0, slicesDesired: 0 };
  readMetric(metrics, `${controller}_endpoints_desired`, {}, () => counts.endpoints);
  readMetric(metrics, `${controller}_num_endpoint_slices`, {}, () => counts.slices);
  readMetric(metrics, `${controller}_desired_endpoint_slices`, {}, () => counts.slicesDesired);
  return counts;
}

export function addSliceCounts(
  counts: SliceCounts,
  { endpoints, slices, slicesDesired }: Readonly<SliceCounts>,
  sign: 1 | -1,
): void {
  counts.endpoints += sign * endpoints;
  counts.slices += sign * slices;
  counts.slicesDesired += sign * slicesDesired;
}
