import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerPort, KubeObject } from '../../src/kube/types.ts';
import { formatTime } from '../../src/kube/time.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../../src/workload/request.ts';

/** A namespace of a real API server, and the words in which the scripts change it. */
export interface World {
  readonly client: ApiClient;
  readonly namespace: string;
}

export interface PodSpec {
  readonly ip?: string;
  /** Of the other family. */
  readonly secondIP?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Default true. */
  readonly ready?: boolean;
  /** Since when, in seconds since the epoch. */
  readonly since?: number;
  readonly ports?: readonly ContainerPort[];
  /** Ports of an init container that keeps running. */
  readonly sidecarPorts?: readonly ContainerPort[];
  readonly hostname?: string;
  readonly subdomain?: string;
  /** Empty = not scheduled. */
  readonly node?: string;
}

export interface ServiceSpec {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Beside or instead of: selector `app: <name>`, TCP port 80 to 8080. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

const UNTIL_MS_MAX = 120_000;
const UNTIL_POLL_MS = 50;
const SINCE = 1_767_225_600;

export async function createWorld(client: ApiClient, namespace: string): Promise<World> {
  await client.send({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  });
  return { client, namespace };
}

export async function createService(world: World, name: string, options: ServiceSpec = {}): Promise<void> {
  const { labels = {}, annotations = {}, spec = {} } = options;
  await create(world, 'services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels: { ...labels }, annotations: { ...annotations } },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 8080 }], ...spec },
  });
}

/** Null in a change removes a field, a list replaces a list. */
export async function patchService(world: World, name: string, change: object): Promise<void> {
  await patch(world, `services/${name}`, change);
}

export async function createPod(world: World, name: string, options: PodSpec = {}): Promise<void> {
  const { labels = { app: 'web' }, ports = [], sidecarPorts = [], hostname, subdomain, node = 'node-1' } = options;
  const container = (containerName: string, containerPorts: readonly ContainerPort[]): object => ({
    name: containerName,
    image: 'registry.example/app',
    ports: containerPorts,
  });
  await create(world, 'pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { ...labels } },
    spec: {
      ...(node === '' ? {} : { nodeName: node }),
      ...(hostname === undefined ? {} : { hostname }),
      ...(subdomain === undefined ? {} : { subdomain }),
      containers: [container('app', ports)],
      initContainers:
        sidecarPorts.length === 0 ? [] : [{ ...container('sidecar', sidecarPorts), restartPolicy: 'Always' }],
    },
  });
  const { ip, secondIP } = options;
  if (ip === undefined) return;
  await patchPodStatus(world, name, {
    phase: 'Running',
    podIP: ip,
    podIPs: secondIP === undefined ? [{ ip }] : [{ ip }, { ip: secondIP }],
    conditions: [readiness(options.ready ?? true, options.since ?? SINCE)],
  });
}

export async function setReady(world: World, name: string, ready: boolean, since = SINCE): Promise<void> {
  await patchPodStatus(world, name, { conditions: [readiness(ready, since)] });
}

export async function patchPodStatus(world: World, name: string, status: object): Promise<void> {
  await world.client.send({
    method: 'PATCH',
    path: `${pathOf(world, 'pods')}/${name}/status`,
    contentType: STRATEGIC_MERGE_PATCH,
    body: { status },
  });
}

export async function patchPod(world: World, name: string, change: object): Promise<void> {
  await patch(world, `pods/${name}`, change);
}

/** With a grace period it stays as terminating until it is removed without one. */
export async function removePod(world: World, name: string, graceSeconds = 0): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: graceSeconds };
  await world.client.send({ method: 'DELETE', path: `${pathOf(world, 'pods')}/${name}`, body });
}

/** `resource` in the plural, with a name behind it where one object is meant. */
export async function create({ client, namespace }: World, resource: string, object: KubeObject): Promise<void> {
  await client.send({ method: 'POST', path: pathOf({ client, namespace }, resource), body: object });
}

export async function patch(world: World, object: string, change: object): Promise<void> {
  await world.client.send({ method: 'PATCH', path: pathOf(world, object), contentType: MERGE_PATCH, body: change });
}

export async function remove(world: World, object: string): Promise<void> {
  await world.client.send({ method: 'DELETE', path: pathOf(world, object) });
}

export async function read(world: World, object: string): Promise<KubeObject> {
  return (await world.client.send({ method: 'GET', path: pathOf(world, object) })) as KubeObject;
}

/** @throws Error when it does not come true */
export async function until(check: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + UNTIL_MS_MAX;
  while (!(await check())) {
    if (Date.now() > endMs) throw new Error(`not so after ${UNTIL_MS_MAX} ms: ${check.toString()}`);
    await sleep(UNTIL_POLL_MS);
  }
}

/** Many at a time, in no order. */
export async function forEach(count: number, tell: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await tell(next++);
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}

export function port(name: string, containerPort: number, protocol = 'TCP'): ContainerPort {
  return { name, containerPort, protocol };
}

function readiness(ready: boolean, since: number): object {
  return { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: formatTime(since) };
}

function pathOf({ namespace }: World, resource: string): string {
  return `/api/v1/namespaces/${namespace}/${resource}`;
}
