/**
 * The main thread of a simulated process as something that takes time. What it does follows the turns of Node's event loop:
 * timers that are due, then what has arrived, together, then what was put off to that turn. What it asks of the world leaves
 * when it has worked for so long.
 */
import type { SimTime } from './sim-time.ts';
import type { Effect } from '../../src/controller/effect.ts';
import type { Event } from '../../src/controller/event.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Shards, ShardsEvent } from '../../src/ports/shards.ts';
import type { Transport, TransportEvent } from '../../src/ports/transport.ts';
import type { Batch, PlannerConfig } from '../../src/shard/protocol.ts';
import { createPlanner, plan } from '../../src/shard/planner.ts';

/** Milliseconds of CPU. */
export interface ThreadCosts {
  /** What is paid for an event that has come; a piece of a stream by the path of its request. */
  readonly event: (event: Event, path: string) => number;
  readonly effect: (effect: Effect) => number;
  readonly plan: (work: Batch) => number;
}

export interface SimThread {
  /** Of the loop: what a step costs. */
  readonly onStep: (events: readonly Event[], effects: readonly Effect[]) => void;
  readonly transport: (
    deliver: (events: readonly TransportEvent[]) => void,
    connect: (deliver: (events: readonly TransportEvent[]) => void) => Transport,
  ) => Transport;
  readonly shards: (config: PlannerConfig, deliver: (event: ShardsEvent) => void) => Shards;
  readonly clock: (clock: Clock) => Clock;
  /** CPU so far, milliseconds. */
  readonly busyMs: () => number;
}

/** As the transport (`node/transport-delivery.ts`): most events that are delivered at once. */
const EVENTS_TOGETHER_MAX = 64;

interface State {
  readonly time: SimTime;
  readonly costs: ThreadCosts;
  readonly paths: Map<number, string>;
  timers: (() => void)[];
  arrived: TransportEvent[];
  deliver: (events: readonly TransportEvent[]) => void;
  /** Put off to the next turn. */
  putOff: (() => void)[];
  /** What leaves when the work under way is done. */
  leaving: (() => void)[];
  /** CPU of the work under way. */
  costMs: number;
  isBusy: boolean;
  busyMs: number;
}

export function createSimThread(time: SimTime, costs: ThreadCosts): SimThread {
  const state: State = {
    time,
    costs,
    paths: new Map(),
    timers: [],
    arrived: [],
    deliver: () => undefined,
    putOff: [],
    leaving: [],
    costMs: 0,
    isBusy: false,
    busyMs: 0,
  };
  return {
    onStep: (events, effects) => {
      for (const event of events)
        state.costMs += costs.event(event, 'id' in event ? (state.paths.get(event.id) ?? '') : '');
      for (const effect of effects) state.costMs += costs.effect(effect);
    },
    transport(deliver, connect) {
      state.deliver = deliver;
      const transport = connect((events) => {
        state.arrived.push(...events);
        wake(state);
      });
      return {
        send: (request) => {
          if (request.stream) state.paths.set(request.id, request.path);
          leave(state, () => transport.send(request));
        },
        cancel: (id) => leave(state, () => transport.cancel(id)),
      };
    },
    shards: (config, deliver) => inlineShards(state, config, deliver),
    clock: (clock) => ({
      ...clock,
      wakeAt: (atMs, ring) =>
        clock.wakeAt(atMs, () => {
          state.timers.push(ring);
          wake(state);
        }),
    }),
    busyMs: () => state.busyMs,
  };
}

/** One batch in each turn, as with `--shards=0`. */
function inlineShards(state: State, config: PlannerConfig, deliver: (event: ShardsEvent) => void): Shards {
  const planner = createPlanner(config);
  const waiting: { readonly batchId: number; readonly batch: Batch }[] = [];
  let isPutOff = false;
  const putOff = (): void => {
    if (!isPutOff) state.putOff.push(turn);
    isPutOff = true;
  };
  const turn = (): void => {
    isPutOff = false;
    const { batchId, batch } = waiting.shift()!;
    state.costMs += state.costs.plan(batch);
    deliver({ type: 'shard.planned', shard: 0, batchId, reply: plan(planner, batch) });
    if (waiting.length > 0) putOff();
  };
  return {
    count: 1,
    post(_shard, batchId, batch) {
      waiting.push({ batchId, batch });
      putOff();
    },
    restart() {
      throw new Error('an inline shard does not hang in virtual time');
    },
  };
}

function leave(state: State, run: () => void): void {
  if (state.isBusy) state.leaving.push(run);
  else run();
}

function wake(state: State): void {
  if (state.isBusy) return;
  state.isBusy = true;
  state.time.at(state.time.now, () => turn(state));
}

function turn(state: State): void {
  const { timers } = state;
  state.timers = [];
  work(state, timers, () => {
    const { putOff, arrived, deliver } = state;
    state.putOff = [];
    state.arrived = [];
    const merged = mergePieces(arrived);
    for (let from = 0; from < merged.length; from += EVENTS_TOGETHER_MAX) {
      const together = merged.slice(from, from + EVENTS_TOGETHER_MAX);
      putOff.push(() => deliver(together));
    }
    work(state, putOff, () => {
      if (state.timers.length + state.arrived.length + state.putOff.length > 0) turn(state);
      else state.isBusy = false;
    });
  });
}

/** One after the other, each for what it costs. */
function work(state: State, [first, ...others]: readonly (() => void)[], done: () => void): void {
  if (first === undefined) {
    done();
    return;
  }
  state.costMs = 0;
  first();
  const { costMs, leaving, time } = state;
  state.busyMs += costMs;
  state.leaving = [];
  const go = (): void => {
    for (const run of leaving) run();
    work(state, others, done);
  };
  if (costMs > 0) time.at(time.now + costMs, go);
  else go();
}

/** Pieces of a stream that come one behind the other are one. They are small here. */
function mergePieces(events: readonly TransportEvent[]): TransportEvent[] {
  const merged: TransportEvent[] = [];
  let pieces: Uint8Array[] = [];
  for (const [i, event] of events.entries()) {
    if (event.type !== 'chunk') {
      merged.push(event);
      continue;
    }
    pieces.push(event.bytes);
    const next = events[i + 1];
    if (next?.type === 'chunk' && next.id === event.id) continue;
    merged.push({ ...event, bytes: pieces.length === 1 ? event.bytes : Buffer.concat(pieces) });
    pieces = [];
  }
  return merged;
}
