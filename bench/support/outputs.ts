/**
 * The objects that controllers write for a bench's cluster. They are watched, judged by the oracles, counted by kind,
 * and deleted.
 */
import { createHash } from 'node:crypto';
import { slicesJudges, type CheckOptions, type ClusterObjects, type Judges } from '../../src/judge/cluster-check.ts';
import { endpointsText, expectedEndpoints, type ExpectedEndpoints } from '../../src/judge/endpoints-check.ts';
import { watchEndpoints, type EndpointsView } from '../../src/testbed/endpoints-view.ts';
import type { ServiceView } from '../../src/testbed/service-view.ts';
import { watchSlices } from '../../src/testbed/slices-view.ts';
import {
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';
import type { Endpoint, KubeObject, SlicePort } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';

export interface Outputs {
  readonly endpoints: EndpointsView;
  readonly slices: ServiceView;
}

/** Counts of creates, updates and deletes. */
export interface Writes {
  readonly endpoints: number;
  readonly slices: number;
  readonly mirrored: number;
}

/** The right objects. Nothing is expected of a controller that does not run. */
export interface ExpectedOutputs {
  readonly endpoints: ExpectedEndpoints;
  readonly slices: Judges;
}

export async function watchOutputs(client: ApiClient): Promise<Outputs> {
  const [endpoints, slices] = await Promise.all([watchEndpoints(client), watchSlices(client)]);
  return { endpoints, slices };
}

export function stopOutputs({ endpoints, slices }: Outputs): void {
  endpoints.stop();
  slices.stop();
}

/** The key of the Service to which a slice or Endpoints belong; of a Service its own. */
export function serviceKeyOf({ metadata: { namespace, name, labels } }: KubeObject): string {
  return `${namespace}/${labels?.[SERVICE_NAME_LABEL] ?? name}`;
}

/** The writes since the start, without those in `before`. */
export function writesOf({ endpoints, slices }: Outputs, before?: Writes): Writes {
  return {
    endpoints: endpoints.writes(MANAGED_BY_VALUE) - (before?.endpoints ?? 0),
    slices: slices.writes(SLICE_MANAGED_BY_VALUE) - (before?.slices ?? 0),
    mirrored: slices.writes(MIRROR_MANAGED_BY_VALUE) - (before?.mirrored ?? 0),
  };
}

type WhichControllers = Pick<CheckOptions, 'endpointsController' | 'slicesController' | 'mirroringController'>;

/** @param names names that the flag `--controllers` takes */
export function whichControllers(names: readonly string[]): WhichControllers {
  return {
    endpointsController: names.includes('endpoints-controller'),
    slicesController: names.includes('endpointslice-controller'),
    mirroringController: names.includes('endpointslice-mirroring-controller'),
  };
}

/**
 * All objects of these namespaces, and all nodes. Each list is read at a time of its own, so the cluster should be at
 * rest.
 */
export async function readCluster(client: ApiClient, namespaces: readonly string[]): Promise<ClusterObjects> {
  const listOf = async (resource: string, root = '/api/v1'): Promise<KubeObject[]> => {
    const lists: KubeObject[][] = [];
    for (const namespace of namespaces) {
      const { items } = await client.list(`${root}/namespaces/${namespace}/${resource}`);
      for (const item of items) withoutBallast(item);
      lists.push(items);
    }
    return lists.flat();
  };
  return {
    services: await listOf('services'),
    pods: await listOf('pods'),
    endpoints: await listOf('endpoints'),
    slices: await listOf('endpointslices', '/apis/discovery.k8s.io/v1'),
    nodes: (await client.list('/api/v1/nodes')).items,
  };
}

/** Removes the fields that no oracle reads and that make up most of a pod, so that 100,000 pods fit into memory. */
function withoutBallast(object: KubeObject): void {
  delete (object.metadata as Record<string, unknown>)['managedFields'];
  const { containers } = (object['spec'] ?? {}) as { containers?: Record<string, unknown>[] };
  for (const container of containers ?? []) for (const field of CONTAINER_BALLAST) delete container[field];
  const status = object['status'] as Record<string, unknown> | undefined;
  delete status?.['containerStatuses'];
}

const CONTAINER_BALLAST = ['env', 'resources', 'livenessProbe', 'readinessProbe', 'securityContext', 'volumeMounts'];

export function expectedOutputs(
  objects: Omit<ClusterObjects, 'slices'>,
  controllers: WhichControllers,
): ExpectedOutputs {
  return {
    endpoints: controllers.endpointsController ? expectedEndpoints(objects.services, objects.pods) : new Map(),
    slices: slicesJudges(objects, controllers),
  };
}

/** Services, pods and Endpoints of these namespaces, and all nodes. */
export async function readExpected(
  client: ApiClient,
  namespaces: readonly string[],
  controllers: WhichControllers,
): Promise<ExpectedOutputs> {
  return expectedOutputs(await readCluster(client, namespaces), controllers);
}

/** Resolves when all expected objects are right. Rejected when a watch breaks, or at the time limit. */
export async function converged(outputs: Outputs, expected: ExpectedOutputs, timeoutMs: number): Promise<void> {
  await Promise.all([
    outputs.endpoints.converged(expected.endpoints, timeoutMs),
    outputs.slices.converged(expected.slices, timeoutMs),
  ]);
}

/** Deletes the controllers' objects. Endpoints made by hand stay. */
export async function deleteOutputs(client: ApiClient, namespaces: readonly string[]): Promise<void> {
  const selector = encodeURIComponent(`${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE}`);
  for (const namespace of namespaces) {
    for (const path of [
      `/api/v1/namespaces/${namespace}/endpoints?labelSelector=${selector}`,
      `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
    ]) {
      await client.send({ method: 'DELETE', path });
    }
  }
}

/**
 * A hash of the objects in these namespaces. It leaves out uids, which the server gives in the order of creation, and
 * the drawn names of slices.
 */
export async function outputsHash(client: ApiClient, namespaces: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for (const namespace of namespaces) {
    const endpoints = await client.list(`/api/v1/namespaces/${namespace}/endpoints`);
    const slices = await client.list(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`);
    texts.push(...endpoints.items.map((object) => `Endpoints ${object.metadata.name}\n${endpointsText(object)}`));
    texts.push(...slices.items.map((object) => `EndpointSlice\n${sliceText(object)}`));
  }
  const text = texts
    .map((object) => object.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ''))
    .toSorted()
    .join('\n\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function sliceText({ metadata, addressType, ports, endpoints }: KubeObject): string {
  const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => `label ${key}=${value}`);
  const owners = (metadata.ownerReferences ?? []).map(({ kind, name }) => `owner ${kind} ${name}`);
  const lines = [
    ...((ports ?? []) as readonly SlicePort[]).map((port) => `port ${JSON.stringify(port)}`),
    ...((endpoints ?? []) as readonly Endpoint[]).map((endpoint) => JSON.stringify(endpoint)),
  ];
  return [`${metadata.namespace} ${String(addressType)}`, ...labels.toSorted(), ...owners, ...lines.toSorted()].join(
    '\n',
  );
}
