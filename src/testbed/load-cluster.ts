import type { ApiClient } from '../node/api-client.ts';
import type { KubeObject } from '../kube/types.ts';
import type { Cluster } from '../workload/cluster.ts';
import { clusterObjects } from '../workload/objects.ts';
import { createRequests } from '../workload/request.ts';

/**
 * Creates every object of a seeded cluster, `concurrent` at a time. Calls `onProgress` after each object with the
 * number of objects that exist. One kind follows the other, because namespaces must exist before the objects in them.
 * @throws ApiError of the first request that was refused
 */
export async function loadCluster(
  client: Pick<ApiClient, 'send'>,
  cluster: Cluster,
  concurrent: number,
  onProgress: (created: number) => void = () => undefined,
): Promise<void> {
  const objects = clusterObjects(cluster);
  let created = 0;
  let next = objects.next();
  while (next.done !== true) {
    const { kind } = next.value;
    const take = (): KubeObject | null => {
      if (next.done === true || next.value.kind !== kind) return null;
      const object = next.value;
      next = objects.next();
      return object;
    };
    const lane = async (): Promise<void> => {
      for (let object = take(); object !== null; object = take()) {
        for (const request of createRequests(object)) await client.send(request);
        onProgress(++created);
      }
    };
    await Promise.all(Array.from({ length: concurrent }, lane));
  }
}
