/**
 * The contract of the shards port (src/ports/shards.ts) for any implementation: on threads, on the calling thread, in
 * virtual time. An implementation brings a world, and says which deaths it can die.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Shards, ShardsEvent } from '../../src/ports/shards.ts';
import type { Batch, PlanReply } from '../../src/shard/protocol.ts';
import { batchEntry, batchOf, member, serviceRecord } from '../support/batches.ts';
import { observedAs, plannedOf } from '../support/planner-talk.ts';
import { type Poison, poisonService } from '../support/poison.ts';

export interface ShardsWorld {
  readonly shards: Shards;
  /** Everything delivered so far, oldest first. */
  readonly events: readonly ShardsEvent[];
  /** Called for each event as it is delivered; replaceable. */
  onEvent: (event: ShardsEvent) => void;
  /** Runs the world until `done()`; rejects when that does not come true. */
  readonly until: (done: () => boolean) => Promise<void>;
  close(): Promise<void>;
}

export function shardsContract(name: string, poisons: readonly Poison[], make: () => ShardsWorld): void {
  function story(title: string, tell: (world: ShardsWorld) => Promise<void>): void {
    test(title, { timeout: 20_000 }, async () => {
      const world = make();
      try {
        await tell(world);
      } finally {
        await world.close();
      }
    });
  }

  suite(`${name} shards`, () => {
    story('each batch is answered once, in the order posted', async ({ shards, events, until }) => {
      for (let batch = 1; batch <= 50; batch++) shards.post(0, batch, snapshot(`shop/web-${batch}`));
      await until(() => events.length >= 50);
      assert.deepEqual(
        events.map((event) => [event.type === 'shard.planned' ? event.batchId : event.reason, ...writes(event)]),
        Array.from({ length: 50 }, (_, i) => [i + 1, `create web-${i + 1}`]),
      );
    });

    story('nothing is called back from within post and restart', async (world) => {
      let inside = false;
      let early = 0;
      world.onEvent = () => {
        if (inside) early++;
      };
      inside = true;
      world.shards.post(0, 1, snapshot());
      world.shards.restart(0);
      inside = false;
      await world.until(() => world.events.length > 0);
      assert.equal(early, 0);
    });

    story('batches may be posted from within an event', async (world) => {
      world.onEvent = (event) => {
        if (event.type === 'shard.planned' && event.batchId === 1) world.shards.post(0, 2, snapshot());
      };
      world.shards.post(0, 1, snapshot());
      await world.until(() => world.events.length === 2);
      assert.deepEqual(outline(world.events), ['planned 1', 'planned 2']);
    });

    story('a planner remembers: a change needs no snapshot', async ({ shards, events, until }) => {
      shards.post(0, 1, snapshot());
      shards.post(0, 2, change());
      await until(() => events.length === 2);
      assert.deepEqual(outline(events), ['planned 1', 'planned 2']);
      assert.equal(replyOf(events[1]).results[0]?.needFull, false);
    });

    story("a restart loses all unanswered batches and the planner's state", async ({ shards, events, until }) => {
      shards.post(0, 1, snapshot());
      await until(() => events.length === 1);
      shards.post(0, 2, change());
      shards.post(0, 3, change());
      shards.restart(0);
      shards.post(0, 4, change());
      await until(() => events.some((event) => event.type === 'shard.lost'));
      assert.deepEqual(outline(events), ['planned 1', 'lost 2,3,4']);
      shards.post(0, 5, change());
      await until(() => events.length === 3);
      assert.equal(replyOf(events[2]).results[0]?.needFull, true);
    });

    story('a restart of an idle shard is told too', async ({ shards, events, until }) => {
      shards.restart(0);
      await until(() => events.length === 1);
      assert.deepEqual(outline(events), ['lost ']);
    });

    story('after a loss a snapshot rebuilds the state, and the same plans come out', async (world) => {
      const { shards, events, until } = world;
      shards.post(0, 1, snapshot());
      await until(() => events.length === 1);
      shards.restart(0);
      await until(() => events.length === 2);
      shards.post(0, 2, snapshot());
      await until(() => events.length === 3);
      assert.deepEqual(outline(events), ['planned 1', 'lost ', 'planned 2']);
      assert.deepEqual(replyOf(events[2]), replyOf(events[0]));
    });

    story('all three outputs are planned, and again the same after a loss', async (world) => {
      const { shards, events, until } = world;
      shards.post(0, 1, everything());
      await until(() => events.length === 1);
      shards.restart(0);
      await until(() => events.length === 2);
      shards.post(0, 2, everything());
      await until(() => events.length === 3);
      assert.deepEqual(
        replyOf(events[0])
          .results.map(plannedOf)
          .map(({ writes, facts }) => [
            writes.map(({ output, verb }) => `${verb} of ${output}`),
            facts.slices?.families[0]?.endpoints,
            facts.mirror?.endpoints,
          ]),
        [
          [['create of slices', 'create of endpoints'], 2, undefined],
          [['create of mirror'], undefined, 1],
        ],
      );
      assert.deepEqual(replyOf(events[2]), replyOf(events[0]));
    });

    story('CPU shares go with one batch, and last until the thread is lost', async ({ shards, events, until }) => {
      const shares = { version: 1, zones: ['zone-a', 'zone-b'].map((zone) => ({ zone, share: 0.5 })) };
      shards.post(0, 1, { ...batchOf(), shares });
      shards.post(0, 2, hinted());
      await until(() => events.length === 2);
      shards.restart(0);
      shards.post(0, 3, hinted());
      await until(() => events.length === 3);
      shards.post(0, 4, hinted());
      await until(() => events.length === 4);
      assert.deepEqual(outline(events), ['planned 1', 'planned 2', 'lost 3', 'planned 4']);
      const hints = [events[1], events[3]].map(
        (event) => plannedOf(replyOf(event).results[0]!).facts.slices?.families[0]?.hints,
      );
      assert.deepEqual(hints, [
        [
          { zone: 'zone-a', count: 2 },
          { zone: 'zone-b', count: 2 },
        ],
        null,
      ]);
    });

    for (const poison of poisons) {
      if (poison === 'hang' || poison === 'throw-later') continue;
      story(`${poison}: one loss names the poisonous batch and those behind it`, async ({ shards, events, until }) => {
        shards.post(0, 1, snapshot());
        await until(() => events.length === 1);
        shards.post(0, 2, poisoned(poison));
        shards.post(0, 3, change());
        await until(() => events.length === 2);
        assert.deepEqual(outline(events), ['planned 1', 'lost 2,3']);
        shards.post(0, 4, snapshot());
        await until(() => events.length === 3);
        assert.deepEqual(replyOf(events[2]), replyOf(events[0]));
      });
    }

    if (poisons.includes('hang')) {
      story('a hung thread answers nothing until it is restarted', async ({ shards, events, until }) => {
        shards.post(0, 1, snapshot());
        shards.post(0, 2, poisoned('hang'));
        shards.post(0, 3, snapshot());
        await until(() => events.length === 1);
        shards.restart(0);
        await until(() => events.length === 2);
        shards.post(0, 4, snapshot());
        await until(() => events.length === 3);
        assert.deepEqual(outline(events), ['planned 1', 'lost 2,3', 'planned 4']);
      });
    }

    if (poisons.includes('throw-later')) {
      story('a death between two batches is told', async ({ shards, events, until }) => {
        shards.post(0, 1, poisoned('throw-later'));
        await until(() => events.some(({ type }) => type === 'shard.lost'));
        // On a busy machine the death may be told before the reply arrives. Then the loss names the batch.
        const told = outline(events);
        if (events.length === 1) assert.deepEqual(told, ['lost 1']);
        else assert.deepEqual(told, ['planned 1', 'lost ']);
        shards.post(0, 2, snapshot());
        await until(() => events.at(-1)!.type === 'shard.planned');
        assert.deepEqual(outline(events).slice(told.length), ['planned 2']);
      });
    }
  });
}

/** A service with two pods, to be planned. */
function snapshot(service = 'shop/web'): Batch {
  const upserts = [member(0), member(1)];
  const spec = serviceRecord({ name: service.slice('shop/'.length) });
  return batchOf(batchEntry({ service, outputs: ['endpoints'], spec, upserts }));
}

/** A service with two pods for slices and Endpoints, and one whose Endpoints are mirrored. */
function everything(): Batch {
  const outputs = ['slices', 'endpoints'] as const;
  const endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'manual', uid: 'uid', resourceVersion: '1' },
    subsets: [{ addresses: [{ ip: '10.1.0.1' }], ports: [{ name: '', port: 80, protocol: 'TCP' }] }],
  };
  return batchOf(
    batchEntry({ outputs, spec: serviceRecord(), upserts: [member(0), member(1)] }),
    batchEntry({
      service: 'shop/manual',
      outputs: ['mirror'],
      spec: serviceRecord({ name: 'manual', selector: null }),
      observed: [observedAs('endpoints', endpoints)],
    }),
  );
}

/** A service with four pods in two zones that wants hints by CPU shares. */
function hinted(): Batch {
  const spec = serviceRecord({ annotations: ['service.kubernetes.io/topology-mode', 'Auto'] });
  const upserts = [0, 1, 2, 3].map((n) => member(n, {}, n < 2 ? 'zone-a' : 'zone-b'));
  return batchOf(batchEntry({ outputs: ['slices'], spec, upserts }));
}

/** One pod of that gone, not to be planned. */
function change(): Batch {
  return batchOf(batchEntry({ base: 1, removals: ['web-1'] }));
}

function poisoned(poison: Poison): Batch {
  return batchOf(batchEntry({ service: poisonService(poison), spec: serviceRecord() }));
}

function outline(events: readonly ShardsEvent[]): string[] {
  return events.map((event) =>
    event.type === 'shard.planned' ? `planned ${event.batchId}` : `lost ${event.batchIds.join(',')}`,
  );
}

function replyOf(event: ShardsEvent | undefined): PlanReply {
  assert.equal(event?.type, 'shard.planned');
  return event.reply;
}

function writes(event: ShardsEvent | undefined): string[] {
  return replyOf(event).results.flatMap((result) =>
    plannedOf(result).writes.map((write) => `${write.verb} ${write.name}`),
  );
}
