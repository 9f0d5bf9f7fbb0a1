/**
 * `--mirroring-zones`: a mirrored endpoint has the zone of the node that it names (D26). Only the planners know which
 * nodes are named. So each planner is told the zones of all nodes once, and afterwards each change.
 */
import type { ControllerOptions } from '../options.ts';
import type { ControllerState } from '../state.ts';
import { noteMovedNode } from '../syncs/planner-view.ts';
import { allNodes } from '../../core/node-table.ts';

function hasMirrorZones({ mirror, mirroringZones }: ControllerOptions): boolean {
  return mirror && mirroringZones;
}

/** Notes for every planner that the node is new, gone, or in another zone. */
export function noteZone({ options, shards }: ControllerState, nodeName: string): void {
  if (!hasMirrorZones(options)) return;
  for (const { view } of shards) noteMovedNode(view, nodeName);
}

/** The nodes whose zones a new planner has to be told. */
export function nodesWithZones({ options, nodes }: ControllerState): string[] {
  return hasMirrorZones(options) ? Array.from(allNodes(nodes), ({ name }) => name) : [];
}
