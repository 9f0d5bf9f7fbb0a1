import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { disturbanceOf } from '../../bench/peers/disturbance.ts';
import { meanFigures, stageFigures, stageSamples } from '../../bench/peers/change-stages.ts';
import type { TimedChange } from '../../bench/peers/stream.ts';
import type { JournalEntry } from '../../src/controller/reports/journal.ts';
import { parseMetrics } from '../../src/metrics/text.ts';

function change(ackedMs: number, slicesMs: number | null, service = 'a/web'): TimedChange {
  return {
    dueMs: ackedMs,
    isolated: false,
    services: [service],
    sentMs: ackedMs - 2,
    ackedMs,
    resourceVersion: '1',
    endpointsMs: null,
    slicesMs,
    takenBackMs: {},
  };
}

/** Of a process whose clock began 10 s after the bench's: it saw the change at `seenMs` of its own. */
function entry(seenMs: number, more: Partial<JournalEntry> = {}): JournalEntry {
  return {
    id: 0,
    namespace: 'a',
    name: 'web',
    controller: 'endpointslice',
    result: 'written',
    writes: 1,
    startedAtMs: seenMs + 3,
    endedWallMs: 1_000_000 + 10_000 + seenMs + 10,
    watchInMs: -1,
    queueMs: 3,
    batchWaitMs: 1,
    planMs: 2,
    throttleMs: 0,
    writeMs: 4,
    totalMs: 10,
    ...more,
  };
}

const ORIGIN_MS = 1_000_000;

describe('stages of a change', () => {
  it("stages begin at the client's acknowledgement and end at the watcher", () => {
    // Acknowledged at 10,100, seen at 10,105, answered at 10,115, shown at 10,117, all by the clock of the bench.
    const samples = stageSamples([change(10_100, 10_117)], [entry(105)], ORIGIN_MS);
    assert.deepEqual(samples, {
      In: [5],
      Queue: [3],
      BatchWait: [1],
      Plan: [2],
      Throttle: [0],
      Write: [4],
      Other: [0],
      Out: [2],
    });
    const { stageWriteP99, stageChanges } = stageFigures(samples);
    assert.deepEqual([stageWriteP99, stageChanges], [4, 1]);
  });

  it('of two syncs of a service, the one that ended nearest to the event counts', () => {
    const journal = [entry(105), entry(205, { writeMs: 9 }), entry(305)];
    assert.deepEqual(stageSamples([change(10_200, 10_216)], journal, ORIGIN_MS).Write, [9]);
  });

  it('a change has no stages if the journal lacks it or nobody has seen it', () => {
    const changes = [change(10_100, 10_117, 'a/other'), change(10_100, Number.NaN), change(10_100, null)];
    assert.deepEqual(stageSamples(changes, [entry(105)], ORIGIN_MS).In, []);
    assert.deepEqual(stageFigures(stageSamples(changes, [entry(105)], ORIGIN_MS)), {});
    // What is on record is older than the change.
    assert.deepEqual(stageSamples([change(10_500, 10_510)], [entry(105)], ORIGIN_MS).In, []);
  });

  it('where a sync begins and ends within a change, the stages fill the time', () => {
    // The sync took in a change at 10,105 and two later ones, and waited 5 ms for an earlier write.
    const journal = [entry(105, { startedAtMs: 205, queueMs: 100, totalMs: 112, endedWallMs: 1_010_217 })];
    const changes = [change(10_100, 10_220), change(10_150, 10_220), change(10_203, 10_220)];
    const samples = stageSamples(changes, journal, ORIGIN_MS);
    assert.deepEqual(
      [samples.In, samples.Queue, samples.Other],
      [
        [5, 0, 0],
        [100, 55, 2],
        [5, 5, 5],
      ],
    );
    const sums = changes.map((_, i) => Object.values(samples).reduce((sum, ms) => sum + ms[i]!, 0));
    assert.deepEqual(sums, [120, 70, 17]);
  });

  it('a stage is whole, so together they may take longer than the change', () => {
    // The event comes 3 ms before the load has its answer, and the watcher sees the write 4 ms before the controller does.
    const journal = [entry(97, { startedAtMs: 97, queueMs: 0, writeMs: 7 })];
    const samples = stageSamples([change(10_100, 10_103)], journal, ORIGIN_MS);
    assert.deepEqual(samples, {
      In: [0],
      Queue: [0],
      BatchWait: [1],
      Plan: [2],
      Throttle: [0],
      Write: [7],
      Other: [0],
      Out: [0],
    });
  });

  it('no later sync stands in for one that the journal has forgotten', () => {
    assert.deepEqual(stageSamples([change(10_100, 10_117)], [entry(1105)], ORIGIN_MS).In, []);
  });

  it('means are of counts since the measure began', () => {
    const text = (sum: number, count: number): string =>
      `workqueue_queue_duration_seconds_sum{name="endpoint"} ${sum}\nworkqueue_queue_duration_seconds_count{name="endpoint"} ${count}\n`;
    const figures = meanFigures(parseMetrics(text(5, 10)), parseMetrics(text(5.5, 110)));
    assert.deepEqual(figures, { queueMean: 5 });
  });

  it('an update and its answer have no wait for a token, which client-go counts', () => {
    const of = (program: string): Record<string, number> => {
      const lines = ['request', 'rate_limiter'].flatMap((what) => [
        `rest_client_${what}_duration_seconds_sum{verb="PUT"} ${what === 'request' ? 0.9 : 0.8}`,
        `rest_client_${what}_duration_seconds_count{verb="PUT"} 10`,
      ]);
      return meanFigures(parseMetrics(''), parseMetrics([...lines, program, ''].join('\n')));
    };
    assert.deepEqual(of(''), { throttleMean: 80, putMean: 10 });
    assert.deepEqual(of('endpointd_build_info{version="1"} 1'), { throttleMean: 80, putMean: 90 });
  });
});

describe('a disturbance', () => {
  it('a disturbance ends with the last late change, and counts wrong addresses', () => {
    const changes = [change(0, 5), change(100, 2100), change(1100, 2100), change(2200, 2210), change(2300, null)];
    assert.deepEqual(disturbanceOf(changes, 50), { rightMs: 2050, wrongMost: 2, wrongSeconds: 3.01 });
  });

  it('an address was wrong until its change was taken back', () => {
    const takenBack = { ...change(100, null), takenBackMs: { slices: 1100 } };
    assert.deepEqual(disturbanceOf([takenBack], 50), { rightMs: 1050, wrongMost: 1, wrongSeconds: 1 });
  });

  it('a disturbance that delays nothing takes no time', () => {
    assert.equal(disturbanceOf([change(100, 105), change(200, 210)], 50).rightMs, 0);
  });
});
