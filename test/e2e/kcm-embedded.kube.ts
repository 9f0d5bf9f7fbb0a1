/**
 * The real kube-controller-manager on the embedded API server and on the real one, after the same seeded script: the
 * same objects. What it needs of a server (discovery for its collector, metadata watches in protobuf, deletecollection,
 * finalization) is exactly what the embedded one has to have.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadCluster } from '../../src/testbed/load-cluster.ts';

import { createApiClient, type ApiClient, type ApiRequest } from '../../src/node/api-client.ts';
import { createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { normalised } from './normalised.ts';
import { UPSTREAM_MIX, UPSTREAM_PROFILE } from './upstream-story.ts';

const SEED = 20_261_121;
const CHANGES = 400;
const CONVERGE_MS_MAX = 120_000;
const POLL_MS = 250;
/** What nobody has written for so long, with the managers still running, is what they make of it. */
const REST_MS = 2000;
const CONTROLLERS = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'garbage-collector-controller',
  'namespace-controller',
];
const RATES = { qps: 500, burst: 500 };

/** How a client-go reflector may ask, beside what it does by itself: WatchList in protobuf. */
const VARIANTS: readonly {
  readonly title: string;
  readonly server: readonly string[];
  readonly client: readonly string[];
}[] = [
  { title: 'falls back to lists where WatchList is refused', server: ['--watch-list=false'], client: [] },
  { title: 'lists and watches', server: [], client: ['--feature-gates=WatchListClient=false'] },
  { title: 'speaks JSON', server: [], client: ['--kube-api-content-type=application/json'] },
];

interface Embedded {
  readonly client: ApiClient;
  readonly manage: (flags?: readonly string[]) => Promise<ControllerManager>;
  readonly stop: () => Promise<void>;
}

describe('kube-controller-manager on the embedded API server', () => {
  let real: Cluster;
  /** Its manager runs to the end: what a comparison finds unfinished there, it can still finish. */
  let realClient: ApiClient;

  before(async () => {
    real = await startCluster();
    realClient = clientOf(real);
    await startControllerManager(real, CONTROLLERS, RATES);
    await tell(realClient);
  });

  after(async () => {
    await realClient?.close();
    await real?.stop();
  });

  async function startEmbedded(flags: readonly string[]): Promise<Embedded> {
    const serve: ServeProcess = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0', ...flags]);
    const client = createApiClient({ url: serve.url }, 16);
    const managers: ControllerManager[] = [];
    const { directory, binaries } = real;
    return {
      client,
      manage: async (more = []) => {
        const where = { directory, binaries, kubeconfigPath: serve.kubeconfig };
        const manager = await startControllerManager(where, CONTROLLERS, { ...RATES, flags: more });
        managers.push(manager);
        return manager;
      },
      stop: async () => {
        for (const manager of managers) await manager.stop();
        await client.close();
        await serve.stop();
      },
    };
  }

  it('a changing cluster gets the same objects as on a real API server', async () => {
    const embedded = await startEmbedded([]);
    try {
      await embedded.manage();
      await tell(embedded.client);
      const objects = await equalObjects(realClient, embedded.client);
      for (const kind of ['Endpoints', 'EndpointSlice']) {
        assert.ok(objects.filter((text) => text.includes(`"kind": "${kind}"`)).length > 90, `many ${kind}`);
      }
    } finally {
      await embedded.stop();
    }
  });

  for (const { title, server, client } of VARIANTS) {
    it(`the objects are the same when the server ${title}`, async () => {
      const embedded = await startEmbedded(server);
      try {
        await tell(embedded.client);
        await embedded.manage(client);
        await equalObjects(realClient, embedded.client);
      } finally {
        await embedded.stop();
      }
    });
  }
});

/** The same on every server: a cluster, changes to it, orphans for the collector, and a namespace that goes. */
async function tell(client: ApiClient): Promise<void> {
  const cluster = makeCluster(UPSTREAM_PROFILE, SEED);
  await loadCluster(client, cluster, 16);
  const churn = createChurn(cluster, UPSTREAM_MIX, SEED);
  for (let i = 0; i < CHANGES; i++) await client.send(nextChange(churn, SCRIPT_MS)!.request);
  for (const request of EXTRAS) await client.send(request);
}

/** Times in conditions do not depend on when the script is told. */
const SCRIPT_MS = 1_800_000_000_000;

const HAND = '/api/v1/namespaces/by-hand';
/** Is deleted at the end of the script: once it has gone, the controllers have been through all of it. */
const GOING = 'going';
const EXTRAS: readonly ApiRequest[] = [
  post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'by-hand' } }),
  post(`${HAND}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'mirrored' },
    spec: { ports: [{ port: 80 }] },
  }),
  post(`${HAND}/endpoints`, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'mirrored' },
    subsets: [{ addresses: [{ ip: '10.7.0.1' }, { ip: '10.7.0.2' }], ports: [{ port: 8080 }] }],
  }),
  post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: GOING } }),
  post(`/api/v1/namespaces/${GOING}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  }),
  { method: 'DELETE', path: `/api/v1/namespaces/${GOING}` },
];

function post(path: string, body: object): ApiRequest {
  return { method: 'POST', path, body };
}

interface Look {
  /** Normalised, sorted. */
  readonly objects: readonly string[];
  /** Of every object: equal twice = nobody has written. */
  readonly versions: string;
  readonly going: boolean;
}

/**
 * Waits until both servers hold the same and have come to rest: equal halfway says nothing about the end.
 * @throws Error with what differs at the deadline
 */
async function equalObjects(left: ApiClient, right: ApiClient): Promise<readonly string[]> {
  const startMs = Date.now();
  let restedSinceMs = startMs;
  let before = '';
  for (;;) {
    const [a, b] = await Promise.all([look(left), look(right)]);
    const nowMs = Date.now();
    const versions = `${a.versions} | ${b.versions}`;
    if (versions !== before || a.going || b.going) restedSinceMs = nowMs;
    before = versions;
    const equal = a.objects.length === b.objects.length && a.objects.every((text, i) => text === b.objects[i]);
    if (equal && nowMs - restedSinceMs >= REST_MS) return a.objects;
    if (nowMs - startMs > CONVERGE_MS_MAX) {
      const [inA, inB] = [new Set(a.objects), new Set(b.objects)];
      const lines = [
        ...a.objects.filter((text) => !inB.has(text)).map((text) => `real: ${text}`),
        ...b.objects.filter((text) => !inA.has(text)).map((text) => `embedded: ${text}`),
      ];
      const rest = `at rest for ${nowMs - restedSinceMs} ms`;
      throw new Error(`${lines.length} objects differ, ${rest}:\n${lines.slice(0, 6).join('\n')}`);
    }
    await sleep(POLL_MS);
  }
}

const COLLECTIONS: readonly (readonly [kind: string, path: string])[] = [
  ['Endpoints', '/api/v1/endpoints'],
  ['EndpointSlice', '/apis/discovery.k8s.io/v1/endpointslices'],
  ['Namespace', '/api/v1/namespaces'],
];

async function look(client: ApiClient): Promise<Look> {
  const objects: string[] = [];
  const versions: string[] = [];
  let going = false;
  for (const [kind, path] of COLLECTIONS) {
    for (const item of (await client.list(path)).items) {
      const { name, namespace, resourceVersion } = item.metadata;
      if (name === 'kubernetes') continue;
      objects.push(normalised({ ...item, kind }));
      versions.push(resourceVersion!);
      going ||= name === GOING || namespace === GOING;
    }
  }
  return { objects: objects.sort(), versions: versions.sort().join(), going };
}
