import { podIPsOf } from '../kube/record.ts';
import type { EndpointAddress, IpFamily, PodRecord, ServiceRecord } from '../kube/types.ts';
import { forbiddenAddress, type Ip, parseIp } from './ip.ts';
import type { Problem } from './problem.ts';

/** Whether the pod has a place in the endpoints at all (spec/endpoints.md 7.1). */
export function podIncluded(pod: PodRecord, publishNotReady: boolean): boolean {
  if (pod.phase === 'Failed' || pod.phase === 'Succeeded') return false;
  if (pod.podIP === '' && pod.podIPs?.length === 0) return false;
  return !pod.deleting || publishNotReady;
}

/** Whether it counts as ready (spec/endpoints.md 7.2). */
export function podReady(pod: PodRecord, publishNotReady: boolean): boolean {
  return publishNotReady || pod.ready;
}

/** The family of a service's Endpoints; null = that of each pod's `status.podIP` (spec/endpoints.md 7.3). */
export function wantedFamily(service: ServiceRecord): IpFamily | null {
  const first = service.ipFamilies[0];
  if (first !== undefined) return first === 'IPv6' ? 'IPv6' : 'IPv4';
  if (service.clusterIP === '' || service.clusterIP === 'None') return null;
  return familyOf(service.clusterIP);
}

export interface PodEndpoint {
  /** Null = the pod has none for this service. */
  readonly address: EndpointAddress | null;
  /** What is wrong with the pod, be it left out or only lacking a field. */
  readonly problem: Problem | null;
}

/**
 * The address of an included pod. Unlike upstream it never gives one that the API server would reject, as that would
 * freeze the whole object (spec/endpoints.md 24.4): such an IP is passed over, such a node name or host name is left out.
 */
export function podEndpoint(service: ServiceRecord, family: IpFamily | null, pod: PodRecord): PodEndpoint {
  const wanted = family ?? familyOf(pod.podIP);
  let problem: Problem | null = null;
  let ip: Ip | null = null;
  const podIPs = podIPsOf(pod);
  for (let i = 0; i < podIPs.length; i++) {
    const text = podIPs[i]!;
    const parsed = parseIp(text);
    if (parsed !== null && parsed.family !== wanted) continue;
    const fault = parsed === null ? 'not an IP address' : forbiddenAddress(parsed);
    if (fault === null) {
      ip = parsed;
      break;
    }
    problem ??= podProblem(pod, `status.podIPs[${i}].ip`, `${fault}, left out: ${quote(text)}`);
  }
  if (ip === null) return { address: null, problem: problem ?? noAddress(pod, wanted) };

  const targetRef = { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid };
  let hostname = '';
  if (pod.hostname !== '' && pod.subdomain === service.name && pod.namespace === service.namespace) {
    if (isDnsLabel(pod.hostname)) hostname = pod.hostname;
    else problem ??= podProblem(pod, 'spec.hostname', `not a DNS label, left out: ${quote(pod.hostname)}`);
  }
  let nodeName = '';
  if (isDnsSubdomain(pod.nodeName)) nodeName = pod.nodeName;
  else if (pod.nodeName !== '') {
    problem ??= podProblem(pod, 'spec.nodeName', `not a DNS subdomain, left out: ${quote(pod.nodeName)}`);
  }
  const address: EndpointAddress =
    hostname === ''
      ? nodeName === ''
        ? { ip: ip.canonical, targetRef }
        : { ip: ip.canonical, nodeName, targetRef }
      : nodeName === ''
        ? { ip: ip.canonical, hostname, targetRef }
        : { ip: ip.canonical, hostname, nodeName, targetRef };
  return { address, problem };
}

/** Upstream asks only "is it IPv6?", so what is no address at all counts as IPv4. */
function familyOf(text: string): IpFamily {
  return parseIp(text)?.family ?? 'IPv4';
}

function noAddress(pod: PodRecord, wanted: IpFamily): Problem {
  return {
    kind: 'no-address-of-family',
    object: `pod ${pod.namespace}/${pod.name}`,
    field: 'status.podIPs',
    message: `no ${wanted} address, left out: ${quote(podIPsOf(pod).join(','))}`,
  };
}

function podProblem(pod: PodRecord, field: string, message: string): Problem {
  return { kind: 'bad-address', object: `pod ${pod.namespace}/${pod.name}`, field, message };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
}

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

function isDnsLabel(text: string): boolean {
  return text.length <= 63 && DNS_LABEL.test(text);
}

function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && DNS_SUBDOMAIN.test(text);
}
