import { setTimeout as sleep } from 'node:timers/promises';
import { wrongObjects, wrongText } from '../../src/cli/cluster-check.ts';
import type { CheckOptions, ClusterObjects, WrongObject } from '../../src/cli/cluster-check.ts';
import { TOLERATE_UNREADY_ANNOTATION } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { patch } from '../../src/workload/request.ts';

const SLICES_PATH = '/apis/discovery.k8s.io/v1/endpointslices';
const POLL_MS = 200;
const RIGHT_MS_MAX = 120_000;

/** What the three controllers read and write, each kind as it was at some moment: read it of a cluster at rest. */
export async function readObjects(client: ApiClient): Promise<ClusterObjects> {
  const listOf = async (path: string): Promise<KubeObject[]> => (await client.list(path)).items;
  const [services, pods, nodes, endpoints, slices] = await Promise.all([
    listOf('/api/v1/services'),
    listOf('/api/v1/pods'),
    listOf('/api/v1/nodes'),
    listOf('/api/v1/endpoints'),
    listOf(SLICES_PATH),
  ]);
  return { services, pods, nodes, endpoints, slices };
}

/**
 * Has every service planned again: by an annotation that endpointd reads and nobody follows. What changes of the nodes would
 * now allow (hints by CPU) neither controller gives before the next change of a service.
 * @param value another one than the last time
 */
export async function touchServices(client: ApiClient, value: string): Promise<void> {
  for (const { metadata } of (await client.list('/api/v1/services')).items) {
    const annotations = { [TOLERATE_UNREADY_ANNOTATION]: value };
    await client.send(patch('Service', metadata.namespace, metadata.name!, { metadata: { annotations } }));
  }
}

/**
 * Waits until the oracles find nothing wrong in what the three controllers have written.
 * @throws Error at the deadline, naming what differs
 */
export async function expectAllRight(
  client: ApiClient,
  options: Partial<CheckOptions> = {},
  deadlineMs = RIGHT_MS_MAX,
): Promise<ClusterObjects> {
  const untilMs = Date.now() + deadlineMs;
  for (;;) {
    const objects = await readObjects(client);
    const wrong = wrongObjects(objects, options);
    if (wrong.length === 0) return objects;
    if (Date.now() > untilMs) throw notRight(wrong, deadlineMs);
    await sleep(POLL_MS);
  }
}

function notRight(wrong: readonly WrongObject[], deadlineMs: number): Error {
  return new Error(`${wrong.length} objects are not right after ${deadlineMs} ms:\n${wrongText(wrong, 10)}`);
}
