import { podIPsOf } from '../kube/record.ts';
import type { EndpointAddress, IpFamily, PodRecord, ServiceRecord } from '../kube/types.ts';
import { type Ip, parseIp } from './ip.ts';
import { podFields, podIpAt } from './pod-fields.ts';
import { quoted, type Problem } from './problem.ts';

/** Why a selected pod has no place in what is published for a service. */
export type Absence =
  /** Its phase is `Succeeded` or `Failed`. */
  | 'ended'
  | 'no-ip'
  | 'terminating'
  /** It has no usable address of the wanted families. */
  | 'no-address'
  /** It offers none of the ports, which are all named. */
  | 'no-port'
  /** The Service has no ports and is not headless. */
  | 'no-service-port';

export function hasEnded({ phase }: PodRecord): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

/**
 * Why the pod has no place in the endpoints at all; null = it has one (docs/spec/endpoints.md "Which pods are
 * included").
 */
export function podAbsence(pod: PodRecord, publishNotReady: boolean): Absence | null {
  if (hasEnded(pod)) return 'ended';
  if (pod.podIP === '' && pod.podIPs?.length === 0) return 'no-ip';
  return pod.deleting && !publishNotReady ? 'terminating' : null;
}

/** Whether the pod counts as ready (docs/spec/endpoints.md "Readiness"). */
export function podReady(pod: PodRecord, publishNotReady: boolean): boolean {
  return publishNotReady || pod.ready;
}

/**
 * The family of a service's Endpoints; null = that of each pod's `status.podIP` (docs/spec/endpoints.md "Address and
 * family").
 */
export function wantedFamily(service: ServiceRecord): IpFamily | null {
  const first = service.ipFamilies[0];
  if (first !== undefined) return first === 'IPv6' ? 'IPv6' : 'IPv4';
  if (service.clusterIP === '' || service.clusterIP === 'None') return null;
  return familyOf(service.clusterIP);
}

export interface PodEndpoint {
  /** null = the pod has none for this service. */
  readonly address: EndpointAddress | null;
  /** What is wrong with the pod, whether it is left out or only lacks a field. */
  readonly problem: Problem | null;
}

/**
 * The address of an included pod. Unlike upstream's, it has no value that the API server would reject, because one such
 * value freezes the whole object (docs/spec/endpoints.md "Defects: robustness"). A bad IP is passed over. A bad node
 * name or host name is left out.
 */
export function podEndpoint(service: ServiceRecord, family: IpFamily | null, pod: PodRecord): PodEndpoint {
  const wanted = family ?? familyOf(pod.podIP);
  let problem: Problem | null = null;
  let ip: Ip | null = null;
  const podIPs = podIPsOf(pod);
  for (let i = 0; i < podIPs.length; i++) {
    const at = podIpAt(pod, podIPs, i);
    if (at.ip !== null && at.ip.family !== wanted) continue;
    if (at.problem === null) {
      ip = at.ip;
      break;
    }
    problem ??= at.problem;
  }
  if (ip === null) return { address: null, problem: problem ?? noAddress(pod, wanted) };

  const targetRef = { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid };
  const { hostname, nodeName, problem: fieldProblem } = podFields(service, pod);
  const address: EndpointAddress =
    hostname === ''
      ? nodeName === ''
        ? { ip: ip.canonical, targetRef }
        : { ip: ip.canonical, nodeName, targetRef }
      : nodeName === ''
        ? { ip: ip.canonical, hostname, targetRef }
        : { ip: ip.canonical, hostname, nodeName, targetRef };
  return { address, problem: problem ?? fieldProblem };
}

/** Upstream only asks whether a text is an IPv6 address. So a text that is no address counts as IPv4. */
function familyOf(text: string): IpFamily {
  return parseIp(text)?.family ?? 'IPv4';
}

function noAddress(pod: PodRecord, wanted: IpFamily): Problem {
  return {
    kind: 'no-address-of-family',
    object: `pod ${pod.namespace}/${pod.name}`,
    field: 'status.podIPs',
    message: `no ${wanted} address, left out: ${quoted(podIPsOf(pod).join(','))}`,
  };
}
