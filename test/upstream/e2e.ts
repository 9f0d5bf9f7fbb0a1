import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiClient } from '../../src/node/api-client.ts';
import { startChild } from '../../src/testbed/child.ts';
import { startControllerManager, type Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from '../e2e/cluster.ts';
import { startEndpointd } from '../e2e/endpointd.ts';
import { buildE2e, type E2ePrograms } from './build.ts';
import type { TestResult } from './go-test.ts';
import type { Run } from './part.ts';

/** Tests of sig-network that look at objects alone: with kwok no pod has a network, and nobody can run a command in one. */
const FOCUS: readonly string[] = [
  'API Server should have Endpoints and EndpointSlices pointing to API Server',
  'API Server should provide secure master service',
  'EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service',
  'EndpointSlice should create and delete EndpointSlices for a Service with a selector that matches no pods',
  'EndpointSlice should support creating EndpointSlice API operations',
  'EndpointSliceMirroring should mirror a custom Endpoints resource through create update and delete',
  'Endpoints should test the lifecycle of an Endpoint',
  'EndpointsController should create Endpoints for Pods matching a Service',
  'EndpointsController should create and delete Endpoints for a Service with a selector that matches no pods',
  'Service endpoints latency should not be very high',
  'ServiceCIDR and IPAddress API should support',
  'Services should allow creating a basic SCTP service with pod and endpoints',
  'Services should check NodePort out-of-range',
  'Services should complete a service status lifecycle',
  'Services should delete a collection of services',
  'Services should find a service from listing all namespaces',
  'Services should prevent NodePort collisions',
  'should create a single stack service with cluster ip from primary service range',
  'should create service with ipv',
];
const NODES = 3;
const MINUTES_MAX = 30;
const OWN = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];

/** An entry of ginkgo's report. */
interface Spec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeText: string;
  readonly LeafNodeType: string;
  readonly State: string;
}

/** @throws Error when the tests end without a report */
export async function runE2e(run: Run): Promise<TestResult[]> {
  const programs = await buildE2e(run.cache);
  const cluster = await startCluster({ serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:10:96::/112'] });
  try {
    const managers = ['*', ...OWN.map((name) => `-${name}`)];
    const key = join(cluster.directory, 'sa.key');
    await startControllerManager(cluster, managers, {
      qps: 100,
      burst: 200,
      flags: [`--service-account-private-key-file=${key}`, `--root-ca-file=${cluster.caFile}`],
    });
    await startNodes(cluster, programs, run.logs);
    await startEndpointd(cluster);
    return await runTests(cluster, programs, run.logs);
  } finally {
    await cluster.stop();
  }
}

async function startNodes(cluster: Cluster, { scheduler, kwok }: E2ePrograms, logs: string): Promise<void> {
  const kubeconfig = `--kubeconfig=${cluster.kubeconfigPath}`;
  await startChild(
    scheduler,
    [kubeconfig, '--leader-elect=false', '--secure-port=0'],
    join(logs, 'e2e-kube-scheduler.log'),
  );
  await startChild(kwok, [kubeconfig, '--manage-all-nodes=true', '--cidr=10.0.0.0/16'], join(logs, 'e2e-kwok.log'));
  const client = createApiClient(
    { url: cluster.url, token: cluster.token, ca: await readFile(cluster.caFile, 'utf8') },
    2,
  );
  for (let i = 0; i < NODES; i++) {
    const metadata = {
      name: `node-${i}`,
      labels: { 'kubernetes.io/hostname': `node-${i}`, 'kubernetes.io/os': 'linux' },
    };
    const amounts = { cpu: '32', memory: '256Gi', pods: '500' };
    await client.send({
      method: 'POST',
      path: '/api/v1/nodes',
      body: { apiVersion: 'v1', kind: 'Node', metadata, status: { allocatable: amounts, capacity: amounts } },
    });
  }
  await client.close();
}

async function runTests(cluster: Cluster, { tests }: E2ePrograms, logs: string): Promise<TestResult[]> {
  const report = join(cluster.directory, 'e2e.json');
  const focus = FOCUS.map((title) => title.replaceAll(/[[\]().]/g, '\\$&')).join('|');
  const child = await startChild(
    tests,
    [
      `--kubeconfig=${cluster.kubeconfigPath}`,
      '--provider=skeleton',
      `--ginkgo.focus=sig-network.*(${focus})`,
      `--ginkgo.json-report=${report}`,
      `--ginkgo.timeout=${MINUTES_MAX}m`,
      '--ginkgo.v',
      '--ginkgo.no-color',
      '--dump-logs-on-failure=false',
    ],
    join(logs, 'e2e.log'),
  );
  // A child alone does not keep this process alive.
  const alive = setInterval(() => undefined, 60_000);
  const status = await child.ended;
  clearInterval(alive);
  const text = await readFile(report, 'utf8').catch(() => '');
  if (text === '')
    throw new Error(`the end-to-end tests have ended with status ${status} and no report, see ${logs}/e2e.log`);
  await writeFile(join(logs, 'e2e.json'), text);
  const [{ SpecReports }] = JSON.parse(text) as [{ SpecReports: readonly Spec[] }];
  return SpecReports.filter(({ LeafNodeType, State }) => LeafNodeType === 'It' && State !== 'skipped').map((spec) => ({
    suite: 'e2e',
    name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '),
    outcome: spec.State === 'passed' ? 'pass' : 'fail',
  }));
}
