/** How much of the cluster's CPU each zone has, kept up node by node (docs/spec/endpointslice.md "CPU shares"). */
import { labelsGet } from '../../kube/labels.ts';
import { CONTROL_PLANE_LABELS, ZONE_LABEL } from '../../kube/names.ts';
import { divideUp, parseQuantityNano } from '../../kube/quantity.ts';
import type { NodeRecord } from '../../kube/types.ts';
import type { CpuShares } from './cpu-shares.ts';
import type { ZoneCount } from './facts.ts';
import { OVERLOAD_FACTOR } from './topology-hints.ts';

export interface ZoneShares {
  readonly zones: Map<string, ZoneSum>;
  cpuNanoTotal: bigint;
  /** How many nodes should count but lack a zone or their CPU. While there is one, there are no shares. */
  spoilers: number;
  /** The shares as last asked for, and whether anything has changed since. */
  shares: CpuShares | null;
  stale: boolean;
  version: number;
}

interface ZoneSum {
  cpuNano: bigint;
  nodes: number;
}

/**
 * What a node means for the shares. It counts for its zone, or it spoils all shares, or it does neither (both texts are
 * empty).
 */
export interface NodeShare {
  readonly zone: string;
  readonly cpuNano: bigint;
  /** What is wrong with the node, so that it spoils all shares; '' = nothing. */
  readonly spoils: string;
}

/** A node that does not exist, is not ready or belongs to the control plane. */
export const NO_SHARE: NodeShare = { zone: '', cpuNano: 0n, spoils: '' };
const NANO_PER_MILLI = 1_000_000n;

export function createZoneShares(): ZoneShares {
  return { zones: new Map(), cpuNanoTotal: 0n, spoilers: 0, shares: null, stale: false, version: 0 };
}

/** Cordoned and tainted nodes count. */
export function shareOf(node: NodeRecord): NodeShare {
  if (!node.ready) return NO_SHARE;
  for (const label of CONTROL_PLANE_LABELS) if (labelsGet(node.labels, label) !== undefined) return NO_SHARE;
  const zone = labelsGet(node.labels, ZONE_LABEL) ?? '';
  if (zone === '') return { zone, cpuNano: 0n, spoils: `label ${ZONE_LABEL} is missing or empty` };
  const cpuNano = node.allocatableCpu === '' ? 0n : parseQuantityNano(node.allocatableCpu);
  if (cpuNano === null) {
    return { zone, cpuNano: 0n, spoils: `status.allocatable.cpu is no quantity: ${node.allocatableCpu.slice(0, 40)}` };
  }
  if (cpuNano === 0n) return { zone, cpuNano, spoils: 'status.allocatable.cpu is missing or zero' };
  return { zone, cpuNano, spoils: '' };
}

/**
 * Replaces one node's part.
 * @returns whether the shares may have changed; always true if they have come or gone
 */
export function replaceShare(all: ZoneShares, before: NodeShare, after: NodeShare): boolean {
  if (before.zone === after.zone && before.cpuNano === after.cpuNano && before.spoils === after.spoils) return false;
  const had = hasShares(all);
  count(all, before, -1);
  count(all, after, 1);
  if (!had && !hasShares(all)) return false;
  all.stale = true;
  return true;
}

function count(all: ZoneShares, { zone, cpuNano, spoils }: NodeShare, by: 1 | -1): void {
  if (spoils !== '') all.spoilers += by;
  else if (zone !== '') {
    let sum = all.zones.get(zone);
    if (sum === undefined) all.zones.set(zone, (sum = { cpuNano: 0n, nodes: 0 }));
    sum.nodes += by;
    sum.cpuNano += by > 0 ? cpuNano : -cpuNano;
    all.cpuNanoTotal += by > 0 ? cpuNano : -cpuNano;
    if (sum.nodes === 0) all.zones.delete(zone);
  }
}

function hasShares({ spoilers, zones }: ZoneShares): boolean {
  return spoilers === 0 && zones.size >= 2;
}

/**
 * The shares; the same object while nothing changes. null = there are none: a node spoils them, or there are fewer than
 * two zones.
 */
export function sharesOf(all: ZoneShares): CpuShares | null {
  if (!all.stale) return all.shares;
  all.stale = false;
  if (!hasShares(all)) {
    all.shares = null;
    return null;
  }
  const total = milli(all.cpuNanoTotal);
  const zones = [...all.zones]
    .map(([zone, { cpuNano }]) => ({ zone, share: milli(cpuNano) / total }))
    .sort((a, b) => (a.zone < b.zone ? -1 : 1));
  const known = all.shares?.zones;
  const same =
    known !== undefined &&
    known.length === zones.length &&
    known.every(({ zone, share }, at) => zone === zones[at]!.zone && share === zones[at]!.share);
  if (!same) all.shares = { version: ++all.version, zones };
  return all.shares;
}

/** Rounded up, as upstream. */
function milli(nano: bigint): number {
  return Number(divideUp(nano, NANO_PER_MILLI));
}

/**
 * Whether some zone has fewer endpoints than its share of the CPU asks for (docs/spec/endpointslice.md "Overloaded
 * services").
 */
export function overloaded(counts: readonly ZoneCount[], shares: CpuShares | null): boolean {
  if (counts.length === 0) return false;
  if (shares === null || shares.zones.length === 0) return true;
  let total = 0;
  for (const { count } of counts) total += count;
  for (const { zone, share } of shares.zones) {
    const found = counts.find((counted) => counted.zone === zone);
    if (found === undefined || found.count < Math.ceil(total * share * OVERLOAD_FACTOR)) return true;
  }
  return false;
}
