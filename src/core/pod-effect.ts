import type { PodRecord } from '../kube/types.ts';
import { hasEnded } from './pod-endpoint.ts';

/**
 * What a pod's change means to those who send to a service. adds: one more pod serves. removes: one fewer, or one that is
 * to be left alone. other: none of that, such as an address of a pod that is not ready yet.
 */
export type PodEffect = 'adds' | 'removes' | 'other';

/**
 * @param before null = the service has not had the pod
 * @param after null = the service has the pod no longer
 */
export function podEffectOf(before: PodRecord | null, after: PodRecord | null): PodEffect {
  if (after === null || (before !== null && takesAway(before, after))) return 'removes';
  return isServing(after) && !(before !== null && isServing(before)) ? 'adds' : 'other';
}

/** Also of a pod that was not ready: a service may publish it all the same, or while it terminates. */
function takesAway(before: PodRecord, after: PodRecord): boolean {
  return (
    (before.ready && !after.ready) ||
    (!before.deleting && after.deleting) ||
    (!hasEnded(before) && hasEnded(after)) ||
    (before.podIP !== '' && before.podIP !== after.podIP)
  );
}

function isServing(pod: PodRecord): boolean {
  return pod.ready && !pod.deleting && !hasEnded(pod) && pod.podIP !== '';
}
