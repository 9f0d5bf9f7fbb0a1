/**
 * All three controllers of endpointd on a real kube-apiserver and etcd while everything changes: services, pods, nodes,
 * hand-made Endpoints, and a foreign hand on what the controllers write. Each round has a fault of its own and ends with a
 * quiet point, where every object must be as the oracles say and endpointd must not have grown.
 *
 * Without more said there is one round for each fault. MINUTES=20 goes on with them, those that take
 * minutes included, for so long: a look at what only grows slowly. SEED=n is another seed.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGarbageCollector } from '../../src/testbed/garbage-collector.ts';
import type { ClusterLife } from '../../src/testbed/cluster-life.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import { sendThrough } from '../../src/testbed/send-through.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import type { Churn } from '../../src/workload/change.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { FOREIGN_MANAGER, FOREIGN_SERVICE, foreignChange } from '../support/foreign-hand.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { patch, remove, type WorkloadRequest } from '../../src/workload/request.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import { clientOf } from './client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { DEATHS, FAULTS, LONG_FAULTS, startBehindProxy, type ChurnFault, type Field } from './churn-faults.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { kernelUse, memoryUse, type ProcessUse } from './process-use.ts';
import { DUAL_STACK } from './script.ts';
import { until } from './world.ts';
import { expectAllRight, seenByAll, touchServices } from './whole-check.ts';
import { minutes, seeds } from '../support/runs.ts';

const MINUTES = minutes();
const SEED = seeds({ first: 20_261_121, count: 1 }).first;
const ROUND_MS = 4000;
const CHANGES_PER_SECOND_MAX = 150;
/**
 * One in so many changes is somebody else's, of what the controllers have written: seldom enough that the same object is
 * hardly ever hit again within a minute, since its repair would wait longer each time.
 */
const FOREIGN_EVERY = 150;
/** A killed server may stay away this long before a change to the cluster gives up. */
const AWAY_MS_MAX = 180_000;
const FIRST_RIGHT_MS_MAX = 240_000;
/**
 * The pods of a Node that is deleted and does not come back stay in their slices for this time (`slices-node-gone` in
 * docs/differences.md). Nobody deletes them here: no pod garbage collector runs.
 */
const NODE_GONE_MS = 60_000;
/** The cluster itself may become a quarter larger (`Churn.podsMax`), and services come and go. */
const HEAP_GROWTH_MAX = 1.5;
const RESIDENT_GROWTH_MAX = 1.6;
const SLACK_BYTES = 24 * 2 ** 20;
/** The connections on which a round's writes were under way may still be open: 64 at most. A leak comes with each round. */
const DESCRIPTORS_MORE_MAX = 64;
const THREADS_MORE_MAX = 2;

describe('churn of everything under faults', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let collector: ClusterLife;
  let field: Field;
  let churn: Churn;
  /** Nodes that the changes of the last round have deleted and not made again. */
  const nodesGone = new Set<string>();
  const hand = createPrng(SEED);
  const uses: { readonly pid: number; readonly use: ProcessUse }[] = [];

  before(async () => {
    cluster = await startCluster({ serviceClusterIPRanges: DUAL_STACK });
    client = clientOf(cluster);
    collector = runGarbageCollector(client);
    const proxy = await startFaultProxy(cluster, SEED);
    field = { cluster, proxy, endpointd: await startBehindProxy({ cluster, proxy }) };
    const model = makeCluster(findProfile('small'), SEED);
    await loadCluster(client, model, 16);
    churn = createChurn(model, CHURN_MIXES.everything, SEED);
  });

  after(async () => {
    await field?.endpointd.kill9();
    await field?.proxy.stop();
    await collector?.stop();
    await client?.close();
    await cluster?.stop();
  });

  /** For so long, and on until `isOver`. */
  async function churnFor(milliseconds: number, isOver: () => boolean): Promise<void> {
    const fromMs = Date.now();
    const away = AbortSignal.timeout(milliseconds + AWAY_MS_MAX);
    for (let changes = 0; Date.now() < fromMs + milliseconds || !isOver(); changes++) {
      const { kind, object, request } = nextChange(churn, Date.now())!;
      await sendThrough(client, request, away);
      if (kind === 'node-replace' && request.method === 'DELETE') nodesGone.add(object);
      else if (kind === 'node-replace') nodesGone.delete(object);
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

  async function quietPoint(rightMsMax: number): Promise<void> {
    await clearForeign();
    await expectAllRight(client, { garbageCollected: true }, rightMsMax);
    const { endpointd } = field;
    await endpointd.ready();
    await until(async () => {
      const metrics = await endpointd.metrics();
      return metrics.sum('endpointd_stuck_service') === 0 && (await endpointd.idle());
    });
    const { pid } = endpointd.child;
    uses.push({ pid, use: { ...(await memoryUse(endpointd)), ...kernelUse(pid) } });
  }

  async function round({ name, strike, rightMsMax }: ChurnFault): Promise<string> {
    const fromMs = Date.now();
    nodesGone.clear();
    let isStruck = false;
    const struck = strike(field, ROUND_MS).finally(() => void (isStruck = true));
    // An error of either must not be lost in waiting for the other.
    await Promise.all([churnFor(ROUND_MS, () => isStruck), struck]);
    const churnedMs = Date.now() - fromMs;
    await quietPoint(rightMsMax + (nodesGone.size > 0 ? NODE_GONE_MS : 0));
    const { heapBytes, residentBytes, descriptors, threads } = uses.at(-1)!.use;
    return (
      `${name}: right ${Date.now() - fromMs - churnedMs} ms after ${churnedMs} ms of changes, ` +
      `heap ${(heapBytes / 1e6).toFixed(1)} MB, resident ${(residentBytes / 1e6).toFixed(0)} MB, ` +
      `${descriptors} descriptors, ${threads} threads, ${nodesGone.size} nodes gone`
    );
  }

  it('the cluster comes to a first quiet point', () => quietPoint(FIRST_RIGHT_MS_MAX));

  const fromMs = Date.now();
  for (const fault of [...DEATHS, ...FAULTS]) {
    it(`all is right after the fault: ${fault.name}`, async (test) => test.diagnostic(await round(fault)));
  }

  const skip = MINUTES === 0 && 'MINUTES says for how long';
  it(`all is right after more faults, for ${MINUTES} minutes in all`, { skip }, async (test) => {
    const all = [...LONG_FAULTS, ...FAULTS];
    const untilMs = fromMs + MINUTES * 60_000;
    for (let i = 0; Date.now() < untilMs; i++) test.diagnostic(await round(all[i % all.length]!));
  });

  it('the controller has not grown', () => {
    const last = uses.filter(({ pid }) => pid === field.endpointd.child.pid).map(({ use }) => use);
    const first = last[0]!;
    const bounds: ProcessUse = {
      heapBytes: first.heapBytes * HEAP_GROWTH_MAX + SLACK_BYTES,
      residentBytes: first.residentBytes * RESIDENT_GROWTH_MAX + SLACK_BYTES,
      descriptors: first.descriptors + DESCRIPTORS_MORE_MAX,
      threads: first.threads + THREADS_MORE_MAX,
    };
    assert.ok(last.length > 1, 'one process has lived through more than one quiet point');
    for (const what of Object.keys(bounds) as (keyof ProcessUse)[]) {
      const told = last.map((use) => use[what]);
      assert.ok(Math.max(...told) <= bounds[what], `${what} at the quiet points: ${told.join(', ')}`);
    }
  });

  it('the controller holds nothing back', async () => {
    const metrics = await field.endpointd.metrics();
    assert.equal(metrics.sum('endpointd_quarantines_total'), 0);
    assert.equal(metrics.sum('endpointd_stuck_service'), 0);
  });

  it('the controller ends, and writes nothing when it starts again', async () => {
    await touchServices(client, 'at the end');
    await seenByAll(client, 'after-all');
    await until(() => field.endpointd.idle());
    await field.endpointd.term();
    const versions = versionsOf(await readObjects(client));
    field.endpointd = await startBehindProxy(field);
    await until(() => field.endpointd.idle());
    await expectAllRight(client, { garbageCollected: true });
    const metrics = await field.endpointd.metrics();
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
