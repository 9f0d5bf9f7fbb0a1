/**
 * What both of upstream's controllers say of endpoints: addresses, identity, equality, groups of ports
 * (docs/spec/endpointslice.md "The port-map key", "From a pod to an endpoint", "Identity and equality"). A slow port to
 * judge ours by: it shares nothing with `src/core`.
 */
import { isIPv6 } from 'node:net';
import type { Endpoint, IpFamily, SlicePort } from '../../src/kube/types.ts';

export interface UpstreamIp {
  readonly family: IpFamily;
  readonly text: string;
}

/** As lenient as Go's ParseIPSloppy: zeros may lead in IPv4. Null = no address. */
export function upstreamIp(text: string): UpstreamIp | null {
  if (/^\d+(?:\.\d+){3}$/.test(text)) {
    const octets = text.split('.').map((octet) => Number.parseInt(octet, 10));
    return octets.every((octet) => octet < 256) ? { family: 'IPv4', text: octets.join('.') } : null;
  }
  if (text.includes('%') || !isIPv6(text)) return null;
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical);
  if (mapped === null) return { family: 'IPv6', text: canonical };
  const bytes = mapped.slice(1).flatMap((word) => {
    const value = Number.parseInt(word, 16);
    return [value >> 8, value & 255];
  });
  return { family: 'IPv4', text: bytes.join('.') };
}

/** Equal for endpoints that are updated in place. */
export function endpointIdentity(endpoint: Endpoint): string {
  const { addresses, hostname = '', targetRef } = endpoint;
  return JSON.stringify([addresses.toSorted(), hostname, targetRef?.namespace ?? '', targetRef?.name ?? '']);
}

/** Equal for endpoints of one identity that need no write. Hints and deprecatedTopology do not count. */
export function equalBeyondIdentity(a: Endpoint, b: Endpoint): boolean {
  return factsBeyondIdentity(a) === factsBeyondIdentity(b);
}

function factsBeyondIdentity({ nodeName, zone, conditions, targetRef: ref }: Endpoint): string {
  const target = ref && [
    ref.kind ?? '',
    ref.namespace ?? '',
    ref.name ?? '',
    ref.uid ?? '',
    ref.apiVersion ?? '',
    ref.fieldPath ?? '',
  ];
  return JSON.stringify([nodeName, zone, conditions?.ready, conditions?.serving, conditions?.terminating, target]);
}

/** Equal for lists of ports that share slices, whatever their order. */
export function portMapKey(ports: readonly SlicePort[] | null | undefined): string {
  const keys = (ports ?? []).map(({ name, protocol, port, appProtocol }) =>
    JSON.stringify([name ?? null, protocol ?? null, port ?? null, appProtocol ?? null]),
  );
  return keys.toSorted().join();
}

/** One that is ready counts for hints, and for readers. */
export function isReady(endpoint: Endpoint): boolean {
  return endpoint.conditions?.ready === true;
}
