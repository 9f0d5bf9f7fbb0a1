import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  awaitAddress,
  awaitedOf,
  createStream,
  noteEvent,
  settleAwaited,
  type Stream,
  type TimedChange,
} from '../../bench/peers/stream.ts';
import { figuresOf, runSamplesOf, samplesOf, type Reading } from '../../bench/peers/window.ts';
import type { KubeObject } from '../../src/kube/types.ts';

function stream(writeMsMax?: number): Stream {
  return createStream('slices', ({ metadata }) => `${metadata.namespace}/${metadata.labels!['of']!}`, writeMsMax);
}

function slice(name: string, ready: readonly string[], annotations: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name, labels: { of: 'web' }, annotations },
    endpoints: ready.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  };
}

function change(ackedMs: number): TimedChange {
  return {
    dueMs: 0,
    isolated: false,
    services: [],
    sentMs: 0,
    ackedMs,
    resourceVersion: '',
    endpointsMs: null,
    slicesMs: null,
    takenBackMs: {},
  };
}

const at = (ms: number) => ({ ms, wallMs: 1_000_000 + ms });

function trigger(ms: number): Record<string, string> {
  return { 'endpoints.kubernetes.io/last-change-trigger-time': new Date(1_000_000 + ms).toISOString() };
}

describe('what a watcher makes of the stream', () => {
  it('a change is seen with the event that shows it, whichever slice that is', () => {
    const seen = stream();
    noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1']), 0, at(0));
    const [gone, back] = [change(10), change(20)];
    awaitAddress(seen, 'shop/web', '10.0.0.1', false, gone);
    noteEvent(seen, 'MODIFIED', slice('a', []), 100, at(13));
    awaitAddress(seen, 'shop/web', '10.0.0.1', true, back);
    assert.deepEqual(awaitedOf(seen), { owed: 1, open: 0 });
    noteEvent(seen, 'ADDED', slice('b', ['10.0.0.1']), 150, at(27));
    assert.deepEqual([gone.slicesMs, back.slicesMs], [13, 27]);
    assert.deepEqual(samplesOf([gone, back]), { endpoints: [], slices: [3, 7] });
    assert.deepEqual([seen.writes, seen.bytes, seen.gaps], [2, 250, []]);
  });

  it('a change that is seen before its answer has taken no time', () => {
    const early = { ...change(10), slicesMs: 9 };
    assert.deepEqual(samplesOf([early]).slices, [0]);
  });

  it('a ready address that vanishes although nothing has taken it away is a gap', () => {
    const seen = stream();
    noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1', '10.0.0.2']), 0, at(0));
    awaitAddress(seen, 'shop/web', '10.0.0.1', false, change(0));
    noteEvent(seen, 'MODIFIED', slice('a', []), 0, at(1));
    assert.deepEqual(seen.gaps, ['shop/web 10.0.0.2']);
  });

  it('an address that moves is no gap where its new slice is written first', () => {
    const seen = stream();
    noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1']), 0, at(0));
    noteEvent(seen, 'ADDED', slice('b', ['10.0.0.1']), 0, at(1));
    noteEvent(seen, 'DELETED', slice('a', ['10.0.0.1']), 0, at(2));
    assert.deepEqual(seen.gaps, []);
    noteEvent(seen, 'DELETED', slice('b', ['10.0.0.1']), 0, at(3));
    assert.deepEqual(seen.gaps, ['shop/web 10.0.0.1']);
  });

  it('a change that is taken back before a write is told apart from one that is owed', () => {
    const seen = stream();
    noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1']), 0, at(0));
    const both = [change(1), change(2)];
    awaitAddress(seen, 'shop/web', '10.0.0.1', false, both[0]!);
    assert.deepEqual(awaitedOf(seen), { owed: 1, open: 0 });
    awaitAddress(seen, 'shop/web', '10.0.0.1', true, both[1]!);
    assert.deepEqual(awaitedOf(seen), { owed: 0, open: 2 });
    settleAwaited(seen);
    assert.equal(seen.coalesced, 2);
    assert.deepEqual(
      both.map(({ slicesMs }) => slicesMs),
      [null, null],
    );
    // The address was wrong from the first change until the second, which was right at once.
    assert.deepEqual(samplesOf(both).slices, [1, 0]);
    assert.deepEqual(runSamplesOf(both), { endpoints: [], slices: [1, 0], shown: [] });
  });

  it('a change that was taken back long ago is not taken for a later one', () => {
    for (const [shownMs, expected, samples] of [
      // It was taken back at 3,000. A write that was planned then may come up to a second later.
      [3900, [3900, Number.NaN], [2900]],
      [5500, [null, null, 5500, Number.NaN], [2000, 0, 500]],
      // Nothing else can be what this late write shows.
      [5500, [5500, Number.NaN], [4500]],
    ] as const) {
      const seen = stream();
      noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1']), 0, at(0));
      const changes = [1000, 3000, 5000, 7000].slice(0, expected.length).map((ms) => change(ms));
      for (const [i, one] of changes.entries()) awaitAddress(seen, 'shop/web', '10.0.0.1', i % 2 === 1, one);
      noteEvent(seen, 'MODIFIED', slice('a', []), 0, at(shownMs));
      assert.deepEqual(
        changes.map(({ slicesMs }) => slicesMs),
        expected,
      );
      assert.equal(seen.coalesced, expected.filter((ms) => ms === null).length);
      assert.deepEqual(samplesOf(changes).slices, samples);
      assert.deepEqual(seen.gaps, []);
    }
  });

  it('where a write may be held up for longer, a late one shows an old change', () => {
    const seen = stream(10_000);
    noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1']), 0, at(0));
    const changes = [1000, 3000, 5000, 7000].map((ms) => change(ms));
    for (const [i, one] of changes.entries()) awaitAddress(seen, 'shop/web', '10.0.0.1', i % 2 === 1, one);
    noteEvent(seen, 'MODIFIED', slice('a', []), 0, at(7500));
    noteEvent(seen, 'MODIFIED', slice('a', ['10.0.0.1']), 0, at(7600));
    noteEvent(seen, 'MODIFIED', slice('a', []), 0, at(7700));
    noteEvent(seen, 'MODIFIED', slice('a', ['10.0.0.1']), 0, at(7800));
    assert.deepEqual(
      changes.map(({ slicesMs }) => slicesMs),
      [7500, 7600, 7700, 7800],
    );
    assert.deepEqual([seen.coalesced, seen.gaps], [0, []]);
  });

  it('a change that was taken back lets no address vanish later', () => {
    const seen = stream();
    noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1']), 0, at(0));
    awaitAddress(seen, 'shop/web', '10.0.0.1', false, change(1));
    awaitAddress(seen, 'shop/web', '10.0.0.1', true, change(2));
    settleAwaited(seen);
    noteEvent(seen, 'MODIFIED', slice('a', []), 0, at(5));
    assert.deepEqual(seen.gaps, ['shop/web 10.0.0.1']);
  });

  it('an address that comes back after its removal was seen is a fault', () => {
    const seen = stream();
    noteEvent(seen, 'LISTED', slice('a', ['10.0.0.1']), 0, at(0));
    awaitAddress(seen, 'shop/web', '10.0.0.1', false, change(1));
    // As long as the removal was not seen, the address may move to another slice.
    noteEvent(seen, 'ADDED', slice('b', ['10.0.0.1']), 0, at(2));
    noteEvent(seen, 'MODIFIED', slice('a', []), 0, at(3));
    noteEvent(seen, 'MODIFIED', slice('b', []), 0, at(4));
    assert.deepEqual([seen.gaps, seen.returns], [[], []]);
    noteEvent(seen, 'MODIFIED', slice('a', ['10.0.0.1']), 0, at(5));
    assert.deepEqual(seen.returns, ['shop/web 10.0.0.1']);
  });

  it('figures and trigger times are those between two readings', () => {
    const seen = stream();
    noteEvent(seen, 'MODIFIED', slice('a', [], trigger(0)), 9, at(500));
    noteEvent(seen, 'MODIFIED', slice('a', [], trigger(1000)), 9, at(1250));
    // As a restarted controller does it: the time of the Service's creation.
    noteEvent(seen, 'MODIFIED', slice('a', [], trigger(-90_000)), 9, at(1300));
    const figures = figuresOf({
      before: reading(1000, 1, 1),
      after: reading(3000, 1.5, 2),
      changes: [{ ...change(1200), slicesMs: 1250 }],
      streams: [seen],
    });
    const { controllerCpu, apiserverCpu, sumCpu, wall, writes, cpuAChange } = figures;
    assert.deepEqual([controllerCpu, apiserverCpu, sumCpu, wall, writes, cpuAChange], [0.5, 1, 1.5, 2, 1, 500]);
    assert.deepEqual([figures['slicesP99'], figures['slicesOver50'], figures['slicesCl2P99']], [50, 0, 250]);
  });

  it("CL2's figures are those of the worst five minutes", () => {
    const seen = stream();
    const minute = 60_000;
    for (const [minutes, lateMs] of [
      [1, 1000],
      [4, 2000],
      [6, 7000],
      [9, 5000],
      [11, 3000],
    ] as const) {
      const atMs = minutes * minute;
      noteEvent(seen, 'MODIFIED', slice('a', [], trigger(atMs - lateMs)), 9, at(atMs));
    }
    const figures = figuresOf({
      before: reading(0, 1, 0),
      after: reading(12 * minute, 2, 5),
      changes: [change(1)],
      streams: [seen],
    });
    assert.deepEqual([figures['slicesCl2P50'], figures['slicesCl2P99']], [5000, 7000]);
  });
});

function reading(ms: number, cpu: number, writes: number): Reading {
  return {
    ms,
    cpu: new Map([
      ['endpointd', cpu],
      ['apiserver', 2 * cpu],
    ]),
    controllers: ['endpointd'],
    threads: new Map(),
    readBytes: 0,
    streams: { endpoints: { writes: 0, bytes: 0 }, slices: { writes, bytes: writes * 9 } },
  };
}
