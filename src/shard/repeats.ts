/** What a batch says of a pod by a mark, because it was said just before. */
import type { ContainerPort } from '../kube/types.ts';

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
