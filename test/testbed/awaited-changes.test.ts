import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AwaitedChange, createAwaitedChanges } from '../../src/testbed/awaited-changes.ts';
import { createLedger, type Ledger } from '../../src/twin/ledger.ts';
import { USUAL_SIZES } from '../../src/twin/profiles.ts';

interface Played {
  readonly ledger: Ledger;
  /** The pod turns ready, or not, at this time. */
  readonly turn: (ready: boolean, atMs: number) => void;
  /** An object shows the pod so. */
  readonly show: (ready: boolean, atMs: number) => void;
  readonly isOpenAt: (atMs: number) => boolean;
  readonly end: () => void;
}

/** One pod, and slices that show it. */
function played(): Played {
  const ledger = createLedger(USUAL_SIZES);
  let nowMs = 0;
  let watched: { readonly change: AwaitedChange; readonly seen: () => void } | null = null;
  const awaited = createAwaitedChanges(
    ledger,
    (change, seen) => (watched = { change, seen }),
    () => nowMs,
  );
  return {
    ledger,
    turn(ready, atMs) {
      nowMs = atMs;
      awaited.add({ output: 'slices', service: 'shop/web', address: '10.0.0.1', ready, atMs });
    },
    show(ready, atMs) {
      nowMs = atMs;
      if (watched?.change.ready === ready) watched.seen();
    },
    isOpenAt(atMs) {
      nowMs = atMs;
      return awaited.isOpen();
    },
    end: () => awaited.close(),
  };
}

test('a change that is undone under its write is shown, and so is what undid it', () => {
  const { ledger, turn, show, isOpenAt, end } = played();
  turn(false, 0);
  turn(true, 10);
  show(false, 15);
  assert.ok(isOpenAt(16));
  show(true, 40);
  assert.ok(!isOpenAt(41));
  end();
  assert.deepEqual(ledger.samples.slices, [
    { atMs: 0, kind: 'remove', latencyMs: 15 },
    { atMs: 10, kind: 'add', latencyMs: 30 },
  ]);
  assert.deepEqual([ledger.unshown.slices, ledger.overtaken.slices, ledger.open.slices], [[], 0, 0]);
});

test('a change that is undone before it is shown counts as never shown', () => {
  const { ledger, turn, isOpenAt, end } = played();
  turn(false, 0);
  turn(true, 10);
  assert.deepEqual([isOpenAt(500), isOpenAt(1100)], [true, false]);
  end();
  assert.deepEqual(ledger.unshown.slices, [{ atMs: 0, kind: 'remove', latencyMs: 10 }]);
  assert.deepEqual([ledger.samples.slices, ledger.overtaken.slices, ledger.open.slices], [[], 2, 0]);
});

test('an object long after a change was undone shows the next one of its pod', () => {
  const { ledger, turn, show, end } = played();
  turn(false, 0);
  turn(true, 10);
  show(false, 5011);
  turn(false, 6000);
  show(false, 6020);
  turn(true, 7000);
  end();
  assert.deepEqual(ledger.samples.slices, [
    { atMs: 6000, kind: 'remove', latencyMs: 20 },
    { atMs: 7000, kind: 'add', latencyMs: 0 },
  ]);
  assert.deepEqual([ledger.unshown.slices.length, ledger.open.slices], [1, 1]);
});
