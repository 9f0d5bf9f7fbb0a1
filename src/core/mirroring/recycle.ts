import type { Endpoint, EndpointSlice } from '../../kube/types.ts';

export interface WantedSlice {
  readonly addressType: string;
  readonly endpoints: readonly Endpoint[];
}

/**
 * Picks for each new slice a stored one that would be deleted. The stored slice becomes the new one, in one write
 * instead of two (docs/spec/endpointslice.md "Mirroring: writing"). null = no slice of that address type is left. The
 * slice that shares the most addresses is picked, so that few of them move between objects; of equal ones the first. No
 * slice is picked twice.
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
