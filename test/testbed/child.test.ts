import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { test } from 'node:test';
import { startChild } from '../../src/testbed/child.ts';

test('a program that has just ended, unnoticed, can be killed', async () => {
  const child = await startChild('/bin/sleep', ['60'], '/dev/null');
  process.kill(child.pid, 'SIGKILL');
  // Nothing is told to this process while it looks.
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0; looks < 6000 && existsSync(`/proc/${child.pid}`); looks++) Atomics.wait(cell, 0, 0, 5);
  assert.ok(child.running);
  await child.kill('SIGTERM');
  assert.equal(await child.ended, 128 + 9);
});
