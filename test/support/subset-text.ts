/**
 * Subsets as one line each, for tables: `10.0.0.1@uid !10.0.0.2 -> http:80/TCP 443/TCP`. `!` marks an address that is not
 * ready, `@` its pod's uid, `#` its hostname; `=` begins the appProtocol of a port; no port is `->` alone.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset, SlicePort } from '../../src/kube/types.ts';

export function parseSubset(text: string): EndpointSubset {
  const [addressList, portList] = text.split('->');
  const addresses: EndpointAddress[] = [];
  const notReadyAddresses: EndpointAddress[] = [];
  for (const token of words(addressList)) {
    const [, mark, ip, hostname, uid] = /^(!?)([^#@]+)(?:#([^@]+))?(?:@(.*))?$/.exec(token)!;
    (mark === '!' ? notReadyAddresses : addresses).push({
      ip: ip!,
      ...(hostname !== undefined && { hostname }),
      ...(uid !== undefined && { targetRef: { kind: 'Pod', uid } }),
    });
  }
  const ports = words(portList).map((token): EndpointPort => {
    const [, name, number, protocol, appProtocol] = /^(?:(.+):)?(-?\d+)\/([^=]*)(?:=(.*))?$/.exec(token)!;
    const port: { -readonly [K in keyof EndpointPort]: EndpointPort[K] } = {
      port: Number(number),
      protocol: protocol!,
    };
    if (name !== undefined) port.name = name;
    if (appProtocol !== undefined) port.appProtocol = appProtocol;
    return port;
  });
  return { addresses, notReadyAddresses, ports };
}

export function subsetText(subset: EndpointSubset): string {
  return [
    ...(subset.addresses ?? []).map((address) => addressText(address, '')),
    ...(subset.notReadyAddresses ?? []).map((address) => addressText(address, '!')),
    '->',
    ...(subset.ports ?? []).map(portText),
  ].join(' ');
}

export function portText({ name, port, protocol, appProtocol }: EndpointPort | SlicePort): string {
  return `${name ? `${name}:` : ''}${port}/${protocol ?? ''}${appProtocol === undefined ? '' : `=${appProtocol}`}`;
}

function addressText(address: EndpointAddress, mark: string): string {
  const hostname = address.hostname === undefined ? '' : `#${address.hostname}`;
  const uid = address.targetRef === undefined ? '' : `@${address.targetRef.uid ?? ''}`;
  return `${mark}${address.ip}${hostname}${uid}`;
}

function words(text: string | undefined): string[] {
  return (text ?? '').split(' ').filter((word) => word !== '');
}
