/** What a batch says of a pod by a mark, because it was said just before. */
import type { ContainerPort, PodRecord } from '../kube/types.ts';

/** Whether the list of addresses repeats the first one and has no other. */
export function isAlone({ podIP, podIPs }: PodRecord): boolean {
  return podIPs !== null && podIPs.length === 1 && podIPs[0] === podIP;
}

export function samePorts(a: readonly ContainerPort[], b: readonly ContainerPort[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const [one, other] = [a[i]!, b[i]!];
    if (one.name !== other.name || one.containerPort !== other.containerPort) return false;
    if (one.protocol !== other.protocol) return false;
  }
  return true;
}
