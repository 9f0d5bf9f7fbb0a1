/**
 * What the answers to writes of slices lead to: lost replies, conflicts, refusals, a lost thread, a stop in the middle.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, deleteObject, setPodStatus, type Sim, type SimConfig } from '../support/sim.ts';
import {
  edit,
  editService,
  ENDPOINTS,
  PODS,
  SLICES,
  removeLabels,
  setPodIPs,
  syncInVain,
} from '../support/sim-objects.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { createSliceSim, namesOf, sizesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import { makeStatus } from '../../src/kube/status.ts';
import { samples } from '../../src/metrics/store.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

const RIGHT = ['default/web IPv4 10.0.0.1 : http:8080/TCP'];
const UNREADY = ['default/web IPv4 | 10.0.0.1 : http:8080/TCP'];

function world(config: SimConfig = {}): Sim {
  const sim = createSliceSim(config);
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  return sim;
}

function settled(config: SimConfig = {}): Sim {
  const sim = world(config);
  sim.start();
  sim.run(2000);
  return sim;
}

/** Runs until the server has answered a write that the controller will not hear of. */
function loseOneReply(sim: Sim, isThat: (request: HttpRequest) => boolean): void {
  const from = sim.exchanges.length;
  sim.lag = (request) => (isThat(request) ? { toMs: 0, backMs: 60_000 } : { toMs: 0, backMs: 0 });
  while (!sim.exchanges.slice(from).some(({ method }) => method !== 'GET')) sim.run(0.5);
  sim.lag = () => ({ toMs: 0, backMs: 0 });
}

const writes =
  (wanted: string) =>
  ({ method, path }: HttpRequest): boolean =>
    method === wanted && path.startsWith(SLICES);

describe('a reply that is lost', () => {
  it('a lost reply to a create leaves no duplicate: the slices are listed', () => {
    const sim = world();
    sim.start();
    loseOneReply(sim, writes('POST'));
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), UNREADY);
    assert.deepEqual(asked(sim), ['POST endpointslices 201', 'GET endpointslices 200', 'PUT endpointslices 200']);
    assert.deepEqual(eventsOf(sim), []);
  });

  it('a create that is carried out late leaves no duplicate', () => {
    const sim = world();
    sim.start();
    // The first is on its way for longer than anybody waits for it.
    let delayed = false;
    sim.lag = (request) => {
      if (!writes('POST')(request) || delayed) return { toMs: 0, backMs: 0 };
      delayed = true;
      return { toMs: 14_400, backMs: 0 };
    };
    sim.run(120_000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.deepEqual(
      asked(sim).filter((line) => line.startsWith('POST')),
      ['POST endpointslices 201', 'POST endpointslices 409'],
    );
    assert.deepEqual(eventsOf(sim), []);
  });

  it('a lost reply to an update costs one list, and later changes are written', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-1', ready: false });
    loseOneReply(sim, writes('PUT'));
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.deepEqual(asked(sim, from), ['PUT endpointslices 200', 'GET endpointslices 200', 'PUT endpointslices 200']);
  });

  it('a lost reply to a delete costs one list, and no Event object', () => {
    const sim = world({ options: { maxEndpointsPerSlice: 1 } });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.start();
    sim.run(2000);
    const from = sim.exchanges.length;
    removeLabels(sim, 'web-2');
    loseOneReply(sim, writes('DELETE'));
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.deepEqual(asked(sim, from), ['DELETE endpointslices 200', 'GET endpointslices 200']);
    assert.deepEqual(eventsOf(sim), []);
  });

  it('any lost reply during growing and shrinking leaves the service right', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const sim = world({ seed, options: { maxEndpointsPerSlice: 3 } });
      sim.faults.loseReply = 0.4;
      sim.start();
      for (let i = 2; i <= 9; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
      sim.run(20_000);
      editService(sim, 'web', { ports: [{ name: 'http', port: 80, targetPort: 9090 }] });
      for (let i = 2; i <= 5; i++) deleteObject(sim, `${PODS}/web-${i}`);
      sim.run(20_000);
      sim.faults.loseReply = 0;
      sim.run(120_000);
      const told = `seed ${seed}`;
      const addresses = slicesOf(sim).flatMap(({ endpoints }) => endpoints!.flatMap((endpoint) => endpoint.addresses));
      assert.deepEqual(addresses.sort(), ['10.0.0.1', '10.0.0.6', '10.0.0.7', '10.0.0.8', '10.0.0.9'], told);
      assert.ok(
        slicesTable(sim).every((line) => line.endsWith(': http:9090/TCP')),
        told,
      );
      assert.ok(sizesOf(sim).length <= 3, told);
    }
  });
});

describe('a conflict', () => {
  it('a conflict is no Event object: the slices are listed, then written (D12)', () => {
    const sim = settled();
    const path = `${SLICES}/${namesOf(sim)[0]}`;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2);
    const { annotations } = sim.request('GET', path).metadata;
    edit(sim, path, { annotations: { ...annotations, other: 'writer' } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), UNREADY);
    assert.equal(sim.request('GET', path).metadata.annotations!['other'], 'writer');
    assert.deepEqual(eventsOf(sim), []);
    assert.equal(metric(sim, 'endpointd_write_conflicts_total'), 1);
    assert.equal(metric(sim, 'endpoint_slice_controller_syncs', { result: 'stale' }), 0);
  });

  it('a write of a slice that somebody has deleted is no conflict', () => {
    const sim = settled();
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2);
    deleteObject(sim, `${SLICES}/${namesOf(sim)[0]}`);
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), UNREADY);
    assert.deepEqual(
      sim.exchanges.filter(({ method, status }) => method === 'PUT' && status === 404).map(({ status }) => status),
      [404],
    );
    assert.equal(metric(sim, 'endpointd_write_conflicts_total'), 0);
  });

  it('an endless conflict is told once it has lasted, and never given up (D32)', () => {
    const sim = settled();
    sim.refuse = (request) =>
      writes('PUT')(request) ? makeStatus(409, 'Conflict', 'the object has been modified') : 0;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(60_000);
    assert.equal(metric(sim, 'endpointd_stuck_service', { controller: 'endpointslice' }), 1);
    sim.run(3600_000);
    sim.refuse = () => 0;
    sim.run(300_000);
    assert.deepEqual(slicesTable(sim), UNREADY);
    assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
    assert.deepEqual(
      eventsOf(sim).map((line) => line.split(': ')[1]),
      ['EndpointSlicesStuck'],
    );
  });
});

describe('a delete of a slice that is gone already', () => {
  it('the delete of a missing slice is a success: no event, no retry (D3)', () => {
    const sim = world({ options: { maxEndpointsPerSlice: 1 } });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.start();
    sim.run(2000);
    const from = sim.exchanges.length;
    const slice = slicesOf(sim).find(({ endpoints }) => endpoints![0]!.addresses[0] === '10.0.0.2');
    removeLabels(sim, 'web-2');
    // Between the decision and the request.
    sim.lag = (request) => (writes('DELETE')(request) ? { toMs: 20, backMs: 0 } : { toMs: 0, backMs: 0 });
    sim.run(15);
    deleteObject(sim, `${SLICES}/${slice!.metadata.name}`);
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.deepEqual(asked(sim, from), ['DELETE endpointslices 404']);
    assert.deepEqual(eventsOf(sim), []);
  });
});

describe('a refusal', () => {
  const stuck = (sim: Sim): object[] => samples(sim.metrics!, 'endpointd_stuck_service', 0).map(({ labels }) => labels);

  for (const [title, answer] of [
    ['422', makeStatus(422, 'Invalid', 'endpoints[0].addresses[0]: Invalid value')],
    ['a bare 500 of etcd', makeStatus(500, '', 'etcdserver: request is too large')],
    ['413', makeStatus(413, 'RequestEntityTooLarge', 'limit is 3145728')],
  ] as const) {
    it(`a lasting refusal (${title}) has event, metric and line, and delays no other`, () => {
      const sim = world({
        refuse: ({ method, path, body }) =>
          method === 'POST' && path === SLICES && Buffer.from(body!).includes('bad-') ? answer : 0,
      });
      createService(sim, { name: 'bad' });
      sim.start();
      sim.run(1000);
      assert.deepEqual(slicesTable(sim), RIGHT);
      assert.deepEqual(stuck(sim), [
        { controller: 'endpointslice', namespace: 'default', service: 'bad', class: 'invalid' },
      ]);
      sim.run(600_000);
      const tries = asked(sim).filter((line) => line.startsWith('POST') && !line.endsWith('201')).length;
      assert.ok(tries >= 2 && tries <= 8, `${tries} tries in ten minutes`);
      const events = eventsOf(sim);
      const message = answer.message!;
      const reasons = events.map((line) => line.split(': ')[1]);
      assert.deepEqual(new Set(reasons), new Set(['EndpointSlicesStuck', 'FailedToUpdateEndpointSlices']));
      assert.ok(events.every((line) => line.startsWith('Service bad: ') && line.includes(message)));
      // The name of the slice is another one at each try, so it is not told.
      const failed = events.find((line) => line.includes('FailedToUpdateEndpointSlices'));
      const why = `failed to create EndpointSlice for Service default/bad: ${message}`;
      assert.ok(failed!.includes(`Error updating Endpoint Slices for Service default/bad: ${why}`), String(failed));
      const error = sim.logLines.find(({ level }) => level === 'error');
      assert.equal(error!.fields['service'], 'default/bad');
      assert.ok(String(error!.fields['err']).includes(message));
      sim.refuse = () => 0;
      sim.run(300_000);
      assert.equal(slicesTable(sim).length, 2);
      assert.deepEqual(stuck(sim), []);
    });
  }

  it('a create that is refused again and again is one Event object, whatever its name', () => {
    const names = new Set<string>();
    const sim = world({
      refuse: ({ method, path, body }) => {
        if (method !== 'POST' || path !== SLICES) return 0;
        const [name] = /bad-\w{5}/.exec(Buffer.from(body!).toString('latin1')) ?? [];
        if (name === undefined) return 0;
        names.add(name);
        return makeStatus(422, 'Invalid', `EndpointSlice.discovery.k8s.io "${name}" is invalid: not so`);
      },
    });
    createService(sim, { name: 'bad' });
    sim.start();
    sim.run(600_000);
    assert.ok(names.size >= 2, [...names].join());
    const failed = eventsOf(sim).filter((line) => line.includes('FailedToUpdateEndpointSlices'));
    const why =
      'failed to create EndpointSlice for Service default/bad: EndpointSlice.discovery.k8s.io "bad-" is invalid';
    assert.equal(new Set(failed).size, 1, failed.join('\n'));
    assert.ok(failed[0]!.includes(why), String(failed[0]));
  });

  it('an endpoint stays where it is if its namespace ends and takes no new slice', () => {
    const sim = createSliceSim();
    createService(sim, { name: 'web' });
    for (const [i, port] of [8080, 9090].entries()) {
      const ports = [
        { name: 'http', containerPort: 8080 },
        { name: 'other', containerPort: port },
      ];
      createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i + 1}`, ports });
    }
    sim.start();
    sim.run(2000);
    const before = slicesTable(sim);
    const from = sim.exchanges.length;
    const details = { causes: [{ reason: 'NamespaceTerminating' }] };
    sim.refuse = (request) => (writes('POST')(request) ? makeStatus(403, 'Forbidden', 'it ends', details) : 0);
    // For one of the two pods this is another port, so it belongs into a slice of its own.
    editService(sim, 'web', { ports: [{ name: 'http', port: 80, targetPort: 'other' }] });
    sim.run(5000);
    assert.deepEqual(asked(sim, from), ['POST endpointslices 403']);
    assert.deepEqual([slicesTable(sim), eventsOf(sim)], [before, []]);
  });

  it('refused slices do not hold up the Endpoints of their service, nor the reverse', () => {
    for (const [refused, other] of [
      [SLICES, ENDPOINTS],
      [ENDPOINTS, SLICES],
    ] as const) {
      const sim = world({
        options: { endpoints: true },
        refuse: ({ method, path }) => (method !== 'GET' && path.startsWith(refused) ? 422 : 0),
      });
      sim.start();
      sim.run(1000);
      for (const ready of [false, true, false]) {
        const from = sim.exchanges.length;
        setPodStatus(sim, { name: 'web-1', ready });
        sim.run(200);
        const done = sim.exchanges.slice(from).filter(({ method, status }) => method === 'PUT' && status === 200);
        assert.deepEqual(
          done.map(({ path }) => path.startsWith(other)),
          [true],
        );
      }
    }
  });

  it('the refusal of one of several adds keeps no slice of dead endpoints (D13)', () => {
    const sim = world({ options: { maxEndpointsPerSlice: 1 } });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    createPod(sim, { name: 'web-3', ip: '10.0.0.3' });
    sim.start();
    sim.run(2000);
    // Two pods more and three fewer: two slices are written anew, and one goes.
    sim.refuse = (request) =>
      request.method !== 'GET' && request.body !== null && Buffer.from(request.body).includes('10.0.0.4') ? 422 : 0;
    for (const i of [1, 2, 3]) deleteObject(sim, `${PODS}/web-${i}`);
    createPod(sim, { name: 'web-4', ip: '10.0.0.4' });
    createPod(sim, { name: 'web-5', ip: '10.0.0.5' });
    sim.run(1000);
    assert.ok(slicesTable(sim).some((line) => line.includes('10.0.0.5')));
    assert.equal(asked(sim).filter((line) => line.startsWith('DELETE')).length, 1);
    sim.refuse = () => 0;
    sim.run(120_000);
    assert.deepEqual(slicesTable(sim), [
      'default/web IPv4 10.0.0.4 : http:8080/TCP',
      'default/web IPv4 10.0.0.5 : http:8080/TCP',
    ]);
  });

  it('a slice that admission undoes again and again keeps no dead endpoint in others', () => {
    const sim = world({ options: { maxEndpointsPerSlice: 1 } });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.start();
    sim.run(2000);
    const kept = slicesOf(sim).find(({ endpoints }) => endpoints![0]!.addresses[0] === '10.0.0.1')!;
    // A policy puts the slice back as it was, so each plan writes it.
    sim.admission = (object) => {
      if (object.metadata.name === kept.metadata.name) Object.assign(object, kept);
    };
    setPodStatus(sim, { name: 'web-1', ready: false });
    deleteObject(sim, `${PODS}/web-2`);
    sim.run(5000);
    assert.ok(asked(sim).includes('PUT endpointslices 200'));
    assert.deepEqual(slicesTable(sim), RIGHT);
  });

  it('the refusal of one slice does not delay another with a conflict', () => {
    for (const lastName of [0, 1]) {
      const sim = world({ options: { maxEndpointsPerSlice: 1, endpointsliceUpdatesBatchPeriodMs: 100 } });
      createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
      sim.start();
      sim.run(2000);
      const [bad, good] = namesOf(sim) as [string, string];
      const last = [bad, good][lastName]!;
      let conflicts = 0;
      sim.refuse = ({ method, path }) => {
        if (method !== 'PUT' || path.includes('/pods/')) return 0;
        if (path.endsWith(bad)) return 422;
        return path.endsWith(good) && conflicts++ === 0 ? 409 : 0;
      };
      sim.lag = ({ method, path }) => ({ toMs: method === 'PUT' && path.endsWith(last) ? 20 : 0, backMs: 0 });
      for (const name of ['web-1', 'web-2']) setPodStatus(sim, { name, ready: false });
      sim.run(2000);
      const { endpoints } = slicesOf(sim).find(({ metadata }) => metadata.name === good)!;
      assert.equal(endpoints![0]!.conditions?.ready, false, `${last} is answered last`);
      assert.deepEqual(
        stuck(sim).map((labels) => (labels as { class: string }).class),
        ['invalid'],
      );
    }
  });

  it('creates refused in a terminating namespace are skipped alone (D33)', () => {
    const sim = createSliceSim({
      serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:96::/108'],
      options: { maxEndpointsPerSlice: 1, endpointsliceUpdatesBatchPeriodMs: 100 },
    });
    const namespace = 'going';
    sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    createService(sim, { name: 'web', namespace, spec: { ipFamilyPolicy: 'RequireDualStack' } });
    for (let i = 1; i <= 3; i++) createPod(sim, { name: `web-${i}`, namespace, ip: `10.0.0.${i}` });
    sim.start();
    sim.run(2000);
    assert.equal(slicesTable(sim).length, 4);
    // Its contents go one by one; until then it stays.
    sim.request('DELETE', '/api/v1/namespaces/going');
    const from = sim.exchanges.length;
    setPodIPs(sim, 'web-1', ['10.0.0.1', 'fd00::1'], namespace);
    setPodIPs(sim, 'web-2', ['10.0.0.2', 'fd00::2'], namespace);
    removeLabels(sim, 'web-3', namespace);
    sim.run(600_000);
    assert.deepEqual(asked(sim, from).sort(), [
      'DELETE endpointslices 200',
      'POST endpointslices 403',
      'POST endpointslices 403',
      'PUT endpointslices 200',
    ]);
    assert.deepEqual(slicesTable(sim).slice(0, 2), [
      'going/web IPv4 10.0.0.1 : http:8080/TCP',
      'going/web IPv4 10.0.0.2 : http:8080/TCP',
    ]);
    assert.match(slicesTable(sim)[2]!, /^going\/web IPv6 fd00::[12] : http:8080\/TCP$/);
    assert.deepEqual(eventsOf(sim), []);
    assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
  });

  it('a refusal with Retry-After pauses writes for that long, without an Event object', () => {
    const sim = settled();
    let refused = 0;
    sim.refuse = (request) => (writes('PUT')(request) && refused++ === 0 ? 429 : 0);
    const startMs = sim.nowMs();
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(900);
    assert.deepEqual(slicesTable(sim), RIGHT);
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), UNREADY);
    const done = sim.exchanges.findLast(({ method, status }) => method === 'PUT' && status === 200)!;
    assert.ok(done.atMs - startMs >= 1000);
    assert.deepEqual(eventsOf(sim), []);
  });
});

describe('a thread that is lost', () => {
  it('a thread lost at rest costs one list of the slices of a service that changes', () => {
    const sim = settled({ shards: 1 });
    sim.shards!.kill(0, 'out of memory');
    sim.run(60_000);
    const from = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.deepEqual(asked(sim, from), ['GET endpointslices 200', 'PUT endpointslices 200']);
  });

  it('after the loss of a thread a slice deleted meanwhile is made again', () => {
    const sim = settled({ shards: 1 });
    sim.shards!.kill(0, 'exit code 1');
    sim.run(1000);
    sim.lag = ({ method, path }) => ({ toMs: 0, backMs: method === 'GET' && path.startsWith(SLICES) ? 3000 : 0 });
    syncInVain(sim, 'web');
    sim.run(1000);
    deleteObject(sim, `${SLICES}/${namesOf(sim)[0]}`);
    sim.run(1000);
    sim.lag = () => ({ toMs: 0, backMs: 0 });
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });

  it('a thread lost at any moment of a growth leaves no duplicate and loses no pod', () => {
    for (let atMs = 0; atMs < 14; atMs += 0.7) {
      const sim = settled({ shards: 1, options: { maxEndpointsPerSlice: 2 } });
      for (let i = 2; i <= 7; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
      sim.run(atMs);
      sim.shards!.kill(0, 'exit code 1');
      sim.run(60_000);
      assert.deepEqual(
        sizesOf(sim).reduce((sum, size) => sum + size, 0),
        7,
        `at ${atMs} ms`,
      );
      const addresses = slicesOf(sim).flatMap(({ endpoints }) => endpoints!.flatMap((endpoint) => endpoint.addresses));
      assert.equal(new Set(addresses).size, 7, `at ${atMs} ms`);
      assert.ok(
        sizesOf(sim).every((size) => size <= 2),
        `at ${atMs} ms`,
      );
    }
  });
});

describe('a stop', () => {
  it('a stop drains planned slices and Endpoints, and plans nothing more', () => {
    const sim = settled({ options: { endpoints: true } });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(4);
    sim.stop();
    createService(sim, { name: 'late', spec: { selector: { app: 'late' } } });
    sim.run(5000);
    assert.equal(sim.stopped, true);
    assert.deepEqual(slicesTable(sim), UNREADY);
    assert.equal(metric(sim, 'workqueue_unfinished_work_seconds'), 0);
  });

  it('a stop at any moment ends, and the server is asked nothing after it', () => {
    for (let gapMs = 0; gapMs <= 15; gapMs++) {
      const sim = settled({ options: { endpoints: true, mirror: true } });
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(gapMs);
      sim.stop();
      for (let i = 0; i < 20_000 && !sim.stopped; i++) sim.run(1);
      assert.equal(sim.stopped, true, `gap ${gapMs} ms`);
      const from = sim.exchanges.length;
      sim.run(20_000);
      assert.deepEqual(sim.exchanges.slice(from), [], `gap ${gapMs} ms`);
    }
  });
});

describe('many slices of one service', () => {
  it('many slices of one service are written side by side', () => {
    const sim = world({ options: { maxEndpointsPerSlice: 1, kubeApiQps: 1000, kubeApiBurst: 1000 } });
    for (let i = 2; i <= 50; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
    sim.lag = ({ method }) => ({ toMs: method === 'POST' ? 100 : 0, backMs: 0 });
    sim.start();
    sim.run(400);
    // 32 writes may be under way at a time: two rounds of 100 ms instead of fifty.
    assert.equal(sizesOf(sim).length, 50);
  });

  it('a Service with many slices to write does not hold up another one', () => {
    const sim = world({ options: { maxEndpointsPerSlice: 1, kubeApiQps: 10, kubeApiBurst: 1 } });
    for (let i = 2; i <= 30; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
    createService(sim, { name: 'db', spec: { selector: { app: 'db' } } });
    sim.start();
    sim.run(10_000);
    editService(sim, 'web', { ports: [{ name: 'http', port: 80, targetPort: 9090 }] });
    sim.run(100);
    createPod(sim, { name: 'db-1', ip: '10.0.1.1', labels: { app: 'db' } });
    // The 30 writes take 3 s. Both services take turns of eight.
    sim.run(1000);
    assert.ok(slicesTable(sim).includes('default/db IPv4 10.0.1.1 : http:8080/TCP'));
    sim.run(3000);
    const lines = slicesTable(sim);
    assert.equal(lines.length, 31);
    assert.deepEqual(
      lines.filter((line) => !line.endsWith(' http:9090/TCP')),
      ['default/db IPv4 10.0.1.1 : http:8080/TCP'],
    );
  });
});
