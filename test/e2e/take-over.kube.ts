/**
 * A switch on a live cluster: two replicas of endpointd wait while a real kube-controller-manager works, begin when its
 * three controllers are off, are rolled out anew, and give the work back. All the while pods change. On the watches no
 * service ever loses a ready address, and no write changes nothing.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../src/node/api-client.ts';
import { writesOf } from './audit.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createFlapping, type Flapping } from './flapping.ts';
import { watchReady, type ReadyWatch } from './ready-watch.ts';
import { expectAllRight } from './whole-check.ts';
import { until } from './world.ts';

const NAMESPACE = 'shop';
const SERVICES = 12;
const OURS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];
const OTHERS = ['namespace-controller'];
const RATES = { qps: 500, burst: 500 };
const AFTER_MS = 5000;
const FLAGS = [
  '--leader-elect=true',
  '--take-over-from=kube-controller-manager',
  `--take-over-after=${AFTER_MS}ms`,
  '--kube-api-qps=500',
  '--kube-api-burst=500',
  '--shards=0',
];
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/endpointd';
const TOOK_OVER = 'endpointd/took-over-from';
const CHURN_PAUSE_MS = 50;

describe('a switch from kube-controller-manager and back', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let flapping: Flapping;
  let ready: ReadyWatch;
  let manager: ControllerManager;
  const replicas: Endpointd[] = [];
  let churn: { stop(): Promise<void> };
  /** Granted to all before the watch began. */
  let writesBefore: Awaited<ReturnType<typeof writes>>;

  before(async () => {
    cluster = await startCluster({ auditLog: true });
    client = clientOf(cluster);
    manager = await startControllerManager(cluster, OURS, RATES);
    flapping = await createFlapping(client, NAMESPACE, SERVICES);
    await expectAllRight(client);
    ready = await watchReady(client, NAMESPACE);
    for (const service of flapping.services) ready.keep(service, flapping.stableOf(service));
    writesBefore = await writes('');
    churn = flapping.churn(CHURN_PAUSE_MS);
  });

  after(async () => {
    await churn?.stop();
    for (const endpointd of replicas) await endpointd.kill9();
    await ready?.stop();
    await client?.close();
    await cluster?.stop();
  });

  /** Granted so far to a program; '' = to all. */
  async function writes(program: string): Promise<Record<'endpoints' | 'endpointslices', number>> {
    const count = async (resource: 'endpoints' | 'endpointslices'): Promise<number> =>
      (await writesOf(cluster, program, resource)).filter(
        ({ key, status }) => key.startsWith(`${NAMESPACE}/`) && status < 300,
      ).length;
    return { endpoints: await count('endpoints'), endpointslices: await count('endpointslices') };
  }

  /** Nothing changes meanwhile, so that the oracles can tell. */
  async function restAndCheck(): Promise<void> {
    await churn.stop();
    await expectAllRight(client);
    assert.deepEqual(ready.lost, []);
    churn = flapping.churn(CHURN_PAUSE_MS);
  }

  /** Over both replicas. */
  async function sum(metric: string): Promise<number> {
    const all = await Promise.all(replicas.map(async (one) => (await one.metrics()).sum(metric)));
    return all.reduce((a, b) => a + b, 0);
  }

  it('two replicas write nothing while the manager works', async () => {
    replicas.push(...(await Promise.all([startEndpointd(cluster, FLAGS), startEndpointd(cluster, FLAGS)])));
    await until(async () => (await sum('endpointd_take_over_waiting')) === 1);
    await sleep(3 * AFTER_MS);
    assert.equal(await sum('endpointd_take_over_waiting'), 1);
    assert.deepEqual(await writes('endpointd'), { endpoints: 0, endpointslices: 0 });
    await restAndCheck();
  });

  it('one replica begins when the three controllers of the manager are off', async (test) => {
    const fromMs = Date.now();
    await manager.stop();
    manager = await startControllerManager(cluster, OTHERS, RATES);
    await until(async () => (await sum('endpointd_writes_total')) > 0);
    test.diagnostic(`the first write came ${Date.now() - fromMs} ms after the manager's end`);
    const { metadata } = (await client.send({ method: 'GET', path: LEASE })) as {
      metadata: { annotations: Record<string, string> };
    };
    assert.equal(metadata.annotations[TOOK_OVER], 'kube-controller-manager');
    await restAndCheck();
  });

  it('a rolling update goes one replica after the other', async () => {
    for (const at of replicas.keys()) {
      await replicas[at]!.term();
      replicas[at] = await startEndpointd(cluster, FLAGS);
    }
    // Nobody waits again.
    await until(async () => (await sum('endpointd_writes_total')) > 0);
    assert.equal(await sum('endpointd_take_over_waiting'), 0);
    await restAndCheck();
  });

  it('kube-controller-manager takes over again', async () => {
    await Promise.all(replicas.splice(0).map((one) => one.term()));
    await manager.stop();
    const before = (await writes('kube-controller-manager')).endpoints;
    manager = await startControllerManager(cluster, OURS, RATES);
    await until(async () => (await writes('kube-controller-manager')).endpoints > before);
    await restAndCheck();
  });

  it('every write of anybody has changed something', async (test) => {
    await churn.stop();
    await expectAllRight(client);
    const all = await writes('');
    // Not equal: what a manager had sent when it was killed may be applied, and be no granted write of the audit log.
    for (const kind of ['endpoints', 'endpointslices'] as const) {
      const granted = all[kind] - writesBefore[kind];
      test.diagnostic(`${kind}: ${granted} writes were granted, ${ready.changes[kind]} changes told so far`);
      assert.ok(granted > 0);
      await until(() => Promise.resolve(ready.changes[kind] >= granted));
    }
  });
});
