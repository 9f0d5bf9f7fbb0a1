/**
 * Planners on worker threads. Batches and replies travel as bytes, which are transferred. Each shard is one
 * single-thread piscina pool, so that a shard has a queue and a crash domain of its own. A pool serves one *life* of a
 * planner: when its thread dies, the pool goes with it and a new one starts. So nothing of a dead planner reaches its
 * successor. A pool that replaced its thread itself would hand the waiting tasks to the new thread. After one failed
 * start it would give up for good.
 */
import { Piscina } from 'piscina';
import { assert } from '../lib/assert.ts';
import { errorMessage } from '../lib/error-message.ts';
import type { Shards, ShardsEvent } from '../ports/shards.ts';
import { decodeReply, encodeBatch } from '../shard/codec.ts';
import type { PlannerConfig } from '../shard/protocol.ts';
import { workerEntry } from './worker-entry.ts';

export interface ThreadShardsOptions {
  readonly count: number;
  /** Most megabytes of a thread's old generation; a thread beyond it dies alone. */
  readonly heapLimitMb: number;
  readonly config: PlannerConfig;
  /** Module of the thread with a `planBatch` export; tests put another one in its place. */
  readonly workerUrl?: URL;
}

export interface ShardFacts {
  /** Threads that were replaced since the start. */
  readonly restarts: number;
  /** Batches without an answer. */
  readonly batches: number;
  /** Share of the time since the last look that the thread was busy, 0..1. */
  readonly utilization: number;
  /** Used heap of the thread as asked for at an earlier look; 0 = not known yet. */
  readonly heapBytes: number;
}

export interface ThreadShards extends Shards {
  facts(shard: number): ShardFacts;
  /** Ends all threads without waiting for batches; nothing is delivered afterwards. */
  close(): Promise<void>;
}

/** Most batches without an answer in one shard. The controller keeps far fewer, so more are a fault of the caller. */
const BATCHES_MAX = 1024;

/**
 * A planner's garbage dies young in far less than the 96 MB that Node 26 gives a thread. Measured resident memory of a
 * shard: 27 MB idle, 63 MB with 2,000 services of 5 pods (57 MB with 4 here, 69 MB with 64, no faster).
 */
const YOUNG_GENERATION_MB_MAX = 16;

/**
 * A thread that has died twice in a row without an answer is started again only after a pause. Each further death
 * doubles the pause. The loss is told after the pause, because whoever is told posts again and then expects an answer.
 */
const START_DELAY_MS_MIN = 100;
const START_DELAY_MS_MAX = 30_000;

interface Shard {
  readonly index: number;
  life: Life;
  restarts: number;
  /** Lives that ended before their first answer, in a row. */
  stillborn: number;
}

/** One thread with one planner. */
interface Life {
  /** null = it could not be made. */
  pool: Piscina | null;
  /** The ids of batches without an answer, oldest first. What is posted after the end is lost too. */
  readonly batches: Set<number>;
  answered: boolean;
  /** null = alive. After its end nothing is sent or answered, and its loss is to be told. */
  end: { reason: string } | null;
  /** Until the next life. */
  pause: NodeJS.Timeout | null;
  utilization: EventLoopUtilization | undefined;
  heapBytes: number;
  /** Whether the thread was asked for its heap and has not answered. A thread that hangs answers late. */
  heapAsked: boolean;
}

type EventLoopUtilization = ReturnType<Piscina['threads'][number]['performance']['eventLoopUtilization']>;

interface State {
  readonly options: ThreadShardsOptions;
  readonly deliver: (event: ShardsEvent) => void;
  closed: boolean;
}

/** Starts the threads. */
export function createThreadShards(options: ThreadShardsOptions, deliver: (event: ShardsEvent) => void): ThreadShards {
  assert(options.count >= 1, 'at least one shard');
  const state: State = { options, deliver, closed: false };
  const shards = Array.from({ length: options.count }, (_, index): Shard => {
    const shard: Shard = { index, life: createLife(), restarts: 0, stillborn: 0 };
    start(state, shard, shard.life);
    return shard;
  });
  return {
    count: options.count,
    post(shard, batchId, batch) {
      const posted = shards[shard]!;
      const { life } = posted;
      assert(life.batches.size < BATCHES_MAX, `shard ${shard} has ${BATCHES_MAX} batches without an answer`);
      life.batches.add(batchId);
      if (life.end === null) run(state, posted, life, batchId, encodeBatch(batch));
    },
    restart(shard) {
      end(state, shards[shard]!, shards[shard]!.life, 'restarted');
    },
    facts(shard) {
      return factsOf(shards[shard]!);
    },
    async close() {
      state.closed = true;
      await Promise.all(
        shards.map(async ({ life }) => {
          if (life.pause !== null) clearTimeout(life.pause);
          // A pool whose thread died alone is destroyed already, and its promise never settles.
          if (life.end === null) await life.pool?.destroy();
        }),
      );
    },
  };
}

function start(state: State, shard: Shard, life: Life): void {
  let pool: Piscina;
  try {
    pool = createPool(state.options);
  } catch (error) {
    // The system may have no thread left, for one.
    end(state, shard, life, errorMessage(error));
    return;
  }
  life.pool = pool;
  // One death can tell of itself several times: first as destroyed, then by rejected tasks or, without tasks, as an
  // error event.
  pool.on('workerDestroy', () => end(state, shard, life, ''));
  pool.on('error', (error) => end(state, shard, life, errorMessage(error)));
}

function run(state: State, shard: Shard, life: Life, batchId: number, bytes: Uint8Array): void {
  // The option takes a list. The library's type says otherwise.
  const transferList = [bytes.buffer] as never;
  life.pool!.run(bytes, { transferList }).then(
    (reply: Uint8Array) => answer(state, shard, life, batchId, reply),
    (error: unknown) => end(state, shard, life, errorMessage(error)),
  );
}

function answer({ deliver, closed }: State, shard: Shard, life: Life, batchId: number, bytes: Uint8Array): void {
  if (closed || life.end !== null) return;
  life.batches.delete(batchId);
  life.answered = true;
  shard.stillborn = 0;
  deliver({ type: 'shard.planned', shard: shard.index, batchId, reply: decodeReply(bytes) });
}

/**
 * Ends a life, and with it the planner's state. The loss is told a turn later at the earliest, when everything that
 * fails by it has failed.
 */
function end(state: State, shard: Shard, life: Life, reason: string): void {
  if (state.closed) return;
  if (life.end !== null) {
    if (life.end.reason === '') life.end.reason = reason;
    return;
  }
  life.end = { reason };
  // Before the pool gets to replace its thread.
  void life.pool?.destroy();
  if (!life.answered) shard.stillborn++;
  const delayMs = startDelayMs(shard.stillborn);
  if (delayMs === 0) setImmediate(succeed, state, shard);
  else life.pause = setTimeout(succeed, delayMs, state, shard);
}

/** A new life follows one that has ended. */
function succeed(state: State, shard: Shard): void {
  if (state.closed) return;
  const old = shard.life;
  shard.restarts++;
  shard.life = createLife();
  start(state, shard, shard.life);
  const reason = old.end?.reason || 'thread ended';
  state.deliver({ type: 'shard.lost', shard: shard.index, batchIds: [...old.batches], reason });
}

function factsOf({ life, restarts }: Shard): ShardFacts {
  const thread = life.pool?.threads[0];
  let utilization = 0;
  if (thread !== undefined) {
    const now = thread.performance.eventLoopUtilization();
    utilization = utilizationSince(now, life.utilization);
    life.utilization = now;
    if (!life.heapAsked) void askHeap(life, thread);
  }
  return { restarts, batches: life.batches.size, utilization, heapBytes: life.heapBytes };
}

function createLife(): Life {
  return {
    pool: null,
    batches: new Set(),
    answered: false,
    end: null,
    pause: null,
    utilization: undefined,
    heapBytes: 0,
    heapAsked: false,
  };
}

async function askHeap(life: Life, thread: Piscina['threads'][number]): Promise<void> {
  life.heapAsked = true;
  try {
    life.heapBytes = (await thread.getHeapStatistics()).used_heap_size;
  } catch {
    // The thread does not run yet, or not any more.
  }
  life.heapAsked = false;
}

/** One thread with one planner. */
export function createPool(options: ThreadShardsOptions): Piscina {
  const workerUrl = options.workerUrl ?? workerEntry('planner');
  return new Piscina({
    filename: workerUrl.href,
    name: 'planBatch',
    workerData: options.config,
    minThreads: 1,
    maxThreads: 1,
    // A batch goes to the thread at once, so that batches keep the order of the port.
    concurrentTasksPerWorker: BATCHES_MAX,
    stricterFIFO: true,
    idleTimeout: Infinity,
    atomics: 'async',
    recordTiming: false,
    resourceLimits: {
      maxOldGenerationSizeMb: options.heapLimitMb,
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MB_MAX,
    },
  });
}

function startDelayMs(stillborn: number): number {
  return stillborn < 2 ? 0 : Math.min(START_DELAY_MS_MIN * 2 ** (stillborn - 2), START_DELAY_MS_MAX);
}

function utilizationSince(now: EventLoopUtilization, before: EventLoopUtilization | undefined): number {
  const active = now.active - (before?.active ?? 0);
  const idle = now.idle - (before?.idle ?? 0);
  return active + idle > 0 ? active / (active + idle) : 0;
}
