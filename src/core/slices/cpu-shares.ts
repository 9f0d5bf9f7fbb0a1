/**
 * The share of each zone in the cluster's allocatable CPU (docs/spec/endpointslice.md "CPU shares"). Topology hints
 * follow these shares.
 */

export interface CpuShares {
  /** Grows with every change; the same number means the same shares. */
  readonly version: number;
  /** Ascending by zone; shares in (0, 1], together 1. */
  readonly zones: readonly ZoneShare[];
}

export interface ZoneShare {
  readonly zone: string;
  readonly share: number;
}
