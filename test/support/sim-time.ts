/** Virtual time: what is to happen, in order. Several simulated processes may share one. */
import { createHeap, heapFirst, heapPlace, heapRemove } from '../../src/lib/heap.ts';

export interface SimTask {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
  heapIndex: number;
}

export interface SimTime {
  /** Milliseconds since the start. */
  readonly now: number;
  /** At that time; what was asked for first comes first. Never in the past. */
  readonly at: (atMs: number, run: () => void) => SimTask;
  readonly drop: (task: SimTask) => void;
  /** Lets so many milliseconds pass. */
  readonly run: (ms: number) => void;
}

export function createSimTime(): SimTime {
  const tasks = createHeap<SimTask>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order));
  let now = 0;
  let order = 0;
  return {
    get now() {
      return now;
    },
    at(atMs, run) {
      const task: SimTask = { atMs: Math.max(now, atMs), order: order++, run, heapIndex: -1 };
      heapPlace(tasks, task);
      return task;
    },
    drop: (task) => heapRemove(tasks, task),
    run(ms) {
      const untilMs = now + ms;
      for (let task = heapFirst(tasks); task !== undefined && task.atMs <= untilMs; task = heapFirst(tasks)) {
        heapRemove(tasks, task);
        now = task.atMs;
        task.run();
      }
      now = untilMs;
    },
  };
}
