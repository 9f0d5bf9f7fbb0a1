/**
 * Two replicas before a real API server with RBAC, as the service account of `deploy/`, with its rights: one writes, the other
 * one takes over when it is killed, ends or stands still.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ApiClient } from '../../src/node/api-client.ts';
import { clientOf, differences } from './client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createPod, createService, createWorld, setReady, until, type World } from './world.ts';

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy');
const ACCOUNT = 'system:serviceaccount:kube-system:endpointd';
const LEASE = 'leases.coordination.k8s.io/endpointd';
const LEASE_MS = 15_000;
/** What is promised beyond the Lease is 2 s and 1 s; the rest is for a machine that is out of breath. */
const SLACK_MS = 8000;
/** A rendering of the metrics is kept for a second. */
const METRICS_OLD_MS_MAX = 1500;

describe('two replicas', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let account: string;
  let replicas: Endpointd[] = [];

  const kubectl = async (...args: string[]): Promise<string> =>
    (await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, ...args])).stdout;

  before(async () => {
    cluster = await startCluster({ rbac: true });
    client = clientOf(cluster);
    await kubectl('apply', '-f', join(DEPLOY, 'rbac.yaml'));
    account = join(cluster.directory, 'kubeconfig-endpointd');
    const text = await readFile(cluster.kubeconfigPath, 'utf8');
    await writeFile(account, text.replace(/user: \{ token: (\S+) \}/, `user: { token: $1, as: "${ACCOUNT}" }`));
    world = await createWorld(client, 'shop');
    await createService(world, 'web');
    await createPod(world, 'web-1', { ip: '10.1.1.1', labels: { app: 'web' } });
    replicas = [await replica(), await replica()];
    await right();
  });

  after(async () => {
    for (const endpointd of replicas) await endpointd.kill9();
    await client?.close();
    await cluster?.stop();
  });

  const replica = (): Promise<Endpointd> =>
    startEndpointd({ ...cluster, kubeconfigPath: account }, ['--leader-elect=true']);

  const right = (): Promise<void> => until(async () => (await differences(client)).length === 0);

  async function leads(endpointd: Endpointd): Promise<boolean> {
    return (await endpointd.metrics()).sum('leader_election_master_status') === 1;
  }

  /** The one that leads first. */
  async function inOrder(): Promise<[leader: Endpointd, standby: Endpointd]> {
    const [a, b] = replicas as [Endpointd, Endpointd];
    return (await leads(a)) ? [a, b] : [b, a];
  }

  /** What happens to the leader, then a change of a pod. Resolves with the milliseconds until all is right. */
  async function failOver(end: () => Promise<unknown>, ready: boolean): Promise<number> {
    await end();
    const fromMs = Date.now();
    await setReady(world, 'web-1', ready);
    await right();
    return Date.now() - fromMs;
  }

  it('one replica leads, and the other one says so and writes nothing', async () => {
    const [leader, standby] = await inOrder();
    assert.equal(await leads(leader), true);
    assert.equal(await leads(standby), false);
    const lease = JSON.parse(await kubectl('get', LEASE, '-n', 'kube-system', '-o', 'json')) as {
      spec: { holderIdentity: string };
    };
    assert.match(await readFile(standby.logPath, 'utf8'), new RegExp(`"holder":"${lease.spec.holderIdentity}"`));
    assert.equal((await standby.metrics()).sum('endpointd_writes_total'), 0);
  });

  it('after a kill all is right when the Lease has run out', async (context) => {
    const [leader, standby] = await inOrder();
    const ms = await failOver(() => leader.kill9(), false);
    context.diagnostic(`right ${ms} ms after the kill`);
    assert.ok(ms < LEASE_MS + 2000 + SLACK_MS, `${ms} ms`);
    replicas = [standby, await replica()];
  });

  it('after an ordinary end all is right within a second', async (context) => {
    const [leader, standby] = await inOrder();
    const ms = await failOver(() => leader.term(), true);
    context.diagnostic(`right ${ms} ms after the end`);
    assert.ok(ms < 1000 + SLACK_MS, `${ms} ms`);
    replicas = [standby, await replica()];
  });

  it('a replica that stood still writes nothing when it goes on', async () => {
    const [leader, standby] = await inOrder();
    await setReady(world, 'web-1', false);
    await right();
    await sleep(METRICS_OLD_MS_MAX);
    const written = (await leader.metrics()).lines('endpointd_writes_total');
    leader.child.pause();
    await setReady(world, 'web-1', true);
    await until(() => leads(standby));
    await right();
    await setReady(world, 'web-1', false);
    leader.child.resume();
    await until(async () => !(await leads(leader)));
    await right();
    await sleep(2000);
    assert.equal((await leader.metrics()).lines('endpointd_writes_total'), written);
    const log = await readFile(leader.logPath, 'utf8');
    assert.match(log, /This process leads no longer/);
  });
});
