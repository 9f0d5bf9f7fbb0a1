/** Endpoints made by hand become slices (docs/spec/endpointslice.md "Mirroring"). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, deleteObject, setPodStatus, type Sim, type SimConfig } from '../support/sim.ts';
import { edit, editService, ENDPOINTS, makeEndpoints, SERVICES, SLICES } from '../support/sim-objects.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { createSliceSim, namesOf, sizesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import { subsetsByBits } from '../support/subsets-by-bits.ts';
import { makeStatus } from '../../src/kube/status.ts';

const HTTP = [{ name: 'http', port: 8080 }];
const ONE = [{ addresses: [{ ip: '10.0.0.1' }], ports: HTTP }];
const RIGHT = ['default/web (mirror) IPv4 10.0.0.1 : http:8080/TCP'];
const ALONE = { slices: false, mirror: true } as const;

function world(config: SimConfig = {}): Sim {
  return createSliceSim({ ...config, options: { ...ALONE, ...config.options } });
}

function settled(config: SimConfig = {}, subsets: readonly object[] = ONE): Sim {
  const sim = world(config);
  createService(sim, { name: 'web', spec: { selector: null } });
  makeEndpoints(sim, 'web', subsets);
  sim.start();
  sim.run(2000);
  return sim;
}

function many(count: number, net = '10.1'): { ip: string }[] {
  return Array.from({ length: count }, (_, i) => ({ ip: `${net}.${i >> 8}.${i & 255}` }));
}

describe('Endpoints of a Service without selector', () => {
  it('Endpoints become a slice that names their makers, labels and annotations (D23)', () => {
    const sim = world();
    createService(sim, { name: 'web', spec: { selector: null } });
    makeEndpoints(
      sim,
      'web',
      [
        {
          addresses: [{ ip: '10.0.0.1', nodeName: 'node-1', hostname: 'one' }],
          notReadyAddresses: [{ ip: '10.0.0.2', targetRef: { kind: 'Pod', name: 'two', namespace: 'default' } }],
          ports: HTTP,
        },
      ],
      {
        labels: { team: 'blue' },
        annotations: {
          note: 'mine',
          'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      },
    );
    sim.start();
    sim.run(2000);
    const [slice] = slicesOf(sim);
    const { uid } = sim.request('GET', `${ENDPOINTS}/web`).metadata;
    assert.deepEqual(slice!.metadata.labels, {
      team: 'blue',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    });
    assert.deepEqual(slice!.metadata.annotations, { note: 'mine' });
    assert.deepEqual(slice!.metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Endpoints', name: 'web', uid, controller: true, blockOwnerDeletion: true },
    ]);
    assert.deepEqual(slice!.endpoints, [
      { addresses: ['10.0.0.1'], conditions: { ready: true }, nodeName: 'node-1', hostname: 'one' },
      {
        addresses: ['10.0.0.2'],
        conditions: { ready: false },
        targetRef: { kind: 'Pod', namespace: 'default', name: 'two' },
      },
    ]);
  });

  it('a slice follows every edit of its Endpoints, by one write each', () => {
    const sim = settled();
    const names = namesOf(sim);
    for (const ips of [['10.0.0.1', '10.0.0.2'], ['10.0.0.2'], ['10.0.0.2', '10.0.0.3', '10.0.0.4']]) {
      const from = sim.exchanges.length;
      edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: HTTP }] });
      sim.run(100);
      assert.deepEqual(slicesTable(sim), [`default/web (mirror) IPv4 ${ips.join(' ')} : http:8080/TCP`]);
      assert.deepEqual(asked(sim, from), ['PUT endpointslices 200']);
    }
    assert.deepEqual(namesOf(sim), names);
  });

  it('Endpoints have a slice for each set of ports and each family with addresses', () => {
    const sim = settled({}, [
      { addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: HTTP },
      { addresses: [{ ip: '10.0.0.2' }], ports: [{ name: 'admin', port: 9000 }] },
    ]);
    assert.deepEqual(slicesTable(sim), [
      'default/web (mirror) IPv4 10.0.0.1 : http:8080/TCP',
      'default/web (mirror) IPv4 10.0.0.2 : admin:9000/TCP',
      'default/web (mirror) IPv6 fd00::1 : http:8080/TCP',
    ]);
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [] });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), []);
  });

  it('Endpoints that change ports and families at once reuse existing slices (D24)', () => {
    const both = (port: number, i: number): object => ({
      addresses: [{ ip: `10.0.0.${i}` }, { ip: `fd00::${i}` }],
      ports: [{ name: 'p', port }],
    });
    const sim = settled({}, [both(80, 1)]);
    const names = namesOf(sim);
    const from = sim.exchanges.length;
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [both(81, 1), both(82, 2)] });
    sim.run(5000);
    assert.deepEqual(asked(sim, from).sort(), [
      'POST endpointslices 201',
      'POST endpointslices 201',
      'PUT endpointslices 200',
      'PUT endpointslices 200',
    ]);
    assert.deepEqual(slicesTable(sim), [
      'default/web (mirror) IPv4 10.0.0.1 : p:81/TCP',
      'default/web (mirror) IPv4 10.0.0.2 : p:82/TCP',
      'default/web (mirror) IPv6 fd00::1 : p:81/TCP',
      'default/web (mirror) IPv6 fd00::2 : p:82/TCP',
    ]);
    assert.ok(names.every((name) => namesOf(sim).includes(name)));
  });

  it('Endpoints with the reserved labels cost no write with every sync (D25)', () => {
    const sim = settled({ options: { minResyncPeriodMs: 10_000 } });
    edit(sim, `${ENDPOINTS}/web`, {
      labels: { 'kubernetes.io/service-name': 'other', 'endpointslice.kubernetes.io/managed-by': 'somebody' },
    });
    sim.run(1000);
    const from = sim.exchanges.length;
    const syncs = metric(sim, 'endpointd_syncs_total');
    sim.run(100_000);
    assert.ok(metric(sim, 'endpointd_syncs_total') >= syncs + 4, 'there were syncs');
    assert.deepEqual(asked(sim, from), []);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });

  it('Endpoints without a Service wait for it, and lose their slices with it', () => {
    const sim = world();
    makeEndpoints(sim, 'web', ONE);
    sim.start();
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), []);
    createService(sim, { name: 'web', spec: { selector: null } });
    sim.run(100);
    assert.deepEqual(slicesTable(sim), RIGHT);
    deleteObject(sim, `${SERVICES}/web`);
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), []);
  });

  it('deleted Endpoints take their slices along', () => {
    const sim = settled();
    deleteObject(sim, `${ENDPOINTS}/web`);
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), []);
    const { state } = sim.loop!;
    assert.equal(state.slices.size, 0);
  });

  it('Endpoints deleted and made again at once end with slices of the new ones', () => {
    for (let gapMs = 0; gapMs <= 14; gapMs += 2) {
      const sim = settled();
      deleteObject(sim, `${ENDPOINTS}/web`);
      sim.run(gapMs);
      makeEndpoints(sim, 'web', ONE);
      sim.run(60_000);
      const { uid } = sim.request('GET', `${ENDPOINTS}/web`).metadata;
      assert.deepEqual(slicesTable(sim), RIGHT, `gap ${gapMs} ms`);
      assert.equal(slicesOf(sim)[0]!.metadata.ownerReferences![0]!.uid, uid, `gap ${gapMs} ms`);
    }
  });

  it('Endpoints of an ExternalName Service are mirrored too', () => {
    const sim = world();
    createService(sim, {
      name: 'web',
      spec: { selector: null, ports: [], type: 'ExternalName', externalName: 'example.com' },
    });
    makeEndpoints(sim, 'web', ONE);
    sim.start();
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });
});

describe('Endpoints that are not to be mirrored', () => {
  const LEADER = { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } };
  const skip = (value: string) => ({ labels: { 'endpointslice.kubernetes.io/skip-mirror': value } });

  it('Endpoints labelled skip-mirror=true, exactly, lose their slices, and back', () => {
    const sim = settled();
    for (const [value, mirrored] of [
      ['true', false],
      ['false', true],
      ['true', false],
      ['True', true],
    ] as const) {
      edit(sim, `${ENDPOINTS}/web`, skip(value));
      sim.run(1000);
      assert.equal(slicesTable(sim).length, mirrored ? 1 : 0, value);
    }
  });

  it('Endpoints of a leader election are not mirrored', () => {
    const sim = world();
    createService(sim, { name: 'web', spec: { selector: null } });
    makeEndpoints(sim, 'web', ONE, LEADER);
    sim.start();
    sim.run(2000);
    assert.deepEqual(asked(sim), []);
    edit(sim, `${ENDPOINTS}/web`, { annotations: {} });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    edit(sim, `${ENDPOINTS}/web`, LEADER);
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), []);
  });

  it('planned slices replace the mirrored ones of a Service that gets a selector', () => {
    const sim = settled({ options: { endpoints: true, slices: true } });
    createPod(sim, { name: 'web-1', ip: '10.0.0.9' });
    assert.deepEqual(slicesTable(sim), RIGHT);
    editService(sim, 'web', { selector: { app: 'web' } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.9 : http:8080/TCP']);
    // The planned one stays (as upstream), and the Endpoints that were planned are mirrored.
    editService(sim, 'web', { selector: null });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), [
      'default/web (mirror) IPv4 10.0.0.9 : http:8080/TCP',
      'default/web IPv4 10.0.0.9 : http:8080/TCP',
    ]);
  });

  it('Endpoints that the server tells of only after the selector is gone are mirrored', () => {
    const sim = world({ options: { endpoints: true } });
    sim.start();
    sim.run(1000);
    sim.lag = ({ method }) => ({ toMs: 0, backMs: method === 'POST' ? 1000 : 0 });
    createPod(sim, { name: 'web-1', ip: '10.0.0.9' });
    // Streams do not wait for each other: the pod is known first.
    sim.run(100);
    createService(sim, { name: 'web' });
    sim.run(200);
    assert.deepEqual(asked(sim), ['POST endpoints 201']);
    editService(sim, 'web', { selector: null });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web (mirror) IPv4 10.0.0.9 : http:8080/TCP']);
  });

  /** Both controllers read the Endpoints at once, for the selector goes in that moment; the answers take so long. */
  function readTwice(backMs: readonly [number, number]): Sim {
    const sim = world({ shards: 1, options: { endpoints: true } });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(2000);
    // After the loss of a thread the Endpoints are read before they are planned.
    sim.shards!.kill(0, 'heap limit');
    sim.run(100);
    let reads = 0;
    sim.lag = ({ method, path }) => ({
      toMs: 0,
      backMs: method === 'GET' && path === `${ENDPOINTS}/web` ? backMs[reads++]! : 0,
    });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(100);
    editService(sim, 'web', { selector: null });
    sim.run(100);
    assert.equal(reads, 2);
    return sim;
  }

  it('Endpoints read for another reason while the selector goes are mirrored', () => {
    const sim = readTwice([5000, 0]);
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });

  it('Endpoints that change while they are read twice are mirrored as they end', () => {
    for (const backMs of [
      [5000, 1000],
      [1000, 5000],
    ] as const) {
      const sim = readTwice(backMs);
      edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [{ addresses: [{ ip: '10.0.0.7' }], ports: HTTP }] });
      sim.run(60_000);
      assert.deepEqual(slicesTable(sim), ['default/web (mirror) IPv4 10.0.0.7 : http:8080/TCP'], backMs.join());
    }
  });

  it('the next process removes slices of Endpoints that opted out meanwhile', () => {
    for (const change of [
      (sim: Sim) => edit(sim, `${ENDPOINTS}/web`, skip('true')),
      (sim: Sim) => editService(sim, 'web', { selector: { app: 'web' } }),
      (sim: Sim) => deleteObject(sim, `${ENDPOINTS}/web`),
      (sim: Sim) => deleteObject(sim, `${SERVICES}/web`),
    ]) {
      const sim = settled();
      sim.kill();
      change(sim);
      sim.start();
      sim.run(2000);
      assert.deepEqual(slicesTable(sim), []);
    }
  });
});

describe('more addresses than a subset may have', () => {
  const MAX = { mirroringMaxEndpointsPerSubset: 10 };

  it('addresses above the limit are cut, with an Event object and a metric', () => {
    const sim = settled({ options: MAX }, [{ addresses: many(12), ports: HTTP }]);
    assert.deepEqual(sizesOf(sim), [10]);
    assert.deepEqual(eventsOf(sim), [
      'Endpoints web: TooManyAddressesToMirror: A max of 10 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were skipped',
    ]);
    assert.equal(metric(sim, 'endpointd_problems_total', { kind: 'mirror-truncated' }), 1);
  });

  it('with the flag all addresses are mirrored, in as many slices as needed', () => {
    const sim = settled({ options: { ...MAX, mirroringAllEndpoints: true } }, [{ addresses: many(24), ports: HTTP }]);
    assert.deepEqual(sizesOf(sim), [10, 10, 4]);
    const from = sim.exchanges.length;
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [{ addresses: many(24).slice(1), ports: HTTP }] });
    sim.run(2000);
    assert.deepEqual(asked(sim, from), ['PUT endpointslices 200']);
    assert.deepEqual(eventsOf(sim), []);
  });
});

describe('addresses that are none', () => {
  it('invalid addresses are left out and named, and the others are mirrored', () => {
    const sim = world();
    createService(sim, { name: 'web', spec: { selector: null } });
    makeEndpoints(sim, 'web', [{ addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.7' }], ports: HTTP }]);
    // A server takes none nowadays; older ones did.
    sim.tamper = (bytes) =>
      Buffer.from(Buffer.from(bytes).toString('latin1').replaceAll('10.0.0.7', '10.0.0.x'), 'latin1');
    sim.start();
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.deepEqual(eventsOf(sim), [
      'Endpoints web: InvalidIPAddress: Skipped 1 invalid IP addresses when mirroring to EndpointSlices',
    ]);
  });
});

describe('a mirrored slice that somebody else', () => {
  it('a mirrored slice that others edit or delete is right within a second (D5, D39)', () => {
    const sim = settled();
    const path = (): string => `${SLICES}/${namesOf(sim)[0]}`;
    sim.kill();
    sim.start();
    sim.run(5000);
    deleteObject(sim, path());
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    edit(sim, path(), {}, { endpoints: [] });
    sim.run(800);
    assert.deepEqual(slicesTable(sim), ['default/web (mirror) IPv4 - : http:8080/TCP']);
    sim.run(200);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });

  it('a slice that a finalizer holds does not hold up the Endpoints (D11)', () => {
    const sim = settled();
    const held = `${SLICES}/${namesOf(sim)[0]}`;
    edit(sim, held, { finalizers: ['example.com/f'] });
    sim.run(5000);
    deleteObject(sim, held);
    sim.run(5000);
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [{ addresses: [{ ip: '10.0.0.2' }], ports: HTTP }] });
    sim.run(1000);
    assert.ok(slicesTable(sim).includes('default/web (mirror) IPv4 10.0.0.2 : http:8080/TCP'));
    edit(sim, held, { finalizers: [] });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web (mirror) IPv4 10.0.0.2 : http:8080/TCP']);
  });

  it('a slice that a finalizer holds is deleted once, and listed for it once', () => {
    const sim = settled();
    edit(sim, `${SLICES}/${namesOf(sim)[0]}`, { finalizers: ['example.com/f'] });
    sim.run(5000);
    deleteObject(sim, `${ENDPOINTS}/web`);
    const from = sim.exchanges.length;
    sim.run(2 * 3_600_000);
    assert.deepEqual(asked(sim, from), ['DELETE endpointslices 200']);
    const lists = sim.exchanges
      .slice(from)
      .filter(({ path }) => /\/endpointslices\?(?!.*limit=1&)/.test(path) && /sendInitialEvents|limit=/.test(path));
    assert.ok(lists.length <= 1, JSON.stringify(lists));
  });

  it('a second mirrored slice is removed', () => {
    const sim = settled();
    const [{ metadata, ...rest }] = slicesOf(sim) as [ReturnType<typeof slicesOf>[number]];
    const { labels, ownerReferences } = metadata;
    sim.request('POST', SLICES, { ...rest, metadata: { name: 'web-copy', labels, ownerReferences } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });
});

describe('writes of mirrored slices', () => {
  it('a restart writes no mirrored slice', () => {
    const sim = settled({ options: { endpoints: true, slices: true } });
    sim.kill();
    const from = sim.exchanges.length;
    sim.start();
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), []);
  });

  it('lost replies leave no duplicates', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const sim = world({ seed });
      createService(sim, { name: 'web', spec: { selector: null } });
      sim.faults.loseReply = 0.5;
      sim.start();
      sim.run(2000);
      for (let i = 1; i <= 5; i++) {
        const subsets = [
          { addresses: [{ ip: '10.0.0.1' }, { ip: `fd00::${i}` }], ports: HTTP },
          { addresses: [{ ip: `10.0.0.${i + 1}` }], ports: [{ name: 'p', port: i }] },
        ];
        if (i === 1) makeEndpoints(sim, 'web', subsets);
        else edit(sim, `${ENDPOINTS}/web`, {}, { subsets });
        sim.run(5000);
      }
      sim.faults.loseReply = 0;
      sim.run(120_000);
      assert.deepEqual(
        slicesTable(sim),
        [
          'default/web (mirror) IPv4 10.0.0.1 : http:8080/TCP',
          'default/web (mirror) IPv4 10.0.0.6 : p:5/TCP',
          'default/web (mirror) IPv6 fd00::5 : http:8080/TCP',
        ],
        `seed ${seed}`,
      );
    }
  });

  it('refused writes make the Endpoints stuck, hold up no other, and go on (D32)', () => {
    const sim = world({
      refuse: ({ method, body }) =>
        method === 'POST' && Buffer.from(body!).includes('bad-') ? makeStatus(422, 'Invalid', 'no good') : 0,
    });
    for (const name of ['bad', 'web']) {
      createService(sim, { name, spec: { selector: null } });
      makeEndpoints(sim, name, ONE);
    }
    sim.start();
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.equal(metric(sim, 'endpointd_stuck_service', { controller: 'endpointslice-mirroring', service: 'bad' }), 1);
    assert.deepEqual(eventsOf(sim), [
      'Endpoints bad: MirroredEndpointSlicesStuck: EndpointSlices that mirror Endpoints default/bad cannot be brought up to date: no good',
    ]);
    assert.equal(sim.logLines.find(({ level }) => level === 'error')!.fields['service'], 'default/bad');
    sim.run(4 * 3600_000);
    sim.refuse = () => 0;
    sim.run(300_000);
    assert.equal(slicesTable(sim).length, 2);
    assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
  });

  it('the delete of a slice that is gone is a success: no event, no retry (D3)', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    const path = `${SLICES}/${namesOf(sim)[0]}`;
    sim.lag = ({ method }) => ({ toMs: method === 'DELETE' ? 20 : 0, backMs: 0 });
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [] });
    sim.run(15);
    deleteObject(sim, path);
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), []);
    assert.deepEqual(asked(sim, from), ['DELETE endpointslices 404']);
    assert.deepEqual(eventsOf(sim), []);
  });

  /** A namespace with a Service and its Endpoints by hand. */
  function goingWorld(): Sim {
    const sim = world();
    sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'going' } });
    createService(sim, { name: 'web', namespace: 'going', spec: { selector: null } });
    sim.request('POST', '/api/v1/namespaces/going/endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'web' },
      subsets: ONE,
    });
    return sim;
  }

  it('writes in a terminating namespace are skipped in silence (D33)', () => {
    const sim = goingWorld();
    sim.request('DELETE', '/api/v1/namespaces/going');
    sim.start();
    sim.run(600_000);
    assert.deepEqual(asked(sim), ['POST endpointslices 403', 'POST endpointslices 403'], 'once more, a minute later');
    assert.deepEqual(eventsOf(sim), []);
  });

  it('one try follows where a late API server says that a new namespace is ending', () => {
    const sim = goingWorld();
    let left = 2;
    const details = { causes: [{ reason: 'NamespaceTerminating', message: 'namespace going is being terminated' }] };
    sim.refuse = ({ method, path }) =>
      method === 'POST' && path.includes('/endpointslices') && left-- > 0
        ? makeStatus(403, 'Forbidden', 'because it is being terminated', details)
        : 0;
    sim.start();
    sim.run(500);
    edit(
      sim,
      '/api/v1/namespaces/going/endpoints/web',
      {},
      { subsets: [{ addresses: [{ ip: '10.0.0.2' }], ports: HTTP }] },
    );
    sim.run(50_000);
    assert.deepEqual(slicesTable(sim), []);
    sim.run(15_000);
    assert.equal(slicesTable(sim).length, 1);
    assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
  });

  it('a create refused in a terminating namespace is skipped alone (D33)', () => {
    const sim = goingWorld();
    const path = '/api/v1/namespaces/going/endpoints/web';
    edit(sim, path, {}, { subsets: [...ONE, { addresses: [{ ip: '10.0.0.9' }], ports: [{ port: 9090 }] }] });
    sim.start();
    sim.run(2000);
    assert.equal(slicesTable(sim).length, 2);
    sim.request('DELETE', '/api/v1/namespaces/going');
    const from = sim.exchanges.length;
    const addresses = [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }, { ip: 'fd00::1' }];
    edit(sim, path, {}, { subsets: [{ addresses, ports: HTTP }] });
    sim.run(600_000);
    assert.deepEqual(asked(sim, from).sort(), [
      'DELETE endpointslices 200',
      'POST endpointslices 403',
      'POST endpointslices 403',
      'PUT endpointslices 200',
    ]);
    assert.deepEqual(slicesTable(sim), ['going/web (mirror) IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.deepEqual(eventsOf(sim), []);
    assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
  });

  it('after the loss of a thread, one look at Endpoints and slices is enough', () => {
    const sim = settled({ shards: 1 });
    sim.shards!.kill(0, 'exit code 1');
    sim.run(5000);
    const from = sim.exchanges.length;
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [{ addresses: [{ ip: '10.0.0.2' }], ports: HTTP }] });
    sim.run(1000);
    assert.deepEqual(asked(sim, from), ['GET endpointslices 200', 'PUT endpointslices 200']);
    assert.deepEqual(slicesTable(sim), ['default/web (mirror) IPv4 10.0.0.2 : http:8080/TCP']);
  });
});

describe('Endpoints that make more than they are', () => {
  /** Each address with a port of its own, so each has a slice of its own. */
  function apart(count: number): object[] {
    return many(count).map((address, i) => ({ addresses: [address], ports: [{ name: 'http', port: 1000 + i }] }));
  }

  it('slices of more bytes than a plan may have are written in several plans', () => {
    const sim = world();
    createService(sim, { name: 'web', spec: { selector: null } });
    // 40 slices, each with all the annotations.
    makeEndpoints(sim, 'web', apart(40), { annotations: { note: 'x'.repeat(250_000) } });
    sim.start();
    sim.run(5000);
    assert.equal(slicesOf(sim).length, 40);
    const syncs = sim.logLines.filter(({ message, fields }) => message === 'Synced' && Number(fields['writes']) > 0);
    assert.deepEqual(
      syncs.map(({ fields }) => fields['writes']),
      [34, 6],
    );
    sim.run(60_000);
    const writes = sim.exchanges.filter(({ method, path }) => method !== 'GET' && path.startsWith(SLICES));
    assert.equal(writes.length, 40, 'nothing is written twice');
  });

  it('where admission puts all of a plan back, no other one follows at once', () => {
    const sim = world();
    createService(sim, { name: 'web', spec: { selector: null } });
    const note = 'x'.repeat(250_000);
    makeEndpoints(sim, 'web', apart(40), { annotations: { note } });
    sim.start();
    sim.run(5000);
    sim.admission = ({ kind, metadata }) => {
      if (kind === 'EndpointSlice') metadata.annotations = { ...metadata.annotations, note };
    };
    const from = sim.exchanges.length;
    edit(sim, `${ENDPOINTS}/web`, { annotations: { note: 'y'.repeat(250_000) } }, {});
    sim.run(60_000);
    const writes = sim.exchanges.slice(from).filter(({ method, path }) => method === 'PUT' && path.startsWith(SLICES));
    assert.equal(writes.length, 7 * 34, 'a plan has 34 slices, and is tried ever more rarely');
  });

  /** The slices of `good` are written, and `bad` is stuck for that reason. */
  function expectGoodAlone(sim: Sim, reason: RegExp): void {
    sim.start();
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), ['default/good (mirror) IPv4 10.0.0.1 : http:8080/TCP']);
    const stuck = sim.logLines.find(({ message }) => message.startsWith('Service is stuck'));
    assert.match(String(stuck?.fields['err']), reason);
  }

  it('subsets that share ports in thousands of ways make them stuck and no other', () => {
    const sim = world();
    for (const name of ['bad', 'good']) createService(sim, { name, spec: { selector: null } });
    // 560 kB that would be 24.6 million addresses.
    makeEndpoints(sim, 'bad', subsetsByBits(12, 1000, 4095));
    makeEndpoints(sim, 'good', ONE);
    expectGoodAlone(sim, /default\/bad: subsets: more than 250000 addresses, because ports with other addresses/);
  });

  it('millions of endpoints, by ports of one name, make them stuck and no other', () => {
    const sim = world();
    for (const name of ['bad', 'good']) createService(sim, { name, spec: { selector: null } });
    const ports = Array.from({ length: 600 }, (_, i) => ({ name: 'http', port: 1000 + i }));
    const everywhere = many(500);
    const subsets = [{ addresses: everywhere, ports: ports.slice(0, 1) }].concat(
      ports.slice(1).map((port) => ({ addresses: everywhere, ports: [port] })),
    );
    makeEndpoints(sim, 'bad', subsets);
    makeEndpoints(sim, 'good', ONE);
    expectGoodAlone(sim, /default\/bad: subsets: more than 250000 endpoints, because ports of one name/);
  });
});
