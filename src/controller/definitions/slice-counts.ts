import type { MetricName } from '../../metrics/catalogue.ts';
import { readMetric, type MetricStore } from '../../metrics/store.ts';

/** Sums over all services. */
interface SliceCounts {
  endpoints: number;
  slices: number;
  slicesDesired: number;
}

/**
 * Registers the gauges of these sums in `metrics`, under the names of upstream's controller.
 * @param isCounted while it says no, they are 0
 */
export function createSliceCounts(
  metrics: MetricStore,
  controller: 'endpoint_slice_controller' | 'endpoint_slice_mirroring_controller',
  isCounted: () => boolean,
): SliceCounts {
  const sums = { endpoints: 0, slices: 0, slicesDesired: 0 };
  const gauge = (name: MetricName, read: () => number): void =>
    readMetric(metrics, name, {}, () => (isCounted() ? read() : 0));
  gauge(`${controller}_endpoints_desired`, () => sums.endpoints);
  gauge(`${controller}_num_endpoint_slices`, () => sums.slices);
  gauge(`${controller}_desired_endpoint_slices`, () => sums.slicesDesired);
  return sums;
}

export function addSliceCounts(
  sums: SliceCounts,
  { endpoints, slices, slicesDesired }: Readonly<SliceCounts>,
  sign: 1 | -1,
): void {
  sums.endpoints += sign * endpoints;
  sums.slices += sign * slices;
  sums.slicesDesired += sign * slicesDesired;
}
