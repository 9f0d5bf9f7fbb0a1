/**
 * A real etcd that is put back to an older copy of its data under a kube-apiserver, beside an endpointd that runs on: what
 * it has published since must follow what is restored.
 */
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGarbageCollector } from '../../src/cli/garbage-collector.ts';
import type { ClusterLife } from '../../src/cli/cluster-life.ts';
import { loadCluster } from '../../src/cli/load-cluster.ts';
import { sendThrough } from '../../src/cli/send-through.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import type { Churn } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clientOf } from './client.ts';
import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { startEndpointd } from './endpointd.ts';
import type { Endpointd } from './endpointd.ts';
import { DUAL_STACK } from './script.ts';
import { until } from './world.ts';
import { expectAllRight, seenByAll, touchServices } from './whole-check.ts';

const SEED = 20_261_122;
const CHANGES = 400;
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500', '--shards=1'];
/** Endpoints, slices, Services, nodes and pods. */
const WATCHES = 5;
const RIGHT_MS_MAX = 10_000;
/** For a machine that does other things as well. */
const SLACK_MS = 20_000;

describe('an etcd that is restored from a backup under a real kube-apiserver', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let collector: ClusterLife;
  let endpointd: Endpointd;
  let churn: Churn;

  before(async () => {
    cluster = await startCluster({ serviceClusterIPRanges: DUAL_STACK });
    client = clientOf(cluster);
    collector = runGarbageCollector(client);
    endpointd = await startEndpointd(cluster, FLAGS);
    const model = makeCluster(findProfile('small'), SEED);
    await loadCluster(client, model, 16);
    churn = createChurn(model, CHURN_MIXES.everything, SEED);
    await expectAllRight(client, { garbageCollected: true });
  });

  after(async () => {
    await endpointd?.kill9();
    await collector?.stop();
    await client?.close();
    await cluster?.stop();
  });

  /** Runs `act` on the data of a server that is stopped. */
  async function whileDown(act: (data: string, copy: string) => Promise<void>): Promise<void> {
    await cluster.killApiserver();
    await cluster.killEtcd();
    await act(join(cluster.directory, 'etcd'), join(cluster.directory, 'etcd-copy'));
    await cluster.startEtcd();
    await cluster.startApiserver();
  }

  it('is followed: all is right soon after the watches are back, and history is seen to have gone back', async (test) => {
    await whileDown((data, copy) => cp(data, copy, { recursive: true }));
    await endpointd.ready();
    for (let i = 0; i < CHANGES; i++) {
      await sendThrough(client, nextChange(churn, Date.now())!.request, AbortSignal.timeout(60_000));
    }
    await expectAllRight(client, { garbageCollected: true });
    await whileDown(async (data, copy) => {
      await rm(data, { recursive: true });
      await cp(copy, data, { recursive: true });
    });
    const backMs = Date.now();
    await until(async () => (await endpointd.metrics()).sum('endpointd_watch_up') === WATCHES);
    const watchingMs = Date.now();
    await expectAllRight(client, { garbageCollected: true }, RIGHT_MS_MAX + SLACK_MS);
    const rightMs = Date.now();
    // What was restored was right when it was copied: only plans from the caches show what they hold.
    await touchServices(client, 'after the restore');
    await seenByAll(client, 'after-the-restore');
    await expectAllRight(client, { garbageCollected: true }, RIGHT_MS_MAX + SLACK_MS);
    test.diagnostic(
      `watches back ${watchingMs - backMs} ms after the server, all right ${rightMs - watchingMs} ms after the watches`,
    );
    assert.ok((await endpointd.metrics()).sum('endpointd_history_resets_total') >= WATCHES - 1);
    const written = async (): Promise<number> => (await endpointd.metrics()).sum('endpointd_writes_total');
    await until(() => endpointd.idle());
    const writes = await written();
    await sleep(5000);
    assert.equal(await written(), writes, 'nobody writes any more');
  });
});
