import type { KubeObject } from '../kube/types.ts';
import type { ApiClient } from '../node/api-client.ts';
import type { ClusterObjects } from '../judge/cluster-check.ts';

/**
 * Reads all objects that the three controllers read and write. Each kind is read at a time of its own, so the cluster
 * should be at rest.
 */
export async function readObjects(client: Pick<ApiClient, 'list'>): Promise<ClusterObjects> {
  const listOf = async (path: string): Promise<readonly KubeObject[]> => (await client.list(path)).items;
  const [services, pods, nodes, endpoints, slices] = await Promise.all([
    listOf('/api/v1/services'),
    listOf('/api/v1/pods'),
    listOf('/api/v1/nodes'),
    listOf('/api/v1/endpoints'),
    listOf('/apis/discovery.k8s.io/v1/endpointslices'),
  ]);
  return { services, pods, nodes, endpoints, slices };
}
