import type { Endpoint, EndpointSlice } from '../../kube/types.ts';

export interface WantedSlice {
  readonly addressType: string;
  readonly endpoints: readonly Endpoint[];
}

/** The slices of one address type that are not picked yet, by their places in `slices`. */
interface Free {
  readonly slices: readonly EndpointSlice[];
  readonly places: Set<number>;
  /** By address, those that have it. */
  readonly holders: ReadonlyMap<string, Set<number>>;
}

/** How many of the slices with one address are looked at, so that many with the same address cost no more than some. */
const HOLDERS_MAX = 100;

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
  if (wanted.length === 0 || deletable.length === 0) return wanted.map(() => null);
  const freeOf = new Map<string, Free>();
  for (const [addressType, slices] of Map.groupBy(deletable, (slice) => slice.addressType)) {
    freeOf.set(addressType, allFree(slices));
  }
  return wanted.map(({ addressType, endpoints }) => {
    const free = freeOf.get(addressType);
    const [first] = free?.places ?? [];
    if (free === undefined || first === undefined) return null;
    return pick(free, mostShared(free, addressesOf(endpoints)) ?? first);
  });
}

function allFree(slices: readonly EndpointSlice[]): Free {
  const holders = new Map<string, Set<number>>();
  slices.forEach(({ endpoints }, place) => {
    for (const ip of addressesOf(endpoints)) {
      const known = holders.get(ip);
      if (known === undefined) holders.set(ip, new Set([place]));
      else known.add(place);
    }
  });
  return { slices, places: new Set(slices.keys()), holders };
}

/** null = none has any of the addresses. */
function mostShared({ holders }: Free, addresses: ReadonlySet<string>): number | null {
  const shared = new Map<number, number>();
  for (const ip of addresses) {
    let looked = 0;
    for (const place of holders.get(ip) ?? []) {
      shared.set(place, (shared.get(place) ?? 0) + 1);
      if (++looked === HOLDERS_MAX) break;
    }
  }
  let best: number | null = null;
  for (const [place, count] of shared) {
    const most = best === null ? 0 : shared.get(best)!;
    if (count > most || (count === most && place < best!)) best = place;
  }
  return best;
}

function pick({ slices, places, holders }: Free, place: number): EndpointSlice {
  const slice = slices[place]!;
  places.delete(place);
  for (const ip of addressesOf(slice.endpoints)) holders.get(ip)!.delete(place);
  return slice;
}

function addressesOf(endpoints: readonly Endpoint[] | null | undefined): Set<string> {
  const addresses = new Set<string>();
  for (const endpoint of endpoints ?? []) for (const ip of endpoint.addresses) addresses.add(ip);
  return addresses;
}
