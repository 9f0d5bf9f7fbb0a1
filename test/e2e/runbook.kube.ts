/**
 * docs/runbook.md as an operator follows it: each of its commands, as it stands there, with the real kubectl before a real
 * kube-apiserver with RBAC and a real kube-controller-manager with leader election. There are no kubelets: the two processes
 * are started here, with the arguments that the applied Deployment has and as its service account.
 */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubeObject } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { commandPage, type CommandPage } from './page-commands.ts';
import { expectAllRight } from './whole-check.ts';
import { createPod, createService, createWorld, setReady, until, type World } from './world.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Those of kubeadm; without the ones that would take away pods of nodes without a kubelet. */
const KUBEADM = '*,bootstrapsigner,tokencleaner';
const NO_KUBELETS = ',-node-lifecycle-controller,-pod-garbage-collector-controller,-taint-eviction-controller';
const AFTER = '--take-over-after=5s';
const IMAGE = 'registry.example/endpointd:0.1.0';
/** Only a kubelet has the log of a pod. */
const NEEDS_KUBELET = 'kubectl logs';
const PODS = '/api/v1/namespaces/kube-system/pods';

describe('the runbook', () => {
  let clone: string;
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let manager: ControllerManager;
  let replicas: Endpointd[] = [];
  let page: CommandPage;

  before(async () => {
    clone = await mkdtemp(join(tmpdir(), 'endpointd-runbook-'));
    cluster = await startCluster({ rbac: true, auditLog: true });
    client = clientOf(cluster);
    await cp(join(ROOT, 'deploy'), join(clone, 'deploy'), { recursive: true });
    const env = { KUBECONFIG: cluster.kubeconfigPath };
    page = await commandPage('docs/runbook.md', { directory: clone, kubectl: cluster.binaries.kubectl, env });
    manager = await startManager('');
    await client.send({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'node-1' } } });
    world = await createWorld(client, 'shop');
    await createService(world, 'web');
    for (const n of [1, 2]) await createPod(world, `web-${n}`, { ip: `10.1.1.${n}`, labels: { app: 'web' } });
    await expectAllRight(client);
  });

  after(async () => {
    for (const endpointd of replicas) await endpointd.kill9();
    await client?.close();
    await cluster?.stop();
    await rm(clone, { recursive: true, force: true });
  });

  /** @param off what the runbook has behind the value of --controllers */
  function startManager(off: string): Promise<ControllerManager> {
    return startControllerManager(cluster, [KUBEADM + NO_KUBELETS + off], { flags: ['--leader-elect=true'] });
  }

  function follow(section: string, start: string, fill: Readonly<Record<string, string>> = {}): Promise<string> {
    return page.follow(section, start, { fill });
  }

  /** As the Deployment that was applied would run them. */
  async function startReplicas(): Promise<void> {
    const path = '/apis/apps/v1/namespaces/kube-system/deployments/endpointd';
    const { spec } = (await client.send({ method: 'GET', path })) as Deployment;
    const [{ image, args }] = spec.template.spec.containers;
    const [command, ...flags] = args;
    assert.deepEqual([image, command], [IMAGE, 'run']);
    const as = { directory: cluster.directory, kubeconfigPath: join(clone, 'endpointd.conf') };
    const all = Array.from({ length: spec.replicas }, () =>
      startEndpointd(as, ['--leader-elect=true', ...flags, AFTER]),
    );
    replicas = await Promise.all(all);
  }

  /** As scheduler and kubelet would: the pods of the Deployment are on a node and ready. */
  async function runPods(): Promise<void> {
    const ofEndpointd = async (): Promise<KubeObject[]> =>
      (await client.list(`${PODS}?labelSelector=app.kubernetes.io%2Fname%3Dendpointd`)).items;
    await until(async () => (await ofEndpointd()).length === replicas.length);
    for (const { metadata } of await ofEndpointd()) {
      const path = `${PODS}/${metadata.name}`;
      const target = { apiVersion: 'v1', kind: 'Node', name: 'node-1' };
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: metadata.name }, target };
      await client.send({ method: 'POST', path: `${path}/binding`, body: binding });
      // The Deployment counts a pod that has been ready for minReadySeconds.
      const lastTransitionTime = new Date(Date.now() - 60_000).toISOString();
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
      const contentType = 'application/merge-patch+json';
      await client.send({ method: 'PATCH', path: `${path}/status`, contentType, body: { status } });
    }
  }

  const verify = (section: string): Promise<string> => follow(section, 'npx endpointd verify');

  async function logs(): Promise<string> {
    return (await Promise.all(replicas.map(({ logPath }) => readFile(logPath, 'utf8')))).join('');
  }

  const tookOverFrom = (): Promise<string> => follow('Before the switch', 'kubectl get lease endpointd');

  it('before the switch nothing differs, and no right is missing', async () => {
    await verify('Before the switch');
    await follow('Before the switch', 'kubectl apply -f');
    const flags = { FLAGS: '--take-over-from=kube-controller-manager --concurrent-service-endpoint-syncs=10' };
    const asked = await follow('Before the switch', '(umask 077', flags);
    assert.match(asked, /The user has all rights that these flags need/);
    assert.equal(await tookOverFrom(), '');
  });

  it('the runbook finds webhooks that a start from nothing would wait for', async () => {
    const service = { name: 'guard', namespace: 'shop', path: '/' };
    const rules = [{ apiGroups: ['example.com'], apiVersions: ['*'], operations: ['CREATE'], resources: ['widgets'] }];
    const webhook = { clientConfig: { service }, rules, sideEffects: 'None', admissionReviewVersions: ['v1'] };
    await client.send({
      method: 'POST',
      path: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      body: {
        metadata: { name: 'guard' },
        webhooks: [
          { ...webhook, name: 'strict.example.com', failurePolicy: 'Fail' },
          { ...webhook, name: 'lenient.example.com', failurePolicy: 'Ignore' },
          { ...webhook, name: 'outside.example.com', clientConfig: { url: 'https://guard.example.com' } },
        ],
      },
    });
    const found = await follow('Before the switch', 'kubectl get validatingwebhook');
    assert.equal(found, 'strict.example.com ["widgets"]\n');
  });

  /** A policy of the API server that is bound to nothing, and one of a policy engine. Both name an account. */
  async function makePolicies(): Promise<void> {
    const account = 'system:serviceaccount:kube-system:endpointslice-controller';
    const resourceRules = [
      { apiGroups: ['discovery.k8s.io'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['endpointslices'] },
    ];
    const expression = 'Object{metadata: Object.metadata{labels: {"by": "another"}}}';
    const spec = {
      matchConstraints: { resourceRules },
      matchConditions: [{ name: 'another', expression: `request.userInfo.username != "${account}"` }],
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    };
    const admission = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
    await client.send({ method: 'POST', path: admission, body: { metadata: { name: 'another' }, spec } });
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    const names = { kind: 'ClusterPolicy', plural: 'clusterpolicies' };
    await client.send({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: {
        metadata: { name: 'clusterpolicies.kyverno.io' },
        spec: { group: 'kyverno.io', scope: 'Cluster', names, versions },
      },
    });
    const path = '/apis/kyverno.io/v1/clusterpolicies';
    await until(() => client.list(path).then(Boolean, () => false));
    const mine = { apiVersion: 'kyverno.io/v1', kind: names.kind, metadata: { name: 'mine' }, spec: { account } };
    await client.send({ method: 'POST', path, body: mine });
  }

  it('the runbook looks for policies, and asks what admission says of endpointd', async () => {
    const policy = join(clone, 'audit-policy.yaml');
    await writeFile(policy, 'users: [system:serviceaccount:kube-system:endpoint-controller]\n');
    await makePolicies();
    const [look, ask] = ['kubectl api-resources', 'kubectl get endpointslice'];
    const section = 'Policies that name the controllers';
    let found = '';
    const policies = async (): Promise<string> =>
      (found = await follow(section, look, { '/etc/kubernetes/audit-policy.yaml': policy }));
    // The API server tells of a new kind a moment after it serves it.
    await until(async () => /^clusterpolicies\.kyverno\.io:.+endpointslice-controller$/m.test(await policies()));
    assert.match(found, /^mutatingadmissionpolicies\.\S+:.+endpointslice-controller/m);
    assert.match(found, /^1:users/m);
    const { items } = await client.list('/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices');
    assert.match(await follow(section, ask, { 'web-x7k2p': items[0]!.metadata.name! }), /replaced \(server dry run\)/);
  });

  it('at the switch the patch of deploy/ is applied, and endpointd waits', async () => {
    const patch = /```yaml\n(# kustomization.yaml[^]+?)```/.exec(page.text)![1]!;
    await writeFile(join(clone, 'kustomization.yaml'), patch);
    await follow('The switch', 'kubectl apply -k .');
    await startReplicas();
    for (const endpointd of replicas) await endpointd.ready();
    await runPods();
    assert.match(await follow('The switch', 'kubectl rollout status'), /successfully rolled out/);
    const waiting = await Promise.all(
      replicas.map(async (one) => (await one.metrics()).sum('endpointd_take_over_waiting')),
    );
    assert.deepEqual(
      waiting.toSorted((a, b) => a - b),
      [0, 1],
    );
    assert.match(await logs(), /Holds the Lease and writes nothing/);
  });

  it('endpointd takes over once the three are off and something harmless changes', async () => {
    assert.match(await follow('The switch', 'kubectl get lease'), /kube-controller-manager/);
    const off = /with `(,-endpoints-controller[^`]+)` behind/.exec(page.text)![1]!;
    await manager.stop();
    manager = await startManager(off);
    await follow('The switch', 'kubectl create service');
    await until(async () => (await logs()).includes('Takes over'));
    await setReady(world, 'web-1', false);
    await expectAllRight(client);
    assert.match(await verify('The switch'), /^same: nothing would be written$/m);
    assert.deepEqual(await foreignEdits(), 0);
  });

  const foreignEdits = async (): Promise<number> => {
    const all = replicas.map(async (one) => (await one.metrics()).sum('endpointd_foreign_edits_total'));
    return (await Promise.all(all)).reduce((a, b) => a + b, 0);
  };

  it("the runbook's steps for failures can be done", async () => {
    const service = { NAMESPACE: 'shop', NAME: 'web' };
    const web = { NAMESPACE: 'shop', 'service NAME': 'service web' };
    await follow('A service is stuck', 'kubectl label service NAME -n NAMESPACE endpointd-retry=now', web);
    await follow('A service is stuck', 'kubectl label service NAME -n NAMESPACE endpointd-retry-', web);
    assert.match(await follow('A service is stuck', 'npx endpointd explain', service), /web-2/);
    await verify('The take-over is stuck');
    await follow('The switch', 'kubectl annotate lease');
    assert.equal(await tookOverFrom(), 'kube-controller-manager');
    assert.match(await follow('Two writers', 'kubectl get lease'), /endpointd/);
    const fill = { '...': 'endpointslices -n shop' };
    assert.match(await follow('Two writers', 'kubectl get ...', fill), /manager: endpointd/);
    const readers = await follow('Two writers', 'npx endpointd endpoints-readers', {
      'AUDIT-LOG': cluster.auditLogPath,
    });
    assert.match(readers, /kube-controller-manager/);
    assert.match(await follow('As a static pod', 'kubectl get lease'), /endpointd/);
  });

  it('an upgrade takes the new rights, then the roll-out', async () => {
    await follow('Upgrades', 'kubectl apply -f');
    assert.match(await follow('Upgrades', 'kubectl apply -k .'), /deployment.apps\/endpointd unchanged/);
  });

  it('after going back kube-controller-manager writes again', async () => {
    await follow('Going back', 'kubectl scale');
    for (const endpointd of replicas.splice(0)) assert.equal((await endpointd.term()).status, 0);
    await manager.stop();
    manager = await startManager('');
    await follow('Going back', 'kubectl annotate lease');
    assert.equal(await tookOverFrom(), '');
    await setReady(world, 'web-1', true);
    await expectAllRight(client);
  });

  it('the runbook has no other command', () => {
    assert.deepEqual(
      page.rest().filter(({ text }) => !text.startsWith(NEEDS_KUBELET)),
      [],
    );
  });
});

interface Deployment {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: { readonly containers: readonly [{ readonly image: string; readonly args: readonly string[] }] };
    };
  };
}
