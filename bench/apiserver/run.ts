/**
 * The cost of a request to the embedded API server, beside the real one in the same run: small PUTs of Endpoints, and
 * status patches of production-size pods, with watchers. CPU is that of the whole process. The CPU of etcd is not part
 * of kube-apiserver's.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { encodeObject } from '../../src/kube/codec.ts';
import { ACCEPT_METADATA, PROTOBUF } from '../../src/kube/media-type.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { makeCluster, type Cluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { readinessConditions } from '../../src/workload/objects.ts';
import { patchStatus } from '../../src/workload/request.ts';
import { kubeBinaries } from '../../test/e2e/binaries.ts';
import { openLoadWatch, receivedBy, sendAll, type LoadRequest } from '../support/http-load.ts';
import type { Size } from '../support/micro-bench.ts';
import { SEED } from '../support/records.ts';
import { table } from '../support/table.ts';
import { CONNECTIONS, openEmbedded, openReal, type Server } from './server.ts';

interface Scale {
  readonly puts: number;
  readonly patches: number;
  readonly services: number;
  readonly watchers: readonly number[];
  /**
   * The real server gets only one of so many requests: its cost per request does not depend on their number. An even
   * number of rounds keeps the hash.
   */
  readonly realEvery: number;
}

const WATCHERS = 4;
const ADDRESSES = 5;
/** The fewest requests per second that a core should do. */
const PUTS_MIN = 5000;
const PATCHES_MIN = 2000;

export async function runApiServerBench(size: Size, rest: readonly string[]): Promise<void> {
  const scale: Scale =
    size === 'full'
      ? { puts: 16_000, patches: 8000, services: 200, watchers: [0, WATCHERS, 32], realEvery: 4 }
      : { puts: 200, patches: 100, services: 4, watchers: [0, WATCHERS], realEvery: 1 };
  const servers: (() => Promise<Server>)[] = [openEmbedded];
  if (!rest.includes('--embedded-only') && (await kubeBinaries().catch(() => null)) !== null) servers.push(openReal);
  const rows: string[][] = [];
  for (const start of servers) {
    const server = await start();
    try {
      const every = start === openReal ? scale.realEvery : 1;
      const less = { puts: scale.puts / every, patches: scale.patches / every };
      rows.push(...(await measure(server, { ...scale, ...less })));
    } finally {
      await server.client.close();
      await server.stop();
    }
  }
  console.log(table(['', 'a second', 'CPU us each', 'a core does', 'MB to watchers', 'hash'], rows));
  if (size !== 'full') return;
  for (const [what, min] of [
    ['PUT', PUTS_MIN],
    ['patch', PATCHES_MIN],
  ] as const) {
    const row = rows.find(([name]) => name!.startsWith(`embedded: ${what}, ${WATCHERS} `))!;
    console.log(`${what}: at least ${min} a second on one core: ${Number(row[3]) >= min ? 'yes' : 'NO'}`);
  }
}

async function measure(server: Server, scale: Scale): Promise<string[][]> {
  const profile = { ...findProfile('spread'), namespaces: 1, servicesPerNamespace: scale.services };
  const cluster = makeCluster(profile, SEED);
  await loadCluster(server.client, cluster, CONNECTIONS);
  const rows: string[][] = [];
  const [namespace] = cluster.namespaces;
  const run = async (what: string, watchers: number, count: number, requestOf: (i: number) => LoadRequest) => {
    const resource = what === 'PUT' ? 'endpoints' : 'pods';
    rows.push(await measureOne(server, what, resource, watchers, count, requestOf));
  };
  const put = putsOf(namespace!, scale.services);
  await run('PUT', 0, Math.ceil(scale.puts / 4), put);
  rows.pop();
  for (const watchers of scale.watchers) await run('PUT', watchers, scale.puts, put);
  const patch = patchesOf(cluster);
  await run('patch', 0, Math.ceil(scale.patches / 4), patch);
  rows.pop();
  for (const watchers of scale.watchers) await run('patch', watchers, scale.patches, patch);
  return rows;
}

async function measureOne(
  { name, target, cpuSeconds, client }: Server,
  what: string,
  resource: string,
  watchers: number,
  count: number,
  requestOf: (i: number) => LoadRequest,
): Promise<string[]> {
  const { resourceVersion } = await client.list(`/api/v1/${resource}?limit=1`);
  const path = `/api/v1/${resource}?watch=1&allowWatchBookmarks=1&resourceVersion=${resourceVersion}`;
  const open = await Promise.all(Array.from({ length: watchers }, () => openLoadWatch(target, path, PROTOBUF)));
  const received = (): number => receivedBy(open);
  const [cpuFrom, bytesFrom] = [cpuSeconds(), received()];
  const seconds = await sendAll(target, CONNECTIONS, count, requestOf);
  for (let before = -1; before !== received(); await sleep(50)) before = received();
  const cpu = cpuSeconds() - cpuFrom;
  const bytes = received() - bytesFrom;
  for (const { stop } of open) stop();
  return [
    `${name}: ${what}, ${watchers} watchers`,
    (count / seconds).toFixed(0),
    ((cpu / count) * 1e6).toFixed(0),
    (count / cpu).toFixed(0),
    (bytes / 1e6).toFixed(1),
    await hashOf(client, resource),
  ];
}

/** Each request writes another value, so that none is a no-op. */
function putsOf(namespace: string, services: number): (i: number) => LoadRequest {
  const bodies = Array.from({ length: services }, (_, service) =>
    ['a', 'b'].map((value) => encodeObject(endpointsOf(service, value))),
  );
  return (i) => {
    const service = i % services;
    const path = `/api/v1/namespaces/${namespace}/endpoints/load-${service}`;
    const body = bodies[service]![Math.floor(i / services) % 2]!;
    return { method: 'PUT', path, accept: ACCEPT_METADATA, contentType: PROTOBUF, body };
  };
}

function endpointsOf(service: number, value: string): Parameters<typeof encodeObject>[0] {
  const addresses = Array.from({ length: ADDRESSES }, (_, i) => ({
    ip: `10.1.${service}.${i}`,
    nodeName: `node-${i}`,
    targetRef: { kind: 'Pod', namespace: 'default', name: `app-${service}-${i}`, uid: `uid-${service}-${i}` },
  }));
  const metadata = { name: `load-${service}`, annotations: { value } };
  const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }];
  return { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets: [{ addresses, ports }] };
}

function patchesOf({ pods }: Cluster): (i: number) => LoadRequest {
  return (i) => {
    const pod = pods[i % pods.length]!;
    const round = Math.floor(i / pods.length);
    const ready = round % 2 === 1;
    const conditions = readinessConditions(ready, 1_800_000_000 + (round % 2));
    const { method, path, contentType, body } = patchStatus('Pod', pod.app.namespace, pod.name, { conditions });
    const bytes = Buffer.from(JSON.stringify(body));
    return { method, path, accept: ACCEPT_METADATA, contentType, body: bytes };
  };
}

/** The hash of a resource's objects, without the fields that every server draws anew. */
async function hashOf(client: ApiClient, resource: string): Promise<string> {
  const { items } = await client.list(`/api/v1/${resource}`);
  const drawn = /^(uid|resourceVersion|creationTimestamp|lastProbeTime|managedFields|generation|observedGeneration)$/;
  const texts = items
    .filter(({ metadata }) => metadata.name !== 'kubernetes')
    .map(({ metadata, ...rest }) => {
      const { name, annotations } = metadata;
      const content = resource === 'pods' ? (rest['status'] as object) : rest;
      const text = JSON.stringify({ name, annotations, content }, (key, value) =>
        drawn.test(key) ? undefined : value,
      );
      // The order of keys differs between servers.
      return text.split('').toSorted().join('');
    });
  return createHash('sha256').update(texts.toSorted().join('\n')).digest('hex').slice(0, 16);
}
