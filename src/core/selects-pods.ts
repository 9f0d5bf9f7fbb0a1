import { labelsGet } from '../kube/labels.ts';
import type { ServiceRecord } from '../kube/types.ts';

/** Why Endpoints and slices of a Service are not this controller's to keep. */
export type Unplanned = 'no-selector' | 'external-name' | 'opted-out';

/**
 * Whether the Service has a selector and is no ExternalName. Only such a Service has endpoints of its own. The
 * Endpoints and slices of any other Service belong to somebody else, or to nobody, and stay (docs/spec/endpoints.md
 * "One sync", steps 3 and 4; docs/spec/endpointslice.md "One sync").
 */
export function selectsPods(service: ServiceRecord): boolean {
  return whyNoPods(service) === null;
}

function whyNoPods(service: Pick<ServiceRecord, 'type' | 'selector'>): Unplanned | null {
  if (service.type === 'ExternalName') return 'external-name';
  return service.selector === null ? 'no-selector' : null;
}

/**
 * Why the Service is not planned; null = it is.
 * @param optOutLabel '' = there is no such label
 */
export function whyUnplanned(
  service: Pick<ServiceRecord, 'type' | 'selector' | 'labels'>,
  optOutLabel: string,
): Unplanned | null {
  return hasOptOutLabel(service, optOutLabel) ? 'opted-out' : whyNoPods(service);
}

/** Whether somebody else cares for the Service. Its objects are then neither written nor deleted (D40). */
export function hasOptOutLabel({ labels }: Pick<ServiceRecord, 'labels'>, optOutLabel: string): boolean {
  return optOutLabel !== '' && labelsGet(labels, optOutLabel) !== undefined;
}
