import type { Cluster } from '../../src/workload/cluster.ts';
import { clusterObjects } from '../../src/workload/objects.ts';
import { createRequests, type WorkloadRequest } from '../../src/workload/request.ts';

/** All requests that fill a fresh server with the cluster, in order, made one at a time. */
export function* clusterRequests(cluster: Cluster): Generator<WorkloadRequest, void, void> {
  for (const object of clusterObjects(cluster)) yield* createRequests(object);
}
