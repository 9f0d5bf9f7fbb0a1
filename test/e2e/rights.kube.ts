/** With the rights of deploy/rbac.yaml, and as its service account, everything gets done and nothing is refused. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { ApiClient } from '../../src/node/api-client.ts';
import { clientOf } from './client.ts';
import { startCluster, type Cluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createZoneNodes } from './slices-script.ts';
import { expectAllRight, seenByAll } from './whole-check.ts';
import {
  create,
  createPod,
  createService,
  createWorld,
  patch,
  read,
  remove,
  setReady,
  until,
  type World,
} from './world.ts';

const run = promisify(execFile);
const ACCOUNT = 'system:serviceaccount:kube-system:endpointd';
const RBAC = join(import.meta.dirname, '..', '..', 'deploy', 'rbac.yaml');

describe('the rights of deploy/rbac.yaml', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let endpointd: Endpointd;

  before(async () => {
    cluster = await startCluster({ rbac: true, auditLog: true });
    client = clientOf(cluster);
    await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, 'apply', '-f', RBAC]);
    await createZoneNodes(client);
    world = await createWorld(client, 'shop');
    await createService(world, 'gone');
    await create(world, 'endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'left', labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
    });
    endpointd = await startEndpointd({ ...cluster, kubeconfigPath: await kubeconfigOfAccount() });
  });

  after(async () => {
    await endpointd?.kill9();
    await client?.close();
    await cluster?.stop();
  });

  /** The administrator's, who speaks as the service account. */
  async function kubeconfigOfAccount(): Promise<string> {
    const text = await readFile(cluster.kubeconfigPath, 'utf8');
    const path = join(cluster.directory, 'kubeconfig-endpointd');
    await writeFile(path, text.replace(/user: \{ token: (\S+) \}/, `user: { token: $1, as: "${ACCOUNT}" }`));
    return path;
  }

  it('are enough for Endpoints, slices, mirrored slices and events', async () => {
    await createPod(world, 'web-1', { ip: '10.1.1.1', labels: { app: 'web' } });
    await createPod(world, 'web-2', { ip: '10.1.1.2', labels: { app: 'web' }, node: 'no-such-node' });
    await createService(world, 'web');
    await createService(world, 'manual', { spec: { selector: null } });
    await create(world, 'endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'manual' },
      subsets: [{ addresses: [{ ip: '10.7.0.1' }], ports: [{ port: 80 }] }],
    });
    await seenByAll(client, 'after-creates');
    await setReady(world, 'web-1', false);
    await patch(world, 'endpoints/manual', { subsets: [] });
    await remove(world, 'services/gone');
    await seenByAll(client, 'after-changes');
    await expectAllRight(client);
    await until(async () => {
      const events = (await client.list('/api/v1/namespaces/shop/events')).items;
      return events.some((event) => event['reason'] === 'EndpointOnUnknownNode');
    });
    await until(async () => !(await exists('endpoints/left')));
  });

  async function exists(object: string): Promise<boolean> {
    return read(world, object).then(
      () => true,
      () => false,
    );
  }

  it('are all that was asked for', async () => {
    const entries = (await readFile(cluster.auditLogPath, 'utf8')).split('\n').filter((line) => line.includes(ACCOUNT));
    assert.ok(entries.length >= 10, `${entries.length} requests`);
    assert.deepEqual(
      entries.filter((line) => line.includes('"code":403')),
      [],
    );
    assert.equal((await endpointd.metrics()).sum('endpointd_stuck_service'), 0);
  });
});
