import type { SlicePort } from '../../kube/types.ts';

/**
 * Two port lists have the same key if they are equal in any order, by name, protocol, port and appProtocol
 * (docs/spec/endpointslice.md "The port-map key"). An empty appProtocol is unlike an absent one. The API server fills
 * in the protocol TCP.
 */
export function portMapKey(ports: readonly SlicePort[] | null | undefined): string {
  if (ports === null || ports === undefined || ports.length === 0) return '';
  if (ports.length === 1) return portText(ports[0]!);
  return ports.map(portText).sort().join('\n');
}

/** A new list in the order of ports in slices: by name, protocol and port. */
export function slicePortsInOrder(ports: readonly SlicePort[]): readonly SlicePort[] {
  return ports.toSorted(comparePorts);
}

function comparePorts(a: SlicePort, b: SlicePort): number {
  const aName = a.name ?? '';
  const bName = b.name ?? '';
  if (aName !== bName) return aName < bName ? -1 : 1;
  const aProtocol = a.protocol ?? 'TCP';
  const bProtocol = b.protocol ?? 'TCP';
  if (aProtocol !== bProtocol) return aProtocol < bProtocol ? -1 : 1;
  return (a.port ?? 0) - (b.port ?? 0);
}

function portText(port: SlicePort): string {
  const appProtocol = port.appProtocol === undefined ? '' : `=${port.appProtocol}`;
  return `${port.name ?? ''}\0${port.protocol ?? 'TCP'}\0${port.port ?? ''}\0${appProtocol}`;
}
