/**
 * Several API servers behind one address: two real kube-apiservers on one etcd, and a balancer that gives them connections in
 * turn. One after the other goes and comes back while services change: nothing is lost, and both are used again.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ApiClient } from '../../src/node/api-client.ts';
import { selfSigned } from '../../src/node/self-signed.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { sendThrough } from '../../src/testbed/send-through.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { startBalancer, type Balancer } from './balancer.ts';
import { clientOf } from './client.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { expectAllRight } from './whole-check.ts';
import { until } from './world.ts';

const SEED = 20_261_122;
const AWAY_MS_MAX = 60_000;
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500'];

describe('two API servers behind one address', () => {
  const model = makeCluster(findProfile('tiny'), SEED);
  const churn = createChurn(model, CHURN_MIXES.everything, SEED);
  let servers: Cluster[] = [];
  let clients: ApiClient[] = [];
  let balancer: Balancer;
  let endpointd: Endpointd | undefined;

  before(async () => {
    const serving = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
    const first = await startCluster({ serving });
    servers = [first];
    servers.push(await startCluster({ serving, beside: first }));
    clients = servers.map(clientOf);
    await loadCluster(clients[0]!, model, 8);
    balancer = await startBalancer(servers.map(({ url }) => Number(new URL(url).port)));
    const kubeconfigPath = join(first.directory, 'balanced.kubeconfig');
    const text = await readFile(first.kubeconfigPath, 'utf8');
    await writeFile(kubeconfigPath, text.replace(first.url, `https://127.0.0.1:${balancer.port}`));
    endpointd = await startEndpointd({ ...first, kubeconfigPath }, FLAGS);
    await expectAllRight(clients[0]!);
  });

  after(async () => {
    await endpointd?.kill9();
    for (const client of clients) await client.close();
    await balancer?.[Symbol.asyncDispose]();
    // The etcd that both use is the first one's.
    for (const server of servers.toReversed()) await server.stop();
  });

  /** Changes of all kinds through one of the servers, until that is called. */
  async function changeThrough(client: ApiClient, isOver: () => boolean): Promise<void> {
    for (;;) {
      const change = nextChange(churn, Date.now());
      await sendThrough(client, change!.request, AbortSignal.timeout(AWAY_MS_MAX));
      if (isOver()) return;
    }
  }

  it('both API servers are used', () => {
    assert.ok(
      balancer.open.every((count) => count > 0),
      String(balancer.open),
    );
  });

  for (const [gone, left] of [
    [0, 1],
    [1, 0],
  ] as const) {
    it(`API server ${gone + 1} dies under churn, and comes back`, async () => {
      let over = false;
      const changing = changeThrough(clients[left]!, () => over);
      const before = balancer.served[gone]!;
      try {
        await servers[gone]!.killApiserver();
        await until(() => Promise.resolve(balancer.open[gone] === 0));
        await until(() => endpointd!.metrics().then((metrics) => metrics.sum('endpointd_watch_up') > 0));
        await servers[gone]!.startApiserver();
        await until(() => Promise.resolve(balancer.served[gone]! > before));
      } finally {
        over = true;
        await changing;
      }
      await expectAllRight(clients[left]!);
      const metrics = await endpointd!.metrics();
      assert.equal(metrics.sum('endpointd_stuck_service'), 0);
      assert.equal(metrics.sum('workqueue_depth'), 0);
    });
  }

  it('the next start finds nothing to write', async () => {
    assert.equal((await endpointd!.term()).status, 0);
    endpointd = await startEndpointd(servers[0]!, FLAGS);
    await until(() => endpointd!.idle());
    assert.equal((await endpointd.metrics()).sum('endpointd_writes_total'), 0);
  });
});
