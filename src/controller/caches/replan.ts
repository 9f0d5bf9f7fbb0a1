/**
 * Which units a change of the nodes concerns, beside those with pods on the node. Their last plans decide this. What is
 * reported of them has no part in it.
 */
import type { Now } from '../event.ts';
import { addCheck, addWork } from '../queues/workqueue.ts';
import type { Sync, Unit } from './service-state.ts';
import type { CpuShares } from '../../core/slices/cpu-shares.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';
import { overloaded } from '../../core/slices/zone-shares.ts';
import type { Facts } from '../../shard/protocol.ts';

export interface Replan {
  /** Units that have topology hints in at least one family, and units that want hints and have none. */
  readonly hinted: Set<Unit>;
  readonly unhinted: Set<Unit>;
  /** The CPU shares for which hints were looked at last. */
  shares: CpuShares | null;
  /** The units with mirrored endpoints on a node that have a zone. Nodes that do not exist are included. */
  readonly mirrorsByNode: Map<string, Set<Unit>>;
  /** Units with pods that stay for a while after their node is gone: no change of nodes takes them away sooner. */
  readonly lingering: Set<Unit>;
  /** Counts the nodes that were new, gone, or moved to another zone. */
  nodeChanges: number;
}

export function createReplan(): Replan {
  return {
    hinted: new Set(),
    unhinted: new Set(),
    shares: null,
    mirrorsByNode: new Map(),
    lingering: new Set(),
    nodeChanges: 0,
  };
}

/** Takes the facts of each plan; undefined = the unit is not planned any more. */
export function noteFacts({ hinted, unhinted, mirrorsByNode }: Replan, unit: Unit, facts: Facts | undefined): void {
  hinted.delete(unit);
  unhinted.delete(unit);
  for (const node of nodesOf(unit) ?? []) {
    const units = mirrorsByNode.get(node);
    if (units?.delete(unit) === true && units.size === 0) mirrorsByNode.delete(node);
  }
  unit.facts = facts;
  const slices = slicesOf(unit);
  if (slices !== undefined) {
    const { families, topology } = slices;
    if (families.some(({ hints }) => hints !== null)) hinted.add(unit);
    if (topology && families.some(({ hints }) => hints === null)) unhinted.add(unit);
  }
  for (const node of nodesOf(unit) ?? []) {
    const units = mirrorsByNode.get(node);
    if (units === undefined) mirrorsByNode.set(node, new Set([unit]));
    else units.add(unit);
  }
}

/** The facts of the last plan of slices; undefined = there was no plan, or the unit plans another output. */
function slicesOf({ facts }: Unit): SlicesFacts | undefined {
  return facts?.kind === 'slices' ? facts : undefined;
}

/**
 * The nodes of the mirrored endpoints that have zones in the last plan; undefined = there was no plan, or none has a
 * zone.
 */
function nodesOf({ facts }: Unit): readonly string[] | undefined {
  return facts?.kind === 'mirror' ? facts.nodes : undefined;
}

/** Whether the unit has slices to merge once the service is quiet. */
export function isFragmented(unit: Unit): boolean {
  return slicesOf(unit)?.fragmented === true;
}

/** Whether any unit wants hints by CPU. */
export function wantsHints({ hinted, unhinted }: Replan): boolean {
  return hinted.size + unhinted.size > 0;
}

/**
 * The CPU shares of the zones have changed. Services whose hints would overload a zone are planned again
 * (docs/spec/endpointslice.md "Overloaded services"). If there are shares, services that want hints and have none are
 * planned again too (D14): the change may let each zone have its minimum.
 */
export function followShares(replan: Replan, shares: CpuShares | null, now: Now): void {
  if (shares === replan.shares) return;
  replan.shares = shares;
  for (const unit of replan.hinted) if (isOverloaded(unit, shares)) planAgain(replan, unit, now);
  for (const unit of replan.unhinted) if (mayGetHints(unit, shares)) planAgain(replan, unit, now);
}

/** The node is new, gone, or in another zone: units with mirrored endpoints on it are planned again. */
export function followNode(replan: Replan, nodeName: string, now: Now): void {
  replan.nodeChanges++;
  for (const unit of replan.mirrorsByNode.get(nodeName) ?? []) planAgain(replan, unit, now);
}

/** A node of the unit's pods is gone. The unit is planned again after this time, or for another reason before. */
export function linger({ lingering }: Replan, unit: Unit, forMs: number, now: Now): void {
  const { controller, item } = unit;
  addCheck(controller.queue, item, 'chore', now.nowMs, forMs);
  lingering.add(unit);
}

/** The unit is planned: its pods whose node is gone go. */
export function endLingering({ lingering }: Replan, unit: Unit): void {
  lingering.delete(unit);
}

/**
 * Plans the unit once more if nodes changed while its plan was under way. Only the answer tells whether the unit
 * depends on them.
 */
export function recheck(replan: Replan, unit: Unit, sync: Sync, now: Now): void {
  if (isOvertaken(replan, unit, sync)) planAgain(replan, unit, now);
}

function isOvertaken({ hinted, unhinted, shares, nodeChanges }: Replan, unit: Unit, sync: Sync): boolean {
  if (nodeChanges !== sync.nodeChanges && nodesOf(unit) !== undefined) return true;
  if (shares === sync.shares) return false;
  return (hinted.has(unit) && isOverloaded(unit, shares)) || (unhinted.has(unit) && mayGetHints(unit, shares));
}

function isOverloaded(unit: Unit, shares: CpuShares | null): boolean {
  const families = slicesOf(unit)?.families ?? [];
  return families.some(({ hints }) => hints !== null && overloaded(hints, shares));
}

/** Where zones are more than endpoints, none get hints (docs/spec/endpointslice.md "Assignment"). */
function mayGetHints(unit: Unit, shares: CpuShares | null): boolean {
  const families = slicesOf(unit)?.families ?? [];
  return shares !== null && families.some(({ hints, endpoints }) => hints === null && endpoints >= shares.zones.length);
}

function planAgain({ lingering }: Replan, unit: Unit, now: Now): void {
  const { controller, item } = unit;
  if (controller.running && !lingering.has(unit)) addWork(controller.queue, item, 'fresh', now.nowMs);
}
