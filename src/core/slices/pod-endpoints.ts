/** The endpoints that a pod has in the slices of a service (docs/spec/endpointslice.md "From a pod to an endpoint"). */
import { podIPsOf } from '../../kube/record.ts';
import type { Endpoint, EndpointConditions, IpFamily, PodRecord, ServiceRecord } from '../../kube/types.ts';
import { podFields, podIpAt } from '../pod-fields.ts';
import type { Problem } from '../problem.ts';

export interface PodEndpoints {
  /** null = the pod has no usable address of that family. */
  readonly ipv4: Endpoint | null;
  readonly ipv6: Endpoint | null;
  /** The first value that was left out because the API server would refuse the whole slice for it (D13). */
  readonly problem: Problem | null;
}

/**
 * @param families address types of the service
 * @param zone '' = unknown or none
 */
export function podEndpoints(
  service: ServiceRecord,
  families: readonly IpFamily[],
  publishNotReady: boolean,
  pod: PodRecord,
  zone: string,
): PodEndpoints {
  let problem: Problem | null = null;
  let ipv4: string[] | null = null;
  let ipv6: string[] | null = null;
  const podIPs = podIPsOf(pod);
  for (let i = 0; i < podIPs.length; i++) {
    const at = podIpAt(pod, podIPs, i);
    if (at.ip !== null && !families.includes(at.ip.family)) continue;
    if (at.problem !== null) problem ??= at.problem;
    else if (at.ip!.family === 'IPv4') ipv4 = withAddress(ipv4, at.ip!.canonical);
    else ipv6 = withAddress(ipv6, at.ip!.canonical);
  }
  if (ipv4 === null && ipv6 === null) return { ipv4: null, ipv6: null, problem };

  const { hostname, nodeName, problem: fieldProblem } = podFields(service, pod);
  const rest = {
    conditions: conditionsOf(pod, publishNotReady),
    ...(hostname !== '' && { hostname }),
    targetRef: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid },
    ...(nodeName !== '' && { nodeName }),
    ...(zone !== '' && { zone }),
  };
  return {
    ipv4: ipv4 === null ? null : { addresses: ipv4, ...rest },
    ipv6: ipv6 === null ? null : { addresses: ipv6, ...rest },
    problem: problem ?? fieldProblem,
  };
}

function withAddress(addresses: string[] | null, address: string): string[] {
  if (addresses === null) return [address];
  if (!addresses.includes(address)) addresses.push(address);
  return addresses;
}

/** Shared objects, so that a comparison of two endpoints seldom looks into them. */
const CONDITIONS: readonly EndpointConditions[] = Array.from({ length: 8 }, (_, bits) => ({
  ready: (bits & 1) !== 0,
  serving: (bits & 2) !== 0,
  terminating: (bits & 4) !== 0,
}));

/**
 * With `publishNotReady` an endpoint is ready even while its pod is unready or terminates. The other two conditions
 * stay truthful (D29).
 */
function conditionsOf(pod: PodRecord, publishNotReady: boolean): EndpointConditions {
  const ready = publishNotReady || (pod.ready && !pod.deleting);
  return CONDITIONS[(ready ? 1 : 0) | (pod.ready ? 2 : 0) | (pod.deleting ? 4 : 0)]!;
}
