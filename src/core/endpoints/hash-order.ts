/**
 * The order of ports and subsets in an Endpoints object: by the FNV-1a-128 of a text dump of each
 * (docs/spec/endpoints.md "Repacking: order"). The dump is part of the contract with upstream. Strings stand in it raw,
 * and empty lists print like absent ones.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset, ObjectReference } from '../../kube/types.ts';
import { fnv1a128 } from '../../lib/hash.ts';

/** 32 hex digits: their text has the order of the hashes. */
export function portHash(port: EndpointPort): string {
  return fnv1a128(`(v1.EndpointPort)${portText(port)}`);
}

/** The time grows with the addresses: about 2 ms for 1,000. Addresses and ports must be in order already. */
export function subsetHash(subset: EndpointSubset): string {
  return fnv1a128(
    `(v1.EndpointSubset){Addresses:${listText('EndpointAddress', subset.addresses, addressText)}` +
      ` NotReadyAddresses:${listText('EndpointAddress', subset.notReadyAddresses, addressText)}` +
      ` Ports:${listText('EndpointPort', subset.ports, portText)}}`,
  );
}

/** The order of ports, or of subsets, by hash. */
export function compareHashed(a: { readonly hash: string }, b: { readonly hash: string }): number {
  return a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0;
}

/** A new list, in order. The usual list of one port costs no hash. */
export function portsInOrder(ports: readonly EndpointPort[]): EndpointPort[] {
  if (ports.length < 2) return [...ports];
  return ports
    .map((item) => ({ item, hash: portHash(item) }))
    .sort(compareHashed)
    .map(({ item }) => item);
}

/** A new list, in order. The usual list of one subset costs no hash. */
export function subsetsInOrder(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  if (subsets.length < 2) return [...subsets];
  return subsets
    .map((item) => ({ item, hash: subsetHash(item) }))
    .sort(compareHashed)
    .map(({ item }) => item);
}

function portText(port: EndpointPort): string {
  return (
    `{Name:(string)${port.name ?? ''} Port:(int32)${port.port} Protocol:(v1.Protocol)${port.protocol ?? ''}` +
    ` AppProtocol:(*string)${port.appProtocol ?? '<nil>'}}`
  );
}

function addressText(address: EndpointAddress): string {
  return (
    `{IP:(string)${address.ip} Hostname:(string)${address.hostname ?? ''} NodeName:(*string)${address.nodeName ?? '<nil>'}` +
    ` TargetRef:(*v1.ObjectReference)${address.targetRef === undefined ? '<nil>' : referenceText(address.targetRef)}}`
  );
}

function referenceText(reference: ObjectReference): string {
  return (
    `{Kind:(string)${reference.kind ?? ''} Namespace:(string)${reference.namespace ?? ''}` +
    ` Name:(string)${reference.name ?? ''} UID:(types.UID)${reference.uid ?? ''}` +
    ` APIVersion:(string)${reference.apiVersion ?? ''} ResourceVersion:(string)${reference.resourceVersion ?? ''}` +
    ` FieldPath:(string)${reference.fieldPath ?? ''}}`
  );
}

function listText<T>(type: string, items: readonly T[] | undefined, text: (item: T) => string): string {
  if (items === undefined || items.length === 0) return `([]v1.${type})<nil>`;
  let all = `([]v1.${type})[${text(items[0]!)}`;
  for (let i = 1; i < items.length; i++) all += ` ${text(items[i]!)}`;
  return `${all}]`;
}
