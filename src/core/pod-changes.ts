/** Which changes of a pod make a controller look at the Services that select it before and after. */
import { labelsEqual } from '../kube/labels.ts';
import { podIPsOf } from '../kube/record.ts';
import type { PodRecord } from '../kube/types.ts';
import { sameTexts } from '../lib/same-list.ts';
import { hasEnded, podAbsence } from './pod-endpoint.ts';

/**
 * What a pod's change makes of the Services that select it before and after. none: nothing, no plan reads what differs.
 * note: their next plan reads it. plan: they are planned.
 */
export type Reaction = 'none' | 'note' | 'plan';

/**
 * A pod that has no place before and after changes no object. A plan of its own would write nothing and take its trigger
 * time as told. The write that shows the address of the pod for the first time is to have it, as upstream's has
 * (docs/spec/endpoints.md "Trigger time").
 */
export function reactionTo(a: PodRecord, b: PodRecord): Reaction {
  if (!planningDiffers(a, b)) return 'none';
  return mayHavePlace(a) || mayHavePlace(b) || upstreamDiffers(a, b) ? 'plan' : 'note';
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
