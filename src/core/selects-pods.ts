import type { ServiceRecord } from '../kube/types.ts';

/**
 * Only a Service with a selector that is no ExternalName has endpoints of its own: the Endpoints and slices of all
 * others are somebody else's business, or nobody's, and stay (docs/spec/endpoints.md "One sync", steps 3 and 4;
 * docs/spec/endpointslice.md "One sync").
 */
export function selectsPods(service: ServiceRecord): boolean {
  return service.selector !== null && service.type !== 'ExternalName';
}
