/** What becomes of what a leader has under way when it leads no longer, and what the next one makes of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { turnedAway } from '../../src/apiserver/faults.ts';
import { makeStatus } from '../../src/kube/status.ts';
import { histogramSamples } from '../../src/metrics/store.ts';
import { LEASE_PATH } from '../support/election-world.ts';
import { createPod, createService, setPodStatus, type Sim } from '../support/sim.ts';
import { edit, ENDPOINTS } from '../support/sim-objects.ts';
import { eventsOf, metric } from '../support/sim-reports.ts';
import { NOBODY } from '../support/sim-network.ts';
import { holder, objectWrites, replica, replicas } from '../support/sim-replicas.ts';

/** No answer comes within any time limit. */
const LOST = { toMs: 0, backMs: 60_000 };
const IN_TIME = { toMs: 0, backMs: 0 };

const leads = (sim: Sim): boolean => metric(sim, 'leader_election_master_status') === 1;

describe('a leader that cannot renew', () => {
  it('a leader that cannot renew aborts at the deadline what is unanswered', () => {
    const { leader } = replicas();
    const writes = new Set<number>();
    let aborted = 0;
    leader.observer = {
      ...NOBODY,
      sent({ id, pool }) {
        if (pool === 'write') writes.add(id);
      },
      cancelled(id) {
        if (writes.has(id)) aborted++;
      },
    };
    leader.lag = ({ pool }) => (pool === 'lease' || pool === 'write' ? LOST : IN_TIME);
    leader.run(6000);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(1000);
    assert.equal(leader.loop!.state.writes.inFlight, 2, 'a slice and Endpoints');
    while (leads(leader)) leader.run(100);
    assert.deepEqual([aborted, leader.loop!.state.writes.inFlight], [2, 0]);
  });

  it('a leader that could not renew has no stuck service, work or old change', () => {
    const { leader } = replicas();
    leader.refuse = ({ method, path }) => (method === 'PUT' && !path.includes('/leases') ? 500 : 0);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(600_000);
    assert.equal(metric(leader, 'endpointd_stuck_service'), 2, 'Endpoints and slices');
    leader.refuse = ({ method }) => (method === 'PUT' ? 500 : 0);
    while (leads(leader)) leader.run(100);
    leader.run(1000);
    assert.ok(!leader.logLines.some(({ message }) => message === 'Service is no longer stuck'), 'nobody knows that');
    assert.equal(metric(leader, 'endpointd_standby_services_behind'), 2, 'what has failed was planned anew');
    for (const name of ['endpointd_stuck_service', 'endpointd_oldest_unwritten_change_seconds', 'workqueue_depth']) {
      assert.equal(metric(leader, name), 0, name);
    }
  });

  it('an Event on the Lease tells who stopped leading', () => {
    const { leader } = replicas();
    leader.refuse = ({ path }) => (path.includes('/leases') ? 500 : 0);
    leader.run(30_000);
    assert.ok(eventsOf(leader).includes('Lease endpointd: LeaderElection: a-1 stopped leading'));
  });
});

describe('a leader that ends', () => {
  it('a leader that ends releases the Lease only after its last write was answered', () => {
    const { leader, standby } = replicas();
    leader.lag = ({ pool }) => (pool === 'write' ? { toMs: 0, backMs: 5000 } : IN_TIME);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(500);
    leader.stop();
    leader.run(4000);
    assert.equal(holder(leader), 'a-1');
    assert.deepEqual(objectWrites(standby), []);
    leader.run(10_000);
    assert.equal(leader.stopped, true);
    assert.equal(holder(leader), 'b-1');
  });

  it('a leader that ends within a renewal releases the Lease', () => {
    const { leader } = replicas();
    const renewals = (): number =>
      leader.exchanges.filter(({ method, path }) => method === 'PUT' && path.includes('/leases')).length;
    leader.lag = ({ pool }) => (pool === 'lease' ? { toMs: 0, backMs: 300 } : IN_TIME);
    const before = renewals();
    // The server has done it, and its answer is on the way.
    while (renewals() === before) leader.run(10);
    leader.stop();
    leader.run(3000);
    assert.equal(leader.stopped, true);
    assert.equal(holder(leader), 'b-1');
  });

  /** `a`, with so few tokens that one write is sent before it ends and others wait; `b` stands by. */
  function outOfTokens(qps: number): Sim {
    const leader = replica('a', { options: { kubeApiQps: qps, kubeApiBurst: 1 } });
    const standby = replica('b', { beside: leader, seed: 2 });
    leader.start();
    leader.run(1000);
    standby.start();
    leader.run(5000);
    for (const name of ['web', 'api', 'db']) createService(leader, { name });
    leader.run(500);
    assert.equal(objectWrites(leader).length, 3);
    return leader;
  }

  it('a leader that ends releases the Lease though writes wait for tokens', () => {
    const leader = outOfTokens(0.001);
    leader.stop();
    leader.run(9900);
    assert.equal(holder(leader), 'a-1');
    leader.run(1000);
    assert.equal(holder(leader), 'b-1');
  });

  it('a leader that ends keeps the Lease if a write is under way after 10 s', () => {
    const leader = outOfTokens(0.04);
    leader.stop();
    leader.lag = ({ pool }) => (pool === 'write' ? { toMs: 0, backMs: 5000 } : IN_TIME);
    leader.run(11_000);
    assert.equal(leader.stopped, true);
    assert.equal(objectWrites(leader).length, 4, 'one more, with the token of its eighth second');
    assert.equal(holder(leader), 'a-1');
    leader.run(16_000);
    assert.equal(holder(leader), 'b-1');
  });

  it('a leader that ends keeps the Lease if a write was never answered', () => {
    const { leader } = replicas();
    let lost = 0;
    leader.lag = ({ pool }) => (pool === 'write' && lost++ === 0 ? LOST : IN_TIME);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(16_000);
    leader.stop();
    leader.run(1000);
    assert.equal(leader.stopped, true);
    assert.equal(holder(leader), 'a-1');
    leader.run(16_000);
    assert.equal(holder(leader), 'b-1');
  });

  for (const [name, answer, then] of [
    ['500', 500, 'a-1'],
    ['502', 502, 'a-1'],
    ['500 of a webhook', makeStatus(500, 'InternalError', 'failed calling webhook "a": no answer'), 'b-1'],
    ['503 of the API server', makeStatus(503, 'ServiceUnavailable', 'apiserver is shutting down'), 'b-1'],
    // A proxy says so too when the connection broke behind it.
    ['503 of a proxy', 503, 'a-1'],
    ['504', 504, 'a-1'],
  ] as const) {
    it(`if a leader ends after an answer ${name}, ${then} holds the Lease`, () => {
      const { leader } = replicas();
      let refused = 0;
      leader.refuse = ({ pool }) => (pool === 'write' && refused++ < 2 ? answer : 0);
      setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
      leader.run(5000);
      leader.stop();
      leader.run(1000);
      assert.equal(leader.stopped, true);
      assert.equal(holder(leader), then);
    });
  }

  it('a write that was given up 30 s ago does not hold up the release of the Lease', () => {
    const { leader } = replicas();
    let lost = 0;
    leader.lag = ({ pool }) => (pool === 'write' && lost++ === 0 ? LOST : IN_TIME);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(45_000);
    leader.stop();
    leader.run(1000);
    assert.equal(holder(leader), 'b-1');
  });
});

describe('a leader that loses the Lease while it ends', () => {
  it('a leader that loses the Lease while it ends does not take it again', () => {
    const leader = replica('a', {});
    createService(leader, { name: 'web' });
    leader.start();
    leader.run(5000);
    leader.lag = ({ pool }) => (pool === 'write' ? { toMs: 0, backMs: 5000 } : IN_TIME);
    createPod(leader, { name: 'web-1', ip: '10.0.0.1' });
    leader.run(500);
    leader.stop();
    edit(leader, LEASE_PATH, {}, { spec: { holderIdentity: '' } });
    leader.run(12_000);
    assert.equal(leader.stopped, true);
    assert.equal(holder(leader), '');
  });
});

describe('a leader whose renewals are lost while it ends', () => {
  it('a leader whose renewals are lost while it ends asks who holds the Lease', () => {
    let isSlow = false;
    const leader = replica('a', { batchMs: () => (isSlow ? 20_000 : 0) });
    createService(leader, { name: 'web' });
    leader.start();
    leader.run(5000);
    leader.lag = ({ method, pool }) => (pool === 'lease' && method === 'PUT' ? LOST : IN_TIME);
    isSlow = true;
    createPod(leader, { name: 'web-1', ip: '10.0.0.1' });
    leader.run(100);
    leader.stop();
    // The second renewal is lost too.
    leader.run(8000);
    assert.equal(holder(leader), 'a-1');
    leader.lag = () => IN_TIME;
    leader.run(4000);
    assert.deepEqual([leader.stopped, holder(leader)], [true, '']);
  });
});

describe('a standby that ends', () => {
  const SLOW_LEASE = { toMs: 0, backMs: 500 };

  it('a standby that ends while it asks for the Lease gives it back', () => {
    const { leader, standby } = replicas();
    standby.lag = ({ pool }) => (pool === 'lease' ? SLOW_LEASE : IN_TIME);
    leader.stop();
    // The server has given it the Lease, and the answer is on the way.
    while (holder(leader) !== 'b-1') leader.run(10);
    assert.equal(leads(standby), false);
    standby.stop();
    leader.run(1900);
    assert.equal(standby.stopped, true);
    assert.equal(holder(leader), '');
    assert.deepEqual(objectWrites(standby), []);
  });

  it('a standby gives the Lease back though the answer to its request is lost', () => {
    const { leader, standby } = replicas();
    leader.stop();
    standby.lag = ({ method, pool }) => (pool === 'lease' && method === 'PUT' ? LOST : IN_TIME);
    while (holder(leader) !== 'b-1') leader.run(10);
    // A second before its request is given up.
    leader.run(4000);
    standby.lag = () => IN_TIME;
    standby.stop();
    leader.run(1900);
    assert.equal(standby.stopped, true);
    assert.equal(holder(leader), '');
  });

  /** `b` takes the Lease that `a` has released, and never learns so; then it stops `afterMs` later. */
  function stoppedAfter(afterMs: number, meanwhile: (standby: Sim) => void = () => {}): Sim {
    const { leader, standby } = replicas();
    leader.stop();
    standby.lag = ({ method, pool }) => (pool === 'lease' && method === 'PUT' ? LOST : IN_TIME);
    while (holder(leader) !== 'b-1') leader.run(10);
    leader.run(afterMs);
    standby.lag = () => IN_TIME;
    meanwhile(standby);
    standby.stop();
    leader.run(1900);
    assert.equal(standby.stopped, true);
    return leader;
  }

  it('a standby gives the Lease back, whenever it stops after a lost answer', () => {
    // The request is given up after 5 s, and the next one follows two seconds later at least.
    const left = Array.from({ length: 50 }, (_, i) => 200 * i).filter(
      (afterMs) => holder(stoppedAfter(afterMs)) !== '',
    );
    assert.deepEqual(left, []);
  });

  it('a release that is refused is tried again', () => {
    let refusals = 2;
    const leader = stoppedAfter(5500, (standby) => {
      standby.refuse = ({ pool }) => (pool === 'lease' && refusals-- > 0 ? 503 : 0);
    });
    assert.equal(holder(leader), '');
    assert.ok(refusals < 0);
  });

  it('a standby that ends while a plan is made takes no Lease that becomes free', () => {
    const leader = replica('a', {});
    const standby = replica('b', { beside: leader, seed: 2, batchMs: () => 5000 });
    leader.start();
    leader.run(1000);
    standby.start();
    leader.run(10_000);
    // The leader has planned it in no time.
    createService(leader, { name: 'web' });
    leader.run(2000);
    standby.stop();
    leader.stop();
    leader.run(1000);
    assert.deepEqual([leader.stopped, standby.stopped], [true, false]);
    assert.equal(holder(leader), '');
    leader.run(10_000);
    assert.equal(standby.stopped, true);
    assert.equal(holder(leader), '');
  });
});

describe('renewals', () => {
  /** How many there are in 20 s. */
  function renewals(leader: Sim): number {
    const from = leader.exchanges.length;
    leader.run(20_000);
    return leader.exchanges.slice(from).filter(({ method, path }) => method === 'PUT' && path.includes('/leases'))
      .length;
  }

  it('renewals take no token', () => {
    const leader = replica('a', { options: { kubeApiQps: 0.001, kubeApiBurst: 1 } });
    for (const name of ['web', 'api', 'db']) createService(leader, { name });
    leader.start();
    leader.run(5000);
    assert.equal(renewals(leader), 10);
    assert.equal(objectWrites(leader).length, 3, 'a token for each controller, and three writes wait');
  });

  it('renewals go on while all writes wait as the API server asks', () => {
    const { leader } = replicas();
    leader.refuse = ({ pool }) => (pool === 'write' ? turnedAway(30) : 0);
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(1000);
    assert.ok(metric(leader, 'endpointd_write_pause_seconds') > 20);
    assert.equal(renewals(leader), 10);
  });
});

describe('a failover', () => {
  /** `a` dies while a pod's change is not written; `b` writes it some 14 s later. */
  function takenOver(): Sim {
    const { leader, standby } = replicas();
    leader.kill();
    setPodStatus(leader, { name: 'web-1', ip: '10.0.0.1', ready: false });
    leader.run(20_000);
    assert.equal(objectWrites(standby).length, 2);
    return standby;
  }

  it("a failover writes the time of the pod's change", () => {
    const sim = takenOver();
    const { metadata } = sim.request('GET', `${ENDPOINTS}/web`);
    const trigger = metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'];
    assert.equal(trigger, '2026-01-01T00:00:06Z');
  });

  it('a failover tells how late the change is', () => {
    const sim = takenOver();
    const stages = histogramSamples(sim.metrics!, 'endpointd_pod_change_duration_seconds');
    const total = stages.filter(({ labels }) => labels['stage'] === 'total');
    const seconds = total.map(({ histogram: { sum } }) => Math.round(sum)).filter((sum) => sum > 0);
    assert.deepEqual(seconds, [14, 14], 'of Endpoints and of slices, from the change');
  });

  it('a failover begins with the oldest change, whichever was planned first', () => {
    const { leader, standby } = replicas('warm', {
      concurrentEndpointSyncs: 1,
      concurrentServiceEndpointSyncs: 1,
      adaptiveBatchPeriodMaxMs: 4000,
    });
    for (const name of ['busy', 'calm']) {
      createService(leader, { name, spec: { selector: { app: name } } });
      createPod(leader, { name: `${name}-1`, labels: { app: name }, ip: '10.0.1.1' });
    }
    /** Changes come so close together that the standby collects them for seconds before it plans. */
    const keepBusy = (times: number): void => {
      for (let i = 0; i < times; i++) {
        setPodStatus(leader, { name: 'busy-1', ip: `10.0.1.${i + 2}` });
        leader.run(600);
      }
    };
    keepBusy(20);
    leader.kill();
    keepBusy(1);
    setPodStatus(leader, { name: 'calm-1', ip: '10.0.1.1', ready: false });
    keepBusy(3);
    leader.run(16_000);
    const services = objectWrites(standby).map((line) => /\/(busy|calm)/.exec(line)![1]);
    assert.deepEqual(services, ['busy', 'busy', 'calm', 'calm']);
  });
});
