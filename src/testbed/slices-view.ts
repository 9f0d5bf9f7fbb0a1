import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../kube/names.ts';
import type { Endpoint, KubeObject } from '../kube/types.ts';
import type { ApiClient, OnWatchEvent } from '../node/api-client.ts';
import { watchServices, type ServiceView, type Viewed } from './service-view.ts';

const SLICES: Viewed = {
  path: '/apis/discovery.k8s.io/v1/endpointslices',
  title: 'sets of EndpointSlices',
  serviceOf: ({ metadata }) => {
    const service = metadata.labels?.[SERVICE_NAME_LABEL] ?? '';
    return service === '' ? null : `${metadata.namespace}/${service}`;
  },
  managedByLabel: SLICE_MANAGED_BY_LABEL,
  sendsTo: (objects, address) => [...objects].some((object) => holds(object, address)),
};

/** An independent watcher of all EndpointSlices. */
export function watchSlices(client: Pick<ApiClient, 'list' | 'watch'>, onEvent?: OnWatchEvent): Promise<ServiceView> {
  return watchServices(client, SLICES, onEvent);
}

function holds(object: KubeObject, address: string): boolean {
  const endpoints = (object['endpoints'] ?? []) as readonly Endpoint[];
  return endpoints.some(({ addresses, conditions }) => conditions?.ready === true && addresses.includes(address));
}
