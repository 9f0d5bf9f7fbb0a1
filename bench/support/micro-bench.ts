/**
 * Runs every micro-benchmark in the same way: with the same warm-up, the same table, and a hash that shows a fast wrong
 * answer.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Bench } from 'tinybench';

/** `tiny` runs within the tests, so that every benchmark keeps working. `full` is measured. */
export type Size = 'tiny' | 'full';

export interface MicroBench {
  /** The file under src that it measures. */
  readonly name: string;
  /** Makes the inputs. This is not measured. */
  readonly prepare: (size: Size) => readonly BenchCase[];
}

export interface BenchCase {
  readonly name: string;
  /** How many operations one `run` does. There are several where one takes less than the clock's resolution. */
  readonly operations: number;
  /** Does the operations and undoes them, and always returns the same: data that JSON can show, bytes, or text. */
  readonly run: () => unknown;
  /**
   * The value to hash, where it is not the result itself: for example the decoded form of bytes whose format may
   * change.
   */
  readonly meaning?: (result: unknown) => unknown;
  /** A note for the table, such as the size of the result. */
  readonly note?: string;
}

export interface BenchResult {
  readonly name: string;
  readonly note: string;
  /** Microseconds of one operation. */
  readonly p50Us: number;
  readonly p99Us: number;
  readonly hash: string;
}

const TIME_MS = 500;

/** @throws AssertionError if a case does not return the same before and after */
export async function runMicroBench(bench: MicroBench, size: Size): Promise<readonly BenchResult[]> {
  const cases = bench.prepare(size);
  const before = cases.map(hashOf);
  const timed = new Bench(
    size === 'full' ? { time: TIME_MS, warmupTime: TIME_MS / 2 } : { time: 0, iterations: 3, warmup: false },
  );
  for (const { name, run } of cases) timed.add(name, run, { async: false });
  await timed.run();
  return cases.map((benchCase, i) => {
    const { name, operations, note = '' } = benchCase;
    const result = timed.tasks[i]!.result;
    assert.ok(result.state === 'completed', `${bench.name}: ${name}: ${result.state}`);
    assert.equal(hashOf(benchCase), before[i], `${bench.name}: ${name}: the same result after as before`);
    const { p50, p99 } = result.latency;
    return { name, note, p50Us: (p50 * 1000) / operations, p99Us: (p99 * 1000) / operations, hash: before[i]! };
  });
}

/** A hash of 16 hexadecimal digits. */
function hashOf({ run, meaning }: BenchCase): string {
  const result = meaning === undefined ? run() : meaning(run());
  const bytes = result instanceof Uint8Array || typeof result === 'string' ? result : JSON.stringify(result);
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
