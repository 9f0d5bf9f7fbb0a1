/** The life of a service's EndpointSlices (docs/spec/endpointslice.md "One sync", "Which pods count", "Packing"). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, deleteObject, setPodStatus, type Sim, type SimConfig } from '../support/sim.ts';
import { edit, editService, ENDPOINTS, PODS, setPodIPs, SLICES } from '../support/sim-objects.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { createSliceSim, namesOf, sizesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import type { Endpoints } from '../../src/kube/types.ts';

const BOTH = { endpoints: true } as const;

function settled(config: SimConfig = {}, pods = 1): Sim {
  const sim = createSliceSim(config);
  createService(sim, { name: 'web' });
  for (let i = 1; i <= pods; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
  sim.start();
  sim.run(2000);
  return sim;
}

function deletePod(sim: Sim, name: string): void {
  deleteObject(sim, `${PODS}/${name}`);
}

describe('a service', () => {
  it('a service without pods has an empty slice, which takes its first pod', () => {
    const sim = settled({}, 0);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 -']);
    const names = namesOf(sim);
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(namesOf(sim), names);
  });

  it('a service that grows fills each slice before the next begins', () => {
    const sim = settled({ options: { maxEndpointsPerSlice: 10 } }, 0);
    for (let i = 1; i <= 34; i++) {
      createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
      sim.run(100);
    }
    assert.deepEqual(sizesOf(sim), [10, 10, 10, 4]);
  });

  it("a slice is controlled by its Service, labelled and dated as upstream's", () => {
    const sim = settled();
    const [slice] = slicesOf(sim);
    const service = sim.request('GET', '/api/v1/namespaces/default/services/web');
    assert.equal(slice!.metadata.generateName, 'web-');
    assert.deepEqual(slice!.metadata.labels, {
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    });
    assert.deepEqual(slice!.metadata.ownerReferences, [
      {
        apiVersion: 'v1',
        kind: 'Service',
        name: 'web',
        uid: service.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    assert.deepEqual(slice!.metadata.annotations, {
      'endpoints.kubernetes.io/last-change-trigger-time': service.metadata.creationTimestamp,
    });
    assert.deepEqual(slice!.endpoints, [
      {
        addresses: ['10.0.0.1'],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: 'node-1',
        targetRef: {
          kind: 'Pod',
          namespace: 'default',
          name: 'web-1',
          uid: sim.request('GET', `${PODS}/web-1`).metadata.uid,
        },
        zone: 'zone-a',
      },
    ]);
  });

  it('a service scaled to nothing and back keeps the name of its slice', () => {
    const sim = settled({}, 2);
    const names = namesOf(sim);
    deletePod(sim, 'web-1');
    deletePod(sim, 'web-2');
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 -']);
    createPod(sim, { name: 'web-3', ip: '10.0.0.3' });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.3 : http:8080/TCP']);
    assert.deepEqual(namesOf(sim), names);
  });

  it('a service with another port has it in the same slices', () => {
    const sim = settled({ options: { maxEndpointsPerSlice: 2 } }, 5);
    const names = namesOf(sim);
    const from = sim.exchanges.length;
    editService(sim, 'web', { ports: [{ name: 'http', port: 80, targetPort: 9090 }] });
    sim.run(1000);
    assert.deepEqual(asked(sim, from), Array(3).fill('PUT endpointslices 200'));
    assert.deepEqual(namesOf(sim), names);
    assert.deepEqual(
      slicesTable(sim).map((line) => line.split(' : ')[1]),
      Array(3).fill('http:9090/TCP'),
    );
  });

  it('another appProtocol alone goes into the same slices and the Endpoints', () => {
    const sim = settled({ options: { endpoints: true } });
    const port = { name: 'http', port: 80, targetPort: 'http' };
    const stated = (): (string | undefined)[] => {
      const { subsets } = sim.request('GET', `${ENDPOINTS}/web`) as unknown as Endpoints;
      return [slicesOf(sim)[0]!.ports![0]!.appProtocol, subsets![0]!.ports![0]!.appProtocol];
    };
    for (const appProtocol of ['kubernetes.io/h2c', 'kubernetes.io/ws', undefined]) {
      const from = sim.exchanges.length;
      editService(sim, 'web', { ports: [{ ...port, ...(appProtocol !== undefined && { appProtocol }) }] });
      sim.run(1000);
      assert.deepEqual(stated(), [appProtocol, appProtocol]);
      assert.deepEqual(asked(sim, from).toSorted(), ['PUT endpoints 200', 'PUT endpointslices 200']);
    }
  });

  it("every slice has the service's labels but reserved ones, and loses them too", () => {
    const sim = settled();
    const labels = (): Record<string, string> => ({ ...slicesOf(sim)[0]!.metadata.labels });
    editService(sim, 'web', {}, { labels: { team: 'blue', 'service.kubernetes.io/headless': 'no' } });
    sim.run(1000);
    assert.equal(labels()['team'], 'blue');
    assert.ok(!('service.kubernetes.io/headless' in labels()));
    assert.deepEqual(
      sim.logLines.filter(({ level }) => level === 'warning').map(({ fields }) => fields),
      [
        {
          service: 'default/web',
          problem: 'reserved-label',
          object: 'service default/web',
          field: 'metadata.labels[service.kubernetes.io/headless]',
          reason: 'this controller sets the label on slices, the value of the Service is ignored',
        },
      ],
    );
    editService(sim, 'web', {}, { labels: {} });
    sim.run(1000);
    assert.ok(!('team' in labels()));
  });

  it('a service that loses its selector or becomes ExternalName keeps its slices', () => {
    for (const spec of [{ selector: null }, { type: 'ExternalName', externalName: 'example.com', clusterIP: '' }]) {
      const sim = settled();
      const from = sim.exchanges.length;
      const { clusterIPs: _, ...service } = sim.request('GET', '/api/v1/namespaces/default/services/web')[
        'spec'
      ] as Record<string, unknown>;
      edit(sim, '/api/v1/namespaces/default/services/web', {}, { spec: { ...service, ...spec } });
      sim.run(1000);
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(60_000);
      assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
      assert.deepEqual(asked(sim, from), []);
    }
  });

  it('a service that gets its selector back finds its slices, and makes no others', () => {
    const sim = settled();
    const names = namesOf(sim);
    editService(sim, 'web', { selector: null });
    sim.run(1000);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    const from = sim.exchanges.length;
    editService(sim, 'web', { selector: { app: 'web' } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 | 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(namesOf(sim), names);
    assert.deepEqual(asked(sim, from), ['GET endpointslices 200', 'PUT endpointslices 200']);
  });
});

describe('a flip of a pod', () => {
  it('a flip costs one PUT of one slice and one of Endpoints', () => {
    const sim = settled({ options: { ...BOTH, maxEndpointsPerSlice: 3 } }, 8);
    const from = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-5', ready: false });
    sim.run(5000);
    assert.deepEqual(asked(sim, from).sort(), ['PUT endpoints 200', 'PUT endpointslices 200']);
    assert.equal(slicesTable(sim).filter((line) => line.includes('| 10.0.0.5 ')).length, 1);
  });

  it('the slice is written before the Endpoints when writes go one at a time', () => {
    // Of the two controllers together: one token, and another after half a second.
    const sim = settled({ options: { ...BOTH, kubeApiQps: 1, kubeApiBurst: 0.5 } });
    sim.run(10_000);
    for (const ready of [false, true, false]) {
      const from = sim.exchanges.length;
      setPodStatus(sim, { name: 'web-1', ready });
      sim.run(5000);
      assert.deepEqual(asked(sim, from), ['PUT endpointslices 200', 'PUT endpoints 200']);
    }
  });

  it('a flip there and back within a batch period costs nothing', () => {
    const sim = settled({ options: { endpointsliceUpdatesBatchPeriodMs: 500 } });
    const from = sim.exchanges.length;
    const status = sim.request('GET', `${PODS}/web-1`);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(100);
    const flipped = sim.request('GET', `${PODS}/web-1`);
    sim.request('PUT', `${PODS}/web-1/status`, { ...flipped, status: status['status'] });
    sim.run(5000);
    assert.deepEqual(asked(sim, from), []);
  });

  it('termination shows in the conditions, and later flips are free (D28)', () => {
    const sim = settled({}, 2);
    edit(sim, `${PODS}/web-1`, { finalizers: ['example.com/f'] });
    deletePod(sim, 'web-1');
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.2 | 10.0.0.1~ : http:8080/TCP']);
    const from = sim.exchanges.length;
    const syncs = metric(sim, 'endpointd_syncs_total');
    for (let i = 0; i < 5; i++) {
      const pod = sim.request('GET', `${PODS}/web-1`);
      const status = { ...(pod['status'] as object), message: `shutting down, ${i}` };
      sim.request('PUT', `${PODS}/web-1/status`, { ...pod, status });
      sim.run(100);
    }
    assert.deepEqual(asked(sim, from), []);
    assert.equal(metric(sim, 'endpointd_syncs_total'), syncs);
  });
});

describe('a change of a pod', () => {
  it('a change of a pod concerns its own services only, however many there are (D27)', () => {
    const sim = createSliceSim({ options: { kubeApiQps: 1000, kubeApiBurst: 1000 } });
    for (let i = 1; i <= 300; i++) createService(sim, { name: `s-${i}`, spec: { selector: { app: `s-${i}` } } });
    createPod(sim, { name: 'pod', ip: '10.0.0.1', labels: { app: 's-7' } });
    sim.start();
    sim.run(5000);
    const syncs = metric(sim, 'endpointd_syncs_total');
    setPodStatus(sim, { name: 'pod', ready: false });
    sim.run(1000);
    assert.equal(metric(sim, 'endpointd_syncs_total') - syncs, 1);
    assert.ok(slicesTable(sim).includes('default/s-7 IPv4 | 10.0.0.1 : http:8080/TCP'));
  });

  it('a pod whose phase becomes Failed or Succeeded goes, without any other change', () => {
    for (const phase of ['Failed', 'Succeeded']) {
      const sim = settled({}, 2);
      const pod = sim.request('GET', `${PODS}/web-1`);
      sim.request('PUT', `${PODS}/web-1/status`, { ...pod, status: { ...(pod['status'] as object), phase } });
      sim.run(1000);
      assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.2 : http:8080/TCP']);
    }
  });

  it('a pod with an invalid address is left out alone (D13)', () => {
    const sim = settled();
    createPod(sim, { name: 'local', ip: '169.254.7.7' });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.equal(eventsOf(sim).length, 1);
    assert.match(eventsOf(sim)[0]!, /^Service web: EndpointAddressSkipped: .*pod default\/local.*169\.254\.7\.7/);
  });
});

describe('pods with a named port of several numbers', () => {
  const serving = (port: number) => [{ name: 'http', containerPort: port }];

  it('pods with different numbers for a named port are in slices by number', () => {
    const sim = settled({}, 2);
    createPod(sim, { name: 'web-3', ip: '10.0.0.3', ports: serving(9090) });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), [
      'default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP',
      'default/web IPv4 10.0.0.3 : http:9090/TCP',
    ]);
  });

  it('a pod that changes its group is never in no slice, however slow the writes are', () => {
    const sim = settled({ options: { kubeApiQps: 100 } }, 3);
    createPod(sim, { name: 'web-4', ip: '10.0.0.4', ports: serving(9090) });
    sim.run(1000);
    // The same name and address with another port: the pod moves from one slice to the other.
    sim.lag = ({ method }) => (method === 'GET' ? { toMs: 0, backMs: 0 } : { toMs: 700, backMs: 700 });
    for (const [name, ports] of [
      ['web-3', serving(9090)],
      ['web-4', serving(8080)],
    ] as const) {
      const pod = sim.request('GET', `${PODS}/${name}`);
      const spec = { ...(pod['spec'] as object), containers: [{ name: 'main', image: 'main:1', ports }] };
      deletePod(sim, name);
      const { name: same, labels } = pod.metadata;
      sim.request('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: same, labels }, spec });
      const fresh = sim.request('GET', `${PODS}/${name}`);
      sim.request('PUT', `${PODS}/${name}/status`, { ...fresh, status: pod['status'] });
    }
    for (let i = 0; i < 600; i++) {
      sim.run(10);
      for (const ip of ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']) {
        assert.ok(
          slicesTable(sim).some((line) => line.includes(ip)),
          `${ip} is nowhere after ${i * 10} ms`,
        );
      }
    }
    assert.deepEqual(slicesTable(sim), [
      'default/web IPv4 10.0.0.1 10.0.0.2 10.0.0.4 : http:8080/TCP',
      'default/web IPv4 10.0.0.3 : http:9090/TCP',
    ]);
  });
});

describe('a Service of two families', () => {
  const DUAL = { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] };

  function dual(): Sim {
    const sim = createSliceSim({ serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:96::/108'] });
    createService(sim, { name: 'web', spec: DUAL });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    setPodIPs(sim, 'web-1', ['10.0.0.1', 'fd00::1']);
    sim.start();
    sim.run(2000);
    return sim;
  }

  it('a Service of two families has slices of each', () => {
    assert.deepEqual(slicesTable(dual()), [
      'default/web IPv4 10.0.0.1 : http:8080/TCP',
      'default/web IPv6 fd00::1 : http:8080/TCP',
    ]);
  });

  it('a Service that loses one family loses its slices, and the other stays', () => {
    const sim = dual();
    const from = sim.exchanges.length;
    const service = sim.request('GET', '/api/v1/namespaces/default/services/web')['spec'] as { clusterIPs: string[] };
    editService(sim, 'web', {
      ipFamilyPolicy: 'SingleStack',
      ipFamilies: ['IPv4'],
      clusterIPs: service.clusterIPs.slice(0, 1),
    });
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(asked(sim, from), ['DELETE endpointslices 200']);
  });

  it('a family without addresses has an empty slice', () => {
    const sim = dual();
    setPodIPs(sim, 'web-1', ['10.0.0.1']);
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP', 'default/web IPv6 -']);
  });
});

describe('a restart', () => {
  it('a restart on right slices writes neither slices nor Endpoints', () => {
    const sim = settled({ options: { ...BOTH, mirror: true, maxEndpointsPerSlice: 3 } }, 8);
    createService(sim, { name: 'empty', spec: { selector: { app: 'empty' } } });
    createService(sim, { name: 'bare', spec: { selector: { app: 'web' }, clusterIP: 'None', ports: [] } });
    sim.run(2000);
    sim.kill();
    const from = sim.exchanges.length;
    sim.start();
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), []);
  });

  it('a restart on slices of another maker, with other port orders, writes nothing', () => {
    const sim = createSliceSim({ options: { maxEndpointsPerSlice: 2 } });
    const ports = ['a', 'b', 'c', 'd'].map((name, i) => ({ name, port: i + 1, protocol: 'TCP' }));
    createService(sim, { name: 'web', spec: { ports } });
    const { uid } = sim.request('GET', '/api/v1/namespaces/default/services/web').metadata;
    for (let i = 1; i <= 4; i++) {
      createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
      sim.request('POST', SLICES, {
        metadata: {
          name: `odd-${i}`,
          labels: {
            'kubernetes.io/service-name': 'web',
            'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
          },
          annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2020-01-01T00:00:00Z' },
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Service', name: 'web', uid, controller: true, blockOwnerDeletion: true },
          ],
        },
        addressType: 'IPv4',
        endpoints: [
          {
            addresses: [`10.0.0.${i}`],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: 'node-1',
            targetRef: {
              kind: 'Pod',
              namespace: 'default',
              name: `web-${i}`,
              uid: sim.request('GET', `${PODS}/web-${i}`).metadata.uid,
            },
            zone: 'zone-a',
          },
        ],
        ports: [...ports.slice(i), ...ports.slice(0, i)],
      });
    }
    sim.start();
    sim.run(60_000);
    assert.deepEqual(asked(sim), []);
  });

  it('needless syncs leave a headless service without ports alone (D20)', () => {
    const sim = createSliceSim({ options: { minResyncPeriodMs: 10_000 } });
    createService(sim, { name: 'bare', spec: { clusterIP: 'None', ports: [] } });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(100_000);
    assert.deepEqual(slicesTable(sim), ['default/bare IPv4 10.0.0.1']);
    assert.deepEqual(asked(sim), ['POST endpointslices 201']);
    assert.ok(metric(sim, 'endpointd_syncs_total', { result: 'unchanged' }) >= 4);
  });

  it('a restart with fewer endpoints per slice splits nothing, and fills none above', () => {
    const sim = settled({ options: { maxEndpointsPerSlice: 10 } }, 8);
    sim.kill();
    const from = sim.exchanges.length;
    sim.start({ maxEndpointsPerSlice: 5 });
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), []);
    createPod(sim, { name: 'web-9', ip: '10.0.0.9' });
    sim.run(1000);
    assert.deepEqual(sizesOf(sim), [8, 1]);
  });

  it('a restart with more endpoints per slice fills the existing slices', () => {
    const sim = settled({ options: { maxEndpointsPerSlice: 4 } }, 8);
    sim.kill();
    sim.start({ maxEndpointsPerSlice: 10 });
    sim.run(60_000);
    createPod(sim, { name: 'web-9', ip: '10.0.0.9' });
    sim.run(1000);
    assert.deepEqual(sizesOf(sim), [5, 4]);
  });
});
