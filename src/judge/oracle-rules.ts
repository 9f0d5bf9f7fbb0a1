/**
 * Rules that the oracles of Endpoints, slices and mirrored slices share. They are written for clarity, not for speed.
 */
import type { IpFamily, PodRecord, ServicePort, ServiceRecord } from '../kube/types.ts';

export interface OracleOptions {
  readonly tolerateUnreadyEndpointsAnnotation: boolean;
}

export function toMap(flat: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) map.set(flat[i]!, flat[i + 1]!);
  return map;
}

export function selects(selector: readonly string[], labels: readonly string[]): boolean {
  for (let i = 0; i < selector.length; i += 2) {
    let found = false;
    for (let j = 0; j < labels.length; j += 2) {
      found ||= labels[j] === selector[i] && labels[j + 1] === selector[i + 1];
    }
    if (!found) return false;
  }
  return true;
}

/** Whether pods that are not ready count as ready. */
export function publishes(service: ServiceRecord, options: OracleOptions): boolean {
  const annotation = toMap(service.annotations).get('service.alpha.kubernetes.io/tolerate-unready-endpoints');
  if (options.tolerateUnreadyEndpointsAnnotation && annotation !== undefined) {
    if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(annotation)) return true;
    if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(annotation)) return false;
  }
  return service.publishNotReadyAddresses;
}

/**
 * null = the text is no address. IPv6 is parsed by the URL standard, which prints RFC 5952, except for IPv4 within
 * IPv6.
 */
export function parse(text: string): { family: IpFamily; text: string } | null {
  if (!text.includes(':')) {
    const octets = text.split('.');
    if (octets.length !== 4 || octets.some((octet) => !/^[0-9]+$/.test(octet) || Number(octet) > 255)) return null;
    return { family: 'IPv4', text: octets.map(Number).join('.') };
  }
  const dotted = /^(.*:)([0-9.]+\.[0-9.]+)$/.exec(text);
  const tail = dotted === null ? null : parse(dotted[2]!);
  if (dotted !== null && tail === null) return null;
  const plain = (dotted === null ? text : dotted[1]! + tail!.text).replace(/(^|:)0+(?=[0-9a-fA-F]+(:|$))/g, '$1');
  if (!/^[0-9a-fA-F:.]+$/.test(plain) || !URL.canParse(`http://[${plain}]/`)) return null;
  const host = new URL(`http://[${plain}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (mapped === null) return { family: 'IPv6', text: host };
  const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)];
  return { family: 'IPv4', text: `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}` };
}

/** Whether the server refuses the address for endpoints. @param ip in canonical form */
export function forbidden(ip: string): boolean {
  return /^(0\.0\.0\.0$|127\.|169\.254\.|224\.0\.0\.|::1?$|fe[89ab].:|ff.2:)/.test(ip);
}

/** null = the pod has no port of this name and protocol. */
export function targetNumber(servicePort: ServicePort, pod: PodRecord): number | null {
  const { targetPort, protocol } = servicePort;
  if (typeof targetPort === 'number') return targetPort;
  return pod.ports.find((port) => port.name === targetPort && port.protocol === protocol)?.containerPort ?? null;
}

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

/** '' = the pod has no hostname, or the server would refuse it. */
export function hostnameOf(service: ServiceRecord, pod: PodRecord): string {
  const fits = pod.subdomain === service.name && pod.namespace === service.namespace;
  return fits && pod.hostname.length <= 63 && new RegExp(`^${LABEL}$`).test(pod.hostname) ? pod.hostname : '';
}

/** '' = the pod has no node, or the server would refuse its name. */
export function nodeNameOf(pod: PodRecord): string {
  const fits = pod.nodeName.length <= 253 && new RegExp(`^${LABEL}(\\.${LABEL})*$`).test(pod.nodeName);
  return fits ? pod.nodeName : '';
}
