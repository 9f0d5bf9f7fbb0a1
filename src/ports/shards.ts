import type { Batch, PlanReply } from '../shard/protocol.ts';

/**
 * The planners, one for each shard, wherever they run. The weakest useful promise:
 *
 * - The batches of one shard are worked on one after the other, in the order posted.
 * - For each batch comes one `shard.planned`. When the planner's state is lost, one `shard.lost` comes instead and
 *   names all batches of that shard that will never be answered. Then the shard is empty and takes batches again.
 * - Nothing calls back from inside `post` or `restart`.
 */
export interface Shards {
  /** How many there are, at least 1. */
  readonly count: number;
  /** Nothing of the batch may change afterwards: the planner may keep parts of it. */
  post(shard: number, batchId: number, batch: Batch): void;
  /** Ends the thread of a shard that hangs. A `shard.lost` follows. */
  restart(shard: number): void;
}

export type ShardsEvent =
  | { readonly type: 'shard.planned'; readonly shard: number; readonly batchId: number; readonly reply: PlanReply }
  | {
      readonly type: 'shard.lost';
      readonly shard: number;
      /** Every posted batch without an answer, oldest first. */
      readonly batchIds: readonly number[];
      /** For logs: exit code, heap limit, exception text. */
      readonly reason: string;
    };
