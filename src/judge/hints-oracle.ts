/**
 * Whether hints by CPU shares are within the bounds of docs/spec/endpointslice.md "When hints apply", found the slow
 * way.
 */
import type { Endpoint, NodeRecord } from '../kube/types.ts';
import { toMap } from './oracle-rules.ts';

/** The share of the allocatable CPU by zone; null = no hints can be given. */
export type ZoneShares = ReadonlyMap<string, number> | null;

/** Computed as upstream computes it, so that the rounding is the same. */
const WITHOUT_OVERLOAD = 1 / (1 + 0.2);

export function oracleShares(nodes: Iterable<NodeRecord>): ZoneShares {
  const milliByZone = new Map<string, number>();
  let total = 0;
  for (const { labels, ready, allocatableCpu } of nodes) {
    const known = toMap(labels);
    if (known.has('node-role.kubernetes.io/control-plane') || known.has('node-role.kubernetes.io/master')) continue;
    if (!ready) continue;
    const zone = known.get('topology.kubernetes.io/zone') ?? '';
    const milli = milliCpu(allocatableCpu);
    if (zone === '' || !(milli > 0)) return null;
    milliByZone.set(zone, (milliByZone.get(zone) ?? 0) + milli);
    total += milli;
  }
  if (milliByZone.size < 2) return null;
  return new Map([...milliByZone].map(([zone, milli]) => [zone, milli / total]));
}

/**
 * What is wrong with the hints of all ready endpoints of one Service and address family; null = nothing. It is always
 * right that there are none: the obstacle to hints may have ended without a sync.
 */
export function judgeCpuHints(ready: readonly Endpoint[], shares: ZoneShares): string | null {
  if (ready.every(({ hints }) => zonesOf(hints).length === 0 && nodesOf(hints).length === 0)) return null;
  const counts = new Map<string, number>();
  for (const { hints, addresses, zone = '' } of ready) {
    const zones = zonesOf(hints);
    if (nodesOf(hints).length > 0) return `${addresses[0]}: hints for nodes, which topology-mode never gives`;
    if (zones.length !== 1) return `${addresses[0]}: ${zones.length} zone hints where others have one`;
    if (zone === '') return `${addresses[0]}: has no zone, so no endpoint may have a hint`;
    counts.set(zones[0]!, (counts.get(zones[0]!) ?? 0) + 1);
  }
  if (shares === null) return 'hints although there are no CPU shares';
  if (!overloaded(counts, ready.length, shares)) return null;
  return outOfBounds(counts, ready, shares);
}

/**
 * Whether an event of a Node would ask for a sync (docs/spec/endpointslice.md "Overloaded services"). If not, the hints
 * may come from an earlier sync, with other shares.
 */
function overloaded(counts: ReadonlyMap<string, number>, total: number, shares: ReadonlyMap<string, number>): boolean {
  return [...shares].some(([zone, share]) => (counts.get(zone) ?? 0) < Math.ceil(total * share * WITHOUT_OVERLOAD));
}

/**
 * The hints that no sync can leave (docs/spec/endpointslice.md "Allocation", "Assignment"). In an unchanged slice each
 * zone has at most its maximum. All other endpoints are moved until no zone has half an endpoint too much, or until
 * less than one endpoint for each receiver is left.
 */
function outOfBounds(
  counts: ReadonlyMap<string, number>,
  ready: readonly Endpoint[],
  shares: ReadonlyMap<string, number>,
): string | null {
  const n = ready.length;
  if (shares.size > n) return `hints for ${n} endpoints in ${shares.size} zones`;
  const minimum = new Map([...shares].map(([zone, share]) => [zone, Math.ceil(share * n * WITHOUT_OVERLOAD)]));
  const minimumTotal = [...minimum.values()].reduce((sum, value) => sum + value, 0);
  if (minimumTotal > n) return `hints although the zones need ${minimumTotal} endpoints and there are ${n}`;
  const own = new Set(ready.map(({ zone }) => zone));
  for (const [zone, count] of counts) {
    const share = shares.get(zone);
    if (share === undefined) {
      if (own.has(zone)) continue;
      return `hints for zone ${zone}, which has no CPU`;
    }
    const desired = Math.max(share * n, minimum.get(zone)!);
    const maximum = minimum.get(zone)! + n - minimumTotal;
    const most = Math.max(maximum, desired + Math.max(1, (shares.size - 1) / 2));
    if (count > most) return `${count} hints for zone ${zone}, at most ${Math.floor(most)} are allowed`;
  }
  return null;
}

function zonesOf(hints: Endpoint['hints']): readonly string[] {
  return (hints?.forZones ?? []).map(({ name }) => name);
}

function nodesOf(hints: Endpoint['hints']): readonly string[] {
  return (hints?.forNodes ?? []).map(({ name }) => name);
}

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};

/** Thousandths of a quantity, rounded up; NaN = the text is no quantity. */
function milliCpu(quantity: string): number {
  const parts = /^\+?([0-9]+\.?[0-9]*|\.[0-9]+)(.*)$/.exec(quantity);
  if (parts === null) return NaN;
  const [, digits, suffix] = parts;
  if (/^[eE][-+]?[0-9]+$/.test(suffix!)) return roundUp(Number(digits! + suffix!) * 1000);
  const power = BINARY.indexOf(suffix!);
  return roundUp(Number(digits) * 1000 * (power < 0 ? (DECIMAL[suffix!] ?? NaN) : 1024 ** (power + 1)));
}

/** Rounds up. A tiny rest counts as none: decimal fractions lose it as doubles. */
function roundUp(milli: number): number {
  const near = Math.round(milli);
  return Math.abs(milli - near) < 1e-6 ? near : Math.ceil(milli);
}
