import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgenda, play } from '../../src/twin/agenda.ts';
import {
  addKey,
  addKeyAfter,
  createKubeQueue,
  keyDone,
  type KubeQueue,
  retryKey,
  takeKey,
} from '../../src/twin/kube-queue.ts';

/** Notes when each key comes into line. */
function queue(firstRetryMs = 5): {
  readonly queue: KubeQueue;
  readonly came: [number, number][];
  readonly run: (ms: number) => void;
} {
  const agenda = createAgenda();
  const came: [number, number][] = [];
  const made = createKubeQueue(agenda, firstRetryMs, () => came.push([agenda.nowMs, made.line.last!.key]));
  return { queue: made, came, run: (ms) => play(agenda, agenda.nowMs + ms) };
}

test('of several delays of a key the earliest counts', () => {
  const { queue: own, came, run } = queue();
  addKeyAfter(own, 1, 500);
  addKeyAfter(own, 1, 200);
  addKeyAfter(own, 1, 300);
  run(1000);
  assert.deepEqual(came, [[200, 1]]);
});

test('a key that changes while it is synced runs once more, at the tail', () => {
  const { queue: own } = queue();
  addKey(own, 1);
  assert.equal(takeKey(own), 1);
  addKey(own, 1);
  addKey(own, 1);
  addKey(own, 2);
  assert.equal(takeKey(own), 2);
  assert.equal(takeKey(own), -1);
  keyDone(own, 1);
  assert.deepEqual([takeKey(own), takeKey(own)], [1, -1]);
});

test('a retry waits twice as long each time, and a new event cuts it short', () => {
  const { queue: own, came, run } = queue(1000);
  retryKey(own, 1);
  run(1000);
  takeKey(own);
  keyDone(own, 1);
  retryKey(own, 1);
  run(1999);
  assert.deepEqual(came, [[1000, 1]]);
  run(1);
  assert.deepEqual(came.at(-1), [3000, 1]);
  takeKey(own);
  keyDone(own, 1);
  retryKey(own, 1);
  addKeyAfter(own, 1, 100);
  run(100);
  assert.deepEqual(came.at(-1), [3100, 1]);
});

test('a key is dropped after fifteen retries', () => {
  const { queue: own } = queue();
  const tried = Array.from({ length: 17 }, () => retryKey(own, 1));
  assert.deepEqual(tried.indexOf(false), 15);
  assert.equal(tried[16], true);
});

test('all keys share a bucket of a hundred retries, and then ten a second', () => {
  const { queue: own, came, run } = queue();
  for (let key = 0; key < 120; key++) retryKey(own, key);
  run(5);
  assert.equal(came.length, 100);
  run(995);
  assert.equal(came.length, 110);
  run(1000);
  assert.equal(came.length, 120);
});
