/**
 * Which pods are on a node, for a little more than 16 bytes a pod. Each node has a list of namespaces and names, which
 * are texts that others hold anyway. Removals collect and are carried out together, so none of them costs a search.
 */
import { assert } from '../lib/assert.ts';

export type PodsByNode = Map<string, PodList>;

interface PodList {
  /** Namespace, name, namespace, name, ...; as many as `used`, then room for more. */
  slots: string[];
  used: number;
  /** Pairs of namespace and name that are still in `slots`, one for each removal. */
  gone: string[];
}

/**
 * A list grows by an eighth of its length, and removals are carried out when they are an eighth of it. So both cost
 * O(1) a pod.
 */
const SLACK_SHARE = 8;
const SLACK_MIN = 8;

/** A pod that is already there must not be added again. */
export function addPodToNode(all: PodsByNode, nodeName: string, namespace: string, name: string): void {
  let list = all.get(nodeName);
  if (list === undefined) all.set(nodeName, (list = { slots: [], used: 0, gone: [] }));
  if (list.used === list.slots.length) list.slots = resized(list.slots, list.used, list.used + slack(list.used));
  list.slots[list.used++] = namespace;
  list.slots[list.used++] = name;
}

/** The pod must have been added to the node. */
export function removePodFromNode(all: PodsByNode, nodeName: string, namespace: string, name: string): void {
  const list = all.get(nodeName);
  assert(list !== undefined, 'a pod leaves the node that it was on');
  list.gone.push(namespace, name);
  if (list.gone.length === list.used) all.delete(nodeName);
  else if (list.gone.length > slack(list.used)) compact(list);
}

/** Namespace, name, namespace, name, ...; not to be changed, and not to be kept beyond the next change. */
export function podNamesOnNode(all: PodsByNode, nodeName: string): readonly string[] {
  const list = all.get(nodeName);
  if (list === undefined) return [];
  compact(list);
  return list.slots;
}

function slack(used: number): number {
  const room = Math.max(SLACK_MIN, Math.floor(used / SLACK_SHARE));
  return room + (room % 2);
}

/** A list of exactly that length. An array that V8 grows takes half as much again. */
function resized(slots: readonly string[], used: number, length: number): string[] {
  const copy = new Array<string>(length).fill('');
  for (let at = 0; at < used; at++) copy[at] = slots[at]!;
  return copy;
}

/** Carries out the removals, and takes the spare room away. */
function compact(list: PodList): void {
  const { slots, used, gone } = list;
  if (gone.length === 0) {
    if (used < slots.length) list.slots = resized(slots, used, used);
    return;
  }
  /** Name -> the namespaces in which a pod of that name was removed, one for each removal. */
  const namespacesByName = new Map<string, string[]>();
  for (let at = 0; at < gone.length; at += 2) {
    const namespaces = namespacesByName.get(gone[at + 1]!);
    if (namespaces === undefined) namespacesByName.set(gone[at + 1]!, [gone[at]!]);
    else namespaces.push(gone[at]!);
  }
  const kept = new Array<string>(used - gone.length).fill('');
  let to = 0;
  for (let at = 0; at < used; at += 2) {
    const namespaces = namespacesByName.get(slots[at + 1]!);
    const found = namespaces?.indexOf(slots[at]!) ?? -1;
    if (found >= 0) namespaces!.splice(found, 1);
    else {
      kept[to++] = slots[at]!;
      kept[to++] = slots[at + 1]!;
    }
  }
  list.slots = kept;
  list.used = to;
  list.gone = [];
}
