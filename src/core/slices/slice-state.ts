/**
 * Slices as planning sees them: what the server holds, with what hints need to know of it, and what will be written. The
 * endpoints in them are immutable and shared; whoever changes one puts another in its place.
 */
import type { Endpoint, EndpointSlice } from '../../kube/types.ts';
import type { ZoneCount } from './facts.ts';

/** A slice on the server. Never changes: an acknowledged or observed version is another one. */
export interface StoredSlice {
  readonly object: EndpointSlice;
  readonly summary: SliceSummary;
}

/** What hints need of a slice that is not written, found once. A ready endpoint is one with `conditions.ready` true. */
export interface SliceSummary {
  /** Ready endpoints. */
  readonly ready: number;
  /** Some endpoint, ready or not, has hints. */
  readonly anyHints: boolean;
  /** Every ready endpoint has at least one zone hint; true without ready endpoints. */
  readonly everyReadyHasZoneHint: boolean;
  /** Zone hints of ready endpoints, ascending by zone. */
  readonly hintZones: readonly ZoneCount[];
  /** Zones, ascending, that a ready endpoint of another zone is sent to. */
  readonly crossZones: readonly string[];
  /** Every ready endpoint has exactly the hints of PreferClose and PreferSameZone, or of PreferSameNode. */
  readonly rightForZone: boolean;
  readonly rightForNode: boolean;
}

/** A slice that will be written. */
export interface DraftSlice {
  /** The slice on the server that is changed; null = a new one. */
  readonly stored: StoredSlice | null;
  /** May be changed and replaced. */
  endpoints: Endpoint[];
}

/** All slices that one address family of a service will have. */
export interface HintSlices {
  readonly created: readonly DraftSlice[];
  readonly updated: readonly DraftSlice[];
  /** Ascending by name. */
  readonly unchanged: readonly StoredSlice[];
}
