import { setImmediate as turn } from 'node:timers/promises';
import { createInlineShards } from '../../src/node/inline-shards.ts';
import type { ShardsEvent } from '../../src/ports/shards.ts';
import { createPlanner, plan } from '../../src/shard/planner.ts';
import { shardsContract, type ShardsWorld } from '../suites/shards.ts';
import { ALL_OUTPUTS } from '../support/planner-config.ts';
import { poisonous } from '../support/poison.ts';

shardsContract('inline', ['throw'], () => {
  const events: ShardsEvent[] = [];
  const shards = createInlineShards(
    ALL_OUTPUTS,
    (event) => {
      events.push(event);
      world.onEvent(event);
    },
    () => {
      const planner = createPlanner(ALL_OUTPUTS);
      return poisonous((work) => plan(planner, work), { throw: throwNow });
    },
  );
  const world: ShardsWorld = {
    shards,
    events,
    onEvent: () => {},
    async until(done) {
      for (let turns = 0; !done(); turns++) {
        if (turns === 1000) throw new Error('does not come true');
        await turn();
      }
    },
    async close() {
      shards.close();
    },
  };
  return world;
});

function throwNow(): never {
  throw new Error('poisoned');
}
