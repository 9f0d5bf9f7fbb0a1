/** What Endpoints and EndpointSlices both say of a pod, and which of its fields the API server would reject. */
import type { PodRecord, ServiceRecord } from '../kube/types.ts';
import { forbiddenAddress, type Ip, parseIp } from './ip.ts';
import { quoted, type Problem } from './problem.ts';

export interface PodFields {
  /** The pod's host name within this service; '' = none. */
  readonly hostname: string;
  /** '' = none. */
  readonly nodeName: string;
  /** The first field that was left out. */
  readonly problem: Problem | null;
}

/**
 * The pod's host name, if it is one within this service, and its node name. A value that the API server would reject is
 * left out.
 */
export function podFields(service: ServiceRecord, pod: PodRecord): PodFields {
  let problem: Problem | null = null;
  let hostname = '';
  if (pod.hostname !== '' && pod.subdomain === service.name && pod.namespace === service.namespace) {
    if (isDnsLabel(pod.hostname)) hostname = pod.hostname;
    else problem = podProblem(pod, 'spec.hostname', `not a DNS label, left out: ${quoted(pod.hostname)}`);
  }
  let nodeName = '';
  if (isDnsSubdomain(pod.nodeName)) nodeName = pod.nodeName;
  else if (pod.nodeName !== '') {
    problem ??= podProblem(pod, 'spec.nodeName', `not a DNS subdomain, left out: ${quoted(pod.nodeName)}`);
  }
  return { hostname, nodeName, problem };
}

export interface PodIp {
  /** null = the text is no address, so its family is unknown. */
  readonly ip: Ip | null;
  /** Why the address cannot be published; null = it can. */
  readonly problem: Problem | null;
}

/**
 * The address at `index` of status.podIPs.
 * @param podIPs of the pod
 */
export function podIpAt(pod: PodRecord, podIPs: readonly string[], index: number): PodIp {
  const text = podIPs[index]!;
  const ip = parseIp(text);
  const fault = ip === null ? 'not an IP address' : forbiddenAddress(ip);
  if (fault === null) return { ip, problem: null };
  return { ip, problem: podProblem(pod, `status.podIPs[${index}].ip`, `${fault}, left out: ${quoted(text)}`) };
}

function podProblem(pod: PodRecord, field: string, message: string): Problem {
  return { kind: 'bad-address', object: `pod ${pod.namespace}/${pod.name}`, field, message };
}

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

function isDnsLabel(text: string): boolean {
  return text.length <= 63 && DNS_LABEL.test(text);
}

function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && DNS_SUBDOMAIN.test(text);
}
