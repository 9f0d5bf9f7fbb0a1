/** The thread of workers/planner.ts, with services that kill it. */
import { workerData } from 'node:worker_threads';
import { move } from 'piscina';
import { decodeBatch, encodeReply } from '../../src/shard/codec.ts';
import { createPlanner, plan } from '../../src/shard/planner.ts';
import type { PlannerConfig } from '../../src/shard/protocol.ts';
import { poisonous } from './poison.ts';

const planner = createPlanner(workerData as PlannerConfig);

const planning = poisonous((work) => plan(planner, work), {
  throw() {
    throw new Error('poisoned');
  },
  exit() {
    process.exit(3);
  },
  hang() {
    for (;;);
  },
  allocate() {
    const hoard: number[][] = [];
    for (;;) hoard.push(Array.from({ length: 10_000 }, (_, i) => i + hoard.length));
  },
  'throw-later'() {
    setImmediate(() => {
      throw new Error('thrown by nobody');
    });
  },
});

export function planBatch(bytes: Uint8Array<ArrayBuffer>): unknown {
  return move(encodeReply(planning(decodeBatch(bytes))));
}
