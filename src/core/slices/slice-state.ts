/**
 * Slices as planning sees them: what the server holds, with what hints need to know of it, and what will be written.
 * The endpoints in them are immutable and shared. Whoever changes one puts another in its place.
 */
import type { Endpoint, EndpointSlice } from '../../kube/types.ts';
import { summarizeHints, type HintSummary } from './hint-summary.ts';

/** A slice on the server. It never changes: an acknowledged or observed version is another one. */
export interface StoredSlice {
  readonly object: EndpointSlice;
  /** What hints need of it, found once. */
  readonly summary: HintSummary;
}

export function storeSlice(object: EndpointSlice): StoredSlice {
  return { object, summary: summarizeHints(object.endpoints ?? []) };
}

/** What a slice that will be written is to hold. Hints are put in and taken out in place. */
export interface DraftEndpoints {
  readonly endpoints: Endpoint[];
}

/** All slices that one address family of a service will have. */
export interface HintSlices {
  readonly created: readonly DraftEndpoints[];
  readonly updated: readonly DraftEndpoints[];
  /** Ascending by name. */
  readonly unchanged: readonly StoredSlice[];
}
