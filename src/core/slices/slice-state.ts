/**
 * Slices as planning sees them: stored slices with a summary of their hints, and drafts of what will be written. Their
 * endpoints are shared and never change: a changed endpoint is a new object in the place of the old one.
 */
import type { Endpoint, EndpointSlice } from '../../kube/types.ts';
import { summarizeHints, type HintSummary } from './hint-summary.ts';

/** A slice on the server. This object never changes: what is acked, observed or shared is another object. */
export interface StoredSlice {
  readonly object: EndpointSlice;
  /** Made once. */
  readonly summary: HintSummary;
}

export function storeSlice(object: EndpointSlice): StoredSlice {
  return { object, summary: summarizeHints(object.endpoints ?? []) };
}

/**
 * The same slice, made of the endpoints that its service keeps anyway: what was read from the server is freed.
 * @param wanted equal to the slice's endpoints, in their order, but for the hints
 */
export function shareEndpoints(stored: StoredSlice, wanted: readonly Endpoint[]): StoredSlice {
  const { object, summary } = stored;
  const endpoints = object.endpoints ?? [];
  if (endpoints.every((endpoint, i) => endpoint.targetRef === wanted[i]!.targetRef)) return stored;
  const shared = endpoints.map((endpoint, i) => withHintsOf(endpoint, wanted[i]!));
  return { object: { ...object, endpoints: shared }, summary };
}

function withHintsOf({ hints }: Endpoint, wanted: Endpoint): Endpoint {
  return hints === undefined ? wanted : { ...wanted, hints };
}

/** The endpoints that a write will put into a slice. The planning of hints replaces elements of this list. */
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
