/**
 * When two lists of subsets say the same (docs/spec/endpoints.md "When nothing is written"). Order counts. An absent
 * list is an empty one. An absent nodeName or appProtocol is not an empty one. The resourceVersion of a targetRef does
 * not count. Objects that are the same in memory are not looked into.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../kube/types.ts';
import { referenceEqual } from '../reference-equal.ts';

export function subsetsEqual(a: readonly EndpointSubset[], b: readonly EndpointSubset[]): boolean {
  return listsEqual(a, b, subsetEqual);
}

function subsetEqual(a: EndpointSubset, b: EndpointSubset): boolean {
  return (
    listsEqual(a.ports, b.ports, portEqual) &&
    listsEqual(a.addresses, b.addresses, addressEqual) &&
    listsEqual(a.notReadyAddresses, b.notReadyAddresses, addressEqual)
  );
}

/** The resourceVersion of the targetRef does not count. */
export function addressEqual(a: EndpointAddress, b: EndpointAddress): boolean {
  return (
    a.ip === b.ip &&
    (a.hostname ?? '') === (b.hostname ?? '') &&
    a.nodeName === b.nodeName &&
    (a.targetRef === b.targetRef ||
      (a.targetRef !== undefined && b.targetRef !== undefined && referenceEqual(a.targetRef, b.targetRef)))
  );
}

function portEqual(a: EndpointPort, b: EndpointPort): boolean {
  return (
    a.port === b.port &&
    (a.name ?? '') === (b.name ?? '') &&
    (a.protocol ?? '') === (b.protocol ?? '') &&
    a.appProtocol === b.appProtocol
  );
}

function listsEqual<T>(
  a: readonly T[] | undefined,
  b: readonly T[] | undefined,
  equal: (a: T, b: T) => boolean,
): boolean {
  if (a === b) return true;
  const length = a?.length ?? 0;
  if (length !== (b?.length ?? 0)) return false;
  for (let i = 0; i < length; i++) {
    const x = a![i]!;
    const y = b![i]!;
    if (x !== y && !equal(x, y)) return false;
  }
  return true;
}
