import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgress } from '../../src/cli/progress.ts';

/** What is written when a text is shown at each of the times and then ended. */
function written(isTTY: boolean, timesMs: readonly number[]): string[] {
  const texts: string[] = [];
  let nowMs = 0;
  const progress = createProgress({ isTTY, columns: 20, write: (text) => texts.push(text) }, () => nowMs);
  for (nowMs of timesMs) progress.show(`at ${nowMs}`);
  progress.done('done');
  return texts;
}

test('a terminal shows one line that is rewritten at most ten times a second', () => {
  const erase = '\r\u001B[K';
  assert.deepEqual(written(true, [0, 50, 120]), [`${erase}at 0`, `${erase}at 120`, `${erase}done\n`]);
});

test('a file gets a whole line each minute', () => {
  assert.deepEqual(written(false, [0, 2100, 59_900, 60_100]), ['at 0\n', 'at 60100\n', 'done\n']);
});

test('a file gets a line soon where something else goes on', () => {
  const texts: string[] = [];
  let nowMs = 0;
  const progress = createProgress({ write: (text) => texts.push(text) }, () => nowMs);
  for (const [atMs, text] of [
    [0, 'listing pods, 5 objects'],
    [200, 'recording for 0 s'],
    [2000, 'recording for 2 s'],
    [4000, 'recording for 4 s'],
    [62_000, 'recording for 62 s'],
  ] as const) {
    nowMs = atMs;
    progress.show(text);
  }
  assert.deepEqual(texts, ['listing pods, 5 objects\n', 'recording for 2 s\n', 'recording for 62 s\n']);
});

test('a line that would wrap is cut, because it could not be erased', () => {
  const texts: string[] = [];
  createProgress({ isTTY: true, columns: 10, write: (text) => texts.push(text) }, () => 0).show('123456789012345');
  assert.deepEqual(texts, ['\r\u001B[K123456789']);
});

test('a terminal that does not know its width has 80 columns', () => {
  const texts: string[] = [];
  const text = 'x'.repeat(100);
  createProgress({ isTTY: true, columns: 0, write: (shown) => texts.push(shown) }, () => 0).show(text);
  assert.deepEqual(texts, [`\r\u001B[K${text.slice(0, 79)}`]);
});
