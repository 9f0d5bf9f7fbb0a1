import type { Endpoint, EndpointSlice } from '../../kube/types.ts';
import { endpointContentEqual, endpointIdentity } from '../slices/endpoint-identity.ts';

export interface PackedGroup {
  /** Stored slices that stay, with the endpoints that they should hold. */
  readonly kept: readonly PackedSlice[];
  /** Stored slices that are of no use any more. */
  readonly dropped: readonly EndpointSlice[];
  /** The endpoints of each new slice. */
  readonly created: readonly (readonly Endpoint[])[];
  /** How many endpoints this packing adds, updates and removes, compared with the stored slices. */
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
}

export interface PackedSlice {
  readonly slice: EndpointSlice;
  readonly endpoints: readonly Endpoint[];
  /** Whether the slice must be written. */
  readonly changed: boolean;
}

/**
 * Lays out the endpoints of one group of slices in as few writes as possible. An endpoint that a slice holds stays
 * there. New endpoints first fill slices that are written anyway, the fullest first. The rest goes into the one other
 * slice where it fits best, else into new slices. No slice holds more than `maxEndpointsPerSlice`, and none is left
 * empty.
 * @param stored in the order of preference; all are looked at
 * @param outdated whether a slice must be written for something else than its endpoints
 */
export function packGroup(
  desired: ReadonlyMap<string, Endpoint>,
  stored: readonly EndpointSlice[],
  maxEndpointsPerSlice: number,
  outdated: (slice: EndpointSlice) => boolean,
): PackedGroup {
  const left = new Map(desired);
  let updated = 0;
  let removed = 0;
  const slices = stored.map((slice): MutableSlice => {
    const endpoints: Endpoint[] = [];
    let changed = false;
    for (const has of slice.endpoints ?? []) {
      const identity = endpointIdentity(has);
      const wanted = left.get(identity);
      if (wanted === undefined || endpoints.length === maxEndpointsPerSlice) {
        removed++;
        changed = true;
        continue;
      }
      left.delete(identity);
      endpoints.push(wanted);
      if (!endpointContentEqual(has, wanted)) {
        updated++;
        changed = true;
      }
    }
    // An empty slice is written either way: filled, or deleted.
    return { slice, endpoints, changed: changed || endpoints.length === 0 || outdated(slice) };
  });
  const added = left.size;

  const rest = [...left.values()];
  const fill = (endpoints: Endpoint[]): void => {
    endpoints.push(...rest.splice(0, maxEndpointsPerSlice - endpoints.length));
  };
  const fullestFirst = slices.filter((slice) => slice.changed).sort((a, b) => b.endpoints.length - a.endpoints.length);
  for (const { endpoints } of fullestFirst) fill(endpoints);
  const created: Endpoint[][] = [];
  while (rest.length > 0) {
    const best = bestFit(slices, maxEndpointsPerSlice - rest.length);
    if (best === null) {
      const endpoints: Endpoint[] = [];
      fill(endpoints);
      created.push(endpoints);
    } else {
      fill(best.endpoints);
      best.changed = true;
    }
  }
  return {
    kept: slices.filter((slice) => slice.endpoints.length > 0),
    dropped: slices.filter((slice) => slice.endpoints.length === 0).map(({ slice }) => slice),
    created,
    added,
    updated,
    removed,
  };
}

interface MutableSlice {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
  changed: boolean;
}

/**
 * The fullest slice of at most `endpointsMax` endpoints, the first of equally full ones. Slices that are written anyway
 * are full by now, so they are never it.
 */
function bestFit(slices: readonly MutableSlice[], endpointsMax: number): MutableSlice | null {
  let best: MutableSlice | null = null;
  for (const slice of slices) {
    const count = slice.endpoints.length;
    if (count <= endpointsMax && (best === null || count > best.endpoints.length)) best = slice;
  }
  return best;
}
