/** How many ready endpoints of all services the caches hold. */
import { allServices } from './services.ts';
import { isPlannedFromPods } from './service-state.ts';
import { isMissed, type Missed, type Published } from '../reflectors/brake.ts';
import type { ControllerState } from '../state.ts';
import { getNode } from '../../core/node-table.ts';
import { podAbsence, podReady } from '../../core/pod-endpoint.ts';
import { podsOf } from '../../core/selector-index.ts';
import type { PodRecord } from '../../kube/types.ts';

/**
 * Counts ready endpoints by a look at every pod of every service. The brake asks for it at the beginning and the end of
 * a list.
 */
export function countPublished(state: ControllerState, missed: Missed): Published {
  let ready = 0;
  let lost = 0;
  for (const service of allServices(state)) {
    const { record } = service;
    if (record === null || !isPlannedFromPods(record, state.options)) continue;
    const isGone = isMissed(missed.services, record);
    for (const pod of podsOf(state.index, service)) {
      if (podAbsence(pod, true) !== null || !podReady(pod, record.publishNotReadyAddresses)) continue;
      ready++;
      if (isGone || isMissed(missed.pods, pod) || isNodeMissed(state, missed, pod)) lost++;
    }
  }
  return { ready, lost };
}

/** Slices have no pod of a node that does not exist. */
function isNodeMissed({ nodes }: ControllerState, missed: Missed, { nodeName }: PodRecord): boolean {
  if (missed.nodes === undefined) return false;
  const node = getNode(nodes, nodeName);
  return node !== undefined && isMissed(missed.nodes, node);
}
