/**
 * Shards in virtual time: the real planner, on the real bytes or by reference, and deaths on demand. Deterministic: what happens when
 * follows from the calls, the schedule and `batchMs` and `lossMs` alone.
 */
import type { Planning } from '../../src/node/inline-shards.ts';
import type { Shards, ShardsEvent } from '../../src/ports/shards.ts';
import { deepFreeze } from './deep-freeze.ts';
import { errorMessage } from '../../src/lib/error-message.ts';
import { decodeBatch, decodeReply, encodeBatch, encodeReply } from '../../src/shard/codec.ts';
import type { Batch, PlannerConfig, PlanReply } from '../../src/shard/protocol.ts';
import { createPlanner, plan } from '../../src/shard/planner.ts';

export interface SimShardsOptions {
  readonly count: number;
  readonly config: PlannerConfig;
  /** Runs something later in virtual time; in the order of their times, then of the calls. */
  readonly schedule: (delayMs: number, run: () => void) => void;
  /** Virtual milliseconds that a batch takes; asked once for each. */
  readonly batchMs?: () => number;
  /** Virtual milliseconds from a death to its report. */
  readonly lossMs?: () => number;
  readonly startPlanning?: (shard: number) => Planning;
  /** Batches and replies are handed over as they are, as on the main thread; default: as bytes, as to a thread. */
  readonly byReference?: boolean;
}

export interface SimShards extends Shards {
  /** The thread dies here and now, with all it knew. */
  kill(shard: number, reason: string): void;
  /** The thread takes batches and answers none, until it is restarted or killed. */
  hang(shard: number): void;
  /** Batches without an answer. */
  waiting(shard: number): number;
}

/** What a planning throws to hang instead of dying. */
export class SimHang extends Error {
  override name = 'SimHang';
}

interface Thread {
  planning: Planning;
  queue: { readonly batchId: number; readonly batch: Batch }[];
  state: 'idle' | 'busy' | 'hung' | 'dead';
  /** Told apart from what was scheduled for its predecessors. */
  life: number;
}

export function simulatedShards(options: SimShardsOptions, deliver: (event: ShardsEvent) => void): SimShards {
  const { schedule, batchMs = () => 1, lossMs = () => 50, byReference = false } = options;
  // By reference nobody may change what both sides hold.
  const sent = (batch: Batch): Batch =>
    byReference ? deepFreeze(batch) : decodeBatch(transferred(encodeBatch(batch)));
  const answered = (reply: PlanReply): PlanReply =>
    byReference ? deepFreeze(reply) : decodeReply(transferred(encodeReply(reply)));
  const startPlanning = options.startPlanning ?? (() => startPlanner(options.config));
  const threads = Array.from({ length: options.count }, (_, shard): Thread => ({
    planning: startPlanning(shard),
    queue: [],
    state: 'idle',
    life: 0,
  }));

  function work(shard: number): void {
    const thread = threads[shard]!;
    const next = thread.queue[0];
    if (thread.state !== 'idle' || next === undefined) return;
    thread.state = 'busy';
    const { life } = thread;
    schedule(batchMs(), () => {
      if (thread.life !== life || thread.state !== 'busy') return;
      let reply: PlanReply;
      try {
        reply = answered(thread.planning(next.batch));
      } catch (error) {
        if (error instanceof SimHang) thread.state = 'hung';
        else die(shard, errorMessage(error));
        return;
      }
      thread.queue.shift();
      thread.state = 'idle';
      deliver({ type: 'shard.planned', shard, batchId: next.batchId, reply });
      work(shard);
    });
  }

  function die(shard: number, reason: string): void {
    const thread = threads[shard]!;
    if (thread.state === 'dead') return;
    thread.state = 'dead';
    thread.life++;
    schedule(lossMs(), () => {
      const batchIds = thread.queue.map(({ batchId }) => batchId);
      thread.queue = [];
      thread.planning = startPlanning(shard);
      thread.state = 'idle';
      deliver({ type: 'shard.lost', shard, batchIds, reason });
      work(shard);
    });
  }

  return {
    count: options.count,
    post(shard, batchId, told) {
      threads[shard]!.queue.push({ batchId, batch: sent(told) });
      work(shard);
    },
    restart(shard) {
      die(shard, 'restarted');
    },
    kill: die,
    hang(shard) {
      const thread = threads[shard]!;
      if (thread.state !== 'dead') thread.state = 'hung';
    },
    waiting: (shard) => threads[shard]!.queue.length,
  };
}

/** As a transfer does: the sender's view is empty afterwards. */
function transferred(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return structuredClone(bytes, { transfer: [bytes.buffer] });
}

function startPlanner(config: PlannerConfig): Planning {
  const planner = createPlanner(config);
  return (batch) => plan(planner, batch);
}
