import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { collectForMs, createPace } from '../../../src/controller/queues/batch-pace.ts';
import type { PodEffect } from '../../../src/core/pod-effect.ts';
import {
  addWork,
  createWorkItem,
  createWorkQueue,
  doneWork,
  takeWork,
} from '../../../src/controller/queues/workqueue.ts';
import { propertyRuns } from '../../support/runs.ts';

/** The period that each of the pods meets that become ready, every one of them the first of its window. */
function periods(atMs: readonly number[], periodMsMax = 1000): number[] {
  const pace = createPace();
  return atMs.map((ms) => collectForMs(pace, 'adds', true, ms, periodMsMax));
}

test('a single pod does not wait', () => {
  assert.deepEqual(periods([5000]), [0]);
});

test('pods that keep arriving wait longer and longer, up to the bound', () => {
  assert.deepEqual(periods([0, 100, 300, 600, 1100, 2100, 3100]), [0, 62.5, 125, 250, 500, 1000, 1000]);
});

test('pods further apart than the bound never wait', () => {
  assert.deepEqual(periods([0, 1001, 2002, 3003]), [0, 0, 0, 0]);
});

test('a pause longer than the bound ends a burst', () => {
  assert.deepEqual(periods([0, 100, 200, 1201, 1300]), [0, 62.5, 125, 0, 62.5]);
});

test('a change that joins a window keeps the burst alive, not the window open', () => {
  const pace = createPace();
  const note = (isFirst: boolean, ms: number): number => collectForMs(pace, 'adds', isFirst, ms, 1000);
  assert.deepEqual([note(true, 0), note(true, 500), note(false, 560), note(true, 1540)], [0, 62.5, 62.5, 125]);
});

test('a pod that takes an address away never waits, and delays no later pod', () => {
  const pace = createPace();
  const note = (change: PodEffect, ms: number): number => collectForMs(pace, change, true, ms, 1000);
  assert.deepEqual([note('adds', 0), note('adds', 100), note('removes', 150), note('removes', 900)], [0, 62.5, 0, 0]);
  // More than the bound after the last pod that became ready.
  assert.equal(note('adds', 1200), 0);
});

test('a pod that is not ready yet waits with others, and does not wait alone', () => {
  const pace = createPace();
  const note = (change: PodEffect, ms: number): number => collectForMs(pace, change, true, ms, 1000);
  assert.deepEqual([note('other', 0), note('other', 50), note('adds', 100)], [0, 0, 0]);
  assert.deepEqual([note('adds', 200), note('other', 250), note('other', 1201)], [62.5, 62.5, 0]);
});

test('a pod that becomes ready after a pause does not wait for a change that waits', () => {
  const pace = createPace();
  const note = (change: PodEffect, isFirst: boolean, ms: number): number =>
    collectForMs(pace, change, isFirst, ms, 1000);
  assert.deepEqual([note('adds', true, 0), note('adds', true, 100), note('other', true, 1050)], [0, 62.5, 62.5]);
  assert.equal(note('adds', false, 1101), 0);
});

test('a removal at the end of a pause leaves no period of the burst before', () => {
  const pace = createPace();
  const note = (change: PodEffect, isFirst: boolean, ms: number): number =>
    collectForMs(pace, change, isFirst, ms, 1000);
  assert.deepEqual([note('adds', true, 0), note('adds', true, 100), note('adds', true, 200)], [0, 62.5, 125]);
  assert.deepEqual([note('removes', true, 5000), note('adds', false, 5000), note('adds', true, 5020)], [0, 0, 62.5]);
});

const STEPS = fc.array(
  fc.record({ gapMs: fc.nat(1500), change: fc.constantFrom<PodEffect>('adds', 'adds', 'removes', 'other') }),
  { minLength: 1, maxLength: 40 },
);

test('property: a removal is due at once, all else within the bound of its change', () => {
  fc.assert(
    fc.property(STEPS, fc.integer({ min: 1, max: 1000 }), (steps, maxMs) => {
      const { planned, notedMs } = collected(steps, maxMs);
      for (const [i, plannedMs] of planned.entries()) {
        const waitedMs = plannedMs - notedMs[i]!;
        assert.ok(waitedMs <= (steps[i]!.change === 'removes' ? 0 : maxMs), `change ${i} waited ${waitedMs} ms`);
      }
    }),
    propertyRuns(100),
  );
});

test('property: a pod that becomes ready after a pause of the bound is due at once', () => {
  fc.assert(
    fc.property(STEPS, fc.integer({ min: 1, max: 1000 }), (steps, maxMs) => {
      const { planned, notedMs } = collected(steps, maxMs);
      let addedMs = -Infinity;
      for (const [i, { change }] of steps.entries()) {
        if (change !== 'adds') continue;
        if (notedMs[i]! - addedMs > maxMs) assert.equal(planned[i], notedMs[i]);
        addedMs = notedMs[i]!;
      }
    }),
    propertyRuns(2000),
  );
});

/** Plays changes of one service on a work queue, whose syncs take no time, and says when each was planned. */
function collected(
  steps: readonly { readonly gapMs: number; readonly change: PodEffect }[],
  maxMs: number,
): { planned: number[]; notedMs: number[] } {
  const queue = createWorkQueue<string>('endpoint', 1);
  const item = createWorkItem('a/web', 'a');
  const pace = createPace();
  const [planned, notedMs]: [number[], number[]] = [[], []];
  const planDue = (untilMs: number): void => {
    const dueMs = item.freshDueMs;
    if (dueMs === Infinity || dueMs > untilMs) return;
    assert.equal(takeWork(queue, dueMs), item);
    doneWork(queue, item, dueMs);
    while (planned.length < notedMs.length) planned.push(dueMs);
  };
  let nowMs = 0;
  for (const { gapMs, change } of steps) {
    nowMs += gapMs;
    planDue(nowMs);
    notedMs.push(nowMs);
    const delayMs = collectForMs(pace, change, item.freshDueMs === Infinity, nowMs, maxMs);
    addWork(queue, item, 'fresh', nowMs, delayMs);
    planDue(nowMs);
  }
  planDue(Infinity);
  assert.equal(planned.length, steps.length);
  return { planned, notedMs };
}
