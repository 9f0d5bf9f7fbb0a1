/** Two replicas before one API server: one writes, the other one is ready to. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { debugSummary } from '../../src/controller/reports/debug-view.ts';
import { queueRepair, type Deed } from '../../src/controller/queues/fights.ts';
import { CATALOGUE } from '../../src/metrics/catalogue.ts';
import { histogramSamples } from '../../src/metrics/store.ts';
import { LEASE_PATH } from '../support/election-world.ts';
import { createPod, createService, deleteObject, endpointsTable, setPodStatus, type Sim } from '../support/sim.ts';
import { createNode, edit, ENDPOINTS, makeEndpoints, SERVICES, SLICES } from '../support/sim-objects.ts';
import { holder, objectWrites, replica, replicas, startWithWeb, type Replicas } from '../support/sim-replicas.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { namesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';

function warnings(sim: Sim): string[] {
  return sim.logLines.filter(({ level }) => level !== 'info').map(({ message }) => message);
}

/** The problems that its log tells, as `service object`, each once. */
function told(sim: Sim): string[] {
  return sim.logLines
    .filter(({ message }) => message === 'Part of an object cannot be used')
    .map(({ fields }) => `${fields['service']} ${fields['object']}`)
    .filter((line, i, all) => all.indexOf(line) === i)
    .toSorted();
}

/** No answer comes within any time limit. */
const LOST = { toMs: 0, backMs: 60_000 };
const IN_TIME = { toMs: 0, backMs: 0 };

const WEB = 'default/web 10.0.0.1 : http:8080/TCP';
const WEB_BOTH = 'default/web 10.0.0.1 10.0.0.2 : http:8080/TCP';
const WEB_NOT_READY = 'default/web | 10.0.0.1 : http:8080/TCP';

/** Virtual time goes on, and no pod of the service is ever taken away. */
function keepsBoth(sim: Sim, ms: number): void {
  for (let passedMs = 0; passedMs < ms; passedMs += 100) {
    sim.run(100);
    assert.deepEqual(endpointsTable(sim), [WEB_BOTH]);
  }
}

describe('a replica that stands by', () => {
  it('a standby writes nothing while the other leads, and is ready', () => {
    const { leader, standby } = replicas();
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(60_000);
    assert.deepEqual(objectWrites(standby), []);
    assert.equal(holder(leader), 'a-1');
    assert.deepEqual(
      standby.loop!.readiness().filter(({ ok }) => !ok),
      [],
    );
    assert.equal(standby.loop!.readiness()[0]!.message, 'a-1, this process stands by');
  });

  it('the debug pages of standby and leader say who leads', () => {
    const { leader, standby } = replicas();
    const leaderOf = (sim: Sim): string =>
      debugSummary(sim.loop!.state, { nowMs: sim.processMs(), wallMs: 1_800_000_000_000 }).leader;
    assert.equal(leaderOf(leader), 'this process, a-1');
    assert.equal(leaderOf(standby), 'a-1, this process stands by');
  });

  it('a standby knows what the leader has not put right yet, and when it has', () => {
    const { leader, standby } = replicas();
    const behind = (): number => metric(standby, 'endpointd_standby_services_behind');
    assert.equal(behind(), 0);
    leader.refuse = ({ method }) => (method === 'PUT' ? 503 : 0);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(1500);
    assert.equal(behind(), 2, 'Endpoints and slices');
    leader.refuse = () => 0;
    leader.run(30_000);
    assert.equal(behind(), 0);
  });

  it('a standby says that all is synced once it leads and has written the rest', () => {
    const leader = replica('a', {});
    const standby = replica('b', { beside: leader, seed: 2 });
    createNode(leader, { name: 'node-1', zone: 'zone-a' });
    createService(leader, { name: 'web' });
    leader.refuse = ({ pool, method }) => (pool === 'write' && method === 'POST' ? 503 : 0);
    leader.start();
    leader.run(1000);
    standby.start();
    leader.run(20_000);
    const said = (): unknown[] =>
      standby.logLines
        .filter(({ message }) => message === 'All services are synced')
        .map(({ fields }) => fields['writes']);
    assert.deepEqual(said(), []);
    leader.kill();
    leader.run(60_000);
    assert.equal(holder(leader), 'b-1');
    assert.deepEqual(said(), [2]);
  });

  it('a leader that loses the Lease before all is synced says so when it leads again', () => {
    const sim = replica('a', {});
    createNode(sim, { name: 'node-1', zone: 'zone-a' });
    createService(sim, { name: 'web' });
    sim.lag = ({ pool }) => (pool === 'write' ? LOST : { toMs: 0, backMs: 0 });
    sim.start();
    sim.run(1000);
    sim.refuse = ({ path }) => (path.includes('/leases') ? 503 : 0);
    sim.run(20_000);
    const said = (): number => sim.logLines.filter(({ message }) => message === 'All services are synced').length;
    assert.equal(metric(sim, 'leader_election_master_status'), 0);
    assert.equal(said(), 0);
    sim.refuse = () => 0;
    sim.run(20_000);
    assert.equal(metric(sim, 'leader_election_master_status'), 1);
    assert.equal(said(), 1);
  });

  it('a leader that loses the Lease while it plans has not synced what was planned', () => {
    const sim = replica('a', { batchMs: () => 15_000 });
    createService(sim, { name: 'web' });
    sim.start();
    sim.run(1000);
    sim.refuse = ({ path }) => (path.includes('/leases') ? 503 : 0);
    sim.run(15_000);
    assert.equal(metric(sim, 'leader_election_master_status'), 0);
    sim.refuse = () => 0;
    const said = (): unknown[] =>
      sim.logLines.filter(({ message }) => message === 'All services are synced').map(({ fields }) => fields['writes']);
    sim.run(10_000);
    assert.equal(metric(sim, 'leader_election_master_status'), 1);
    assert.deepEqual(said(), []);
    sim.run(60_000);
    assert.deepEqual(said(), [2]);
  });

  it('a standby plans a second later, so once for a change and its writes', () => {
    let plans = 0;
    const batchMs = (): number => {
      plans++;
      return 0;
    };
    const { leader, standby } = replicas('warm', {}, { batchMs });
    for (const ready of [false, true, false]) {
      plans = 0;
      setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready });
      leader.run(900);
      assert.equal(plans, 0);
      leader.run(5000);
      assert.equal(plans, 1);
    }
    leader.kill();
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: true });
    leader.run(17_000);
    assert.equal(objectWrites(standby).length, 2);
  });

  it('a standby does not wait for services that are gone before it leads', () => {
    const leader = replica('a', {});
    const standby = replica('b', { beside: leader, seed: 2 });
    createService(leader, { name: 'hand', spec: { selector: null } });
    makeEndpoints(leader, 'hand', [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'http', port: 80 }] }]);
    leader.start();
    leader.run(1000);
    const [slice] = slicesOf(leader);
    leader.refuse = ({ pool }) => (pool === 'write' ? 503 : 0);
    edit(leader, `${ENDPOINTS}/hand`, {}, { subsets: [] });
    standby.start();
    leader.run(2000);
    assert.equal(metric(standby, 'endpointd_standby_services_behind'), 1);
    deleteObject(leader, `${SERVICES}/hand`);
    leader.run(2000);
    deleteObject(leader, `${SLICES}/${slice!.metadata.name}`);
    leader.kill();
    leader.run(60_000);
    assert.equal(holder(leader), 'b-1');
    assert.equal(standby.logLines.filter(({ message }) => message === 'All services are synced').length, 1);
  });

  it('a standby whose watch lags lists before it creates what the leader has made', () => {
    const { leader, standby } = replicas('warm', { slices: true });
    standby.lag = ({ path }) => ({ toMs: 0, backMs: path.includes('endpointslices?watch') ? 3000 : 0 });
    createService(leader, { name: 'new' });
    leader.run(300);
    assert.ok(namesOf(leader).some((name) => name.startsWith('new-')));
    leader.stop();
    leader.run(20_000);
    assert.equal(holder(leader), 'b-1');
    assert.deepEqual(
      objectWrites(standby).filter((line) => line.includes('endpointslices')),
      [],
    );
  });

  it('a standby is not behind with what the leader has cleaned up', () => {
    const { leader, standby } = replicas('warm', { mirror: true });
    createService(leader, { name: 'hand', spec: { selector: null } });
    makeEndpoints(leader, 'hand', [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'http', port: 80 }] }]);
    leader.run(5000);
    assert.ok(namesOf(leader).some((name) => name.startsWith('hand-')));
    deleteObject(leader, `${ENDPOINTS}/hand`);
    leader.run(10_000);
    assert.ok(!namesOf(leader).some((name) => name.startsWith('hand-')));
    assert.equal(metric(standby, 'endpointd_standby_services_behind'), 0);
  });

  it('a standby is not behind with a Service that hangs in deletion', () => {
    const { leader, standby } = replicas();
    edit(leader, `${SERVICES}/web`, { finalizers: ['example.com/load-balancer'] });
    deleteObject(leader, `${SERVICES}/web`);
    leader.run(5000);
    leader.refuse = ({ method }) => (method === 'POST' ? 503 : 0);
    deleteObject(leader, `${ENDPOINTS}/web`);
    leader.run(5000);
    assert.equal(standby.loop!.state.leadership!.behind.size, 1, 'it is written first at a failover');
    assert.equal(metric(standby, 'endpointd_standby_services_behind'), 0);
  });

  it("a standby takes the leader's writes as stored: no fight, warning or Event", () => {
    const { leader, standby } = replicas();
    for (let i = 0; i < 20; i++) {
      setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: i % 2 === 1 });
      leader.run(3000);
    }
    createPod(leader, { name: 'web-2', ip: '127.0.0.1' });
    leader.run(3000);
    assert.deepEqual(warnings(standby), []);
    assert.deepEqual(
      standby.exchanges.filter(({ path }) => path.includes('/events')),
      [],
    );
    assert.equal(metric(standby, 'endpointd_oldest_unwritten_change_seconds'), 0);
    assert.equal(metric(standby, 'workqueue_depth'), 0);
    assert.deepEqual(slicesTable(leader), slicesTable(standby));
  });

  it("no metric with upstream's name counts what a standby plans, until it leads", () => {
    const { leader, standby } = replicas();
    const names = CATALOGUE.map(({ name }) => name).filter(
      (name) => !/^(endpointd|rest_client|leader_election)_/.test(name),
    );
    const counted = (sim: Sim): string[] =>
      names.filter((name) => {
        const observed = histogramSamples(sim.metrics!, name).reduce((sum, { histogram }) => sum + histogram.count, 0);
        return metric(sim, name) + observed > 0;
      });
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(5000);
    assert.ok(standby.loop!.state.controllers.every(({ queue }) => queue.slots.held === 0));
    assert.deepEqual(counted(standby), []);
    assert.equal(metric(standby, 'endpointd_syncs_total'), 0);
    const ofLeader = counted(leader);
    assert.ok(ofLeader.length > 10, String(ofLeader));
    leader.stop();
    leader.run(5000);
    assert.ok(counted(standby).includes('endpoint_slice_controller_num_endpoint_slices'), 'what it has learned before');
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: true });
    leader.run(5000);
    assert.equal(metric(standby, 'endpoint_slice_controller_syncs', { result: 'success' }), 1);
    assert.equal(metric(standby, 'endpoint_slice_controller_changes', { operation: 'update' }), 1);
    assert.equal(metric(standby, 'workqueue_adds_total', { name: 'endpoint_slice' }), 1);
  });

  it('what a leader has lost the Lease for counts as no sync', () => {
    let isSlow = false;
    const leader = replica('a', { batchMs: () => (isSlow ? 2000 : 0) });
    createService(leader, { name: 'web' });
    leader.start();
    leader.run(5000);
    const synced = (): number => metric(leader, 'endpoint_slice_controller_syncs', { result: 'success' });
    const before = synced();
    isSlow = true;
    createPod(leader, { name: 'web-1', ip: '10.0.0.1' });
    leader.run(500);
    // The plan is made, and nothing of it is sent.
    edit(leader, LEASE_PATH, {}, { spec: { holderIdentity: 'c', leaseDurationSeconds: 15 } });
    leader.run(3000);
    assert.equal(metric(leader, 'leader_election_master_status'), 0);
    assert.equal(synced(), before);
  });

  it('a standby says nothing of a service that it cannot plan, until it leads', () => {
    const tooBig = { maxBatchBytes: 65_536 };
    const leader = replica('a', { options: tooBig });
    const standby = replica('b', { beside: leader, seed: 2, options: tooBig });
    createService(leader, { name: 'web' });
    for (let i = 0; i < 700; i++) createPod(leader, { name: `web-${i}`, ip: `10.0.${i >> 8}.${i & 255}` });
    leader.start();
    leader.run(1000);
    standby.start();
    leader.run(600_000);
    const stuck = (sim: Sim): number => metric(sim, 'endpointd_stuck_service');
    assert.equal(stuck(leader), 2, 'Endpoints and slices');
    assert.equal(stuck(standby), 0);
    assert.deepEqual(warnings(standby), []);
    assert.equal(metric(standby, 'endpointd_oldest_unwritten_change_seconds'), 0);
    leader.kill();
    leader.run(20_000);
    assert.equal(stuck(standby), 2);
  });

  it('the journal of a standby has no changes', () => {
    const { leader, standby } = replicas();
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(3000);
    const changes = (sim: Sim): number => sim.loop!.state.journal.count;
    assert.equal(changes(standby), 0);
    assert.ok(changes(leader) > 0);
  });

  it("a standby does not look for the writer of the leader's writes", () => {
    const { leader, standby } = replicas();
    const { state } = standby.loop!;
    const [service] = state.services.get('default')!.values();
    const unit = service!.units[0]!;
    const deed: Deed = { damage: 'wrong', message: '', writer: () => assert.fail('managedFields are read') };
    queueRepair(state, unit, service!.endpoints, deed, { nowMs: leader.nowMs(), wallMs: 0 });
  });

  for (const standby of ['cold', 'warm'] as const) {
    it(`a ${standby} standby that may not read the Lease is never ready`, () => {
      const sim = replica('a', {}, standby);
      sim.refuse = ({ path }) => (path.includes('/leases') ? 403 : 0);
      sim.start();
      sim.run(60_000);
      const found = sim.loop!.readiness().find(({ ok }) => !ok);
      assert.match(
        `${found?.name}: ${found?.message}`,
        /^lease: cannot be read or written for (59|60) s: see the log$/,
      );
    });
  }

  it('a leader that cannot reach its Lease any more is not ready after half a minute', () => {
    const { leader } = replicas();
    const isReady = (): boolean => leader.loop!.readiness().every(({ ok }) => ok);
    leader.refuse = ({ path }) => (path.includes('/leases') ? 500 : 0);
    leader.run(20_000);
    assert.equal(isReady(), true);
    leader.run(20_000);
    assert.equal(isReady(), false);
    leader.refuse = () => 0;
    leader.run(20_000);
    assert.equal(isReady(), true);
  });

  it('a cold standby lists nothing until it leads, and is ready', () => {
    const { leader, standby } = replicas('cold');
    leader.run(60_000);
    assert.deepEqual(
      standby.exchanges.filter(({ path }) => !path.includes('/leases')),
      [],
    );
    assert.deepEqual(standby.loop!.readiness(), [
      { name: 'controller', ok: true, message: 'without caches: a-1, this process stands by' },
      { name: 'lease', ok: true, message: '' },
    ]);
    leader.kill();
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(18_000);
    assert.deepEqual(endpointsTable(leader), [WEB_NOT_READY]);
  });
});

describe('a cold standby that leads late', () => {
  it('its watches have been missing since it leads, not since its start', () => {
    const { leader, standby } = replicas('cold', { watchList: false });
    leader.run(600_000);
    standby.lag = ({ path }) => ({ toMs: 0, backMs: path.startsWith('/api/v1/pods?watch') ? 30_000 : 0 });
    leader.kill();
    leader.run(22_000);
    const { ok, message } = standby.loop!.readiness().find(({ name }) => name === 'watch-pods')!;
    assert.ok(ok, message);
    assert.match(message, /^no watch for \d+ s$/);
  });
});

describe('a standby that runs other controllers than the leader', () => {
  const SLICES_ONLY = { endpoints: false, slices: true, mirror: false };
  const WARNING = 'Another process holds the Lease for other controllers: this one never writes while it does';

  it('a standby with other controllers reports hourly who leads, and for which', () => {
    const { leader, standby } = replicas('warm', SLICES_ONLY);
    const told = (): object[] =>
      standby.logLines.filter(({ message }) => message === WARNING).map(({ fields }) => fields);
    const fields = {
      lease: 'kube-system/endpointd',
      holder: 'a-1',
      theirs: 'endpoints,endpointslice,endpointslice-mirroring',
      ours: 'endpointslice',
      set: '--leader-elect-resource-name',
    };
    assert.deepEqual(told(), [fields]);
    leader.run(3_610_000);
    assert.deepEqual(told(), [fields, fields]);
  });

  it('a standby with other controllers tells it in its readiness', () => {
    const { standby } = replicas('warm', SLICES_ONLY);
    const [check] = standby.loop!.readiness();
    assert.equal(check!.ok, true);
    assert.equal(
      check!.message,
      'a-1, this process stands by, but not for the same controllers: the holder runs endpoints,endpointslice,endpointslice-mirroring, this process endpointslice. They need two Leases: --leader-elect-resource-name',
    );
  });

  it('a new leader writes its own controllers into the Lease', () => {
    const { leader, standby } = replicas('warm', SLICES_ONLY);
    leader.stop();
    leader.run(1000);
    const { metadata } = leader.request('GET', LEASE_PATH);
    assert.deepEqual(metadata.annotations, { 'endpointd/controllers': 'endpointslice' });
    assert.equal(standby.loop!.readiness()[0]!.message, 'this process, b-1');
  });
});

describe('a failover', () => {
  it('after a kill the failover comes when the Lease runs out, and writes the rest', () => {
    const { leader, standby } = replicas();
    createService(leader, { name: 'quiet', spec: { selector: { app: 'quiet' } } });
    leader.run(5000);
    leader.kill();
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(13_000);
    assert.deepEqual(objectWrites(standby), []);
    leader.run(2500);
    assert.equal(holder(leader), 'b-1');
    const path = objectWrites(standby).map((line) => line.replace(/web-\w+/, 'web-x'));
    assert.deepEqual(path, [
      'PUT /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-x?timeout=12.4s 200',
      'PUT /api/v1/namespaces/default/endpoints/web?timeout=12.4s 200',
    ]);
    assert.deepEqual(endpointsTable(leader), ['default/quiet -', WEB_NOT_READY]);
  });

  /**
   * A standby of which one watch tells nothing any more, while the leader writes a second pod.
   * @param others pods of no service that come before it
   */
  function withSilentPods(others = 0): Replicas {
    const both = replicas();
    const { leader, standby } = both;
    const silent = new Set(standby.streams().map(({ path }) => path));
    standby.lag = ({ path }) =>
      silent.has(path) && path.startsWith('/api/v1/pods?') ? { toMs: 0, backMs: 3_600_000 } : IN_TIME;
    for (let i = 0; i < others; i++)
      createPod(leader, { name: `other-${i}`, labels: { app: 'other' }, ip: '10.0.1.1' });
    createPod(leader, { name: 'web-2', ip: '10.0.0.2' });
    leader.run(2000);
    assert.deepEqual(endpointsTable(leader), [WEB_BOTH]);
    assert.equal(metric(standby, 'endpointd_standby_services_behind'), 2, 'it does not know why');
    return both;
  }

  it('a standby whose watch fell silent takes no pod away that the leader has told', () => {
    const { leader, standby } = withSilentPods();
    leader.stop();
    keepsBoth(leader, 5_000);
    assert.equal(holder(leader), 'b-1');
    assert.deepEqual(objectWrites(standby), []);
    setPodStatus(leader, { name: 'web-2', ip: '10.0.0.2', ready: false });
    leader.run(1000);
    assert.equal(objectWrites(standby).length, 2, 'it writes what comes then');
  });

  it('a standby writes nothing until a new watch has told all that was missed', () => {
    const { leader, standby } = withSilentPods(9);
    const { lag } = standby;
    let frames = 0;
    standby.lag = (request) => {
      const isNew = request.stream && request.path.startsWith('/api/v1/pods?') && lag(request) === IN_TIME;
      // Its head comes at once, and each frame 300 ms after the one before.
      return isNew ? { toMs: 0, backMs: 300 * frames++ } : lag(request);
    };
    leader.stop();
    keepsBoth(leader, 6_000);
    assert.ok(frames > 9, 'the new watch told what was missed');
    assert.deepEqual([holder(leader), objectWrites(standby)], ['b-1', []]);
    setPodStatus(leader, { name: 'web-2', ip: '10.0.0.2', ready: false });
    leader.run(10_000);
    assert.equal(objectWrites(standby).length, 2, 'it writes what comes then');
  });

  it('a list that was asked for before the failover is followed by a new watch', () => {
    const { leader, standby } = replicas('warm', { watchList: false });
    let frames = 0;
    const isOfPods = (path: string): boolean => path.startsWith('/api/v1/pods?');
    standby.lag = ({ path, stream }) => {
      if (!isOfPods(path)) return IN_TIME;
      if (stream) return { toMs: 0, backMs: 300 * frames++ };
      return path.includes('limit=500') ? { toMs: 0, backMs: 5000 } : IN_TIME;
    };
    createPod(leader, { name: 'other', labels: { app: 'other' }, ip: '10.0.1.1' });
    leader.run(1000);
    leader.compact();
    for (const connection of standby.connections) if (isOfPods(connection.path)) connection.reset();
    leader.run(4000);
    for (let i = 0; i < 9; i++) createPod(leader, { name: `other-${i}`, labels: { app: 'other' }, ip: '10.0.1.1' });
    createPod(leader, { name: 'web-2', ip: '10.0.0.2' });
    leader.run(500);
    assert.deepEqual(endpointsTable(leader), [WEB_BOTH]);
    frames = 0;
    leader.stop();
    keepsBoth(leader, 20_000);
    assert.deepEqual([holder(leader), objectWrites(standby)], ['b-1', []]);
  });

  it('a first list that was asked for before the failover takes no pod away', () => {
    const leader = replica('a', {});
    const standby = replica('b', { beside: leader, seed: 2, options: { watchList: false } });
    standby.lag = ({ path, stream }) =>
      path.startsWith('/api/v1/pods?') ? { toMs: 0, backMs: stream ? 2000 : 5000 } : IN_TIME;
    startWithWeb(leader);
    standby.start();
    leader.run(1000);
    createPod(leader, { name: 'web-2', ip: '10.0.0.2' });
    leader.run(500);
    assert.deepEqual(endpointsTable(leader), [WEB_BOTH]);
    leader.stop();
    keepsBoth(leader, 20_000);
    assert.deepEqual([holder(leader), objectWrites(standby)], ['b-1', []]);
    setPodStatus(leader, { name: 'web-2', ip: '10.0.0.2', ready: false });
    leader.run(10_000);
    assert.equal(objectWrites(standby).length, 2, 'it writes what comes then');
  });

  it('a first list that is never complete holds up no other controller', () => {
    const leader = replica('a', {});
    const standby = replica('b', { beside: leader, seed: 2, options: { watchList: false } });
    standby.lag = ({ path }) => (path.startsWith('/api/v1/endpoints?') ? { toMs: 0, backMs: 70_000 } : IN_TIME);
    startWithWeb(leader);
    createService(leader, { name: 'api' });
    standby.start();
    leader.run(75_000);
    leader.stop();
    leader.run(10_000);
    assert.equal(holder(leader), 'b-1');
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(5000);
    assert.deepEqual(
      objectWrites(standby)
        .map((line) => /endpointslices|endpoints/.exec(line)![0])
        .toSorted(),
      ['endpointslices', 'endpointslices'],
    );
  });

  it('a leader that was away looks anew, though the other one released the Lease', () => {
    const { leader, standby } = replicas();
    const silent = new Set(leader.streams().map(({ path }) => path));
    leader.freeze();
    leader.lag = ({ path }) =>
      silent.has(path) && path.startsWith('/api/v1/pods?') ? { toMs: 0, backMs: 3_600_000 } : IN_TIME;
    leader.run(20_000);
    assert.equal(holder(leader), 'b-1');
    createPod(leader, { name: 'web-2', ip: '10.0.0.2' });
    leader.run(2000);
    assert.deepEqual(endpointsTable(leader), [WEB_BOTH]);
    standby.stop();
    leader.run(5000);
    leader.thaw();
    keepsBoth(leader, 10_000);
    assert.equal(holder(leader), 'a-1');
  });

  it('the silence of a watch while the process was busy does not count', () => {
    const { leader, standby } = withSilentPods(9);
    const { lag } = standby;
    let frames = 0;
    standby.lag = (request) => {
      const isNew = request.stream && request.path.startsWith('/api/v1/pods?') && lag(request) === IN_TIME;
      // The sixth frame comes half a second after the fifth, while the process is busy, and is read when it goes on.
      const backMs = 300 * frames + (frames < 5 ? 0 : 250);
      return isNew ? { toMs: 0, backMs: (frames++, backMs) } : lag(request);
    };
    leader.stop();
    for (let i = 0; i < 1000 && holder(leader) !== 'b-1'; i++) leader.run(1);
    leader.run(1350);
    assert.ok(frames > 9, 'the new watch has begun');
    standby.freeze();
    leader.run(500);
    standby.thaw();
    keepsBoth(leader, 6_000);
    assert.deepEqual([holder(leader), objectWrites(standby)], ['b-1', []]);
  });

  it('a standby whose watch cannot be opened writes nothing, and says so', () => {
    const { leader, standby } = withSilentPods();
    let isRefused = true;
    standby.refuse = ({ path }) => (isRefused && path.startsWith('/api/v1/pods') ? 503 : 0);
    leader.stop();
    leader.run(130_000);
    assert.equal(holder(leader), 'b-1');
    assert.deepEqual(endpointsTable(leader), [WEB_BOTH]);
    const lines = standby.logLines.filter(({ message }) => message.startsWith('Holds the Lease and writes nothing'));
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields['lost']]),
      [
        ['warning', 'pods'],
        ['warning', 'pods'],
      ],
    );
    const now = { nowMs: standby.processMs(), wallMs: 1_800_000_000_000 };
    assert.match(debugSummary(standby.loop!.state, now).leader, /writes nothing yet: it brings its caches up to date$/);
    isRefused = false;
    leader.run(20_000);
    setPodStatus(leader, { name: 'web-2', ip: '10.0.0.2', ready: false });
    leader.run(1000);
    assert.equal(objectWrites(standby).length, 2);
  });

  it('after an ordinary end the failover comes in a second, and writes the rest', () => {
    const { leader, standby } = replicas();
    leader.stop();
    leader.run(1000);
    assert.equal(leader.stopped, true);
    assert.equal(holder(leader), 'b-1');
    leader.run(60_000);
    assert.deepEqual(objectWrites(standby), []);
  });

  it('a failover begins with the oldest change', () => {
    const oneByOne = { concurrentEndpointSyncs: 1, concurrentServiceEndpointSyncs: 1 };
    const { leader, standby } = replicas('warm', oneByOne);
    for (const name of ['old', 'young']) {
      createService(leader, { name, spec: { selector: { app: name } } });
      createPod(leader, { name: `${name}-1`, labels: { app: name }, ip: '10.0.1.1' });
    }
    leader.run(5000);
    leader.kill();
    setPodStatus(leader, { name: 'old-1', ip: '10.0.1.1', ready: false });
    leader.run(3000);
    setPodStatus(leader, { name: 'young-1', ip: '10.0.1.1', ready: false });
    leader.run(1000);
    setPodStatus(leader, { name: 'old-1', ip: '10.0.1.9', ready: false });
    leader.run(14_000);
    const services = objectWrites(standby).map((line) => /\/(old|young)/.exec(line)![1]);
    assert.deepEqual(services, ['old', 'old', 'young', 'young']);
  });

  it('a failover lists the slices of a service before it makes one', () => {
    const { leader, standby } = replicas();
    leader.kill();
    createService(leader, { name: 'new', spec: { selector: { app: 'new' } } });
    createPod(leader, { name: 'new-1', labels: { app: 'new' }, ip: '10.0.2.1' });
    const from = standby.exchanges.length;
    leader.run(16_000);
    assert.deepEqual(
      asked(standby, from).filter((line) => line.includes('endpointslices')),
      ['GET endpointslices 200', 'POST endpointslices 201'],
    );
    /** What it asks of slices for a further service. */
    const askedFor = (name: string): string[] => {
      const from = standby.exchanges.length;
      createService(leader, { name, spec: { selector: { app: 'new' } } });
      leader.run(3000);
      return asked(standby, from).filter((line) => line.includes('endpointslices'));
    };
    leader.run(23_000);
    assert.deepEqual(askedFor('soon'), ['GET endpointslices 200', 'POST endpointslices 201']);
    // The leadership is older than any late write now.
    leader.run(5000);
    assert.deepEqual(askedFor('later'), ['POST endpointslices 201']);
  });

  it('a failover of a Lease that was removed lists the slices before it makes one', () => {
    const { leader, standby } = replicas();
    leader.kill();
    leader.request('DELETE', LEASE_PATH);
    createService(leader, { name: 'new', spec: { selector: { app: 'new' } } });
    createPod(leader, { name: 'new-1', labels: { app: 'new' }, ip: '10.0.2.1' });
    const from = standby.exchanges.length;
    leader.run(60_000);
    assert.equal(holder(leader), 'b-1');
    assert.deepEqual(
      asked(standby, from).filter((line) => line.includes('endpointslices')),
      ['GET endpointslices 200', 'POST endpointslices 201'],
    );
  });

  it('a failover finds a slice that the last leader made at its end', () => {
    const { leader, standby } = replicas();
    leader.kill();
    createService(leader, { name: 'new', spec: { selector: { app: 'new' } } });
    createPod(leader, { name: 'new-1', labels: { app: 'new' }, ip: '10.0.2.1' });
    leader.run(13_000);
    // Its POST is done, but no watch has brought it yet.
    standby.muteWatches = true;
    const slice = (sim: Sim): string[] => slicesTable(sim).filter((line) => line.startsWith('default/new'));
    lateSlice(leader);
    leader.run(10_000);
    assert.equal(holder(leader), 'b-1');
    assert.equal(slice(leader).length, 1);
  });

  it('a failover tells the problems that came up in between, and no others', () => {
    const { leader, standby } = replicas();
    createPod(leader, { name: 'web-old', ip: '127.0.0.1' });
    leader.run(60_000);
    leader.kill();
    createPod(leader, { name: 'web-bad', ip: '127.0.0.2' });
    createPod(leader, { name: 'web-lost', ip: '10.0.0.2', node: 'node-8' });
    for (const name of ['soon', 'gone']) {
      createService(leader, { name, spec: { selector: { app: name } } });
      createPod(leader, { name: `${name}-1`, labels: { app: name }, ip: '10.0.1.1', node: 'node-9' });
    }
    leader.run(10_000);
    createNode(leader, { name: 'node-9' });
    deleteObject(leader, `${SERVICES}/gone`);
    leader.run(3000);
    assert.deepEqual(told(standby), []);
    leader.run(17_000);
    assert.equal(holder(leader), 'b-1');
    assert.deepEqual(told(standby), ['default/web pod default/web-bad', 'default/web pod default/web-lost']);
    const events = eventsOf(leader).filter((line) => !line.startsWith('Lease'));
    assert.deepEqual(events.map((line) => /^(.*?): (\w+): .*(web-\w+)/.exec(line)!.slice(1).join(' ')).sort(), [
      'Service web EndpointAddressSkipped web-bad',
      'Service web EndpointAddressSkipped web-old',
      'Service web EndpointOnUnknownNode web-lost',
    ]);
  });

  it('a failover tells which hints came or went in between', () => {
    const { leader } = replicas();
    leader.kill();
    edit(leader, `${SERVICES}/web`, { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } });
    const hints = (): string[] => eventsOf(leader).filter((line) => line.includes('TopologyAwareHints'));
    leader.run(13_000);
    assert.deepEqual(hints(), []);
    leader.run(7000);
    assert.equal(hints().length, 1);
  });

  it('a leader that loses the Lease and gets it again tells the problems of the gap', () => {
    const { leader, standby } = replicas();
    standby.kill();
    leader.refuse = ({ path }) => (path.includes('/leases') ? 503 : 0);
    leader.run(30_000);
    createPod(leader, { name: 'web-bad', ip: '127.0.0.1' });
    leader.run(120_000);
    assert.deepEqual(told(leader), []);
    leader.refuse = () => 0;
    leader.run(10_000);
    assert.deepEqual(told(leader), ['default/web pod default/web-bad']);
  });

  it('a failover is one Event object on the Lease', () => {
    const { leader } = replicas();
    leader.kill();
    leader.run(20_000);
    assert.deepEqual(
      eventsOf(leader).filter((line) => line.startsWith('Lease')),
      ['Lease endpointd: LeaderElection: a-1 became leader', 'Lease endpointd: LeaderElection: b-1 became leader'],
    );
  });
});

describe('a leader that stood still', () => {
  it('a pod whose node is gone stays for its minute though the leadership flaps', () => {
    const { leader, standby } = replicas();
    standby.kill();
    const before = slicesTable(leader);
    leader.refuse = ({ path }) => (path.includes('/leases') ? 503 : 0);
    leader.run(8000);
    deleteObject(leader, '/api/v1/nodes/node-1');
    leader.run(5000);
    assert.equal(metric(leader, 'leader_election_master_status'), 0);
    leader.refuse = () => 0;
    leader.run(50_000);
    assert.equal(metric(leader, 'leader_election_master_status'), 1);
    assert.deepEqual(slicesTable(leader), before);
    leader.run(6000);
    assert.deepEqual(slicesTable(leader), ['default/web IPv4 -']);
  });

  it('a leader that stood still writes nothing when it goes on', () => {
    const { leader, standby } = replicas();
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.freeze();
    leader.run(30_000);
    assert.deepEqual(endpointsTable(leader), [WEB_NOT_READY]);
    const from = leader.exchanges.length;
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: true });
    leader.thaw();
    leader.run(10_000);
    assert.deepEqual(objectWrites({ ...leader, exchanges: leader.exchanges.slice(from) }), []);
    assert.deepEqual(endpointsTable(leader), [WEB]);
    assert.ok(objectWrites(standby).length > 0);
    assert.deepEqual(warnings(leader), ['This process leads no longer']);
  });

  it('a standby that stood still in its last look does not begin to write', () => {
    const { leader, standby } = replicas();
    leader.refuse = ({ method }) => (method === 'PUT' ? 503 : 0);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(2000);
    leader.kill();
    const looksLeft = (): number | undefined => standby.loop!.state.leadership!.catchUp?.looksLeft;
    for (let i = 0; i < 30_000 && looksLeft() !== 0; i++) leader.run(1);
    assert.equal(looksLeft(), 0);
    standby.freeze();
    leader.run(30_000);
    standby.thaw();
    const begins = (): number => standby.logLines.filter(({ message }) => message.startsWith('Writes first')).length;
    assert.deepEqual([begins(), warnings(standby)], [0, ['This process leads no longer']]);
    leader.run(10_000);
    assert.equal(begins(), 1);
    assert.deepEqual(endpointsTable(leader), [WEB_NOT_READY]);
  });

  it('writes without an answer at the deadline count as unknown', () => {
    const { leader, standby } = replicas();
    leader.lag = ({ path }) => (path.includes('/leases') || path.includes('timeout=') ? LOST : { toMs: 0, backMs: 0 });
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(30_000);
    assert.equal(holder(leader), 'b-1');
    assert.deepEqual(endpointsTable(leader), [WEB_NOT_READY]);
    leader.lag = () => ({ toMs: 0, backMs: 0 });
    standby.stop();
    leader.run(5000);
    assert.equal(holder(leader), 'a-1');
    assert.equal(metric(leader, 'leader_election_master_status'), 1);
    edit(leader, `${ENDPOINTS}/web`, {}, { subsets: [] });
    leader.run(5000);
    assert.deepEqual(endpointsTable(leader), [WEB_NOT_READY]);
  });
});

/** What the leader before has sent with its last breath. */
function lateSlice(sim: Sim): void {
  const { metadata } = sim.request('GET', '/api/v1/namespaces/default/services/new');
  sim.request('POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'new-late',
      labels: {
        'kubernetes.io/service-name': 'new',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'new', uid: metadata.uid, controller: true }],
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.0.2.1'], conditions: { ready: true, serving: true, terminating: false } }],
  });
}
