/** Input that is legal and unreasonable, or plain wrong: it stays its own problem. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  createSim,
  deleteObject,
  endpointsTable,
  writesOf,
  type Sim,
} from '../support/sim.ts';
import { syncInVain } from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { makeStatus } from '../../src/kube/status.ts';
import { samples } from '../../src/metrics/store.ts';

const SERVICES = '/api/v1/namespaces/default/services';

describe('unreasonable sizes', () => {
  it('a service may have 2,000 named ports, each on some pods', () => {
    const sim = createSim();
    const names = Array.from({ length: 2000 }, (_, i) => `p-${i}`);
    createService(sim, {
      name: 'wide',
      spec: { ports: names.map((name, i) => ({ name, port: i + 1, targetPort: name })) },
    });
    for (let pod = 0; pod < 20; pod++) {
      const ports = names.filter((_, i) => i % 20 !== pod).map((name, i) => ({ name, containerPort: 1000 + i }));
      createPod(sim, { name: `pod-${pod}`, ip: `10.0.0.${pod + 1}`, ports });
    }
    sim.start();
    sim.run(5000);
    const line = endpointsTable(sim)[0]!;
    assert.ok(line.startsWith('default/wide 10.0.0.'), line.slice(0, 60));
    assert.equal(samples(sim.metrics!, 'endpointd_stuck_service', 0).length, 0);
  });

  it('a pod may have 5,000 labels, and 300 services that each select one of them', () => {
    const sim = createSim({ options: { kubeApiQps: 1000, kubeApiBurst: 1000 } });
    const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`label-${i}`, 'x']));
    for (let i = 0; i < 300; i++)
      createService(sim, { name: `s-${i}`, spec: { selector: { [`label-${i * 10}`]: 'x' } } });
    createPod(sim, { name: 'wide', ip: '10.0.0.1', labels });
    sim.start();
    sim.run(5000);
    assert.equal(endpointsTable(sim).filter((line) => line.endsWith('10.0.0.1 : http:8080/TCP')).length, 300);
  });

  it('of more pods than an object may hold 1,000 are written, and the rest is counted', () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    for (let i = 0; i < 1030; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.${i >> 8}.${i & 255}` });
    sim.start();
    sim.run(5000);
    const { metadata, subsets } = sim.request('GET', '/api/v1/namespaces/default/endpoints/web') as unknown as {
      metadata: { annotations: Record<string, string> };
      subsets: { addresses: object[] }[];
    };
    assert.equal(metadata.annotations['endpoints.kubernetes.io/over-capacity'], 'truncated');
    assert.equal(subsets[0]!.addresses.length, 1000);
    const cut = (): number[] => ['services', 'addresses'].map((what) => metric(sim, `endpointd_${what}_truncated`));
    assert.deepEqual(cut(), [1, 30]);
    const before = writesOf(sim).length;
    for (let i = 0; i < 3; i++) {
      const syncs = metric(sim, 'endpointd_syncs_total');
      syncInVain(sim, 'web');
      sim.run(5000);
      assert.equal(metric(sim, 'endpointd_syncs_total'), syncs + 1);
    }
    assert.equal(writesOf(sim).length, before, 'what is right after truncation is not written again');
    for (let i = 1000; i < 1030; i++) deleteObject(sim, `/api/v1/namespaces/default/pods/web-${i}`);
    sim.run(5000);
    assert.deepEqual(cut(), [0, 0]);
  });
});

describe('an object that is too large', () => {
  /** Services that are named as stuck. */
  const stuck = (sim: Sim): string[] =>
    samples(sim.metrics!, 'endpointd_stuck_service', 0).map(({ labels }) => `${labels['service']} ${labels['class']}`);

  it('an object that others make too large for a batch makes its service alone stuck', () => {
    const sim = createSim({ options: { maxBatchBytes: 65_536 } });
    const note = 'x'.repeat(200_000);
    sim.request('POST', '/api/v1/namespaces/default/endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'web', annotations: { note } },
    });
    createService(sim, { name: 'web' });
    createService(sim, { name: 'other' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/other 10.0.0.1 : http:8080/TCP', 'default/web -']);
    assert.deepEqual(stuck(sim), ['web invalid']);
    assert.match(String(sim.logLines.find(({ level }) => level === 'error')!.fields['err']), /--max-batch-bytes=65536/);
    sim.request(
      'PATCH',
      '/api/v1/namespaces/default/endpoints/web',
      { metadata: { annotations: { note: null } } },
      'application/merge-patch+json',
    );
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), [
      'default/other 10.0.0.1 : http:8080/TCP',
      'default/web 10.0.0.1 : http:8080/TCP',
    ]);
    assert.deepEqual(stuck(sim), []);
  });

  it('an object too large for etcd (a bare 500) is named at once, and tried rarely', () => {
    const sim = createSim();
    createService(sim, { name: 'huge' });
    createService(sim, { name: 'other' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    const tooLarge = makeStatus(500, '', 'etcdserver: request is too large');
    sim.refuse = ({ body }) => (body !== null && Buffer.from(body).includes('huge') ? tooLarge : 0);
    sim.start();
    sim.run(20_000);
    assert.deepEqual(endpointsTable(sim), ['default/other 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(stuck(sim), ['huge invalid']);
    assert.equal(writesOf(sim).filter((write) => write.endsWith(' 500')).length, 1);
  });
});

describe('names that a script language may stumble over', () => {
  it('labels named constructor, toString and hasOwnProperty select and are copied', () => {
    const sim = createSim();
    const labels = { constructor: 'c', toString: 't', hasOwnProperty: 'h' } as unknown as Record<string, string>;
    sim.request('POST', SERVICES, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'odd', labels },
      spec: { selector: labels, ports: [{ port: 80 }] },
    });
    createPod(sim, { name: 'odd', ip: '10.0.0.1', labels });
    createPod(sim, { name: 'plain', ip: '10.0.0.2', labels: {} });
    sim.start();
    sim.run(2000);
    assert.deepEqual(endpointsTable(sim), ['default/odd 10.0.0.1 : :80/TCP']);
    const copied = sim.request('GET', '/api/v1/namespaces/default/endpoints/odd').metadata.labels!;
    assert.deepEqual(Object.keys(copied).sort(), [
      'constructor',
      'endpoints.kubernetes.io/managed-by',
      'hasOwnProperty',
      'toString',
    ]);
  });
});

describe('addresses that the API server would refuse', () => {
  it('invalid addresses are left out and named, and the others of the service written', () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'good', ip: '10.0.0.1' });
    createPod(sim, { name: 'local', ip: '169.254.7.7' });
    sim.start();
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    const events = sim.request('GET', '/api/v1/namespaces/default/events') as unknown as {
      items: { reason: string; message: string; involvedObject: { kind: string; name: string } }[];
    };
    assert.deepEqual(
      events.items.map(({ reason, involvedObject }) => `${reason} ${involvedObject.kind}/${involvedObject.name}`),
      ['EndpointAddressSkipped Service/web'],
    );
    assert.match(events.items[0]!.message, /pod default\/local/);
    assert.match(events.items[0]!.message, /169\.254\.7\.7/);
  });
});
