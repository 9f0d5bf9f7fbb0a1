/**
 * Subsets as one line each, for tables: `10.0.0.1@uid !10.0.0.2 -> http:80/TCP 443/TCP`. `!` marks an address that is not
 * ready, `@` its pod's uid, `#` its hostname; no port is `->` alone.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../src/kube/types.ts';

export function parseSubset(text: string): EndpointSubset {
  const [addressText, portText] = text.split('->');
  const addresses: EndpointAddress[] = [];
  const notReadyAddresses: EndpointAddress[] = [];
  for (const token of words(addressText)) {
    const [, mark, ip, hostname, uid] = /^(!?)([^#@]+)(?:#([^@]+))?(?:@(.*))?$/.exec(token)!;
    (mark === '!' ? notReadyAddresses : addresses).push({
      ip: ip!,
      ...(hostname !== undefined && { hostname }),
      ...(uid !== undefined && { targetRef: { kind: 'Pod', uid } }),
    });
  }
  const ports = words(portText).map((token): EndpointPort => {
    const [, name, port, protocol] = /^(?:(.+):)?(-?\d+)\/(.*)$/.exec(token)!;
    const numbered = { port: Number(port), protocol: protocol! };
    return name === undefined ? numbered : Object.assign({ name }, numbered);
  });
  return { addresses, notReadyAddresses, ports };
}

export function subsetText(subset: EndpointSubset): string {
  return [
    ...(subset.addresses ?? []).map((address) => addressText(address, '')),
    ...(subset.notReadyAddresses ?? []).map((address) => addressText(address, '!')),
    '->',
    ...(subset.ports ?? []).map((port) => `${port.name ? `${port.name}:` : ''}${port.port}/${port.protocol ?? ''}`),
  ].join(' ');
}

function addressText(address: EndpointAddress, mark: string): string {
  const hostname = address.hostname === undefined ? '' : `#${address.hostname}`;
  const uid = address.targetRef === undefined ? '' : `@${address.targetRef.uid ?? ''}`;
  return `${mark}${address.ip}${hostname}${uid}`;
}

function words(text: string | undefined): string[] {
  return (text ?? '').split(' ').filter((word) => word !== '');
}
