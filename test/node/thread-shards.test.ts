import assert from 'node:assert/strict';
import { mock, suite, test } from 'node:test';
import { createThreadShards, type ThreadShards, type ThreadShardsOptions } from '../../src/node/thread-shards.ts';
import type { ShardsEvent } from '../../src/ports/shards.ts';
import { shardsContract, type ShardsWorld } from '../suites/shards.ts';
import { batchEntry, batchOf, serviceRecord } from '../support/batches.ts';
import { poisonService } from '../support/poison.ts';
import { ALL_OUTPUTS } from '../support/planner-config.ts';

const OPTIONS: ThreadShardsOptions = {
  count: 1,
  heapLimitMb: 32,
  config: ALL_OUTPUTS,
  workerUrl: new URL('../support/poisonous-worker.ts', import.meta.url),
};

const UNTIL_MS_MAX = 15_000;

shardsContract('threaded', ['throw', 'exit', 'hang', 'allocate', 'throw-later'], () => makeWorld(OPTIONS));

suite('threaded shards, further', () => {
  test('the production worker plans in its thread', async () => {
    const world = makeWorld({ ...OPTIONS, workerUrl: undefined });
    world.shards.post(0, 1, batchOf(batchEntry({ outputs: ['endpoints'], spec: serviceRecord() })));
    await world.until(() => world.events.length === 1);
    const [event] = world.events;
    assert.equal(event?.type, 'shard.planned');
    assert.equal(event.reply.results[0]?.plans[0]?.writes[0]?.verb, 'create');
    await world.close();
  });

  test('shards die one by one', async () => {
    const world = makeWorld({ ...OPTIONS, count: 2 });
    const harmless = () => batchOf(batchEntry({ spec: serviceRecord() }));
    world.shards.post(0, 1, batchOf(batchEntry({ service: poisonService('exit') })));
    world.shards.post(1, 2, harmless());
    await world.until(() => world.events.length === 2);
    world.shards.post(1, 3, batchOf(batchEntry({ base: 1, removals: ['web-1'] })));
    await world.until(() => world.events.length === 3);
    const last = world.events[2];
    assert.equal(last?.type, 'shard.planned');
    assert.equal(last.reply.results[0]?.needFull, false);
    assert.deepEqual([world.shards.facts(0).restarts, world.shards.facts(1).restarts], [1, 0]);
    await world.close();
  });

  test('facts come from the living thread', async () => {
    const world = makeWorld(OPTIONS);
    world.shards.post(0, 1, batchOf());
    assert.equal(world.shards.facts(0).batches, 1);
    await world.until(() => world.events.length === 1);
    const first = world.shards.facts(0);
    assert.deepEqual([first.restarts, first.batches], [0, 0]);
    assert.ok(first.utilization > 0 && first.utilization <= 1, String(first.utilization));
    world.shards.restart(0);
    await world.until(() => world.events.length === 2);
    world.shards.post(0, 2, batchOf());
    await world.until(() => world.events.length === 3);
    const asked = world.shards.facts(0);
    assert.deepEqual([asked.restarts, asked.batches], [1, 0]);
    for (let batch = 3; batch < 100 && world.shards.facts(0).heapBytes === 0; batch++) {
      world.shards.post(0, batch, batchOf());
      await world.until(() => world.events.length === batch + 1);
    }
    assert.ok(world.shards.facts(0).heapBytes > 1_000_000);
    await world.close();
  });

  test('a thread that cannot be made counts as a loss', async () => {
    const world = makeWorld({ ...OPTIONS, workerUrl: { href: 5 } as unknown as URL });
    world.shards.post(0, 1, batchOf());
    await world.until(() => world.events.length === 1);
    assert.deepEqual(world.events, [
      { type: 'shard.lost', shard: 0, batchIds: [1], reason: 'options.filename must be a string or null' },
    ]);
    await world.close();
  });

  test('a worker that cannot be loaded is tried again ever more rarely', async () => {
    const world = makeWorld({ ...OPTIONS, workerUrl: new URL('../support/no-such-worker.ts', import.meta.url) });
    const timers = mock.method(globalThis, 'setTimeout');
    const pauses = (): unknown[] =>
      timers.mock.calls.map(({ arguments: [, ms] }) => ms).filter((ms) => ms !== UNTIL_MS_MAX);
    world.shards.post(0, 1, batchOf());
    await world.until(() => world.events.length >= 1);
    // Whoever is told posts again and expects an answer soon. So the loss is told when the pause is over.
    await world.until(() => world.events.length >= 2);
    assert.deepEqual(pauses().slice(0, 1), [100]);
    world.shards.post(0, 2, batchOf());
    await world.until(() => world.events.length >= 3);
    assert.deepEqual(pauses().slice(0, 2), [100, 200]);
    timers.mock.restore();
    assert.deepEqual(
      world.events.map((event) => (event.type === 'shard.lost' ? event.batchIds : 'planned')),
      [[1], [], [2]],
    );
    const [event] = world.events;
    assert.match(event?.type === 'shard.lost' ? event.reason : '', /no-such-worker/);
    await world.close();
  });
});

function makeWorld(options: ThreadShardsOptions): ShardsWorld & { readonly shards: ThreadShards } {
  const events: ShardsEvent[] = [];
  let wake = (): void => {};
  const shards = createThreadShards(options, (event) => {
    events.push(event);
    world.onEvent(event);
    wake();
  });
  const world: ShardsWorld & { readonly shards: ThreadShards } = {
    shards,
    events,
    onEvent: () => {},
    async until(done) {
      // The timer keeps the process alive, which an idle worker does not. The wait ends before a test's own limit does: a
      // test that is given up would leave its threads.
      let late = false;
      const limit = setTimeout(() => {
        late = true;
        wake();
      }, UNTIL_MS_MAX);
      while (!done()) {
        assert.ok(!late, `not so after ${UNTIL_MS_MAX} ms: ${events.map(({ type }) => type).join()}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      clearTimeout(limit);
    },
    close: () => shards.close(),
  };
  return world;
}
