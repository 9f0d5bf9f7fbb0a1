/** What is deployed is held to what the program does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load, loadAll } from 'js-yaml';
import { RUN_FLAGS } from '../src/cli/flags/flags.ts';
import { CATALOGUE } from '../src/metrics/catalogue.ts';
import { askedBy } from './support/asked-rights.ts';
import { alerts, allExpressions, dashboardExpressions, OF_OTHERS, scrapeJob } from './support/monitoring.ts';
import { metricsIn, unknownIn } from './support/promql.ts';
import { ASKED_BY_ADMISSION, rightsIn, rolesOf } from './support/roles.ts';

test('deploy/rbac.yaml grants what the three controllers need, and nothing more', () => {
  const asked = askedBy({ endpoints: true, slices: true, mirror: true });
  const granted = rolesOf('rbac.yaml').flatMap(({ rules }) => rules.flatMap(rightsIn));
  assert.deepEqual(granted.sort(), [...asked, ...ASKED_BY_ADMISSION].sort());
});

test('alerts and dashboard use existing metrics and labels', () => {
  const own = new Map(
    CATALOGUE.flatMap(({ name, type, labelNames }) => {
      const labels = new Set<string>(labelNames);
      const bucket = [`${name}_bucket`, new Set([...labels, 'le'])] as const;
      return type === 'histogram' ? [bucket, [`${name}_sum`, labels], [`${name}_count`, labels]] : [[name, labels]];
    }),
  );
  const exported = new Map<string, ReadonlySet<string>>([...own, ...OF_OTHERS]);
  const runtime = /^metric (process|nodejs)_/;
  for (const { title, expr } of allExpressions()) {
    assert.deepEqual(
      unknownIn(expr, exported).filter((problem) => !runtime.test(problem)),
      [],
      title,
    );
  }
});

test('the dashboard shows the chosen cluster and job, and no 0 where nothing runs', () => {
  for (const { title, expr } of dashboardExpressions()) {
    const ofCluster = expr.match(/\{cluster=~"\$cluster"/g) ?? [];
    assert.equal(ofCluster.length, metricsIn(expr).length, title);
    assert.match(expr, /\{cluster=~"\$cluster",job=~"\$job"/, title);
    assert.doesNotMatch(expr, /\bvector\(/, title);
  }
});

test('each alert says what to do, and where manual or runbook says more', () => {
  const sections = ['docs/manual.md', 'docs/runbook.md'].flatMap((path) => {
    const text = readFileSync(join(import.meta.dirname, '..', path), 'utf8');
    return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) => {
      const words = title!.toLowerCase().replaceAll(/[^\w -]/g, '');
      return `${path}#${words.replaceAll(' ', '-')}`;
    });
  });
  assert.ok(alerts().length >= 6);
  for (const { alert, annotations } of alerts()) {
    const [, section] = /^[A-Z].{20,}: (docs\/\w+\.md#[\w-]+)$/.exec(annotations.runbook) ?? [];
    assert.ok(sections.includes(section ?? ''), `${alert}: ${annotations.runbook}`);
  }
});

interface Manifest {
  readonly kind: string;
  readonly spec: never;
}

function manifests(path: string): Manifest[] {
  return loadAll(readFileSync(join(import.meta.dirname, '..', 'deploy', path), 'utf8')) as Manifest[];
}

/** What a pod needs for the Pod Security Standard `restricted`, and what is written nowhere but to memory. */
const RESTRICTED = {
  pod: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  container: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
};

interface Toleration {
  readonly key: string;
  readonly operator: 'Exists';
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

interface PodSpec {
  readonly securityContext: object;
  readonly nodeSelector?: object;
  readonly priorityClassName: string;
  readonly affinity: Readonly<Record<string, Readonly<Record<string, readonly object[]>>>>;
  readonly tolerations: readonly Toleration[];
  readonly containers: readonly [
    { readonly args: readonly string[]; readonly securityContext: object; readonly resources: object },
  ];
}

test('the Deployment outlives a node and a drain, and may do little', () => {
  const [deployment, budget] = manifests('endpointd.yaml');
  assert.deepEqual([deployment!.kind, budget!.kind], ['Deployment', 'PodDisruptionBudget']);
  const { replicas, minReadySeconds, template } = deployment!.spec as {
    replicas: number;
    minReadySeconds: number;
    template: { spec: PodSpec };
  };
  const { securityContext, priorityClassName, affinity, tolerations, containers } = template.spec;
  assert.deepEqual([replicas, minReadySeconds], [2, 30]);
  assert.equal(priorityClassName, 'system-cluster-critical');
  const [apart] = affinity['podAntiAffinity']!['requiredDuringSchedulingIgnoredDuringExecution']!;
  assert.deepEqual(apart, {
    topologyKey: 'kubernetes.io/hostname',
    labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'endpointd' } },
  });
  assert.deepEqual(
    tolerations.map(({ key }) => key),
    [
      'node-role.kubernetes.io/control-plane',
      'node-role.kubernetes.io/master',
      'node.kubernetes.io/not-ready',
      'node.kubernetes.io/unreachable',
    ],
  );
  assert.deepEqual(template.spec.nodeSelector, { 'kubernetes.io/os': 'linux' });
  assert.deepEqual(securityContext, RESTRICTED.pod);
  assert.deepEqual(containers[0].securityContext, RESTRICTED.container);
  assert.deepEqual(containers[0].resources, {
    requests: { cpu: '100m', memory: '256Mi' },
    limits: { memory: '1Gi' },
  });
  assert.deepEqual(budget!.spec, {
    maxUnavailable: 1,
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
    selector: { matchLabels: { 'app.kubernetes.io/name': 'endpointd' } },
  });
});

test('the API server has no name on Gardener, and the selector is as before', () => {
  const inject = 'apiserver-proxy.networking.gardener.cloud/inject';
  const { selector, template } = manifests('endpointd.yaml')[0]!.spec as {
    selector: object;
    template: { metadata: { labels: Readonly<Record<string, string>> } };
  };
  assert.deepEqual(selector, { matchLabels: { 'app.kubernetes.io/name': 'endpointd' } });
  assert.equal(template.metadata.labels[inject], 'disable');
});

interface Operation {
  readonly op: 'add' | 'remove' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

/** Does to the tolerations what the operations of a JSON patch say of them. */
function patchTolerations(tolerations: readonly Toleration[], operations: readonly Operation[]): Toleration[] {
  const patched = [...tolerations];
  for (const { op, path, value } of operations) {
    const [, place, field] = /\/tolerations\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
    if (place === undefined) continue;
    if (op === 'test') assert.equal(patched[Number(place)]![field as 'key'], value);
    else if (op === 'remove') patched.splice(Number(place), 1);
    else patched.push(value as Toleration);
  }
  return patched;
}

test('on the host network, a broken network of pods drives no replica away', () => {
  const deployment = manifests('endpointd.yaml')[0]!.spec as { template: { spec: PodSpec } };
  const [component] = manifests('components/host-network/kustomization.yaml') as unknown as [
    { readonly patches: readonly [{ readonly patch: string }] },
  ];
  const operations = load(component.patches[0].patch) as Operation[];
  assert.deepEqual(patchTolerations(deployment.template.spec.tolerations, operations), [
    { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 },
    // Of each effect, without a limit.
    { key: 'node.kubernetes.io/not-ready', operator: 'Exists' },
    { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' },
  ]);
});

test('the static pod has the limits and the security of the Deployment', () => {
  const [pod] = manifests('static-pod/endpointd.yaml');
  const { securityContext, containers } = pod!.spec as PodSpec;
  assert.deepEqual(securityContext, { ...RESTRICTED.pod, runAsUser: 65532, runAsGroup: 65532 });
  assert.deepEqual(containers[0].securityContext, RESTRICTED.container);
  const deployment = manifests('endpointd.yaml')[0]!.spec as { template: { spec: PodSpec } };
  assert.deepEqual(containers[0].resources, deployment.template.spec.containers[0].resources);
});

test("upstream's job is off by default, and for upstream's families alone", () => {
  const text = readFileSync(
    join(import.meta.dirname, '..', 'deploy/components/upstream-job/kustomization.yaml'),
    'utf8',
  );
  // Prometheus looks for the whole name.
  const taken = new RegExp(`^(?:${/regex: (.+)/.exec(text)![1]!})$`);
  const own = /^(?:endpointd|leader_election|process|nodejs)_/;
  for (const { name } of CATALOGUE) assert.equal(taken.test(name), !own.test(name), name);
  for (const name of ['up', 'scrape_duration_seconds', 'process_cpu_seconds_total', 'kubernetes_healthcheck']) {
    assert.equal(taken.test(name), false, name);
  }
  const base = readFileSync(join(import.meta.dirname, '..', 'deploy/kustomization.yaml'), 'utf8');
  assert.doesNotMatch(base, /^components:|service-monitor/m);
});

interface ServiceMonitor {
  readonly metadata: { readonly namespace: string };
  readonly spec: {
    readonly endpoints: readonly [Readonly<Record<string, unknown>>];
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  };
}

test('a Prometheus without the operator scrapes what the ServiceMonitor has', () => {
  const [monitor] = manifests('components/service-monitor/service-monitor.yaml') as unknown as [ServiceMonitor];
  const [endpoint] = monitor.spec.endpoints;
  const name = monitor.spec.selector.matchLabels['app.kubernetes.io/name']!;
  assert.deepEqual(load(scrapeJob()), [
    {
      job_name: name,
      scrape_interval: endpoint['interval'],
      scheme: endpoint['scheme'],
      tls_config: { insecure_skip_verify: true },
      authorization: { credentials_file: endpoint['bearerTokenFile'] },
      honor_labels: endpoint['honorLabels'],
      kubernetes_sd_configs: [{ role: 'endpointslice', namespaces: { names: [monitor.metadata.namespace] } }],
      relabel_configs: [
        {
          source_labels: ['__meta_kubernetes_service_name', '__meta_kubernetes_endpointslice_port_name'],
          regex: `${name};${String(endpoint['port'])}`,
          action: 'keep',
        },
      ],
    },
  ]);
  assert.deepEqual(endpoint['tlsConfig'], { insecureSkipVerify: true });
});

test('slice-discovery alone asks for a field that older operators do not know', () => {
  const [component] = manifests('components/slice-discovery/kustomization.yaml') as unknown as [
    { readonly patches: readonly [{ readonly target: object; readonly patch: string }] },
  ];
  const [{ target, patch }] = component.patches;
  assert.deepEqual(target, { kind: 'ServiceMonitor', name: 'endpointd' });
  assert.deepEqual(load(patch), [{ op: 'add', path: '/spec/serviceDiscoveryRole', value: 'EndpointSlice' }]);
  const [monitor] = manifests('components/service-monitor/service-monitor.yaml') as unknown as [ServiceMonitor];
  assert.ok(!('serviceDiscoveryRole' in monitor.spec));
});

test('installed as it is, endpointd does not write beside another manager', () => {
  const flag = '--take-over-from=kube-controller-manager';
  const deployment = manifests('endpointd.yaml')[0]!.spec as { template: { spec: PodSpec } };
  assert.deepEqual(deployment.template.spec.containers[0].args, ['run', flag]);
  assert.deepEqual((manifests('helm/endpointd/values.yaml')[0] as unknown as { flags: string[] }).flags, [flag]);
  const pod = manifests('static-pod/endpointd.yaml')[0]!.spec as PodSpec;
  assert.ok(pod.containers[0].args.includes(flag));
});

interface StaticPod {
  readonly spec: {
    readonly serviceAccountName?: string;
    readonly volumes: readonly Readonly<Record<string, unknown>>[];
  };
}

test('the static pod names no service account, Secret or ConfigMap', () => {
  const text = readFileSync(join(import.meta.dirname, '..', 'deploy/static-pod/endpointd.yaml'), 'utf8');
  const [{ spec }] = loadAll(text) as [StaticPod];
  assert.equal(spec.serviceAccountName, undefined);
  assert.deepEqual(
    spec.volumes.map((volume) => Object.keys(volume)),
    [['name', 'hostPath']],
  );
  assert.doesNotMatch(text, /secretKeyRef|configMapKeyRef|envFrom/);
});

test('all deployed objects have the version of the package', () => {
  const root = join(import.meta.dirname, '..');
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  assert.match(read('deploy/kustomization.yaml'), new RegExp(`newTag: ${version}\n`));
  assert.match(read('deploy/static-pod/endpointd.yaml'), new RegExp(`image: endpointd:${version}\n`));
  assert.match(
    read('deploy/helm/endpointd/Chart.yaml'),
    new RegExp(`^version: ${version}\nappVersion: ${version}\n`, 'm'),
  );
});

/** What a JSON Schema says of a text, as far as flags need it. */
interface TextSchema {
  readonly pattern?: string;
  readonly not?: TextSchema;
  readonly anyOf?: readonly TextSchema[];
}

interface FlagsSchema {
  readonly properties: { readonly flags: { readonly items: TextSchema } };
}

function fits(text: string, { pattern = '', not, anyOf }: TextSchema): boolean {
  if (!new RegExp(pattern).test(text) || (not !== undefined && fits(text, not))) return false;
  return anyOf === undefined || anyOf.some((schema) => fits(text, schema));
}

/** Whether the schema of the chart takes it among the flags. */
function isTaken(flag: string): boolean {
  const schema = readFileSync(join(import.meta.dirname, '..', 'deploy/helm/endpointd/values.schema.json'), 'utf8');
  return fits(flag, (JSON.parse(schema) as FlagsSchema).properties.flags.items);
}

test('the chart takes each flag that it does not set itself, as the runbook asks', () => {
  const names = RUN_FLAGS.groups.flatMap(({ flags }) => Object.keys(flags));
  // Of no flag is this value one that the kubelet's probes do not go with.
  const refused = names.filter((name) => !isTaken(`--${name}=/livez`));
  assert.deepEqual(refused.sort(), ['leader-elect-resource-name', 'leader-elect-resource-namespace', 'secure-port']);

  const runbook = readFileSync(join(import.meta.dirname, '..', 'docs/runbook.md'), 'utf8');
  // As Helm splits them: not at a comma behind a backslash.
  const inValues = [...runbook.matchAll(/'flags=\{(.+?)\}'/g)].flatMap(([, flags]) => flags!.split(/(?<!\\),/));
  const inText = [...runbook.matchAll(/add `(-.+?)` to the flags/g)].map(([, flag]) => flag!);
  assert.deepEqual(
    [...inValues, ...inText].map((flag) => [flag.replaceAll('\\,', ','), isTaken(flag)]),
    [
      ['--take-over-from=kube-controller-manager', true],
      ['--concurrent-service-endpoint-syncs=10', true],
      ['--controllers=*,-endpoints-controller', true],
      ['-v=1', true],
    ],
  );
});

for (const [flag, taken] of Object.entries({
  '--bind-address=127.0.0.1': false,
  '--bind-address=::1': false,
  '--bind-address=::': true,
  '--bind-address=$(POD_IP)': true,
  '--authorization-always-allow-paths=/healthz': false,
  '--authorization-always-allow-paths=/healthz,/livez': true,
  '--authorization-always-allow-paths=/*': true,
})) {
  test(`the chart ${taken ? 'takes' : 'refuses'} ${flag}`, () => assert.equal(isTaken(flag), taken));
}

test('the runbook quotes flags where a comma would end them, for who copies the line', () => {
  const runbook = readFileSync(join(import.meta.dirname, '..', 'docs/runbook.md'), 'utf8');
  const operations = [...runbook.matchAll(/^ *- (\{op: add, .+\})$/gm)].map(([, text]) => text!);
  assert.ok(operations.some((text) => text.includes(',-endpoints-controller')));
  for (const text of operations) {
    const flag = /value: '(.+)'\}$/.exec(text)?.[1];
    assert.ok(flag !== undefined && isTaken(flag), text);
    assert.deepEqual(load(text), { op: 'add', path: '/spec/template/spec/containers/0/args/-', value: flag });
  }
});
