/** The journal tells of each change where its time went, and of no more changes than it holds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { journalEntries, type JournalEntry } from '../../src/controller/reports/journal.ts';
import { createService, setPodStatus, type Sim } from '../support/sim.ts';
import { settledWithOne } from '../support/settled.ts';
import { edit, editService, ENDPOINTS } from '../support/sim-objects.ts';
import { histogramSamples } from '../../src/metrics/store.ts';

function entriesOf(sim: Sim, max = 1000): JournalEntry[] {
  return journalEntries(sim.loop!.state.journal, max);
}

/** Seconds by stage, of one controller, and how many changes. */
function stagesOf(sim: Sim): Map<string, { readonly seconds: number; readonly changes: number }> {
  const found = histogramSamples(sim.metrics!, 'endpointd_pod_change_duration_seconds');
  return new Map(
    found
      .filter(({ labels }) => labels['controller'] === 'endpoints')
      .map(({ labels, histogram: { sum, count } }) => [labels['stage']!, { seconds: sum, changes: count }]),
  );
}

const PORTS = { ports: [{ port: 82, targetPort: 9001 }] };

/** The one slot has been held for 0.1 s, and will be for 5 s. */
function heldSlot(): Sim {
  const sim = settledWithOne({ options: { concurrentEndpointSyncs: 1 } });
  createService(sim, { name: 'other' });
  sim.run(2000);
  sim.lag = ({ method }) => ({ toMs: 0, backMs: method === 'PUT' ? 5000 : 0 });
  editService(sim, 'other', { ports: [{ port: 81, targetPort: 9000 }] });
  sim.run(100);
  return sim;
}

describe('the journal', () => {
  it('the metric of the stages has those of the journal, and of no chore', () => {
    const sim = settledWithOne({ options: { endpointUpdatesBatchPeriodMs: 500, minResyncPeriodMs: 10_000 } });
    sim.run(10_000);
    const before = stagesOf(sim);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    const [entry] = entriesOf(sim);
    // A repair of what somebody else has done, and a resync.
    edit(sim, `${ENDPOINTS}/web`, { labels: {} });
    sim.run(60_000);
    const tells = (stage: string): number[] => {
      const [from, to] = [before.get(stage), stagesOf(sim).get(stage)!];
      return [to.changes - (from?.changes ?? 0), Math.round((to.seconds - (from?.seconds ?? 0)) * 1000)];
    };
    const { queueMs, batchWaitMs, planMs, throttleMs, writeMs, totalMs } = entry!;
    assert.deepEqual(tells('queue'), [1, Math.round(queueMs)]);
    assert.deepEqual(tells('batch_wait'), [1, Math.round(batchWaitMs)]);
    assert.deepEqual(tells('plan'), [1, Math.round(planMs)]);
    assert.deepEqual(tells('throttle'), [1, Math.round(throttleMs)]);
    assert.deepEqual(tells('write'), [1, Math.round(writeMs)]);
    assert.deepEqual(tells('total'), [1, Math.round(totalMs)]);
  });

  it('the journal tells what a change waited for: batch period, shard, token, answer', () => {
    const sim = settledWithOne({ options: { endpointUpdatesBatchPeriodMs: 500, kubeApiQps: 0.5, kubeApiBurst: 1 } });
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

  it('the journal tells what the change of a Service waited for', () => {
    const sim = heldSlot();
    editService(sim, 'web', PORTS);
    sim.run(12_000);
    const { name, result, watchInMs, queueMs, writeMs, totalMs } = entriesOf(sim)[0]!;
    assert.deepEqual([name, result, watchInMs], ['web', 'written', -1]);
    assert.ok(queueMs > 4800 && queueMs < 5000, `queue ${queueMs}`);
    assert.ok(totalMs >= queueMs + writeMs && totalMs < 10_100, `total ${totalMs}`);
  });

  it('the first change counts, also where it is not the one of a pod', () => {
    const sim = heldSlot();
    editService(sim, 'web', PORTS);
    sim.run(3000);
    const before = stagesOf(sim).get('queue')?.seconds ?? 0;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(9000);
    const { name, queueMs } = entriesOf(sim)[0]!;
    assert.equal(name, 'web');
    assert.ok(queueMs > 4800 && queueMs < 5000, `queue ${queueMs}`);
    const podMs = (stagesOf(sim).get('queue')!.seconds - before) * 1000;
    assert.ok(podMs > 1800 && podMs < 2000, `the metric has the pod's change: ${podMs}`);
  });

  it('the change of a Service is as old with its next try', () => {
    const sim = settledWithOne();
    sim.refuse = ({ method }) => (method === 'PUT' ? 500 : 0);
    editService(sim, 'web', PORTS);
    sim.run(2000);
    sim.refuse = () => 0;
    sim.run(20_000);
    const [last, failed] = entriesOf(sim);
    assert.deepEqual([last!.result, failed!.result], ['written', 'server']);
    assert.ok(last!.queueMs > failed!.queueMs && last!.totalMs > failed!.totalMs, String(last!.queueMs));
  });

  it('the journal tells the age of a Ready transition when it was seen', () => {
    const sim = settledWithOne();
    const before = entriesOf(sim)[0]!.id;
    sim.wallShiftMs = 7000;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    const [entry] = entriesOf(sim);
    assert.deepEqual([entry!.id, entry!.watchInMs], [before + 1, 7000]);
  });

  it('the journal tells the class of a failure, and the whole time of the next try', () => {
    const sim = settledWithOne();
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
    const sim = settledWithOne({ options: { minResyncPeriodMs: 10_000 } });
    const { count } = sim.loop!.state.journal;
    sim.run(60_000);
    assert.equal(sim.loop!.state.journal.count, count);
  });

  it('the journal holds the newest changes, up to its size', () => {
    const sim = settledWithOne({ options: { journalSize: 3 } });
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
    const sim = settledWithOne({ options: { journalSize: 0 } });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.deepEqual(entriesOf(sim), []);
  });
});
