/**
 * The nodes as the main thread keeps them: where each is, how much CPU each zone has, and which pods are on which node.
 */
import { labelsEqual, labelsGet } from '../kube/labels.ts';
import { ZONE_LABEL } from '../kube/names.ts';
import type { NodeRecord, PodRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { addPodToNode, podNamesOnNode, type PodsByNode, removePodFromNode } from './pods-by-node.ts';
import type { CpuShares } from './slices/cpu-shares.ts';
import {
  createZoneShares,
  NO_SHARE,
  replaceShare,
  shareOf,
  sharesOf,
  type NodeShare,
  type ZoneShares,
} from './slices/zone-shares.ts';

export interface NodeTable {
  readonly nodes: Map<string, Node>;
  readonly zoneShares: ZoneShares;
  /** Pods by the name of their node, even if there is no such node. */
  readonly podsByNode: PodsByNode;
}

interface Node {
  record: NodeRecord;
  zone: string;
  share: NodeShare;
}

export interface NodeChange {
  /** Whether the node is new or gone, or its zone label has changed. Then the endpoints on it change. */
  readonly placeChanged: boolean;
  /** Whether `currentShares` may give another object. It does if the shares have come or gone. */
  readonly sharesChanged: boolean;
  /**
   * Why this change of the node leaves all services without hints by CPU shares; '' = the node does not, or did so
   * before for the same reason.
   */
  readonly spoilsShares: string;
}

const NO_CHANGE: NodeChange = { placeChanged: false, sharesChanged: false, spoilsShares: '' };

export function createNodeTable(): NodeTable {
  return { nodes: new Map(), zoneShares: createZoneShares(), podsByNode: new Map() };
}

/** Takes a node that is new or changed. */
export function putNode(table: NodeTable, record: NodeRecord): NodeChange {
  const known = table.nodes.get(record.name);
  if (known === undefined) {
    const share = shareOf(record);
    table.nodes.set(record.name, { record, zone: zoneLabel(record), share });
    const sharesChanged = replaceShare(table.zoneShares, NO_SHARE, share);
    return { placeChanged: true, sharesChanged, spoilsShares: share.spoils };
  }
  const before = known.record;
  known.record = record;
  if (isHeartbeat(before, record)) return NO_CHANGE;
  const zone = zoneLabel(record);
  const share = shareOf(record);
  const placeChanged = zone !== known.zone;
  const spoilsShares = share.spoils === known.share.spoils ? '' : share.spoils;
  const sharesChanged = replaceShare(table.zoneShares, known.share, share);
  known.zone = zone;
  known.share = share;
  return { placeChanged, sharesChanged, spoilsShares };
}

/** Nothing that anyone reads has changed. */
function isHeartbeat(a: NodeRecord, b: NodeRecord): boolean {
  return a.ready === b.ready && a.allocatableCpu === b.allocatableCpu && labelsEqual(a.labels, b.labels);
}

/** Removes a node. Nothing changes if the node is not known. */
export function removeNode(table: NodeTable, name: string): NodeChange {
  const known = table.nodes.get(name);
  if (known === undefined) return NO_CHANGE;
  table.nodes.delete(name);
  const sharesChanged = replaceShare(table.zoneShares, known.share, NO_SHARE);
  return { placeChanged: true, sharesChanged, spoilsShares: '' };
}

export function getNode(table: NodeTable, name: string): NodeRecord | undefined {
  return table.nodes.get(name)?.record;
}

/** All nodes. The caller may remove the node just given before it asks for the next one. */
export function* allNodes(table: NodeTable): Iterable<NodeRecord> {
  for (const { record } of table.nodes.values()) yield record;
}

/** '' = the node has no zone label; null = there is no such node. */
export function zoneOf(table: NodeTable, nodeName: string): string | null {
  return table.nodes.get(nodeName)?.zone ?? null;
}

/** The CPU shares; the same object until they change. null = there are none, so no service has hints by them. */
export function currentShares(table: NodeTable): CpuShares | null {
  return sharesOf(table.zoneShares);
}

function zoneLabel(node: NodeRecord): string {
  return labelsGet(node.labels, ZONE_LABEL) ?? '';
}

/**
 * Takes a change of a pod: every change must be noted. undefined = the pod does not exist. Both records have the same
 * namespace and name.
 */
export function movePod(table: NodeTable, before: PodRecord | undefined, after: PodRecord | undefined): void {
  const left = before?.nodeName ?? '';
  const joined = after?.nodeName ?? '';
  if (left === joined) return;
  // The texts of the older record are taken, because the pod cache most likely has them as its keys.
  const { namespace, name } = (before ?? after)!;
  if (left !== '') removePodFromNode(table.podsByNode, left, namespace, name);
  if (joined !== '') addPodToNode(table.podsByNode, joined, namespace, name);
}

/**
 * The pods on a node, each once, whether the node is known or not. No pod may change while the caller iterates.
 * @param find the pod as it was last noted
 */
export function* podsOnNode(
  table: NodeTable,
  nodeName: string,
  find: (namespace: string, name: string) => PodRecord | undefined,
): Iterable<PodRecord> {
  const names = podNamesOnNode(table.podsByNode, nodeName);
  for (let at = 0; at < names.length; at += 2) {
    const pod = find(names[at]!, names[at + 1]!);
    assert(pod?.nodeName === nodeName, 'the pod is where it was noted');
    yield pod;
  }
}
