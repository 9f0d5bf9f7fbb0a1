/** Every way to install endpointd, with the real kubectl, helm and kubeadm before a real API server. Needs root, openssl and `unshare`. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { load, loadAll } from 'js-yaml';
import { Agent, request } from 'undici';
import type { ApiClient } from '../../src/node/api-client.ts';
import { helmBinary, kubeadmBinary } from './binaries.ts';
import { createAuthority } from './certificates.ts';
import { clientOf, differences } from './client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd } from './endpointd.ts';
import { createPod, createService, createWorld, until } from './world.ts';

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy');
const CHART = join(DEPLOY, 'helm', 'endpointd');

interface Choice {
  readonly title: string;
  readonly components: readonly string[];
  readonly values: readonly string[];
  /** Default kube-system. */
  readonly namespace?: string;
}

const CHOICES: readonly Choice[] = [
  { title: 'nothing chosen', components: [], values: [] },
  { title: 'the network of the nodes', components: ['host-network'], values: ['hostNetwork=true'] },
  { title: 'another namespace', components: ['own-namespace'], values: [], namespace: 'endpointd' },
  { title: 'a ServiceMonitor', components: ['service-monitor'], values: ['serviceMonitor.enabled=true'] },
  {
    title: "upstream's job",
    components: ['service-monitor', 'upstream-job'],
    values: ['serviceMonitor.enabled=true', 'serviceMonitor.upstreamJob=true'],
  },
  {
    title: 'a ServiceMonitor that reads slices',
    components: ['service-monitor', 'slice-discovery'],
    values: ['serviceMonitor.enabled=true', 'serviceMonitor.discoveryRole=EndpointSlice'],
  },
  { title: 'alerts', components: ['alerts'], values: ['alerts.enabled=true'] },
  { title: 'the dashboard', components: ['dashboard'], values: ['dashboard.enabled=true'] },
  {
    title: 'everything',
    components: ['service-monitor', 'upstream-job', 'alerts', 'dashboard', 'own-namespace', 'host-network'],
    values: [
      'hostNetwork=true',
      'serviceMonitor.enabled=true',
      'serviceMonitor.upstreamJob=true',
      'alerts.enabled=true',
      'dashboard.enabled=true',
    ],
    namespace: 'endpointd',
  },
];

/** What `helm` says of values that make no sense, by what sets them, with a blank between two. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'replica=3': /additional properties 'replica' not allowed/,
  'replicas=two': /at '\/replicas': got string, want integer/,
  'image.repository=': /at '\/image\/repository': minLength/,
  'image.digest=latest': /at '\/image\/digest': 'latest' does not match pattern/,
  'image.pullPolicy=Sometimes': /at '\/image\/pullPolicy': value must be one of/,
  'flags={-v}': /at '\/flags\/0': '-v' does not match pattern/,
  'flags={run}': /at '\/flags\/0': 'run' does not match pattern/,
  'flags={--leader-elect-resource-name=other}': /at '\/flags\/0': 'not' failed/,
  'flags={--bind-address=127.0.0.1}': /at '\/flags\/0': 'not' failed/,
  'flags={--authorization-always-allow-paths=/metrics}': /at '\/flags\/0': 'not' failed/,
  'networkPolicy.apiServerPorts={0}': /at '\/networkPolicy\/apiServerPorts\/0': minimum/,
  'flags={--leader-elect=false}': /Without leader election all replicas write: set replicas to 1/,
  'flags={-v=1,--leader-elect=F} replicas=3': /Without leader election all replicas write: set replicas to 1/,
  'name=slices alerts.enabled=true': /jobs that begin with endpointd, so name has to begin with it/,
  'name=slices dashboard.enabled=true': /jobs that begin with endpointd, so name has to begin with it/,
  'volumes[0].emptyDir.medium=Memory': /at '\/volumes\/0': missing property 'name'/,
  'volumeMounts[0].name=certificate': /at '\/volumeMounts\/0': missing property 'mountPath'/,
  'env[0].name=A env[0].valu=b': /at '\/env\/0': additional properties 'valu' not allowed/,
  'podDisruptionBudget.unhealthyPodEvictionPolicy=Never': /unhealthyPodEvictionPolicy': value must be one of/,
  'serviceMonitor.discoveryRole=slices': /serviceMonitor\/discoveryRole': value must be one of/,
  'serviceMonitor.interval=often': /at '\/serviceMonitor\/interval': 'often' does not match pattern/,
};

/** In a mount namespace of its own: /etc holds what a node of kubeadm has there, and nothing else. */
const ON_A_NODE = [
  'mount --make-rprivate /',
  'mount -t tmpfs tmpfs /etc',
  'mkdir /etc/kubernetes',
  'cp -r "$0" /etc/kubernetes/pki',
];

/** Objects of the Prometheus operator, as far as the API server has to know them. */
const OPERATOR_KINDS = { servicemonitors: 'ServiceMonitor', prometheusrules: 'PrometheusRule' };

interface AnyObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

describe('installed', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let helm: string;
  /** What kubeadm has in /etc/kubernetes/pki: the authority of clients. */
  let pki: string;

  before(async () => {
    helm = await helmBinary();
    pki = join(await mkdtemp(join(tmpdir(), 'endpointd-install-')), 'pki');
    const { certFile } = await createAuthority(pki, 'kubernetes');
    const apiserverFlags = [`--client-ca-file=${certFile}`];
    cluster = await startCluster({ rbac: true, priorityAndFairness: true, apiserverFlags });
    client = clientOf(cluster);
    await kubectl('create', 'namespace', 'endpointd');
    const kinds = join(cluster.directory, 'kinds.yaml');
    await writeFile(kinds, Object.entries(OPERATOR_KINDS).map(definitionOf).join('---\n'));
    await kubectl('apply', '-f', kinds);
    await kubectl('wait', '--for=condition=Established', '-f', kinds);
  });

  after(async () => {
    await client?.close();
    await cluster?.stop();
    await rm(dirname(pki), { recursive: true, force: true });
  });

  async function kubectl(...args: string[]): Promise<string> {
    const { stdout, stderr } = await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, ...args]);
    assert.equal(stderr, '');
    return stdout;
  }

  /** An overlay as an operator writes it, rendered. */
  async function kustomized({ title, components }: Choice): Promise<string> {
    const directory = join(cluster.directory, title.replaceAll(/\W/g, '-'));
    await mkdir(directory, { recursive: true });
    const base = relative(directory, DEPLOY);
    const overlay = { resources: [base], components: components.map((name) => `${base}/components/${name}`) };
    await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(overlay));
    return kubectl('kustomize', directory);
  }

  async function templated(choice: Pick<Choice, 'values' | 'namespace'>): Promise<string> {
    const { values, namespace = 'kube-system' } = choice;
    const set = values.flatMap((value) => ['--set', value]);
    return (await run(helm, ['template', 'endpointd', CHART, '--namespace', namespace, ...set])).stdout;
  }

  /** With a file of values, as they are not when `--set` has read them. */
  async function templatedWith(values: object): Promise<string> {
    const file = join(cluster.directory, 'values.json');
    await writeFile(file, JSON.stringify(values));
    return (await run(helm, ['template', 'endpointd', CHART, '--namespace', 'kube-system', '--values', file])).stdout;
  }

  for (const choice of CHOICES) {
    it(`${choice.title}: the chart makes what kustomize makes, and the server takes it`, async () => {
      const text = await kustomized(choice);
      assert.deepEqual(byName(await templated(choice)), byName(text));
      const rendered = join(cluster.directory, 'rendered.yaml');
      await writeFile(rendered, text);
      const taken = await kubectl('apply', '-f', rendered, '--dry-run=server');
      assert.equal(taken.trim().split('\n').length, Object.keys(byName(text)).length);
    });
  }

  it('the chart is clean for helm lint --strict', async () => {
    await run(helm, ['lint', '--strict', CHART]);
  });

  for (const [value, said] of Object.entries(REFUSED)) {
    it(`the chart refuses ${value}`, async () => {
      await assert.rejects(templated({ values: value.split(' ') }), (error: Error) => said.test(error.message));
    });
  }

  it('flags may have digits and commas, and -v is one', async () => {
    const flags = ['-v=1', '--http2-max-streams-per-connection=100', '--controllers=*,-endpoints-controller'];
    const list = flags.map((flag) => flag.replaceAll(',', '\\,')).join(',');
    const objects = byName(await templated({ values: [`flags={${list}}`] }));
    assert.deepEqual(containerOf(objects['Deployment kube-system/endpointd']).args, ['run', ...flags]);
  });

  it('without leader election there is one replica, which waits for the old pod', async () => {
    const deploymentWith = async (flag: string): Promise<{ spec: { strategy: object } }> => {
      const objects = byName(await templated({ values: [`flags={${flag}}`, 'replicas=1'] }));
      const deployment = objects['Deployment kube-system/endpointd'];
      assert.deepEqual(containerOf(deployment).args, ['run', flag]);
      return deployment as { spec: { strategy: object } };
    };
    const rolling = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
    for (const [flag, strategy] of [
      ['--leader-elect=false', { type: 'Recreate' }],
      ['--leader-elect=F', { type: 'Recreate' }],
      ['--leader-elect=true', rolling],
      ['-v=1', rolling],
    ] as const) {
      assert.deepEqual((await deploymentWith(flag)).spec.strategy, strategy, flag);
    }
  });

  it('flags that name files have volumes to read from', async () => {
    const certificate = { name: 'certificate', secret: { secretName: 'endpointd-tls' } };
    const mount = { name: 'certificate', mountPath: '/certificate', readOnly: true };
    const env = [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=3072' }];
    const values = { volumes: [certificate], volumeMounts: [mount], env };
    const objects = byName(await templatedWith(values));
    const { spec } = objects['Deployment kube-system/endpointd'] as { spec: { template: { spec: PodSpec } } };
    assert.deepEqual(spec.template.spec.volumes, values.volumes);
    const { volumeMounts, env: own } = spec.template.spec.containers[0];
    assert.deepEqual([volumeMounts, own], [values.volumeMounts, env]);
  });

  it('what an older cluster or a Prometheus without files does not know can go', async () => {
    const authorization = { credentials: { name: 'prometheus', key: 'token' } };
    const objects = byName(
      await templatedWith({
        podDisruptionBudget: { unhealthyPodEvictionPolicy: '' },
        serviceMonitor: { enabled: true, authorization },
      }),
    );
    const { spec: budget } = objects['PodDisruptionBudget kube-system/endpointd'] as { spec: object };
    assert.deepEqual(Object.keys(budget), ['maxUnavailable', 'selector']);
    const { spec } = objects['ServiceMonitor kube-system/endpointd'] as { spec: { endpoints: [object] } };
    const [endpoint] = spec.endpoints as [Readonly<Record<string, unknown>>];
    assert.deepEqual([endpoint['authorization'], endpoint['bearerTokenFile']], [authorization, undefined]);
  });

  it('a second name has a Lease and roles of its own', async () => {
    const objects = byName(
      await templated({ values: ['name=slices', 'flags={--controllers=endpointslice-controller}'] }),
    );
    const role = objects['Role kube-system/slices-leader-election'] as { rules?: object[] };
    assert.deepEqual(role.rules?.at(-1), {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: ['slices'],
      verbs: ['get', 'watch', 'update'],
    });
    const { args } = containerOf(objects['Deployment kube-system/slices']);
    assert.deepEqual(args?.slice(-2), [
      '--leader-elect-resource-name=slices',
      '--controllers=endpointslice-controller',
    ]);
  });

  it('helm installs, upgrades and removes it, and leaves nothing', async () => {
    const flags = ['--namespace', 'endpointd', '--kubeconfig', cluster.kubeconfigPath];
    await run(helm, ['install', 'endpointd', CHART, ...flags, '--set', 'alerts.enabled=true']);
    const image = [
      '--set',
      'image.repository=registry.example/endpointd',
      '--set',
      `image.digest=sha256:${'0'.repeat(64)}`,
    ];
    await run(helm, ['upgrade', 'endpointd', CHART, ...flags, ...image]);
    const deployment = JSON.parse(
      await kubectl('get', 'deployment/endpointd', '-n', 'endpointd', '-o', 'json'),
    ) as object;
    assert.equal(containerOf(deployment).image, `registry.example/endpointd@sha256:${'0'.repeat(64)}`);
    await run(helm, ['uninstall', 'endpointd', ...flags]);
    const kinds = 'deployment,service,serviceaccount,pdb,networkpolicy,role,rolebinding,prometheusrule';
    const left = await kubectl('get', `${kinds},clusterrole,clusterrolebinding,flowschema`, '-A', '-o', 'name');
    assert.deepEqual(
      left.split('\n').filter((name) => name.includes('endpointd')),
      [],
    );
  });

  it("outside of kube-system, requests have kube-controller-manager's share", async () => {
    await kubectl('apply', '-k', join(cluster.directory, 'another-namespace'));
    const account = 'system:serviceaccount:endpointd:endpointd';
    const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/endpointd';
    await until(async () => (await levelOf('/api/v1/services', account)) === 'workload-high');
    assert.equal(await levelOf('/apis/discovery.k8s.io/v1/endpointslices', account), 'workload-high');
    assert.equal(await levelOf(lease, account), 'leader-election');
    assert.equal(
      await levelOf(`${lease.replace(/\/[^/]+$/, '')}?watch=1&timeoutSeconds=1`, account),
      'leader-election',
    );
    assert.equal(await levelOf('/api/v1/services', 'system:serviceaccount:endpointd:other'), 'workload-low');
  });

  /** Name of the priority level that a GET is counted in. */
  async function levelOf(path: string, user: string): Promise<string> {
    const dispatcher = new Agent({ connect: { ca: await readFile(cluster.caFile, 'utf8') } });
    try {
      const headers = { authorization: `Bearer ${cluster.token}`, 'impersonate-user': user };
      const answer = await request(`${cluster.url}${path}`, { dispatcher, headers });
      await answer.body.dump();
      const uid = String(answer.headers['x-kubernetes-pf-prioritylevel-uid']);
      const levels = await client.list('/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations');
      return (
        levels.items.find(({ metadata }) => metadata?.uid === uid)?.metadata?.name ?? `${answer.statusCode} ${uid}`
      );
    } finally {
      await dispatcher.close();
    }
  }

  /**
   * Runs commands where /etc/kubernetes is that of a node of kubeadm. Gives the kubeconfig that comes of it, with the
   * address of the test's server and the authority of that server's own certificate.
   */
  async function asKubeadmMakesIt(commands: readonly string[]): Promise<string> {
    const kubeadm = await kubeadmBinary();
    const path = `${dirname(kubeadm)}:${process.env['PATH']}`;
    const show = "stat -c '%u %a' /etc/kubernetes/endpointd.conf; cat /etc/kubernetes/endpointd.conf";
    const script = [...ON_A_NODE, ...commands, show].join('\n');
    const { stdout } = await run('unshare', ['--mount', 'sh', '-ec', script, pki], {
      env: { ...process.env, PATH: path },
    });
    const [rights, ...lines] = stdout.split('\n');
    assert.equal(rights, '65532 400');
    const made = load(lines.join('\n')) as { clusters: [{ cluster: object }] };
    const ca = Buffer.from(await readFile(cluster.caFile)).toString('base64');
    made.clusters[0].cluster = { server: cluster.url, 'certificate-authority-data': ca };
    const kubeconfigPath = join(cluster.directory, 'endpointd.conf');
    await writeFile(kubeconfigPath, JSON.stringify(made));
    return kubeconfigPath;
  }

  it('the user of a static pod, made by kubeadm, gets to the first right slice', async () => {
    const [once, ...onNode] = commandsIn(await readFile(join(DEPLOY, 'static-pod', 'endpointd.yaml'), 'utf8'));
    await kubectl(
      ...once!
        .replace(/^kubectl /, '')
        .replaceAll('deploy/', `${DEPLOY}/`)
        .split(' '),
    );
    await kubectl('apply', '-f', join(DEPLOY, 'static-pod', 'endpointd.yaml'), '--dry-run=server');
    const world = await createWorld(client, 'shop');
    await createService(world, 'web');
    await createPod(world, 'web-1', { ip: '10.1.1.1', labels: { app: 'web' } });
    const kubeconfigPath = await asKubeadmMakesIt(onNode);
    const endpointd = await startEndpointd({ ...cluster, kubeconfigPath }, ['--leader-elect=true']);
    try {
      await until(async () => (await differences(client)).length === 0);
      assert.doesNotMatch(await readFile(endpointd.logPath, 'utf8'), /forbidden/i);
      await until(async () => (await levelOf('/api/v1/pods', 'endpointd')) === 'workload-high');
    } finally {
      await endpointd.kill9();
    }
  });
});

/** Those that the comment of a manifest tells. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/^# {3}(\S.*)$/gm)].map(([, command]) => command!);
}

/** By kind, namespace and name. */
function byName(text: string): Readonly<Record<string, object>> {
  const objects = (loadAll(text) as (AnyObject | null)[]).filter((object) => object !== null);
  return Object.fromEntries(
    objects.map((object) => [`${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`, object]),
  );
}

interface Container {
  readonly image?: string;
  readonly args?: readonly string[];
}

interface PodSpec {
  readonly volumes?: readonly object[];
  readonly containers: readonly [{ readonly volumeMounts?: readonly object[]; readonly env?: readonly object[] }];
}

function containerOf(deployment: object | undefined): Container {
  const { spec } = deployment as { spec: { template: { spec: { containers: [Container] } } } };
  return spec.template.spec.containers[0];
}

function definitionOf([plural, kind]: [plural: string, kind: string]): string {
  const group = 'monitoring.coreos.com';
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${plural}.${group} }
spec:
  group: ${group}
  scope: Namespaced
  names: { kind: ${kind}, plural: ${plural} }
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`;
}
