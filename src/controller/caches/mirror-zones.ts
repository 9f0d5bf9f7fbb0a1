/**
 * `--mirroring-zones`: endpoints made by hand are in the zone of the node that they name (D26).
 * Which nodes those are only the planners know, so each is told the zones of all nodes, once, and then what changes.
 */
import type { ControllerOptions } from '../options.ts';
import type { ControllerState } from '../state.ts';
import { allNodes, zoneOf } from '../../core/node-table.ts';
import type { NodeZone } from '../../shard/protocol.ts';

export function hasMirrorZones({ mirroring, mirroringZones }: ControllerOptions): boolean {
  return mirroring && mirroringZones;
}

/** The node is new, gone, or elsewhere: every planner is told. */
export function tellZone({ options, shards }: ControllerState, nodeName: string): void {
  if (!hasMirrorZones(options)) return;
  for (const { nodesToTell } of shards) nodesToTell.add(nodeName);
}

/** A new planner knows of no node. */
export function tellAllZones({ options, nodes }: ControllerState, nodesToTell: Set<string>): void {
  if (!hasMirrorZones(options)) return;
  for (const { name } of allNodes(nodes)) nodesToTell.add(name);
}

/** What the next batch tells; undefined = nothing. */
export function takeZones({ nodes }: ControllerState, nodesToTell: Set<string>): readonly NodeZone[] | undefined {
  if (nodesToTell.size === 0) return undefined;
  const zones = [...nodesToTell].map((node) => ({ node, zone: zoneOf(nodes, node) ?? '' }));
  nodesToTell.clear();
  return zones;
}
