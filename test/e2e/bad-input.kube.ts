/**
 * What a real API server refuses, and what somebody else leaves in the way: it is named in an event, a metric and the log,
 * `kubectl` shows it, and nothing else is held up by it.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL, SLICE_MANAGED_BY_VALUE } from '../../src/kube/names.ts';
import type { Endpoint, KubeObject } from '../../src/kube/types.ts';
import { ApiError, type ApiClient } from '../../src/node/api-client.ts';
import { clientOf } from './client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createZoneNodes } from './slices-script.ts';
import { createPod, createService, createWorld, forEach, patchService, setReady, until, type World } from './world.ts';

const run = promisify(execFile);
const DISCOVERY = '/apis/discovery.k8s.io/v1';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const NAMESPACE = 'shop';
/** Small enough for a slice of long names to be over it, large enough for everything else. */
const REQUEST_BYTES_MAX = 48 * 1024;
const LONG_NAME = 'a-pod-with-a-name-as-long-as-names-may-be-'.repeat(5);
const MANY = 260;

describe('bad input on a real API server', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let endpointd: Endpointd;

  before(async () => {
    cluster = await startCluster({ etcdRequestBytesMax: REQUEST_BYTES_MAX });
    client = clientOf(cluster);
    await createZoneNodes(client);
    world = await createWorld(client, NAMESPACE);
    endpointd = await startEndpointd(cluster, [
      '--kube-api-qps=500',
      '--kube-api-burst=500',
      '--max-endpoints-per-slice=1000',
    ]);
  });

  after(async () => {
    await endpointd?.kill9();
    await client?.close();
    await cluster?.stop();
  });

  async function kubectl(...args: string[]): Promise<string> {
    const flags = [`--kubeconfig=${cluster.kubeconfigPath}`, `--cache-dir=${join(cluster.directory, 'cache')}`];
    return (await run(cluster.binaries.kubectl, [...flags, `--namespace=${NAMESPACE}`, ...args])).stdout;
  }

  async function slicesOf(service: string): Promise<KubeObject[]> {
    const selector = encodeURIComponent(`${SERVICE_NAME_LABEL}=${service}`);
    const path = `${DISCOVERY}/namespaces/${NAMESPACE}/endpointslices?labelSelector=${selector}`;
    return (await client.list(path)).items;
  }

  /** Addresses in the slices that the controller keeps of the service. */
  async function addressesIn(service: string): Promise<string[]> {
    const own = (await slicesOf(service)).filter(
      ({ metadata }) => metadata.labels?.[SLICE_MANAGED_BY_LABEL] === SLICE_MANAGED_BY_VALUE,
    );
    const endpoints = own.flatMap((slice) => (slice['endpoints'] ?? []) as Endpoint[]);
    return endpoints.flatMap(({ addresses }) => addresses).toSorted();
  }

  /** A service that has nothing to do with any of it is as quick as ever. */
  async function othersGoOn(name: string): Promise<void> {
    await createService(world, name);
    await createPod(world, name, { ip: '10.1.200.1', labels: { app: name } });
    await until(async () => (await addressesIn(name)).join() === '10.1.200.1');
    await setReady(world, name, false);
    await until(async () => {
      const endpoints = (await slicesOf(name)).flatMap((slice) => (slice['endpoints'] ?? []) as Endpoint[]);
      return endpoints.length === 1 && endpoints[0]!.conditions?.ready === false;
    });
  }

  /** The event names the service and what the server said; so do the metric and the log. */
  async function expectStuck(service: string, said: RegExp): Promise<void> {
    // Its Endpoints may be so too, sooner or later than its slices.
    const series = { controller: 'endpointslice', namespace: NAMESPACE, service, class: 'invalid' };
    await until(async () => (await endpointd.metrics()).sum('endpointd_stuck_service', series) === 1);
    // Lines are written some time after they are logged.
    const line = new RegExp(`"service":"${NAMESPACE}/${service}".*${said.source}`);
    await until(async () => line.test(await readFile(endpointd.logPath, 'utf8')));
    let events = '';
    await until(async () => {
      events = await kubectl('events', `--for=service/${service}`);
      return events.includes('FailedToUpdateEndpointSlices') && events.includes('EndpointSlicesStuck');
    });
    assert.match(
      events,
      new RegExp(`Warning\\s+FailedToUpdateEndpointSlices\\s.*${NAMESPACE}/${service}: .*${said.source}`),
    );
    assert.match(
      events,
      new RegExp(`Warning\\s+EndpointSlicesStuck\\s.*${NAMESPACE}/${service} cannot.*${said.source}`),
    );
  }

  async function expectNotStuck(service: string): Promise<void> {
    const labels = { namespace: NAMESPACE, service };
    await until(async () => (await endpointd.metrics()).sum('endpointd_stuck_service', labels) === 0);
  }

  it('a slice that admission refuses (422) is named, and written once it may be', async () => {
    await refuseSlicesOf(client, 'refused', NAMESPACE);
    await createPod(world, 'refused-1', { ip: '10.1.1.1', labels: { app: 'refused' } });
    await createService(world, 'refused');
    await expectStuck('refused', /refused by policy/);
    await othersGoOn('beside-refused');
    assert.deepEqual(await slicesOf('refused'), []);
    // Its Endpoints, which nobody refuses, are there.
    await until(async () =>
      JSON.stringify(await client.list(`/api/v1/namespaces/${NAMESPACE}/endpoints`)).includes('10.1.1.1'),
    );

    await client.send({ method: 'DELETE', path: `${ADMISSION}/validatingadmissionpolicybindings/refuse` });
    await until(async () => {
      // What has changed is tried again soon, whatever the back-off.
      await patchService(world, 'refused', { metadata: { labels: { seen: String(Date.now()) } } });
      return (await addressesIn('refused')).join() === '10.1.1.1';
    });
    await expectNotStuck('refused');
  });

  it('a slice that is too large for etcd is named, and written once it fits', async () => {
    const name = (i: number): string => `${LONG_NAME}${i}`;
    await forEach(MANY, (i) =>
      createPod(world, name(i), { ip: `10.1.${2 + (i >> 8)}.${i & 255}`, labels: { app: 'large' } }),
    );
    await createService(world, 'large');
    await expectStuck('large', /request is too large/);
    await othersGoOn('beside-large');

    await forEach(MANY - 5, async (i) => {
      const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name(i)}`;
      await client.send({
        method: 'DELETE',
        path,
        body: { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 },
      });
    });
    await until(async () => (await addressesIn('large')).length === 5);
    await expectNotStuck('large');
  });

  it('pods with an unknown node or an impossible address are left out and named', async () => {
    await createService(world, 'odd');
    await createPod(world, 'odd-1', { ip: '10.1.5.1', labels: { app: 'odd' } });
    await createPod(world, 'odd-2', { ip: '10.1.5.2', labels: { app: 'odd' }, node: 'no-such-node' });
    await createPod(world, 'odd-3', { ip: '169.254.0.1', labels: { app: 'odd' } });
    await until(async () => (await addressesIn('odd')).join() === '10.1.5.1');
    let events = '';
    await until(async () => {
      events = await kubectl('events', '--for=service/odd');
      return events.includes('EndpointOnUnknownNode') && events.includes('EndpointAddressSkipped');
    });
    assert.match(events, /EndpointOnUnknownNode\s.*no-such-node/);
    assert.match(events, /EndpointAddressSkipped\s.*169\.254\.0\.1/);
    await othersGoOn('beside-odd');
    const node: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'no-such-node' } };
    await client.send({ method: 'POST', path: '/api/v1/nodes', body: node });
    await until(async () => (await addressesIn('odd')).join() === '10.1.5.1,10.1.5.2');
  });

  it('slices of others are left alone, and labels of own ones are put right', async () => {
    await createPod(world, 'shared-1', { ip: '10.1.6.1', labels: { app: 'shared' } });
    const slice = (name: string, labels: Record<string, string>, rest: object): Promise<unknown> =>
      client.send({
        method: 'POST',
        path: `${DISCOVERY}/namespaces/${NAMESPACE}/endpointslices`,
        body: {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { name, labels: { [SERVICE_NAME_LABEL]: 'shared', ...labels } },
          addressType: 'IPv4',
          endpoints: [{ addresses: ['192.0.2.1'] }],
          ...rest,
        },
      });
    const ours = { [SLICE_MANAGED_BY_LABEL]: SLICE_MANAGED_BY_VALUE };
    await slice('somebodys', { [SLICE_MANAGED_BY_LABEL]: 'somebody' }, {});
    await slice('nobodys', {}, {});
    await slice('of-names', ours, { addressType: 'FQDN', endpoints: [{ addresses: ['host.example'] }] });
    await slice('wrong', ours, { ports: [{ name: 'x', port: 1 }] });
    await slice('of-no-service', { ...ours, [SERVICE_NAME_LABEL]: '' }, {});
    await createService(world, 'shared');
    await until(async () => (await addressesIn('shared')).join() === '10.1.6.1');
    const names = (await client.list(`${DISCOVERY}/namespaces/${NAMESPACE}/endpointslices`)).items.map(
      ({ metadata }) => metadata.name!,
    );
    for (const kept of ['somebodys', 'nobodys', 'of-no-service']) assert.ok(names.includes(kept), kept);
    assert.ok(!names.includes('of-names'));
    await othersGoOn('beside-shared');
  });

  it('hints that cannot be given are an Event object of the Service', async () => {
    await createPod(world, 'few-1', { ip: '10.1.7.1', labels: { app: 'few' } });
    await createService(world, 'few', { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } });
    await until(async () => (await kubectl('describe', 'service', 'few')).includes('TopologyAwareHintsDisabled'));
  });

  it('Endpoints that cannot be mirrored whole have an Event object of theirs', async () => {
    await createService(world, 'manual', { spec: { selector: null } });
    await client.send({
      method: 'POST',
      path: `/api/v1/namespaces/${NAMESPACE}/endpoints`,
      body: {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 'manual' },
        subsets: [
          {
            addresses: Array.from({ length: 1001 }, (_, i) => ({ ip: `10.7.${i >> 8}.${i & 255}` })),
            ports: [{ port: 80 }],
          },
        ],
      },
    });
    await until(async () => (await kubectl('events', '--for=endpoints/manual')).includes('TooManyAddressesToMirror'));
  });

  it('nothing is held up by bad input in the end', async () => {
    await until(
      async () => (await endpointd.metrics()).sum('endpointd_stuck_service') === 0 && (await endpointd.idle()),
    );
    assert.equal((await endpointd.metrics()).sum('endpointd_decode_errors_total'), 0);
  });
});

/** Stands for any webhook or policy: the server answers 422. Resolves when it is in force. */
async function refuseSlicesOf(client: ApiClient, service: string, namespace: string): Promise<void> {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const send = (resource: string, kind: string, name: string, spec: object): Promise<unknown> =>
    client.send({
      method: 'POST',
      path: `${ADMISSION}/${resource}`,
      body: { apiVersion, kind, metadata: { name }, spec },
    });
  await send('validatingadmissionpolicies', 'ValidatingAdmissionPolicy', 'refuse', {
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ['discovery.k8s.io'],
          apiVersions: ['v1'],
          operations: ['CREATE', 'UPDATE'],
          resources: ['endpointslices'],
        },
      ],
    },
    validations: [
      {
        expression: `object.metadata.labels['${SERVICE_NAME_LABEL}'] != '${service}'`,
        message: 'refused by policy',
        reason: 'Invalid',
      },
    ],
  });
  await send('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', 'refuse', {
    policyName: 'refuse',
    validationActions: ['Deny'],
  });
  await until(async () => {
    const probe = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'probe', labels: { [SERVICE_NAME_LABEL]: service } },
      addressType: 'IPv4',
      endpoints: [],
    };
    const path = `${DISCOVERY}/namespaces/${namespace}/endpointslices`;
    try {
      await client.send({ method: 'POST', path, body: probe });
    } catch (error) {
      assert.ok(error instanceof ApiError && error.status === 422, (error as Error).message);
      return true;
    }
    await client.send({ method: 'DELETE', path: `${path}/probe` });
    return false;
  });
}
