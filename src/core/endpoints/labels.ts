import { HEADLESS_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../kube/names.ts';
import { setKey } from '../../kube/labels.ts';
import type { ServiceRecord } from '../../kube/types.ts';

/**
 * All labels of a service's Endpoints (docs/spec/endpoints.md "Labels"): the labels of the Service, and two that only
 * this controller sets.
 */
export function endpointsLabels(service: ServiceRecord): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let i = 0; i < service.labels.length; i += 2) {
    const key = service.labels[i]!;
    if (key !== HEADLESS_LABEL && key !== MANAGED_BY_LABEL) setKey(labels, key, service.labels[i + 1]!);
  }
  labels[MANAGED_BY_LABEL] = MANAGED_BY_VALUE;
  if (service.clusterIP === '' || service.clusterIP === 'None') labels[HEADLESS_LABEL] = '';
  return labels;
}
