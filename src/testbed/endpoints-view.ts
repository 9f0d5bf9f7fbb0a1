import { MANAGED_BY_LABEL } from '../kube/names.ts';
import type { EndpointSubset, KubeObject } from '../kube/types.ts';
import type { ApiClient, OnWatchEvent } from '../node/api-client.ts';
import { endpointsText, type ExpectedEndpoints } from '../judge/endpoints-check.ts';
import { watchServices, type ServiceView, type Viewed } from './service-view.ts';

/** An independent watcher of all Endpoints. */
export interface EndpointsView extends Omit<ServiceView, 'converged'> {
  /** Resolves when every expected object is right. Rejected when the watch breaks, or at the time limit. */
  readonly converged: (expected: ExpectedEndpoints, timeoutMs: number) => Promise<void>;
}

const ENDPOINTS: Viewed = {
  path: '/api/v1/endpoints',
  title: 'Endpoints',
  serviceOf: ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
  managedByLabel: MANAGED_BY_LABEL,
  sendsTo: (objects, address) => [...objects].some((object) => holds(object, address)),
};

export async function watchEndpoints(
  client: Pick<ApiClient, 'list' | 'watch'>,
  onEvent?: OnWatchEvent,
): Promise<EndpointsView> {
  const view = await watchServices(client, ENDPOINTS, onEvent);
  const converged = (expected: ExpectedEndpoints, timeoutMs: number): Promise<void> => {
    const judges = [...expected].map(
      ([service, text]) =>
        [service, ([object]: readonly KubeObject[]) => object !== undefined && endpointsText(object) === text] as const,
    );
    return view.converged(new Map(judges), timeoutMs);
  };
  return { ...view, converged };
}

function holds(object: KubeObject, address: string): boolean {
  const subsets = (object['subsets'] ?? []) as readonly EndpointSubset[];
  return subsets.some(({ addresses }) => addresses?.some(({ ip }) => ip === address) === true);
}
