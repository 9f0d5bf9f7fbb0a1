import type { EndpointAddress, EndpointPort } from '../../kube/types.ts';

/** Of two addresses with the same key, only the first is kept (docs/spec/endpoints.md "Repacking: groups"). */
export function addressKey(address: EndpointAddress): string {
  return `${address.ip}\0${uidOf(address)}`;
}

/** Unlike an absent appProtocol, an empty one counts. */
export function portKey(port: EndpointPort): string {
  const appProtocol = port.appProtocol === undefined ? '' : `=${port.appProtocol}`;
  return `${port.name ?? ''}\0${port.port}\0${port.protocol ?? ''}\0${appProtocol}`;
}

/**
 * Gives the keys of one stored object's ports, each of which must be asked for once. Upstream compares decoded ports,
 * in which appProtocol is a pointer. So a port with an appProtocol equals no other.
 */
export function storedPortKeys(): (port: EndpointPort) => string {
  let count = 0;
  return (port) => (port.appProtocol === undefined ? portKey(port) : `${portKey(port)}\0${count++}`);
}

/** The order of addresses: by the bytes of the IP text, then of the uid. */
export function compareAddresses(a: EndpointAddress, b: EndpointAddress): number {
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1;
  const aUid = uidOf(a);
  const bUid = uidOf(b);
  return aUid < bUid ? -1 : aUid > bUid ? 1 : 0;
}

function uidOf(address: EndpointAddress): string {
  return address.targetRef?.uid ?? '';
}
