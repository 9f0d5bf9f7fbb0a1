/** The entry of a shard's thread: one planner, batches in, replies out, in order. */
import { workerData } from 'node:worker_threads';
import { move } from 'piscina';
import { planBytes } from '../src/shard/plan-bytes.ts';
import { createPlanner } from '../src/shard/planner.ts';
import type { PlannerConfig } from '../src/shard/protocol.ts';

const planner = createPlanner(workerData as PlannerConfig);

export function planBatch(bytes: Uint8Array<ArrayBuffer>): unknown {
  return move(planBytes(planner, bytes));
}
