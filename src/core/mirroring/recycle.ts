import type { Endpoint, EndpointSlice } from '../../kube/types.ts';

export interface WantedSlice {
  readonly addressType: string;
  readonly endpoints: readonly Endpoint[];
}

/**
 * For each new slice a stored one that would be deleted: it becomes the new one, in one write instead of two
 * (docs/spec/endpointslice.md "Mirroring: writing"). Null where none is left of its address type. Of several it is the
 * one with the most of its addresses, so that they do not move between objects, then the first. Each is used once.
 */
export function recycle(
  wanted: readonly WantedSlice[],
  deletable: readonly EndpointSlice[],
): readonly (EndpointSlice | null)[] {
  const free = new Set(deletable);
  return wanted.map(({ addressType, endpoints }) => {
    if (free.size === 0) return null;
    const addresses = new Set(endpoints.flatMap((endpoint) => endpoint.addresses));
    let best: EndpointSlice | null = null;
    let bestShared = -1;
    for (const slice of free) {
      if (slice.addressType !== addressType) continue;
      const shared = sharedAddresses(slice, addresses);
      if (shared > bestShared) {
        best = slice;
        bestShared = shared;
      }
    }
    if (best !== null) free.delete(best);
    return best;
  });
}

function sharedAddresses(slice: EndpointSlice, addresses: ReadonlySet<string>): number {
  let count = 0;
  for (const endpoint of slice.endpoints ?? []) if (endpoint.addresses.some((ip) => addresses.has(ip))) count++;
  return count;
}
