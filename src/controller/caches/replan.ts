/**
 * Which units a change of the nodes concerns, beside those with pods on the node. Their last plans decide it, and
 * nothing that is reported of them.
 */
import type { Now } from '../event.ts';
import { addWork } from '../queues/workqueue.ts';
import type { Sync, Unit } from './service-state.ts';
import type { CpuShares } from '../../core/slices/cpu-shares.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';
import { overloaded } from '../../core/slices/zone-shares.ts';
import type { Facts } from '../../shard/protocol.ts';

export interface Replan {
  /** Units that have topology hints in a family at least, and units that want them and have none. */
  readonly hinted: Set<Unit>;
  readonly unhinted: Set<Unit>;
  /** CPU shares when hints were looked at last. */
  shares: CpuShares | null;
  /** By node: the units that mirror endpoints on it with their zones. Nodes that do not exist are in it too. */
  readonly mirrorsByNode: Map<string, Set<Unit>>;
  /** How often a node was new, gone or elsewhere. */
  moves: number;
}

export function createReplan(): Replan {
  return { hinted: new Set(), unhinted: new Set(), shares: null, mirrorsByNode: new Map(), moves: 0 };
}

/** Takes what each plan says; undefined = the unit is not planned any more. */
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

/** What the last plan says of the slices; undefined = there was no plan, or the output is another. */
function slicesOf({ facts }: Unit): SlicesFacts | undefined {
  return facts !== undefined && 'families' in facts ? facts : undefined;
}

/**
 * The nodes of the mirrored endpoints with zones in the last plan; undefined = there was no plan, or they have no
 * zones.
 */
function nodesOf({ facts }: Unit): readonly string[] | undefined {
  return facts !== undefined && 'nodes' in facts ? facts.nodes : undefined;
}

/** Whether there are slices to merge once the service is quiet. */
export function isFragmented(unit: Unit): boolean {
  return slicesOf(unit)?.fragmented === true;
}

/** Whether any unit wants hints by CPU. */
export function wantsHints({ hinted, unhinted }: Replan): boolean {
  return hinted.size + unhinted.size > 0;
}

/**
 * The CPU shares of the zones have changed. Services whose hints would overload a zone are planned again
 * (docs/spec/endpointslice.md "Overloaded services"). While there are shares, so are those that want hints and have
 * none (D14): any change of the shares may be what lets each zone have its minimum.
 */
export function followShares(replan: Replan, shares: CpuShares | null, now: Now): void {
  if (shares === replan.shares) return;
  replan.shares = shares;
  for (const unit of replan.hinted) if (isOverloaded(unit, shares)) planAgain(unit, now);
  if (shares !== null) for (const unit of replan.unhinted) planAgain(unit, now);
}

/** The node is new, gone or elsewhere: the units with mirrored endpoints on it are planned again. */
export function followNode(replan: Replan, nodeName: string, now: Now): void {
  replan.moves++;
  for (const unit of replan.mirrorsByNode.get(nodeName) ?? []) planAgain(unit, now);
}

/**
 * Nodes may have changed between the making of the plan and its answer, and only the answer tells that the unit cares.
 */
export function recheck(replan: Replan, unit: Unit, sync: Sync, now: Now): void {
  if (isOvertaken(replan, unit, sync)) planAgain(unit, now);
}

function isOvertaken({ hinted, unhinted, shares, moves }: Replan, unit: Unit, sync: Sync): boolean {
  if (moves !== sync.nodeMoves && nodesOf(unit) !== undefined) return true;
  if (shares === sync.shares) return false;
  return (hinted.has(unit) && isOverloaded(unit, shares)) || (unhinted.has(unit) && shares !== null);
}

function isOverloaded(unit: Unit, shares: CpuShares | null): boolean {
  const families = slicesOf(unit)?.families ?? [];
  return families.some(({ hints }) => hints !== null && overloaded(hints, shares));
}

function planAgain({ controller, item }: Unit, now: Now): void {
  if (controller.running) addWork(controller.queue, item, 'fresh', now.nowMs);
}
