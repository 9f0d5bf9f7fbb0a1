/**
 * Upstream's two ways to give endpoints hints: by the CPU of zones (docs/spec/endpointslice.md "When hints apply") and
 * by trafficDistribution (docs/spec/endpointslice.md "Traffic distribution"). A slow port to judge ours by: it shares
 * nothing with `src/core`.
 */
import { CONTROL_PLANE_LABELS, ZONE_LABEL } from '../../src/kube/names.ts';
import type { Endpoint, EndpointHints, EndpointSlice, NodeRecord } from '../../src/kube/types.ts';
import { type Luck, shuffled } from './upstream-draw.ts';
import { isReady } from './upstream-endpoints.ts';

/** Zone to share; null = nodes do not tell enough; empty = never computed. */
export type UpstreamShares = ReadonlyMap<string, number> | null;

/** What is to be written of one service and family, and what else there is. */
export interface WorkingSet {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly unchanged: readonly EndpointSlice[];
}

const OVERLOAD = 0.2;
const FACTOR = 1 / (1 + OVERLOAD);

export function upstreamShares(nodes: readonly NodeRecord[]): UpstreamShares {
  const millis = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const labels = new Map(pairs(node.labels));
    if (CONTROL_PLANE_LABELS.some((label) => labels.has(label)) || !node.ready) continue;
    const zone = labels.get(ZONE_LABEL) ?? '';
    const cpu = milliCpu(node.allocatableCpu);
    if (zone === '' || cpu === 0) return null;
    millis.set(zone, (millis.get(zone) ?? 0) + cpu);
    total += cpu;
  }
  if (millis.size < 2) return null;
  const sorted = [...millis].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([zone, cpu]) => [zone, cpu / total]));
}

/** Plain numbers and milli only: all that tests use. */
function milliCpu(text: string): number {
  if (text === '') return 0;
  return Math.ceil(text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1000);
}

export function pairs(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!]);
}

/** Whether recorded counts of hints call for another sync (docs/spec/endpointslice.md "Overloaded services"). */
export function isOverloaded(counts: ReadonlyMap<string, number>, shares: UpstreamShares): boolean {
  if (counts.size === 0) return false;
  if (shares === null || shares.size === 0) return true;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return [...shares].some(([zone, share]) => {
    const count = counts.get(zone);
    return count === undefined || count < Math.ceil(total * share * FACTOR);
  });
}

export interface Allocation {
  readonly minimum: number;
  readonly maximum: number;
  readonly desired: number;
}

/**
 * How many of `n` ready endpoints each zone is to have; a text = why that cannot be (docs/spec/endpointslice.md
 * "Allocation").
 */
export function allocate(shares: UpstreamShares, n: number): Map<string, Allocation> | string {
  if (shares === null) {
    return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  }
  if (shares.size < 2) return 'Nodes only ready in one zone';
  const sizes = `(${n} endpoints, ${shares.size} zones)`;
  if (shares.size > n) return `Insufficient number of endpoints ${sizes}`;
  const drafts = [...shares].map(([zone, share]) => {
    const expected = share * n;
    const minimum = Math.ceil(expected * FACTOR);
    return { zone, minimum, desired: Math.max(expected, minimum) };
  });
  const spare = n - drafts.reduce((sum, { minimum }) => sum + minimum, 0);
  if (spare < 0) {
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${sizes}`;
  }
  return new Map(drafts.map(({ zone, minimum, desired }) => [zone, { minimum, maximum: minimum + spare, desired }]));
}

export interface Hinted {
  readonly create: EndpointSlice[];
  readonly update: EndpointSlice[];
  /** Hints by zone; null = there are none. */
  readonly counts: Map<string, number> | null;
  /** Why there are none; '' = there are. */
  readonly failure: string;
}

/** Hints by the CPU of zones for one service and family (docs/spec/endpointslice.md "Allocation", "Assignment"). */
export function addHints(set: WorkingSet, shares: UpstreamShares, luck: Luck): Hinted {
  const ready = [...set.create, ...set.update, ...set.unchanged].flatMap((slice) => endpointsOf(slice)).filter(isReady);
  const allocations = allocate(shares, ready.length);
  if (typeof allocations === 'string') return { ...removeHints(set), counts: null, failure: allocations };

  const counts = new Map<string, number>();
  const update = [...set.update];
  const unchanged: EndpointSlice[] = [];
  for (const slice of set.unchanged) {
    const hints = acceptableHints(slice, counts, allocations);
    if (hints === null) {
      update.push(slice);
      continue;
    }
    unchanged.push(slice);
    for (const [zone, count] of hints) increase(counts, zone, count);
  }

  const slices = [...set.create, ...update].map((slice) => endpointsOf(slice).slice());
  for (const endpoints of slices) {
    for (const [i, endpoint] of endpoints.entries()) {
      if (!isReady(endpoint)) continue;
      const zone = endpoint.zone ?? '';
      if (zone === '') {
        const failure = 'One or more endpoints do not have a zone specified';
        return { ...removeHints({ create: set.create, update, unchanged }), counts: null, failure };
      }
      increase(counts, zone, 1);
      endpoints[i] = withHints(endpoint, { forZones: [{ name: zone }] });
    }
  }
  const { give, receive } = givingAndReceiving(allocations, counts, luck);
  redistribute(slices, give, receive, counts, luck);

  const rewrite = (slice: EndpointSlice, at: number): EndpointSlice => ({ ...slice, endpoints: slices[at]! });
  return {
    create: set.create.map(rewrite),
    update: update.map((slice, i) => rewrite(slice, set.create.length + i)),
    counts,
    failure: '',
  };
}

/** Null = the slice has to be written again. */
function acceptableHints(
  slice: EndpointSlice,
  running: ReadonlyMap<string, number>,
  allocations: ReadonlyMap<string, Allocation>,
): Map<string, number> | null {
  const hints = new Map<string, number>();
  for (const endpoint of endpointsOf(slice)) {
    if (!isReady(endpoint)) continue;
    const zones = endpoint.hints?.forZones ?? [];
    if (zones.length === 0) return null;
    for (const { name } of zones) {
      if (!allocations.has(name)) return null;
      increase(hints, name, 1);
    }
  }
  for (const [zone, count] of hints) {
    if (count + (running.get(zone) ?? 0) > allocations.get(zone)!.maximum) return null;
  }
  return hints;
}

/** How many hints each zone gives and gets (docs/spec/endpointslice.md "Assignment"). */
export function givingAndReceiving(
  allocations: ReadonlyMap<string, { readonly desired: number }>,
  counts: ReadonlyMap<string, number>,
  luck: Luck,
): { give: Map<string, number>; receive: Map<string, number> } {
  const surplus = new Map<string, number>();
  const need = new Map<string, number>();
  for (const [zone, { desired }] of allocations) {
    const count = counts.get(zone) ?? 0;
    if (count > desired) surplus.set(zone, count - desired);
    if (count < desired) need.set(zone, desired - count);
  }
  const give = new Map<string, number>();
  const receive = new Map<string, number>();
  while (true) {
    const [from, most] = greatest(surplus, luck);
    const [to, least] = greatest(need, luck);
    if (from === '' || to === '' || (most < 1 && least < 1) || most < 0.5 || least < 0.5) return { give, receive };
    increase(give, from, 1);
    increase(surplus, from, -1);
    increase(receive, to, 1);
    increase(need, to, -1);
  }
}

function greatest(zones: ReadonlyMap<string, number>, luck: Luck): readonly [string, number] {
  let best: readonly [string, number] = ['', 0];
  for (const entry of shuffled(zones, luck)) if (entry[1] > best[1]) best = entry;
  return best;
}

function redistribute(
  slices: readonly Endpoint[][],
  give: Map<string, number>,
  receive: Map<string, number>,
  counts: Map<string, number>,
  luck: Luck,
): void {
  const isOpen = ([, count]: readonly [string, number]): boolean => count > 0;
  for (const endpoints of slices) {
    for (const [i, endpoint] of endpoints.entries()) {
      if (!isReady(endpoint)) continue;
      const from = endpoint.zone!;
      const to = shuffled(receive, luck).find(isOpen)?.[0];
      if (to === undefined || ![...give].some(isOpen)) return;
      if ((give.get(from) ?? 0) <= 0) continue;
      endpoints[i] = withHints(endpoint, { forZones: [{ name: to }] });
      increase(give, from, -1);
      increase(receive, to, -1);
      increase(counts, from, -1);
      increase(counts, to, 1);
    }
  }
}

/** Nobody is to have hints (docs/spec/endpointslice.md "Failure and switching off"). */
export function removeHints(set: WorkingSet): { create: EndpointSlice[]; update: EndpointSlice[] } {
  const strip = (slice: EndpointSlice): EndpointSlice => ({
    ...slice,
    endpoints: endpointsOf(slice).map((endpoint) => withHints(endpoint, undefined)),
  });
  const hinted = set.unchanged.filter((slice) => endpointsOf(slice).some(({ hints }) => isPresent(hints)));
  return { create: set.create.map(strip), update: [...set.update, ...hinted].map(strip) };
}

export const TRAFFIC_DISTRIBUTIONS: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];

/** Hints by where each ready endpoint is (docs/spec/endpointslice.md "Traffic distribution"). */
export function distributeTraffic(set: WorkingSet, mode: string): { create: EndpointSlice[]; update: EndpointSlice[] } {
  const wanted = ({ zone, nodeName }: Endpoint): EndpointHints | undefined => {
    const forZones = zone === undefined ? undefined : [{ name: zone }];
    const forNodes = nodeName === undefined || mode !== 'PreferSameNode' ? undefined : [{ name: nodeName }];
    if (forZones === undefined && forNodes === undefined) return undefined;
    return { ...(forZones && { forZones }), ...(forNodes && { forNodes }) };
  };
  const isWrong = (endpoint: Endpoint): boolean =>
    isReady(endpoint) && hintText(endpoint.hints) !== hintText(wanted(endpoint));
  const hint = (slice: EndpointSlice): EndpointSlice => ({
    ...slice,
    endpoints: endpointsOf(slice).map((endpoint) =>
      isReady(endpoint) ? withHints(endpoint, wanted(endpoint)) : endpoint,
    ),
  });
  const wrong = set.unchanged.filter((slice) => endpointsOf(slice).some(isWrong));
  return { create: set.create.map(hint), update: [...set.update, ...wrong].map(hint) };
}

/** Absent and empty lists are the same. */
function hintText(hints: EndpointHints | null | undefined): string {
  const names = (list: readonly { readonly name: string }[] | null | undefined): string[] =>
    (list ?? []).map(({ name }) => name);
  return JSON.stringify([names(hints?.forZones), names(hints?.forNodes)]);
}

function withHints(endpoint: Endpoint, hints: EndpointHints | undefined): Endpoint {
  const { hints: _, ...bare } = endpoint;
  return hints === undefined ? bare : { ...bare, hints };
}

function endpointsOf(slice: EndpointSlice): readonly Endpoint[] {
  return slice.endpoints ?? [];
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function increase(counts: Map<string, number>, zone: string, by: number): void {
  counts.set(zone, (counts.get(zone) ?? 0) + by);
}
