/**
 * Hints in proportion to the CPU of the zones, for Services with `topology-mode: Auto` (docs/spec/endpointslice.md
 * "When hints apply"). Each zone gets so many ready endpoints that they carry at most a fifth more load than with an
 * even spread. As few endpoints as possible get a hint for another zone than their own.
 */
import type { Endpoint, EndpointHints } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import type { CpuShares } from './cpu-shares.ts';
import type { ZoneCount } from './facts.ts';
import { hasHints, isJust, isReady, withoutHints, zoneCounts, type HintSummary } from './hint-summary.ts';
import type { HintSlices, StoredSlice } from './slice-state.ts';

export interface HintResult {
  /** Slices that would have stayed as they are and get other hints. */
  readonly touched: readonly TouchedSlice[];
  /** Ready endpoints by the zone that they are meant for; null = no hints by CPU shares. */
  readonly hints: readonly ZoneCount[] | null;
  /** Why wanted hints are missing, in upstream's words without the address type; '' = none are missing. */
  readonly failure: string;
}

export interface TouchedSlice {
  readonly stored: StoredSlice;
  readonly endpoints: readonly Endpoint[];
}

/**
 * The part of its even share of endpoints that a zone needs at least. Its endpoints then carry at most a fifth more
 * load than with an even spread (docs/spec/endpointslice.md "Allocation").
 */
export const OVERLOAD_FACTOR = 1 / (1 + 0.2);

/** How many of a service's ready endpoints a zone may get. `desired` may have a fraction. */
export interface ZoneAllocation {
  readonly zone: string;
  readonly desired: number;
  readonly minimum: number;
  readonly maximum: number;
}

/**
 * Gives hints to every ready endpoint of slices that are written anyway, and of slices whose hints cannot stay. If
 * hints are impossible, all of them are taken away, and `failure` says why.
 */
export function allotHints(slices: HintSlices, shares: CpuShares | null): HintResult {
  const drafts = [...slices.created, ...slices.updated].map((draft) => draft.endpoints);
  let ready = 0;
  for (const endpoints of drafts) for (const endpoint of endpoints) if (isReady(endpoint)) ready++;
  for (const { summary } of slices.unchanged) ready += summary.ready;
  const allocations = allocateZones(ready, shares);
  if (typeof allocations === 'string') return { ...stripHints(slices), failure: allocations };

  const maximums = new Map(allocations.map(({ zone, maximum }) => [zone, maximum]));
  const counts = new Map<string, number>();
  const redone: { readonly stored: StoredSlice; readonly endpoints: Endpoint[] }[] = [];
  for (const stored of slices.unchanged) {
    if (isAcceptable(stored.summary, counts, maximums)) {
      for (const { zone, count } of stored.summary.hintZones) counts.set(zone, (counts.get(zone) ?? 0) + count);
    } else redone.push({ stored, endpoints: [...(stored.object.endpoints ?? [])] });
  }

  for (const { endpoints } of redone) drafts.push(endpoints);
  for (const endpoints of drafts) {
    for (const endpoint of endpoints) {
      if (!isReady(endpoint)) continue;
      const { zone } = endpoint;
      if (zone === undefined || zone === null || zone === '') return { ...stripHints(slices), failure: NO_ZONE };
      counts.set(zone, (counts.get(zone) ?? 0) + 1);
    }
  }
  assignZones(drafts, counts, givingAndReceiving(allocations, counts));

  const touched = redone.filter(({ stored, endpoints }) =>
    endpoints.some((endpoint, at) => endpoint !== stored.object.endpoints![at]),
  );
  return { touched, hints: zoneCounts(counts), failure: '' };
}

/** Takes the hints off all endpoints, ready or not (docs/spec/endpointslice.md "Failure and switching off"). */
export function stripHints(slices: HintSlices): HintResult {
  for (const { endpoints } of slices.created) stripAll(endpoints);
  for (const { endpoints } of slices.updated) stripAll(endpoints);
  const touched: TouchedSlice[] = [];
  for (const stored of slices.unchanged) {
    if (!stored.summary.anyHints) continue;
    touched.push({ stored, endpoints: (stored.object.endpoints ?? []).map(withoutHints) });
  }
  return { touched, hints: null, failure: '' };
}

function stripAll(endpoints: Endpoint[]): void {
  for (let at = 0; at < endpoints.length; at++)
    if (hasHints(endpoints[at]!)) endpoints[at] = withoutHints(endpoints[at]!);
}

const NO_ZONE = 'One or more endpoints do not have a zone specified';

/**
 * How many of the ready endpoints each zone gets (docs/spec/endpointslice.md "Allocation"), or why there can be no
 * hints, in upstream's words.
 */
export function allocateZones(ready: number, shares: CpuShares | null): readonly ZoneAllocation[] | string {
  if (shares === null) {
    return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  }
  const { zones } = shares;
  if (zones.length < 2) return 'Nodes only ready in one zone';
  const figures = `(${ready} endpoints, ${zones.length} zones)`;
  if (zones.length > ready) return `Insufficient number of endpoints ${figures}`;
  let minimumTotal = 0;
  const wanted = zones.map(({ zone, share }) => {
    // This order of operations gives the same doubles as upstream's.
    const expected = share * ready;
    const minimum = Math.ceil(expected * OVERLOAD_FACTOR);
    minimumTotal += minimum;
    return { zone, minimum, desired: Math.max(expected, minimum) };
  });
  if (minimumTotal > ready) {
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${figures}`;
  }
  return wanted.map(({ zone, desired, minimum }) => {
    return { zone, desired, minimum, maximum: minimum + ready - minimumTotal };
  });
}

/**
 * Whether a slice may keep its hints beside those counted so far. A hint for the endpoint's own zone is right even if
 * that zone has no share. No other hint would be given. Upstream writes such a slice with every sync (D41). Hints for
 * nodes are wrong: an earlier setting has left them, and kube-proxy would still follow them. Upstream leaves them until
 * the slice changes.
 */
function isAcceptable(
  summary: HintSummary,
  counts: ReadonlyMap<string, number>,
  maximums: ReadonlyMap<string, number>,
): boolean {
  if (!summary.everyReadyHasZoneHint || summary.nodeHints) return false;
  for (const { zone, count } of summary.hintZones) {
    const maximum = maximums.get(zone);
    if (maximum === undefined) {
      if (summary.foreignZones.includes(zone)) return false;
    } else if (count + (counts.get(zone) ?? 0) > maximum) return false;
  }
  return true;
}

/** By zone: how many endpoints it is to give to other zones, or to receive from them. */
export interface Exchange {
  readonly giving: Map<string, number>;
  readonly receiving: Map<string, number>;
}

/**
 * The zones whose counts differ so much from what is desired that moving whole endpoints helps
 * (docs/spec/endpointslice.md "Assignment").
 */
export function givingAndReceiving(
  allocations: readonly Pick<ZoneAllocation, 'zone' | 'desired'>[],
  counts: ReadonlyMap<string, number>,
): Exchange {
  const surpluses: Imbalance[] = [];
  const needs: Imbalance[] = [];
  for (const { zone, desired } of allocations) {
    const surplus = (counts.get(zone) ?? 0) - desired;
    if (surplus > 0) surpluses.push({ zone, left: surplus });
    else if (surplus < 0) needs.push({ zone, left: -surplus });
  }
  const giving = new Map<string, number>();
  const receiving = new Map<string, number>();
  for (;;) {
    const giver = most(surpluses);
    const receiver = most(needs);
    if (giver === undefined || receiver === undefined) return { giving, receiving };
    if (giver.left < 1 && receiver.left < 1) return { giving, receiving };
    if (giver.left < 0.5 || receiver.left < 0.5) return { giving, receiving };
    giver.left--;
    receiver.left--;
    giving.set(giver.zone, (giving.get(giver.zone) ?? 0) + 1);
    receiving.set(receiver.zone, (receiving.get(receiver.zone) ?? 0) + 1);
  }
}

interface Imbalance {
  readonly zone: string;
  left: number;
}

/** The zone with the largest number above 0; of equal ones the first. */
function most(zones: readonly Imbalance[]): Imbalance | undefined {
  let largest: Imbalance | undefined;
  for (const zone of zones) if (zone.left > (largest?.left ?? 0)) largest = zone;
  return largest;
}

/**
 * Gives each ready endpoint its own zone as hint. While that zone has endpoints to give, the endpoint gets the zone
 * that needs most. Uses up the exchange. Corrects `counts`, which has every endpoint of `lists` under its own zone.
 */
function assignZones(lists: readonly Endpoint[][], counts: Map<string, number>, { giving, receiving }: Exchange): void {
  const receivers = [...receiving].map(([zone, left]) => ({ zone, left })).sort((a, b) => (a.zone < b.zone ? -1 : 1));
  const hints = new Map<string, EndpointHints>();
  for (const endpoints of lists) {
    for (let at = 0; at < endpoints.length; at++) {
      const endpoint = endpoints[at]!;
      if (!isReady(endpoint)) continue;
      const own = endpoint.zone!;
      let zone = own;
      const toGive = giving.get(own) ?? 0;
      if (toGive > 0) {
        const receiver = most(receivers);
        assert(receiver !== undefined, 'as many are received as given');
        giving.set(own, toGive - 1);
        receiver.left--;
        zone = receiver.zone;
        counts.set(own, counts.get(own)! - 1);
        counts.set(zone, (counts.get(zone) ?? 0) + 1);
      }
      if (isJust(endpoint.hints?.forZones, zone) && isJust(endpoint.hints?.forNodes, undefined)) continue;
      let shared = hints.get(zone);
      if (shared === undefined) hints.set(zone, (shared = { forZones: [{ name: zone }] }));
      endpoints[at] = { ...endpoint, hints: shared };
    }
  }
}
