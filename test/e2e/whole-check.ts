import { setTimeout as sleep } from 'node:timers/promises';
import {
  wrongObjects,
  wrongText,
  type CheckOptions,
  type ClusterObjects,
  type WrongObject,
} from '../../src/judge/cluster-check.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import { SERVICE_NAME_LABEL, TOLERATE_UNREADY_ANNOTATION } from '../../src/kube/names.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { create, patch } from '../../src/workload/request.ts';
import { until } from './world.ts';

const POLL_MS = 200;
const RIGHT_MS_MAX = 120_000;

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

/** Resolves when the controllers have written about a Service that comes after all that was changed so far. */
export async function seenByAll(client: ApiClient, name: string): Promise<void> {
  const metadata = { name, namespace: 'default' };
  const spec = { selector: { app: name }, ports: [{ port: 80 }] };
  await client.send(create({ apiVersion: 'v1', kind: 'Service', metadata, spec }));
  const isIts = (namespace = '', service = ''): boolean => service === name && namespace === metadata.namespace;
  await until(async () => {
    const { endpoints, slices } = await readObjects(client);
    return (
      endpoints.some((object) => isIts(object.metadata.namespace, object.metadata.name)) &&
      slices.some((object) => isIts(object.metadata.namespace, object.metadata.labels?.[SERVICE_NAME_LABEL]))
    );
  });
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
