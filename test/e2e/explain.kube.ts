/** Why pods are out, or in as not ready, told of what a real kube-controller-manager has made of them. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ApiClient } from '../../src/node/api-client.ts';
import { clientOf } from './client.ts';
import { type Cluster, type ControllerManager, startControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { createZoneNodes } from './slices-script.ts';
import {
  create,
  createPod,
  createService,
  createWorld,
  patchPodStatus,
  port,
  removePod,
  until,
  type World,
} from './world.ts';
import { BIN } from '../support/installed.ts';

const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];
const HTTP = [port('http', 8080)];

interface Explained {
  readonly pods: readonly {
    readonly pod: string;
    readonly endpoints: { readonly state: string; readonly listed: string; readonly why: string };
    readonly slices: readonly { readonly state: string; readonly why: string; readonly listedIn: readonly string[] }[];
  }[];
  readonly mirrored: readonly { readonly ip: string; readonly reason: string | null }[];
  readonly unmirrored: string;
  readonly unseen: readonly string[];
}

describe('explain on what kube-controller-manager has made', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let manager: ControllerManager;

  before(async () => {
    cluster = await startCluster({ rbac: true });
    client = clientOf(cluster);
    await createZoneNodes(client);
    world = await createWorld(client, 'shop');
    await createService(world, 'web', {
      spec: { selector: { app: 'web', tier: 'a' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    });
    await createPods();
    await createService(world, 'manual', { spec: { selector: null } });
    const skip = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
    for (const [name, labels] of [
      ['manual', {}],
      ['skipped', skip],
    ] as const) {
      await create(world, 'endpoints', {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name, labels },
        subsets: [{ addresses: [{ ip: '10.7.0.1' }], ports: [{ port: 80 }] }],
      });
    }
    await createService(world, 'skipped', { spec: { selector: null } });
    manager = await startControllerManager(cluster, CONTROLLERS);
    await until(async () =>
      (await explain('service', 'web')).pods.some(({ slices }) => slices[0]!.listedIn.length > 0),
    );
    await until(() => manager.idle());
  });

  after(async () => {
    await manager?.stop();
    await client?.close();
    await cluster?.stop();
  });

  async function createPods(): Promise<void> {
    const labels = { app: 'web', tier: 'a' };
    await createPod(world, 'ready', { ip: '10.1.0.1', labels, ports: HTTP });
    await createPod(world, 'unready', { ip: '10.1.0.2', labels, ports: HTTP, ready: false });
    await createPod(world, 'other-label', { ip: '10.1.0.3', labels: { app: 'web', tier: 'b' }, ports: HTTP });
    await createPod(world, 'no-label', { ip: '10.1.0.4', labels: { app: 'web' }, ports: HTTP });
    await createPod(world, 'succeeded', { ip: '10.1.0.5', labels, ports: HTTP });
    await patchPodStatus(world, 'succeeded', { phase: 'Succeeded' });
    await createPod(world, 'failed', { ip: '10.1.0.6', labels, ports: HTTP });
    await patchPodStatus(world, 'failed', { phase: 'Failed' });
    await createPod(world, 'no-ip', { labels, ports: HTTP });
    await createPod(world, 'ending', { ip: '10.1.0.7', labels, ports: HTTP });
    await removePod(world, 'ending', 3600);
    await createPod(world, 'no-port', { ip: '10.1.0.8', labels });
    await createPod(world, 'other-family', { ip: 'fd00::9', labels, ports: HTTP });
    await createPod(world, 'sidecar', { ip: '10.1.0.10', labels, sidecarPorts: HTTP });
    await createPod(world, 'lost-node', { ip: '10.1.0.11', labels, ports: HTTP, node: 'no-such-node' });
  }

  async function explain(kind: string, name: string, ...flags: string[]): Promise<Explained> {
    const { status, stdout } = await run(kind, name, '-o', 'json', ...flags);
    assert.equal(status, 0, stdout);
    return JSON.parse(stdout) as Explained;
  }

  function run(kind: string, name: string, ...flags: string[]): Promise<{ status: number; stdout: string }> {
    const args = [BIN, 'explain', kind, `shop/${name}`, `--kubeconfig=${cluster.kubeconfigPath}`, ...flags];
    return new Promise((resolve) => {
      execFile(process.execPath, args, (error, stdout) => {
        resolve({ status: error === null ? 0 : Number(error.code), stdout });
      });
    });
  }

  it('every rule has its words, and the objects agree with them', async () => {
    const { pods } = await explain('service', 'web');
    const told = pods.map(({ pod, endpoints, slices: [slice] }) => [
      pod.slice('shop/'.length),
      endpoints.state,
      slice!.state,
      [...new Set([endpoints.why, slice!.why])].filter((why) => why !== '').join(' / '),
    ]);
    assert.deepEqual(told, [
      [
        'ending',
        'left-out',
        'not-ready',
        'it is being deleted, and the Service does not set publishNotReadyAddresses / it is being deleted',
      ],
      ['failed', 'left-out', 'left-out', 'its phase is Failed'],
      ['lost-node', 'ready', 'left-out', 'its node does not exist: no-such-node'],
      ['no-ip', 'left-out', 'left-out', 'it has no IP yet: status.podIP and status.podIPs are empty'],
      ['no-port', 'left-out', 'ready', "it offers none of the Service's ports: http/TCP"],
      [
        'other-family',
        'left-out',
        'left-out',
        'status.podIPs: no IPv4 address, left out: "fd00::9" / it has no address of a family of the Service',
      ],
      ['ready', 'ready', 'ready', ''],
      ['sidecar', 'ready', 'ready', ''],
      ['succeeded', 'left-out', 'left-out', 'its phase is Succeeded'],
      ['unready', 'not-ready', 'not-ready', 'its condition Ready is not True'],
      ['no-label', 'left-out', 'left-out', 'label tier is missing, the selector wants tier=a'],
      ['other-label', 'left-out', 'left-out', 'label tier is "b", the selector wants "a"'],
    ]);
    for (const { pod, endpoints, slices } of pods) {
      assert.equal(endpoints.state, endpoints.listed, `Endpoints and ${pod}`);
      for (const { state, listedIn } of slices) assert.equal(state !== 'left-out', listedIn.length === 1, pod);
    }
  });

  it('the text says who has written the objects, and when', async () => {
    const { stdout } = await run('service', 'web');
    assert.match(stdout, /^web +Endpoints +4 +endpoint-controller +20\d\d-\S+Z +kube-controller-manager$/m);
    assert.match(
      stdout,
      /^web-\w{5} +IPv4 +\d +endpointslice-controller\.k8s\.io +20\d\d-\S+Z +kube-controller-manager$/m,
    );
    assert.match(stdout, /stored as planned$/m);
  });

  it('Endpoints made by hand are explained address by address', async () => {
    const manual = await explain('service', 'manual');
    assert.deepEqual(
      [manual.unmirrored, manual.mirrored.map(({ ip, reason }) => [ip, reason])],
      ['', [['10.7.0.1', null]]],
    );
    const skipped = await explain('service', 'skipped');
    assert.equal(skipped.unmirrored, 'the Endpoints have the label endpointslice.kubernetes.io/skip-mirror=true');
  });

  it('a pod is explained for each Service', async () => {
    const { stdout } = await run('pod', 'unready');
    assert.match(stdout, /^shop\/web .*not ready {2}IPv4 not ready in web-\w{5} .*its condition Ready is not True$/m);
  });

  it('a reader of some kinds only is told what it could not read', async () => {
    const rules = [{ apiGroups: [''], resources: ['services', 'pods'], verbs: ['get', 'list'] }];
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop';
    const metadata = { name: 'reader' };
    await client.send({ method: 'POST', path: `${rbac}/roles`, body: { metadata, rules } });
    const subjects = [{ kind: 'User', name: 'reader', apiGroup: 'rbac.authorization.k8s.io' }];
    const roleRef = { kind: 'Role', name: 'reader', apiGroup: 'rbac.authorization.k8s.io' };
    await client.send({ method: 'POST', path: `${rbac}/rolebindings`, body: { metadata, subjects, roleRef } });
    const path = join(cluster.directory, 'kubeconfig-reader');
    const text = await readFile(cluster.kubeconfigPath, 'utf8');
    await writeFile(path, text.replace(/user: \{ token: (\S+) \}/, 'user: { token: $1, as: "reader" }'));
    await until(async () => (await run('service', 'web', `--kubeconfig=${path}`)).status === 0);
    const { unseen, pods } = await explain('service', 'web', `--kubeconfig=${path}`);
    assert.deepEqual(
      unseen.map((what) => what.replace(/: User "reader" cannot (?:get|list) resource .*$/, '')).sort(),
      [
        'endpoints shop/web: endpoints "web" is forbidden',
        'endpointslices of shop: endpointslices.discovery.k8s.io is forbidden',
        'nodes (zones and hints): nodes is forbidden',
      ],
    );
    assert.equal(pods.find(({ pod }) => pod === 'shop/failed')!.endpoints.why, 'its phase is Failed');
  });
});
