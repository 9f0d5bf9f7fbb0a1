import type { ServiceRecord } from '../kube/types.ts';

/**
 * Only a Service with a selector that is no ExternalName has endpoints of its own. The Endpoints and slices of all
 * others belong to somebody else, or to nobody, and stay (docs/spec/endpoints.md "One sync", steps 3 and 4;
 * docs/spec/endpointslice.md "One sync").
 */
export function selectsPods(service: ServiceRecord): boolean {
  return service.selector !== null && service.type !== 'ExternalName';
}
