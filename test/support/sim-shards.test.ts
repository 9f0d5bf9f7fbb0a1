import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ShardsEvent } from '../../src/ports/shards.ts';
import { createPlanner, plan } from '../../src/shard/planner.ts';
import { shardsContract, type ShardsWorld } from '../suites/shards.ts';
import { batchOf } from './batches.ts';
import { poisonous } from './poison.ts';
import { SimHang, simulatedShards, type SimShards } from './sim-shards.ts';
import { ALL_OUTPUTS } from './planner-config.ts';

shardsContract('simulated', ['throw', 'hang'], () => makeWorld());
shardsContract('simulated inline', ['throw', 'hang'], () => makeWorld(true));

suite('simulated shards, further', () => {
  test('a killed thread loses its batches', async () => {
    const world = makeWorld();
    world.shards.post(0, 1, batchOf());
    world.shards.kill(0, 'power cut');
    await world.until(() => world.events.length === 1);
    assert.deepEqual(world.events, [{ type: 'shard.lost', shard: 0, batchIds: [1], reason: 'power cut' }]);
  });

  test('a hung thread goes on only after a restart', async () => {
    const world = makeWorld();
    world.shards.hang(0);
    world.shards.post(0, 1, batchOf());
    await assert.rejects(world.until(() => world.events.length === 1));
    world.shards.restart(0);
    await world.until(() => world.events.length === 1);
    assert.deepEqual(world.events, [{ type: 'shard.lost', shard: 0, batchIds: [1], reason: 'restarted' }]);
  });
});

function makeWorld(byReference = false): ShardsWorld & { readonly shards: SimShards } {
  const config = ALL_OUTPUTS;
  const events: ShardsEvent[] = [];
  const agenda: { readonly atMs: number; readonly run: () => void }[] = [];
  let nowMs = 0;
  const shards = simulatedShards(
    {
      count: 1,
      config,
      byReference,
      schedule(delayMs, run) {
        agenda.push({ atMs: nowMs + delayMs, run });
        agenda.sort((a, b) => a.atMs - b.atMs);
      },
      startPlanning: () => {
        const planner = createPlanner(config);
        return poisonous((work) => plan(planner, work), {
          throw() {
            throw new Error('poisoned');
          },
          hang() {
            throw new SimHang();
          },
        });
      },
    },
    (event) => {
      events.push(event);
      world.onEvent(event);
    },
  );
  const world: ShardsWorld & { readonly shards: SimShards } = {
    shards,
    events,
    onEvent: () => {},
    async until(done) {
      while (!done()) {
        const next = agenda.shift();
        if (next === undefined) throw new Error('nothing is left to happen');
        nowMs = next.atMs;
        next.run();
      }
    },
    async close() {},
  };
  return world;
}
