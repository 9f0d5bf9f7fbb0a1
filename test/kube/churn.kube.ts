/**
 * All three controllers of endpointd on a real kube-apiserver and etcd while everything changes: services, pods, nodes,
 * hand-made Endpoints, and a foreign hand on what the controllers write. Each round has a fault of its own and ends with a
 * quiet point, where every object must be as the oracles say and endpointd must not have grown.
 *
 * ENDPOINTD_CHURN_MINUTES = how long, 2 when it is not set: 20 for a look at what only grows slowly.
 * ENDPOINTD_CHURN_SEED = another seed.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGarbageCollector } from '../../src/cli/garbage-collector.ts';
import type { ClusterLife } from '../../src/cli/cluster-life.ts';
import { loadCluster } from '../../src/cli/load-cluster.ts';
import { readObjects } from '../../src/cli/read-objects.ts';
import { sendThrough } from '../../src/cli/send-through.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import type { Prng } from '../../src/lib/prng.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import type { Churn } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { FOREIGN_MANAGER, FOREIGN_SERVICE, foreignChange } from '../../src/workload/foreign-hand.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { patch, remove } from '../../src/workload/request.ts';
import type { WorkloadRequest } from '../../src/workload/request.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import { clientOf } from './client.ts';
import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { startEndpointd } from './endpointd.ts';
import type { Endpointd } from './endpointd.ts';
import { memoryUse } from './heap.ts';
import type { MemoryUse } from './heap.ts';
import { DUAL_STACK } from './script.ts';
import { until } from './world.ts';
import { expectAllRight, seenByAll, touchServices } from './whole-check.ts';

const MINUTES = Number(process.env['ENDPOINTD_CHURN_MINUTES'] ?? 2);
const SEED = Number(process.env['ENDPOINTD_CHURN_SEED'] ?? 20_261_121);
const ROUND_MS = 8000;
const CHANGES_PER_SECOND_MAX = 150;
/**
 * One in so many changes is somebody else's, of what the controllers have written: seldom enough that the same object is
 * hardly ever hit again within a minute, since its repair would wait longer each time.
 */
const FOREIGN_EVERY = 150;
/** A killed server may stay away this long before a change to the cluster gives up. */
const AWAY_MS_MAX = 180_000;
/** Back-off against a server that is away, or against a foreign hand, may have grown before a quiet point. */
const RIGHT_MS_MAX = 240_000;
const TERM_MS_MAX = 12_000;
/** The cluster itself may become a quarter larger (`Churn.podsMax`), and services come and go. */
const HEAP_GROWTH_MAX = 1.5;
const RESIDENT_GROWTH_MAX = 1.6;
const SLACK_BYTES = 24 * 2 ** 20;
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500', '--shards=1'];

type Fault = 'none' | 'kill' | 'term' | 'shard' | 'apiserver' | 'etcd';

/** Deaths of the process come first: what must not grow is the one that is left. */
const FIRST: readonly Fault[] = ['kill', 'term'];
const THEN: readonly Fault[] = ['none', 'apiserver', 'shard', 'etcd'];

describe(`churn of everything for ${MINUTES} minutes`, () => {
  let cluster: Cluster;
  let client: ApiClient;
  let collector: ClusterLife;
  let endpointd: Endpointd;
  let churn: Churn;
  const hand = createPrng(SEED);
  const uses: { readonly pid: number; readonly use: MemoryUse }[] = [];

  before(async () => {
    cluster = await startCluster({ serviceClusterIPRanges: DUAL_STACK });
    client = clientOf(cluster);
    collector = runGarbageCollector(client);
    endpointd = await startEndpointd(cluster, FLAGS);
    const model = makeCluster(findProfile('small'), SEED);
    await loadCluster(client, model, 16);
    churn = createChurn(model, CHURN_MIXES.everything, SEED);
  });

  after(async () => {
    await endpointd?.kill9();
    await collector?.stop();
    await client?.close();
    await cluster?.stop();
  });

  async function churnFor(milliseconds: number): Promise<void> {
    const fromMs = Date.now();
    const away = AbortSignal.timeout(milliseconds + AWAY_MS_MAX);
    for (let changes = 0; Date.now() < fromMs + milliseconds; changes++) {
      await sendThrough(client, nextChange(churn, Date.now())!.request, away);
      if (changes % FOREIGN_EVERY === 0) await layHands(away);
      away.throwIfAborted();
      const aheadMs = (changes * 1000) / CHANGES_PER_SECOND_MAX - (Date.now() - fromMs);
      if (aheadMs > 0) await sleep(aheadMs);
    }
  }

  /** Both on a slice and on an Endpoints object that a controller keeps. */
  async function layHands(signal: AbortSignal): Promise<void> {
    const written = await readObjects(client).catch(() => null);
    // The server is away; the next time it may be back.
    if (written === null) return;
    const foreign = foreignChange(hand, written.slices.filter(isManaged));
    const requests = [foreign?.request ?? null, foreignEndpointsChange(hand, written.endpoints)];
    for (const request of requests) if (request !== null) await sendThrough(client, request, signal);
  }

  async function strike(fault: Fault): Promise<void> {
    switch (fault) {
      case 'none':
        return;
      case 'kill':
        await endpointd.kill9();
        endpointd = await startEndpointd(cluster, FLAGS);
        return;
      case 'term': {
        const { status, tookMs } = await endpointd.term();
        assert.equal(status, 0);
        assert.ok(tookMs < TERM_MS_MAX, `took ${tookMs} ms`);
        endpointd = await startEndpointd(cluster, FLAGS);
        return;
      }
      case 'shard':
        return endpointd.killWorkers(1);
      case 'apiserver':
        await cluster.killApiserver();
        return cluster.startApiserver();
      case 'etcd':
        await cluster.killEtcd();
        return cluster.startEtcd();
    }
  }

  /** What a foreign hand has put out of everybody's sight belongs to nobody. */
  async function clearForeign(): Promise<void> {
    const away = AbortSignal.timeout(AWAY_MS_MAX);
    for (const { metadata } of (await readObjects(client)).slices) {
      const { labels = {}, namespace, name } = metadata;
      const theirs =
        labels[SLICE_MANAGED_BY_LABEL] === FOREIGN_MANAGER || labels[SERVICE_NAME_LABEL] === FOREIGN_SERVICE;
      if (theirs) await sendThrough(client, remove('EndpointSlice', namespace, name!, 0), away);
    }
  }

  async function quietPoint(): Promise<void> {
    await clearForeign();
    await expectAllRight(client, { garbageCollected: true }, RIGHT_MS_MAX);
    await endpointd.ready();
    await until(async () => {
      const metrics = await endpointd.metrics();
      return metrics.sum('endpointd_stuck_service') === 0 && (await endpointd.idle());
    });
    uses.push({ pid: endpointd.child.pid, use: await memoryUse(endpointd) });
  }

  it('comes to a first quiet point', quietPoint);

  it('is right at every quiet point', async (test) => {
    const untilMs = Date.now() + MINUTES * 60_000;
    for (let round = 0; Date.now() < untilMs; round++) {
      const fault = round < FIRST.length ? FIRST[round]! : THEN[(round - FIRST.length) % THEN.length]!;
      const fromMs = Date.now();
      // An error of either must not be lost in waiting for the other.
      await Promise.all([churnFor(ROUND_MS), strike(fault)]);
      const churnedMs = Date.now() - fromMs;
      await quietPoint();
      const { heapBytes, residentBytes } = uses.at(-1)!.use;
      test.diagnostic(
        `${fault}: quiet ${Date.now() - fromMs - churnedMs} ms after ${churnedMs} ms of changes, ` +
          `heap ${(heapBytes / 1e6).toFixed(1)} MB, resident ${(residentBytes / 1e6).toFixed(0)} MB`,
      );
    }
  });

  it('has not grown', () => {
    const last = uses.filter(({ pid }) => pid === endpointd.child.pid).map(({ use }) => use);
    const bounds = {
      heapBytes: last[0]!.heapBytes * HEAP_GROWTH_MAX + SLACK_BYTES,
      residentBytes: last[0]!.residentBytes * RESIDENT_GROWTH_MAX + SLACK_BYTES,
    };
    assert.ok(last.length > 1, 'one process has lived through more than one quiet point');
    for (const { heapBytes, residentBytes } of last) {
      assert.ok(heapBytes < bounds.heapBytes, `${heapBytes} bytes of heap, at first ${last[0]!.heapBytes}`);
      assert.ok(residentBytes < bounds.residentBytes, `${residentBytes} bytes, at first ${last[0]!.residentBytes}`);
    }
  });

  it('has met nothing that it could not read, and holds nothing back', async () => {
    const metrics = await endpointd.metrics();
    assert.equal(metrics.sum('endpointd_decode_errors_total'), 0, metrics.lines('endpointd_decode_errors_total'));
    assert.equal(metrics.sum('endpointd_quarantines_total'), 0);
    assert.equal(metrics.sum('endpointd_stuck_service'), 0);
  });

  it('ends, and writes nothing when it starts again', async () => {
    await touchServices(client, 'at the end');
    await seenByAll(client, 'after-all');
    await until(() => endpointd.idle());
    await endpointd.term();
    const versions = versionsOf(await readObjects(client));
    endpointd = await startEndpointd(cluster, FLAGS);
    await until(() => endpointd.idle());
    await expectAllRight(client, { garbageCollected: true });
    const metrics = await endpointd.metrics();
    assert.equal(metrics.sum('endpointd_writes_total'), 0, metrics.lines('endpointd_writes_total'));
    assert.deepEqual(versionsOf(await readObjects(client)), versions);
  });
});

function isManaged({ metadata }: KubeObject): boolean {
  return metadata.labels?.[SLICE_MANAGED_BY_LABEL]?.endsWith('.k8s.io') === true;
}

const ENDPOINTS_MANAGED_BY = 'endpoints.kubernetes.io/managed-by';

/** Emptied, labelled or deleted; null when there are none. */
function foreignEndpointsChange(prng: Prng, endpoints: readonly KubeObject[]): WorkloadRequest | null {
  const managed = endpoints.filter(({ metadata }) => metadata.labels?.[ENDPOINTS_MANAGED_BY] !== undefined);
  if (managed.length === 0) return null;
  const { namespace, name } = managed[nextInt(prng, managed.length)]!.metadata;
  const change = (body: object): WorkloadRequest => patch('Endpoints', namespace, name!, body);
  return [
    change({ subsets: null }),
    change({ metadata: { labels: { theirs: 'yes' } } }),
    remove('Endpoints', namespace, name!, 0),
  ][nextInt(prng, 3)]!;
}

/** By kind and name: equal before and after = nobody has written. */
function versionsOf(objects: Pick<Awaited<ReturnType<typeof readObjects>>, 'endpoints' | 'slices'>): object {
  const version = ({ metadata }: KubeObject): [string, string] => [
    `${metadata.namespace}/${metadata.name}`,
    metadata.resourceVersion!,
  ];
  return {
    endpoints: Object.fromEntries(objects.endpoints.map(version)),
    slices: Object.fromEntries(objects.slices.map(version)),
  };
}
