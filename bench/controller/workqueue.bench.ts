import {
  addWork,
  createWorkItem,
  createWorkQueue,
  doneWork,
  takeWork,
  type WorkItem,
} from '../../src/controller/queues/workqueue.ts';
import type { BenchCase, MicroBench, Size } from '../support/micro-bench.ts';

export const workqueueBench: MicroBench = { name: 'controller/workqueue', prepare };

function prepare(size: Size): readonly BenchCase[] {
  const keys = size === 'full' ? 10_000 : 50;
  return [
    ...[1, 20].map((namespaces) => ({
      name: `${keys} keys of ${namespaces} namespaces: add, take, done`,
      operations: keys,
      run: () => drain(items(keys, namespaces), 0),
    })),
    {
      name: `${keys} keys with a delay: add three times, take, done`,
      operations: keys,
      run: () => drain(items(keys, 20), 500),
    },
  ];
}

function items(keys: number, namespaces: number): readonly WorkItem<number>[] {
  return Array.from({ length: keys }, (_, i) => createWorkItem(i, `ns-${i % namespaces}`));
}

/** A text of the order in which the keys came out. */
function drain(all: readonly WorkItem<number>[], delayMs: number): string {
  const queue = createWorkQueue<number>('endpoint', 5);
  for (let again = delayMs === 0 ? 1 : 3; again > 0; again--) {
    for (const item of all) addWork(queue, item, 'fresh', 0, delayMs + (item.key % 7));
  }
  let taken = 0;
  let order = 0;
  for (let nowMs = delayMs; taken < all.length; nowMs++) {
    for (let item = takeWork(queue, nowMs); item !== null; item = takeWork(queue, nowMs)) {
      order = (Math.imul(order, 31) + item.key) | 0;
      taken++;
      doneWork(queue, item, nowMs);
    }
  }
  return `${taken} ${order}`;
}
