/**
 * A real etcd that is put back to a backup under a kube-apiserver, beside an endpointd that runs on, and the same beside the
 * real kube-controller-manager: what each has published since must follow what is restored.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGarbageCollector } from '../../src/testbed/garbage-collector.ts';
import { wrongObjects, wrongText, type WrongObject } from '../../src/judge/cluster-check.ts';
import type { ClusterLife } from '../../src/testbed/cluster-life.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import { sendThrough } from '../../src/testbed/send-through.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster, type Cluster as ClusterModel } from '../../src/workload/cluster.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { restoreBackup, takeBackup, type RestoreWay } from './etcd-backup.ts';
import { DUAL_STACK } from './script.ts';
import { UPSTREAM_MIX, UPSTREAM_PROFILE } from './upstream-story.ts';
import { until } from './world.ts';
import { expectAllRight, touchServices } from './whole-check.ts';

const SEED = 20_261_122;
/** What is undone. */
const CHANGES_BEFORE = 400;
/** Life goes on at once. */
const CHANGES_AFTER = 100;
const QPS = 500;
const FLAGS = [`--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`, '--shards=1'];
const UPSTREAM = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];
/** Endpoints, slices, Services, nodes and pods. */
const WATCHES = 5;
const SOON_MS = 10_000;
const LATE_MS = 60_000;
/** kube-controller-manager does not always come to be right, even without a restore. */
const SETTLE_MS_MAX = 60_000;
const POLL_MS = 200;
const CHECKS = { garbageCollected: true };

/** A cluster, and who works on it. */
interface Side {
  readonly cluster: Cluster;
  readonly client: ApiClient;
  readonly collector: ClusterLife;
}

async function createSide(): Promise<Side> {
  const cluster = await startCluster({ serviceClusterIPRanges: DUAL_STACK });
  const client = clientOf(cluster);
  return { cluster, client, collector: runGarbageCollector(client) };
}

async function removeSide(side: Side | undefined): Promise<void> {
  await side?.collector.stop();
  await side?.client.close();
  await side?.cluster.stop();
}

/** What the server holds when it is loaded, and again when that is restored. */
function loaded(): ClusterModel {
  return makeCluster(UPSTREAM_PROFILE, SEED);
}

async function change(client: ApiClient, model: ClusterModel, count: number, seed: number): Promise<void> {
  const churn = createChurn(model, UPSTREAM_MIX, seed);
  for (let i = 0; i < count; i++) {
    await sendThrough(client, nextChange(churn, Date.now())!.request, AbortSignal.timeout(60_000));
  }
}

interface Outcome {
  /** Before the restore. */
  readonly before: readonly WrongObject[];
  readonly soon: readonly WrongObject[];
  readonly late: readonly WrongObject[];
}

async function wrongOnceSettled(client: ApiClient): Promise<readonly WrongObject[]> {
  const untilMs = Date.now() + SETTLE_MS_MAX;
  for (;;) {
    const wrong = wrongObjects(await readObjects(client), CHECKS);
    if (wrong.length === 0 || Date.now() > untilMs) return wrong;
    await sleep(POLL_MS);
  }
}

/** The story. What is restored was right when it was copied: only changes and new plans show what a cache holds. */
async function tell({ cluster, client }: Side, way: RestoreWay): Promise<Outcome> {
  const model = loaded();
  await loadCluster(client, model, 16);
  await expectAllRight(client, CHECKS);
  await takeBackup(cluster);
  await change(client, model, CHANGES_BEFORE, SEED);
  const before = await wrongOnceSettled(client);
  await restoreBackup(cluster, way);
  await touchServices(client, 'after the restore');
  await change(client, loaded(), CHANGES_AFTER, SEED + 1);
  await sleep(SOON_MS);
  const soon = wrongObjects(await readObjects(client), CHECKS);
  await sleep(LATE_MS - SOON_MS);
  return { before, soon, late: wrongObjects(await readObjects(client), CHECKS) };
}

const TITLES: Readonly<Record<RestoreWay, string>> = {
  copy: 'an etcd that is put back to an older copy of its data',
  bump: 'an etcd that is restored with --bump-revision --mark-compacted',
};

for (const way of ['copy', 'bump'] as const) {
  describe(TITLES[way], () => {
    let ours: Side;
    let theirs: Side;
    let endpointd: Endpointd;

    before(async () => {
      [ours, theirs] = await Promise.all([createSide(), createSide()]);
      endpointd = await startEndpointd(ours.cluster, FLAGS);
      await startControllerManager(theirs.cluster, UPSTREAM, { qps: QPS, burst: QPS });
    });

    after(async () => {
      await endpointd?.kill9();
      await Promise.all([removeSide(ours), removeSide(theirs)]);
    });

    it(`the restored history is followed: all is right ${SOON_MS / 1000} s after 100 changes`, async (test) => {
      const [our, their] = await Promise.all([tell(ours, way), tell(theirs, way)]);
      for (const [name, { before: earlier, soon, late }] of Object.entries({
        endpointd: our,
        'kube-controller-manager': their,
      })) {
        const counts = `${earlier.length} wrong before the restore, ${soon.length} after ${SOON_MS / 1000} s, ${late.length} after ${LATE_MS / 1000} s`;
        test.diagnostic(`${name}: ${counts}`);
      }
      assert.equal(our.before.length, 0, wrongText(our.before, 10));
      assert.equal(our.soon.length, 0, wrongText(our.soon, 10));
      assert.equal(our.late.length, 0, wrongText(our.late, 10));
      const metrics = await endpointd.metrics();
      assert.equal(metrics.sum('endpointd_watch_up'), WATCHES);
      const resets = metrics.sum('endpointd_history_resets_total');
      assert.ok(way === 'copy' ? resets > 0 : resets === 0, `${resets} resets`);
    });

    it('nothing is left to be written once all is right', async () => {
      const written = async (): Promise<number> => (await endpointd.metrics()).sum('endpointd_writes_total');
      await until(() => endpointd.idle());
      const writes = await written();
      await sleep(5000);
      assert.equal(await written(), writes);
    });
  });
}
