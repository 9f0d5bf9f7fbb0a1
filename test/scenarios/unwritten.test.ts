/** The age of the oldest change that is not written: true at all times, and nothing that readiness depends on. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settledWithOne } from '../support/settled.ts';
import { createService, createSim, setPodStatus, type Sim } from '../support/sim.ts';
import { edit, ENDPOINTS } from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';

/** In seconds, to a tenth. */
const age = (sim: Sim): number => Math.round(metric(sim, 'endpointd_oldest_unwritten_change_seconds') * 10) / 10;

const refuseWrites = (sim: Sim, status: number): void => {
  sim.refuse = ({ method, path }) => (method !== 'GET' && path.includes('/endpoints') ? status : 0);
};

describe('the age of the oldest change that is not written', () => {
  it('the age is 0 at rest, also through a resync', () => {
    const sim = settledWithOne({ options: { minResyncPeriodMs: 10_000 } });
    for (let i = 0; i < 300; i++) {
      sim.run(100);
      assert.equal(age(sim), 0);
    }
  });

  it('the age grows through failed tries, and ends with the write', () => {
    const sim = settledWithOne();
    refuseWrites(sim, 500);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(10_000);
    assert.equal(age(sim), 10);
    setPodStatus(sim, { name: 'web-1', ready: true, ip: '10.0.0.2' });
    sim.run(10_000);
    assert.equal(age(sim), 20);
    sim.refuse = () => 0;
    sim.run(60_000);
    assert.equal(age(sim), 0);
  });

  it('what admission alters again and again is no change that waits', () => {
    const sim = settledWithOne();
    sim.admission = ({ metadata }) => (metadata.labels = { ...metadata.labels, 'by/admission': '1' });
    setPodStatus(sim, { name: 'web-1', ready: false });
    for (let minute = 0; minute < 20; minute++) {
      sim.run(60_000);
      assert.equal(age(sim), 0);
    }
  });

  it('a change during a write counts from its own time', () => {
    const sim = settledWithOne();
    sim.lag = ({ method, path }) => ({ toMs: 0, backMs: method === 'PUT' && path.startsWith(ENDPOINTS) ? 5000 : 0 });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(2500);
    assert.equal(age(sim), 4.5, 'the first is not answered yet');
    sim.run(1500);
    assert.equal(age(sim), 4, 'of the second');
    sim.run(10_000);
    assert.equal(age(sim), 0);
  });

  it('the age includes the batch period', () => {
    const sim = settledWithOne({ options: { endpointUpdatesBatchPeriodMs: 5000 } });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(4000);
    assert.equal(age(sim), 4);
    sim.run(2000);
    assert.equal(age(sim), 0);
  });

  it('damage by others counts until it is repaired', () => {
    const sim = settledWithOne();
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [] });
    sim.run(700);
    assert.equal(age(sim), 0.7);
    sim.run(1000);
    assert.equal(age(sim), 0);
  });

  it('a service that is stuck because the server fails counts', () => {
    const sim = settledWithOne();
    refuseWrites(sim, 500);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(600_000);
    assert.deepEqual([age(sim), metric(sim, 'endpointd_stuck_service')], [600, 1]);
  });

  it('a service that is refused does not count, and hides no late change of another', () => {
    const sim = settledWithOne();
    sim.refuse = ({ method }) => (method === 'PUT' ? 422 : 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(600_000);
    assert.deepEqual([age(sim), metric(sim, 'endpointd_stuck_service')], [0, 1]);
    sim.lag = ({ method }) => ({ toMs: 0, backMs: method === 'POST' ? 5000 : 0 });
    createService(sim, { name: 'late' });
    sim.run(3000);
    assert.equal(age(sim), 3);
  });
});

describe('readiness', () => {
  it('readiness does not depend on unwritten changes', () => {
    const sim = createSim({ options: { kubeApiQps: 1, kubeApiBurst: 1 } });
    for (let i = 0; i < 200; i++) createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
    sim.start();
    const failing = (): string[] =>
      sim
        .loop!.readiness()
        .filter(({ ok }) => !ok)
        .map(({ name }) => name);
    sim.run(2);
    assert.notDeepEqual(failing(), []);
    sim.run(1000);
    assert.deepEqual(failing(), []);
    for (let i = 0; i < 10; i++) {
      sim.run(10_000);
      assert.deepEqual(failing(), []);
    }
    assert.equal(Math.round(age(sim)), 101, 'most services still wait for their first write');
    refuseWrites(sim, 500);
    sim.run(60_000);
    assert.deepEqual(failing(), []);
  });
});
