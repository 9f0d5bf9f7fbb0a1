import assert from 'node:assert/strict';
import { test } from 'node:test';
import { weighInChild } from '../../bench/memory/run.ts';

test('the endpoints controller alone has one namespace, a unit a service, no nodes', async () => {
  const { pods, services, nodes, queued, empty, withServices, withNodes, withPods } = await weighInChild(
    'endpoints-controller',
    1,
  );
  assert.deepEqual([services, nodes, queued], [142, 0, 142]);
  assert.ok(pods > 1000);
  assert.ok(empty < withServices && withNodes < withPods);
});

test("three controllers have one unit more for each service's slices, and nodes", async () => {
  const { services, nodes, queued, withServices, withNodes, withPods } = await weighInChild('*', 1);
  assert.deepEqual([services, nodes, queued], [142, 3000, 284]);
  assert.ok(withServices < withNodes && withNodes < withPods);
});
