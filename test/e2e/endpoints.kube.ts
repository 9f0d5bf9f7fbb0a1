/**
 * The controllers against a real kube-apiserver and etcd: every object must be as the slow oracles say, whatever happens.
 * Longer, and with all that happens at once: churn.kube.ts.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { sendThrough } from '../../src/testbed/send-through.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import type { Churn } from '../../src/workload/change.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clientOf, endpointsVersions, expectRight } from './client.ts';
import type { Cluster, ClusterOptions } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { DUAL_STACK, leaveOrphans, SCRIPT } from './script.ts';
import { expectAllRight, seenByAll, touchServices } from './whole-check.ts';
import { createPod, createService, createWorld, forEach, read, setReady, until } from './world.ts';

const SEED = 20_261_121;
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500'];
const CHURN_MS = 4000;
/** A killed server may stay away this long before a change to the cluster gives up. */
const AWAY_MS_MAX = 180_000;
/** Back-off against a server that is away may have grown to this before it is back. */
const RIGHT_AGAIN_MS_MAX = 180_000;
const TERM_MS_MAX = 12_000;

interface Variant {
  readonly title: string;
  readonly server: ClusterOptions;
  readonly flags: readonly string[];
  /** Worker threads. */
  readonly shards: number;
}

/** What terminates stays so: nobody here is a namespace controller. */
const GOING = new Set(['terminating-namespace']);

const VARIANTS: readonly Variant[] = [
  { title: 'WatchList, planners in threads', server: {}, flags: [...FLAGS, '--shards=2'], shards: 2 },
  {
    title: 'a server without WatchList, planner inline',
    server: { watchList: false },
    flags: [...FLAGS, '--shards=0'],
    shards: 0,
  },
];

for (const variant of VARIANTS) {
  describe(`endpointd on a real API server: ${variant.title}`, () => {
    let cluster: Cluster;
    let client: ApiClient;
    let endpointd: Endpointd;
    let churn: Churn;

    before(async () => {
      cluster = await startCluster({ ...variant.server, serviceClusterIPRanges: DUAL_STACK });
      client = clientOf(cluster);
      await leaveOrphans(await createWorld(client, 'orphans'));
      endpointd = await startEndpointd(cluster, variant.flags);
    });

    after(async () => {
      await endpointd?.kill9();
      await client?.close();
      await cluster?.stop();
    });

    /** Of all three controllers. */
    async function allRight(deadlineMs?: number): Promise<void> {
      await expectAllRight(client, { except: GOING }, deadlineMs);
    }

    async function churnFor(milliseconds: number): Promise<number> {
      const untilMs = Date.now() + milliseconds;
      const away = AbortSignal.timeout(milliseconds + AWAY_MS_MAX);
      let changes = 0;
      while (Date.now() < untilMs) {
        const change = nextChange(churn, Date.now());
        assert.notEqual(change, null);
        await sendThrough(client, change!.request, away);
        away.throwIfAborted();
        changes++;
      }
      return changes;
    }

    it("a start on another process's objects deletes only its own", async () => {
      await expectRight(client);
      const left = await endpointsVersions(client);
      assert.deepEqual(
        [...left.keys()].filter((key) => key.startsWith('orphans/')),
        ['orphans/by-hand', 'orphans/leader'],
      );
    });

    for (const { name, tell } of SCRIPT) {
      it(`endpointd follows the script: ${name}`, async () => {
        const world = await createWorld(client, name);
        await tell(world, () => expectRight(client, { namespace: name }));
        await expectRight(client, { namespace: name });
      });
    }

    it('Endpoints hold a thousand addresses and leave the others out', async () => {
      const world = await createWorld(client, 'thousand');
      await createService(world, 'web');
      await forEach(1001, (i) => createPod(world, `web-${i}`, { ip: `10.3.${i >> 8}.${i & 255}` }));
      await expectRight(client, { namespace: 'thousand' });
      await setReady(world, 'web-5', false);
      await expectRight(client, { namespace: 'thousand' });
      const { subsets } = (await read(world, 'endpoints/web')) as unknown as { subsets: { addresses: unknown[] }[] };
      assert.equal(subsets[0]!.addresses.length, 1000);
    });

    it('slices hold all addresses', () => allRight());

    it('endpointd follows random changes', async () => {
      const model = makeCluster(findProfile('small'), SEED);
      await loadCluster(client, model, 16);
      churn = createChurn(model, CHURN_MIXES.everything, SEED);
      await allRight();
      await churnFor(CHURN_MS);
      await allRight();
    });

    // Each variant has its own faults; churn.kube.ts has all of them.
    if (variant.shards > 0) {
      it('endpointd goes on after it lost its worker threads', async () => {
        const churning = churnFor(CHURN_MS);
        for (let times = 0; times < 3; times++) {
          await endpointd.killWorkers(variant.shards);
          // Deaths in quick succession would make the service that is planned at each of them suspect of causing them.
          await sleep(CHURN_MS / 6);
        }
        await churning;
        // One that was unlucky twice all the same is held back for a while.
        await allRight(RIGHT_AGAIN_MS_MAX);
        const metrics = await endpointd.metrics();
        assert.ok(metrics.sum('endpointd_shard_restarts_total') >= 3 * variant.shards);
      });
    } else {
      it('a successor goes on after endpointd was killed', async () => {
        const churning = churnFor(CHURN_MS);
        for (let times = 0; times < 2; times++) {
          await endpointd.kill9();
          endpointd = await startEndpointd(cluster, variant.flags);
        }
        await churning;
        await allRight();
      });

      it('endpointd goes on after a restart of kube-apiserver', async () => {
        const churning = churnFor(CHURN_MS);
        await cluster.killApiserver();
        await cluster.startApiserver();
        await churning;
        await allRight(RIGHT_AGAIN_MS_MAX);
        await endpointd.ready();
      });

      it('endpointd goes on after a restart of etcd', async () => {
        const churning = churnFor(CHURN_MS);
        await cluster.killEtcd();
        await cluster.startEtcd();
        await churning;
        await allRight(RIGHT_AGAIN_MS_MAX);
        await endpointd.ready();
      });
    }

    it('endpointd could read everything, and holds nothing back', async () => {
      // What the server's absence has delayed may still wait for its turn.
      await until(async () => (await endpointd.metrics()).sum('endpointd_stuck_service') === 0);
      const metrics = await endpointd.metrics();
      assert.equal(metrics.sum('endpointd_decode_errors_total'), 0);
    });

    it('endpointd ends on SIGTERM during churn, and its successor goes on', async () => {
      const churning = churnFor(1000);
      const { status, tookMs } = await endpointd.term();
      assert.equal(status, 0);
      assert.ok(tookMs < TERM_MS_MAX, `took ${tookMs} ms`);
      await churning;
      endpointd = await startEndpointd(cluster, variant.flags);
      await allRight();
    });

    it('endpointd ends on SIGTERM, and writes nothing when it starts again', async () => {
      await touchServices(client, 'at the end');
      await seenByAll(client, 'after-all');
      await until(() => endpointd.idle());
      const { status, tookMs } = await endpointd.term();
      assert.equal(status, 0);
      assert.ok(tookMs < TERM_MS_MAX, `took ${tookMs} ms`);

      const versions = await endpointsVersions(client);
      endpointd = await startEndpointd(cluster, variant.flags);
      // What comes after everything else was planned: a service of its own.
      const world = await createWorld(client, 'canary');
      await createService(world, 'web');
      await allRight();
      await until(() => endpointd.idle());
      const metrics = await endpointd.metrics();
      const writes = metrics.lines('endpointd_writes_total');
      for (const controller of ['endpoints', 'endpointslice']) {
        const applied = metrics.sum('endpointd_writes_total', { controller, verb: 'create', result: 'applied' });
        assert.equal(applied, 1, writes);
      }
      // What is missing in the namespace that is being terminated cannot be created there.
      const refused = { controller: 'endpoints', verb: 'create', result: 'refused' };
      assert.equal(metrics.sum('endpointd_writes_total', refused), 1, writes);
      assert.equal(metrics.sum('endpointd_writes_total'), 3, writes);
      const canary = `${world.namespace}/web`;
      const again = await endpointsVersions(client);
      again.delete(canary);
      assert.deepEqual(again, versions);
    });
  });
}
