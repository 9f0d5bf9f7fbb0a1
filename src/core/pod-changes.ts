/** Which changes of a pod make a controller look at the Services that select it before and after, and what they mean. */
import { labelsEqual } from '../kube/labels.ts';
import { podIPsOf } from '../kube/record.ts';
import type { PodRecord } from '../kube/types.ts';
import { sameTexts } from '../lib/same-list.ts';
import { hasEnded, podAbsence } from './pod-endpoint.ts';

/**
 * When the Services that select a pod before and after take note of its change. never: no plan reads what differs. later:
 * their next plan reads it. now: they are planned.
 */
export type PodNotice = 'never' | 'later' | 'now';

/**
 * A pod that has no place before and after changes no object. A plan of its own would write nothing and take its trigger
 * time as told. The write that shows the address of the pod for the first time is to have it, as upstream's has
 * (docs/spec/endpoints.md "Trigger time").
 */
export function podNotice(a: PodRecord, b: PodRecord): PodNotice {
  if (!planningDiffers(a, b)) return 'never';
  return mayHavePlace(a) || mayHavePlace(b) || upstreamDiffers(a, b) ? 'now' : 'later';
}

/** Whether a Service that selects the pod may publish it. */
function mayHavePlace(pod: PodRecord): boolean {
  return podAbsence(pod, true) === null;
}

/**
 * Whether a field differs that planning or the trigger time reads (docs/spec/endpoints.md "Pod events"), or the phase
 * becomes terminal (docs/spec/endpoints.md "Defects: stale or wrong"). Ports, hostname and subdomain are not compared:
 * the API server forbids to change them.
 */
export function planningDiffers(a: PodRecord, b: PodRecord): boolean {
  return (
    a.uid !== b.uid ||
    a.ready !== b.ready ||
    a.deleting !== b.deleting ||
    hasEnded(a) !== hasEnded(b) ||
    a.readyTime !== b.readyTime ||
    a.nodeName !== b.nodeName ||
    addressesDiffer(a, b)
  );
}

/** Upstream's rule (docs/spec/endpoints.md "Pod events"): each update of a pod that is being deleted counts. */
export function upstreamDiffers(a: PodRecord, b: PodRecord): boolean {
  return a.deleting || b.deleting || a.ready !== b.ready || addressesDiffer(a, b);
}

/** The same for what counts as labels there: Services that select the pod before or after, but not both, are looked at. */
export function upstreamLabelsDiffer(a: PodRecord, b: PodRecord): boolean {
  return !labelsEqual(a.labels, b.labels) || a.hostname !== b.hostname || a.subdomain !== b.subdomain;
}

function addressesDiffer(a: PodRecord, b: PodRecord): boolean {
  // Both lists are null in most clusters: the pod has only `podIP`.
  return a.podIP !== b.podIP || (a.podIPs !== b.podIPs && !sameTexts(podIPsOf(a), podIPsOf(b)));
}

/**
 * What a pod's change means to those who send to a service. adds: one more pod serves. removes: one fewer, or one that is
 * to be left alone. other: none of that, such as an address of a pod that is not ready yet.
 */
export type PodChange = 'adds' | 'removes' | 'other';

/**
 * @param before null = the service has not had the pod
 * @param after null = the service has the pod no longer
 */
export function podChangeOf(before: PodRecord | null, after: PodRecord | null): PodChange {
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
