import { errorMessage } from '../lib/error-message.ts';
import type { ShardsEvent, Shards } from '../ports/shards.ts';
import type { Batch, PlannerConfig, PlanReply } from '../shard/protocol.ts';
import { createPlanner, plan } from '../shard/planner.ts';

/** Works on one batch after the other. Throws when its state is lost. */
export type Planning = (batch: Batch) => PlanReply;

export interface InlineShards extends Shards {
  /** Nothing is delivered afterwards. */
  close(): void;
}

/**
 * One shard on the calling thread (`--shards=0`). Batches and replies are handed over as they are: the planner keeps the
 * pods and Services of the caches instead of copies. It works on one batch for each turn of the event loop, so that
 * sockets are served in between. A planner that hangs cannot be ended here: `restart` only empties it.
 */
export function createInlineShards(
  config: PlannerConfig,
  deliver: (event: ShardsEvent) => void,
  startPlanning: () => Planning = () => {
    const planner = createPlanner(config);
    return (batch) => plan(planner, batch);
  },
): InlineShards {
  let planning = startPlanning();
  let waiting: { readonly batchId: number; readonly batch: Batch }[] = [];
  /** Why the planner is replaced at the next turn; null = it is not. */
  let loss: string | null = null;
  let scheduled: NodeJS.Immediate | null = null;
  let closed = false;

  function schedule(): void {
    if (!closed) scheduled ??= setImmediate(turn);
  }

  function turn(): void {
    scheduled = null;
    if (loss !== null) {
      deliverLoss(loss);
    } else {
      const next = waiting[0];
      if (next !== undefined) answer(next.batchId, next.batch);
    }
    if (waiting.length > 0) schedule();
  }

  function answer(batchId: number, batch: Batch): void {
    let reply: PlanReply;
    try {
      reply = planning(batch);
    } catch (error) {
      deliverLoss(errorMessage(error));
      return;
    }
    waiting.shift();
    deliver({ type: 'shard.planned', shard: 0, batchId, reply });
  }

  function deliverLoss(reason: string): void {
    const batchIds = waiting.map(({ batchId }) => batchId);
    waiting = [];
    loss = null;
    planning = startPlanning();
    deliver({ type: 'shard.lost', shard: 0, batchIds, reason });
  }

  return {
    count: 1,
    post(_shard, batchId, batch) {
      waiting.push({ batchId, batch });
      schedule();
    },
    restart() {
      loss = 'restarted';
      schedule();
    },
    close() {
      closed = true;
      if (scheduled !== null) clearImmediate(scheduled);
    },
  };
}
