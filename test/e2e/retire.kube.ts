/** Endpoints are retired on a real API server: who writes them is known by name, and what the server keeps stays. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import type { ApiClient } from '../../src/node/api-client.ts';
import { auditLines } from './audit.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { createPod, createService, createWorld, until } from './world.ts';
import { BIN } from '../support/installed.ts';

const SERVICES = 3;

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function endpointd(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(execPath, [BIN, ...args], (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('retiring Endpoints', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let manager: ControllerManager;

  before(async () => {
    cluster = await startCluster({ auditLog: true });
    client = clientOf(cluster);
    manager = await startControllerManager(cluster, ['endpoints-controller']);
    const world = await createWorld(client, 'shop');
    for (let i = 0; i < SERVICES; i++) {
      await createService(world, `web-${i}`);
      await createPod(world, `web-${i}`, { ip: `10.0.0.${i + 1}`, labels: { app: `web-${i}` } });
    }
    await until(async () => (await left()).length === SERVICES + 1);
  });

  after(async () => {
    await client?.close();
    await cluster?.stop();
  });

  async function left(): Promise<string[]> {
    const { items } = await client.list('/api/v1/endpoints');
    return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();
  }

  const retire = (...args: string[]): Promise<Ended> =>
    endpointd('retire-endpoints', `--kubeconfig=${cluster.kubeconfigPath}`, '--delete', ...args);

  it('the command stops after one object that the manager makes anew, and names it', async () => {
    const { status, stdout, stderr } = await retire('--quiet-for=10s');
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^Stopped: kube-controller-manager has written Endpoints shop\/web-\d: /m);
    assert.ok(stdout.trimEnd().split('\n').length <= 1, stdout);
    await until(async () => (await left()).length === SERVICES + 1);
  });

  it("the command deletes all once it is off, except the server's own", async () => {
    await manager.stop();
    const { status, stdout, stderr } = await retire('--quiet-for=3s');
    assert.equal(status, 0, stderr);
    assert.equal(stdout.match(/^deleted: shop\/web-\d /gm)?.length, SERVICES);
    assert.deepEqual(await left(), ['default/kubernetes']);
  });

  it('the audit log tells who has read and written them', async () => {
    const wholeLines = `${cluster.auditLogPath}.whole-lines`;
    await writeFile(wholeLines, (await auditLines(cluster)).join('\n'));
    const { status, stdout } = await endpointd('endpoints-readers', wholeLines, '-o', 'json');
    const { readers, writers, unread } = JSON.parse(stdout) as Record<
      'readers' | 'writers',
      { userAgent: string; verb: string }[]
    > & {
      unread: { lines: number };
    };
    const said = (rows: readonly { userAgent: string; verb: string }[]): string[] =>
      rows.map(({ userAgent, verb }) => `${userAgent.split('/')[0]} ${verb}`);
    assert.deepEqual([status, unread.lines], [0, 0]);
    assert.ok(said(readers).includes('endpointd watch'), stdout);
    assert.ok(said(writers).includes('kube-controller-manager create'), stdout);
    assert.ok(said(writers).includes('endpointd delete'), stdout);
  });
});
