/** How far threads can help the planners, by what a batch costs whom. */
import { median } from '../../src/lib/percentile.ts';

/** The cost of one batch, in microseconds. */
export interface Costs {
  readonly wallUs: number;
  /** CPU of the main thread: inline to plan, else to encode and post the batch and to read the reply. */
  readonly mainUs: number;
  /** CPU of the planners' threads. */
  readonly plannersUs: number;
  /** CPU of V8's helper threads, which compile and collect garbage for all threads. */
  readonly helpersUs: number;
  readonly writes: number;
}

type Shared = Pick<Costs, 'mainUs' | 'plannersUs' | 'helpersUs'>;

/** What a limit is made of, by one run. */
interface Costing {
  readonly inline: Pick<Costs, 'mainUs'>;
  /** With one planner on a thread, and snapshots that the main thread encodes. */
  readonly one: Shared;
  /** The same with snapshots that are encoded already. */
  readonly oneReady: Shared;
}

/** The speed as a multiple of inline, with a planner on each core but one. */
export interface Limit {
  readonly cores: number;
  /** The limit if the snapshots are encoded already. */
  readonly encodedBefore: number;
  /** The limit if the main thread encodes them, as `--shards` does it. */
  readonly encodedOnMain: number;
}

/**
 * A batch takes no less than its part of the main thread, than an equal share of the planners' part (Amdahl's law), and than
 * an equal share for each core of all CPU, because V8's helpers need the cores too. Inline a batch takes as long as the main
 * thread: the helpers have another core. The median of what the runs allow.
 */
export function limitOf(runs: readonly Costing[], cores: number): Limit {
  const limit = (way: 'one' | 'oneReady'): number =>
    median(
      runs.map((run) => {
        const { mainUs, plannersUs, helpersUs } = run[way];
        const leastUs = Math.max(mainUs, plannersUs / (cores - 1), (mainUs + plannersUs + helpersUs) / cores);
        return run.inline.mainUs / leastUs;
      }),
    );
  return {
    cores,
    encodedBefore: limit('oneReady'),
    encodedOnMain: limit('one'),
  };
}
