import type { Change } from '../workload/change.ts';
import type { Cluster, PodModel, ServiceModel } from '../workload/cluster.ts';
import { podLabels, selectorOf } from '../workload/objects.ts';
import type { ServiceView } from './service-view.ts';

/**
 * Calls `onSeen` once for each Service that selects the pod whose readiness the change turns, as soon as the Service's
 * objects show the change. The caller calls this before it sends the change, because the answer may be slower than the
 * controller.
 */
export function awaitFlip(
  cluster: Cluster,
  change: Change,
  view: Pick<ServiceView, 'expectAddress'>,
  onSeen: () => void,
): void {
  const { pod } = change;
  if (change.kind !== 'readiness' || pod === null) return;
  // Slices leave out the pods of a node that is gone.
  if (cluster.nodes[pod.node]!.busy) return;
  for (const service of cluster.services) {
    if (service.publishNotReady || !selects(service, pod)) continue;
    view.expectAddress(`${service.namespace}/${service.name}`, pod.address, pod.ready, onSeen);
  }
}

function selects(service: ServiceModel, pod: PodModel): boolean {
  if (service.namespace !== pod.app.namespace) return false;
  const labels = podLabels(pod, false);
  return Object.entries(selectorOf(service)).every(([key, value]) => labels[key] === value);
}
