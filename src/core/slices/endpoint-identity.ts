import type { Endpoint } from '../../kube/types.ts';
import { referenceEqual } from '../reference-equal.ts';

/**
 * The identity of an endpoint: its addresses in any order, its hostname, and the namespace and name of its target
 * (docs/spec/endpointslice.md "Identity and equality"). Endpoints with the same identity are one endpoint, which is
 * updated in place. So a pod that comes back with its name and IP keeps its place.
 */
export function endpointIdentity(endpoint: Endpoint): string {
  const { addresses, targetRef } = endpoint;
  const address = addresses.length === 1 ? addresses[0]! : addresses.toSorted().join(',');
  return `${address}\0${endpoint.hostname ?? ''}\0${targetRef?.namespace ?? ''}\0${targetRef?.name ?? ''}`;
}

/**
 * Whether two endpoints of the same identity say the same. Hints do not count (docs/spec/endpointslice.md "Identity and
 * equality").
 */
export function endpointContentEqual(a: Endpoint, b: Endpoint): boolean {
  return (
    a === b ||
    (a.nodeName === b.nodeName &&
      a.zone === b.zone &&
      a.conditions?.ready === b.conditions?.ready &&
      a.conditions?.serving === b.conditions?.serving &&
      a.conditions?.terminating === b.conditions?.terminating &&
      (a.targetRef === b.targetRef ||
        (a.targetRef !== undefined && b.targetRef !== undefined && referenceEqual(a.targetRef, b.targetRef))))
  );
}

/** Whether both have the same identity. With one address each, no text is made. */
export function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  if (a === b) return true;
  if (a.targetRef?.name !== b.targetRef?.name || a.addresses.length !== b.addresses.length) return false;
  if (a.addresses.length !== 1) return endpointIdentity(a) === endpointIdentity(b);
  return (
    a.addresses[0] === b.addresses[0] &&
    (a.hostname ?? '') === (b.hostname ?? '') &&
    (a.targetRef?.namespace ?? '') === (b.targetRef?.namespace ?? '')
  );
}
