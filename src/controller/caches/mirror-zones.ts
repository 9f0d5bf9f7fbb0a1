/**
 * `--mirroring-zones`: endpoints made by hand are in the zone of the node that they name (D26).
 * Which nodes those are only the planners know, so each is told the zones of all nodes, once, and then what changes.
 */
import type { Now } from '../event.ts';
import type { ControllerState, MirrorZones } from '../state.ts';
import { addWork } from '../queues/workqueue.ts';
import type { Sync, Unit } from './service-state.ts';
import type { MirrorFacts } from '../../core/mirroring/plan.ts';
import { allNodes, zoneOf } from '../../core/node-table.ts';
import type { NodeZone } from '../../shard/protocol.ts';

export function createMirrorZones(): MirrorZones {
  return { unitsByNode: new Map(), changes: 0 };
}

/** The node is new, gone, or elsewhere: every planner is told, and what has endpoints there is planned again. */
export function followZone(state: ControllerState, nodeName: string, now: Now): void {
  const { mirrorZones } = state;
  if (mirrorZones === null) return;
  mirrorZones.changes++;
  for (const { nodesToTell } of state.shards) nodesToTell.add(nodeName);
  for (const unit of mirrorZones.unitsByNode.get(nodeName) ?? []) planAgain(unit, now);
}

/** A new planner knows of no node. */
export function tellAllZones(state: ControllerState, nodesToTell: Set<string>): void {
  if (state.mirrorZones === null) return;
  for (const { name } of allNodes(state.nodes)) nodesToTell.add(name);
}

/** What the next batch tells; undefined = nothing. */
export function takeZones(state: ControllerState, nodesToTell: Set<string>): readonly NodeZone[] | undefined {
  if (nodesToTell.size === 0) return undefined;
  const zones = [...nodesToTell].map((node) => ({ node, zone: zoneOf(state.nodes, node) ?? '' }));
  nodesToTell.clear();
  return zones;
}

export function noteMirrorNodes(
  state: ControllerState,
  unit: Unit,
  before: MirrorFacts | undefined,
  after: MirrorFacts | undefined,
): void {
  if (state.mirrorZones === null) return;
  const { unitsByNode } = state.mirrorZones;
  for (const node of before?.nodes ?? []) {
    const units = unitsByNode.get(node);
    if (units?.delete(unit) === true && units.size === 0) unitsByNode.delete(node);
  }
  for (const node of after?.nodes ?? []) {
    const units = unitsByNode.get(node);
    if (units === undefined) unitsByNode.set(node, new Set([unit]));
    else units.add(unit);
  }
}

/** A node may have moved between the making of the plan and its answer, which first tells that the unit cares. */
export function recheckZones({ mirrorZones }: ControllerState, unit: Unit, sync: Sync, now: Now): void {
  if (mirrorZones !== null && mirrorZones.changes !== sync.zoneChanges) planAgain(unit, now);
}

function planAgain({ controller, item }: Unit, now: Now): void {
  if (controller.running) addWork(controller.queue, item, 'fresh', now.nowMs);
}
