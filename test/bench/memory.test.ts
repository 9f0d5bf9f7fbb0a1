import assert from 'node:assert/strict';
import { test } from 'node:test';
import { weighInChild } from '../../bench/memory/run.ts';

test('the memory bench weighs a cluster of one namespace', async () => {
  const { pods, services, queued, empty, withServices, withPods } = await weighInChild(1);
  assert.deepEqual([services, queued], [142, 142]);
  assert.ok(pods > 1000);
  assert.ok(empty < withServices && withServices < withPods);
});
