/** The journal tells of each change where its time went, and of no more changes than it holds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { journalEntries, type JournalEntry } from '../../src/controller/reports/journal.ts';
import { createPod, createService, createSim, setPodStatus, type Sim, type SimConfig } from '../support/sim.ts';
import { ENDPOINTS } from '../support/sim-objects.ts';

function settled(config: SimConfig = {}): Sim {
  const sim = createSim(config);
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(2000);
  return sim;
}

function entriesOf(sim: Sim, max = 1000): JournalEntry[] {
  return journalEntries(sim.loop!.state.journal, max);
}

describe('the journal', () => {
  it('the journal tells what a change waited for: batch period, shard, token, answer', () => {
    const sim = settled({ options: { endpointUpdatesBatchPeriodMs: 500, kubeApiQps: 0.5, kubeApiBurst: 1 } });
    sim.run(10_000);
    createService(sim, { name: 'other' });
    sim.run(100);
    sim.lag = ({ method, path }) => ({ toMs: 0, backMs: method === 'PUT' && path.startsWith(ENDPOINTS) ? 3000 : 0 });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(20_000);
    const entry = entriesOf(sim).find(({ name }) => name === 'web')!;
    const { namespace, controller, result, writes, queueMs, throttleMs, writeMs, totalMs } = entry;
    assert.deepEqual([namespace, controller, result, writes], ['default', 'endpoints', 'written', 1]);
    assert.equal(queueMs, 500);
    assert.ok(throttleMs > 500 && throttleMs < 2000, `throttle ${throttleMs}`);
    assert.ok(writeMs >= 3000 && writeMs < 3100, `write ${writeMs}`);
    const { batchWaitMs, planMs } = entry;
    assert.equal(totalMs, queueMs + batchWaitMs + planMs + throttleMs + writeMs);
  });

  it('the journal tells the age of a Ready transition when it was seen', () => {
    const sim = settled();
    const before = entriesOf(sim)[0]!.id;
    sim.wallShiftMs = 7000;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    const [entry] = entriesOf(sim);
    assert.deepEqual([entry!.id, entry!.watchInMs], [before + 1, 7000]);
  });

  it('the journal tells the class of a failure, and the whole time of the next try', () => {
    const sim = settled();
    sim.refuse = ({ method }) => (method === 'PUT' ? 500 : 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(200);
    sim.refuse = () => 0;
    sim.run(20_000);
    const [last, failed] = entriesOf(sim);
    assert.deepEqual([last!.result, failed!.result], ['written', 'server']);
    assert.ok(last!.totalMs > failed!.totalMs);
  });

  it('the journal keeps no sync without a change', () => {
    const sim = settled({ options: { minResyncPeriodMs: 10_000 } });
    const { count } = sim.loop!.state.journal;
    sim.run(60_000);
    assert.equal(sim.loop!.state.journal.count, count);
  });

  it('the journal holds the newest changes, up to its size', () => {
    const sim = settled({ options: { journalSize: 3 } });
    for (let i = 0; i < 10; i++) {
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
      sim.run(1000);
    }
    const ids = entriesOf(sim).map(({ id }) => id);
    assert.equal(ids.length, 3);
    assert.deepEqual(
      ids,
      [0, 1, 2].map((i) => sim.loop!.state.journal.count - 1 - i),
    );
    assert.equal(entriesOf(sim, 2).length, 2);
  });

  it('the journal is off at size 0', () => {
    const sim = settled({ options: { journalSize: 0 } });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.deepEqual(entriesOf(sim), []);
  });
});
