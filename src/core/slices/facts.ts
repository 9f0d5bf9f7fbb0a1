/**
 * What a plan of a service's slices says beside its writes. Gauges, histograms, Event objects and changes of nodes need
 * it.
 */
import type { IpFamily } from '../../kube/types.ts';

export interface SlicesFacts {
  /** One for each wanted address family, IPv4 first. */
  readonly families: readonly FamilyFacts[];
  /** Whether topology-mode `Auto` is in effect. */
  readonly topology: boolean;
  /** The value of spec.trafficDistribution that is in effect; '' = none. */
  readonly trafficDistribution: string;
  /** Pods that are left out because their node is not known. */
  readonly waitingForNode: number;
  /**
   * Whether there are slices to merge, or may be after the writes of this plan; absent unless `--compact-slices` is
   * given.
   */
  readonly fragmented?: boolean;
}

export interface FamilyFacts {
  readonly family: IpFamily;
  /** Endpoints that there should be, over all port groups. */
  readonly endpoints: number;
  /** Slices after the writes of this plan. */
  readonly slices: number;
  /** The fewest slices that would do: for each port group endpoints / max, rounded up; at least 1. */
  readonly slicesDesired: number;
  /** Endpoints newly placed and dropped by this plan (docs/spec/endpointslice.md "One port group", "Metrics"). */
  readonly added: number;
  readonly removed: number;
  /** Writes of this plan, including the creates that are left out for a Service that is being deleted. */
  readonly writes: number;
  /** Ready endpoints by the zone that hints send them to; null = no hints by CPU shares are in effect. */
  readonly hints: readonly ZoneCount[] | null;
  /** Why wanted hints are missing, in upstream's words without the address type; '' = none are missing. */
  readonly hintsFailure: string;
}

export interface ZoneCount {
  readonly zone: string;
  readonly count: number;
}
