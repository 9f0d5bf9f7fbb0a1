/**
 * What can happen to services beyond what the random script does: told in steps, each of which happens while both controllers
 * are held, so that they see it as one change. Runs under endpointd and under the real kube-controller-manager.
 */
import assert from 'node:assert/strict';
import {
  LAST_APPLIED_ANNOTATION,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
  TOPOLOGY_MODE_ANNOTATION,
  ZONE_LABEL,
} from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../../src/workload/request.ts';
import {
  create,
  createPod,
  createService,
  forEach,
  patch,
  patchService,
  port,
  remove,
  removePod,
  setReady,
  type World,
} from './world.ts';

export interface Step {
  /** Upstream learns of some of it only with the next change of the service: listed differences, by their id. */
  readonly touched?: readonly string[];
  readonly tell: (world: World) => Promise<void>;
}

export interface SlicesChapter {
  /** Also the namespace. */
  readonly name: string;
  readonly steps: readonly Step[];
}

const NODES = 6;
const ZONES = ['a', 'b', 'c'];
const WEB = { app: 'web' };
/** The last has an appProtocol. */
const U_PORTS = [
  { name: 'u1', port: 1 },
  { name: 'u2', port: 2 },
  { name: 'u3', port: 3, appProtocol: 'example.com/x' },
] as const;

/** node-1 to node-6 in three zones, two in each. */
export async function createZoneNodes(client: ApiClient): Promise<void> {
  for (let i = 1; i <= NODES; i++) await createNode(client, `node-${i}`, ZONES[i % ZONES.length]!);
}

async function createNode(client: ApiClient, name: string, zone: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name, [ZONE_LABEL]: zone };
  await client.send({
    method: 'POST',
    path: '/api/v1/nodes',
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  await patchNodeStatus(client, name, { capacity: { cpu: '8' }, allocatable: { cpu: '8' }, conditions });
}

async function patchNodeStatus(client: ApiClient, name: string, status: object): Promise<void> {
  const path = `/api/v1/nodes/${name}/status`;
  await client.send({ method: 'PATCH', path, contentType: STRATEGIC_MERGE_PATCH, body: { status } });
}

async function turnNode(client: ApiClient, name: string, ready: boolean): Promise<void> {
  await patchNodeStatus(client, name, { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] });
}

/** Then another node turns, since upstream looks at the CPU of nodes only when something else of a node changes. */
async function changeCpu(client: ApiClient, name: string, cpu: string): Promise<void> {
  await patchNodeStatus(client, name, { allocatable: { cpu } });
  for (const ready of [false, true]) await turnNode(client, 'node-6', ready);
}

async function patchNode(client: ApiClient, name: string, labels: Record<string, string | null>): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  await client.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body: { metadata: { labels } } });
}

export const SLICES_SCRIPT: readonly SlicesChapter[] = [
  {
    name: 'many-slices',
    steps: [
      {
        async tell(world) {
          await createPods(world, 0, 130);
          await createService(world, 'web');
        },
      },
      { tell: (world) => createPods(world, 130, 90) },
      { tell: (world) => setReady(world, 'web-7', false) },
      { tell: (world) => removePods(world, 0, 15) },
      { tell: (world) => removePods(world, 15, 205) },
      { tell: (world) => createPods(world, 0, 120) },
    ],
  },
  {
    name: 'over-a-thousand',
    steps: [
      {
        async tell(world) {
          await createPods(world, 0, 1005);
          await createService(world, 'web');
        },
      },
      { tell: (world) => setReady(world, 'web-500', false) },
      { tell: (world) => removePods(world, 600, 10) },
    ],
  },
  {
    name: 'port-groups',
    steps: [
      {
        async tell(world) {
          await createService(world, 'web', { spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] } });
          await forEach(30, (i) =>
            createPod(world, `web-${i}`, {
              ip: `10.1.0.${i + 1}`,
              node: nodeOf(i),
              ports: [port('http', 8080 + (i % 3))],
            }),
          );
          await createPod(world, 'portless', { ip: '10.1.0.99' });
        },
      },
      { tell: (world) => removePods(world, 0, 30) },
      {
        tell: (world) =>
          forEach(9, (i) =>
            createPod(world, `web-${i}`, { ip: `10.1.1.${i + 1}`, node: nodeOf(i), ports: [port('http', 9090)] }),
          ),
      },
      {
        tell: (world) =>
          patchService(world, 'web', {
            spec: { ports: [{ name: 'web', port: 80, targetPort: 'http', appProtocol: 'kubernetes.io/h2c' }] },
          }),
      },
    ],
  },
  {
    name: 'mirrored',
    steps: [
      {
        async tell(world) {
          await createManual(world, 'manual', [
            { addresses: [{ ip: '10.9.0.1' }, { ip: 'fd00::9' }], ports: [{ port: 80 }] },
          ]);
          await createManual(world, 'skipped', [{ addresses: [{ ip: '10.9.0.2' }], ports: [{ port: 80 }] }], {
            [SKIP_MIRROR_LABEL]: 'true',
          });
          await createManual(world, 'large', [
            { addresses: Array.from({ length: 130 }, (_, i) => ({ ip: `10.9.1.${i}` })), ports: [{ port: 80 }] },
            { notReadyAddresses: [{ ip: '10.9.2.1' }], ports: [{ name: 'b', port: 81 }] },
          ]);
          await createManual(world, 'cut', [
            { addresses: Array.from({ length: 1005 }, (_, i) => ({ ip: `10.8.${i >> 8}.${i & 255}` })), ports: [] },
          ]);
        },
      },
      {
        async tell(world) {
          await patch(world, 'endpoints/manual', {
            metadata: { labels: { made: 'by-hand' }, annotations: { note: 'copied', [LAST_APPLIED_ANNOTATION]: '{}' } },
          });
          await patch(world, 'endpoints/skipped', { metadata: { labels: { [SKIP_MIRROR_LABEL]: null } } });
          await patch(world, 'endpoints/large', {
            subsets: [{ addresses: [{ ip: '10.9.1.5' }], ports: [{ port: 80 }] }],
          });
        },
      },
      {
        async tell(world) {
          await patch(world, 'endpoints/manual', { subsets: null });
          await patch(world, 'endpoints/skipped', { metadata: { labels: { [SKIP_MIRROR_LABEL]: 'true' } } });
          await remove(world, 'services/large');
        },
      },
      {
        async tell(world) {
          await patch(world, 'endpoints/manual', {
            subsets: [{ addresses: [{ ip: '10.9.0.3' }], ports: [{ port: 80 }] }],
          });
          await createPods(world, 0, 3);
          await patchService(world, 'skipped', { spec: { selector: WEB } });
        },
      },
    ],
  },
  {
    name: 'mirrored-app-protocol',
    steps: [
      {
        async tell(world) {
          const [u1, u2, u3] = U_PORTS;
          const both = [u1, u2, u3];
          await createManual(world, 'shared', [
            { addresses: ips(1, 2), ports: both },
            { addresses: ips(3), ports: both },
          ]);
          await createManual(world, 'alone', [
            { addresses: ips(1), ports: both },
            { addresses: ips(2), ports: [u3] },
          ]);
          for (const ready of [2, 7]) {
            // Of 10.9.0.1 the later subset by hash counts, which is not the same in the two.
            await createManual(world, `two-states-${ready}`, [
              { addresses: ips(1, ready), ports: [u3] },
              { notReadyAddresses: ips(1, 3), ports: [u3] },
            ]);
          }
        },
      },
      {
        async tell(world) {
          const [u1, u2, u3] = U_PORTS;
          await patch(world, 'endpoints/shared', {
            subsets: [
              { addresses: ips(1, 2), ports: [u1, u2, u3] },
              { addresses: ips(3), ports: [u3] },
            ],
          });
          await patch(world, 'endpoints/alone', {
            subsets: [
              { addresses: ips(1), ports: [u1, u3] },
              { addresses: ips(2), ports: [u1, u3] },
            ],
          });
        },
      },
    ],
  },
  {
    name: 'foreign-hand',
    steps: [
      {
        async tell(world) {
          await createPods(world, 0, 4);
          await createService(world, 'web');
          await createService(world, 'other', { spec: { selector: WEB } });
          await createService(world, 'third', { spec: { selector: WEB } });
        },
      },
      {
        async tell(world) {
          await changeSlices(world, 'web', { method: 'PATCH', body: { endpoints: [] } });
          await changeSlices(world, 'other', { method: 'PATCH', body: { metadata: { labels: { theirs: 'yes' } } } });
          await changeSlices(world, 'third', { method: 'DELETE' });
        },
      },
      {
        // Another's slice is left alone, one that says it is the controller's is taken over.
        async tell(world) {
          await createSlice(world, 'theirs', { [SLICE_MANAGED_BY_LABEL]: 'somebody-else' });
          await createSlice(world, 'nobodys', {});
          await createSlice(world, 'taken-over', { [SLICE_MANAGED_BY_LABEL]: SLICE_MANAGED_BY_VALUE });
        },
      },
      { tell: (world) => setReady(world, 'web-1', false) },
    ],
  },
  {
    name: 'comes-back',
    steps: [
      {
        async tell(world) {
          await createPods(world, 0, 3);
          await createService(world, 'web');
        },
      },
      { tell: (world) => remove(world, 'services/web') },
      { tell: (world) => createService(world, 'web', { labels: { again: 'yes' }, spec: { clusterIP: 'None' } }) },
      { tell: (world) => patchService(world, 'web', { spec: { selector: { app: 'nobody' } } }) },
      { tell: (world) => patchService(world, 'web', { spec: { selector: WEB } }) },
    ],
  },
];

/** Changes nodes, and so the slices of everybody. */
export const TOPOLOGY: SlicesChapter = {
  name: 'topology',
  steps: [
    {
      async tell(world) {
        await createPods(world, 0, 12);
        const annotations = { [TOPOLOGY_MODE_ANNOTATION]: 'Auto' };
        await createService(world, 'web', { annotations });
        for (const value of ['PreferClose', 'PreferSameZone', 'PreferSameNode']) {
          await createService(world, value.toLowerCase(), { spec: { selector: WEB, trafficDistribution: value } });
        }
        // Not enough endpoints for every zone.
        await createPod(world, 'few', { ip: '10.1.9.9', labels: { app: 'few' } });
        await createService(world, 'few', { annotations });
      },
    },
    {
      // Two thirds of all CPU is in one zone then.
      touched: ['slices-node-cpu', 'slices-hints-return'],
      tell: (world) => changeCpu(world.client, 'node-3', '64'),
    },
    {
      touched: ['slices-node-cpu', 'slices-hints-return', 'slices-zone-change'],
      async tell({ client }) {
        await changeCpu(client, 'node-3', '8');
        await patchNode(client, 'node-4', { [ZONE_LABEL]: 'a' });
      },
    },
    {
      touched: ['slices-hints-return', 'slices-zone-change'],
      tell: ({ client }) => patchNode(client, 'node-4', { [ZONE_LABEL]: null }),
    },
    {
      touched: ['slices-hints-return', 'slices-zone-change'],
      async tell({ client }) {
        await patchNode(client, 'node-4', { [ZONE_LABEL]: 'b' });
        await turnNode(client, 'node-5', false);
      },
    },
    {
      touched: ['slices-hints-return'],
      async tell(world) {
        await turnNode(world.client, 'node-5', true);
        await patchService(world, 'web', { metadata: { annotations: { [TOPOLOGY_MODE_ANNOTATION]: null } } });
      },
    },
    {
      touched: ['slices-unknown-node'],
      async tell(world) {
        await createPod(world, 'web-late', { ip: '10.1.8.1', node: 'node-late' });
        await createNode(world.client, 'node-late', 'c');
      },
    },
  ],
};

function nodeOf(i: number): string {
  return `node-${1 + (i % NODES)}`;
}

async function createPods(world: World, from: number, count: number): Promise<void> {
  await forEach(count, (at) => {
    const i = from + at;
    return createPod(world, `web-${i}`, { ip: `10.3.${i >> 8}.${i & 255}`, node: nodeOf(i), ready: i % 10 !== 9 });
  });
}

async function removePods(world: World, from: number, count: number): Promise<void> {
  await forEach(count, (at) => removePod(world, `web-${from + at}`));
}

async function createManual(
  world: World,
  name: string,
  subsets: readonly object[],
  labels: Record<string, string> = {},
): Promise<void> {
  await createService(world, name, { spec: { selector: null } });
  await create(world, 'endpoints', { apiVersion: 'v1', kind: 'Endpoints', metadata: { name, labels }, subsets });
}

function ips(...octets: readonly number[]): { ip: string }[] {
  return octets.map((octet) => ({ ip: `10.9.0.${octet}` }));
}

function slicesPath({ namespace }: World): string {
  return `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
}

/** The same to all slices of a service. */
async function changeSlices(
  world: World,
  service: string,
  change: { readonly method: 'PATCH' | 'DELETE'; readonly body?: object },
): Promise<void> {
  const selector = encodeURIComponent(`${SERVICE_NAME_LABEL}=${service}`);
  const { items } = await world.client.list(`${slicesPath(world)}?labelSelector=${selector}`);
  assert.ok(items.length > 0, `${service} has slices`);
  for (const { metadata } of items) {
    await world.client.send({ ...change, path: `${slicesPath(world)}/${metadata.name}`, contentType: MERGE_PATCH });
  }
}

async function createSlice(world: World, name: string, labels: Record<string, string>): Promise<void> {
  const slice: KubeObject = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { [SERVICE_NAME_LABEL]: 'web', ...labels } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'] }],
    ports: [{ name: 'theirs', port: 53, protocol: 'UDP' }],
  };
  await world.client.send({ method: 'POST', path: slicesPath(world), body: slice });
}
