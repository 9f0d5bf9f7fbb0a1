/** The micro-benchmarks, and the table in which they are printed. */
import { journalBench } from './controller/journal.bench.ts';
import { workqueueBench } from './controller/workqueue.bench.ts';
import { planBench } from './core/endpoints/plan.bench.ts';
import { repackBench } from './core/endpoints/repack.bench.ts';
import { selectorIndexBench } from './core/selector-index.bench.ts';
import { slicesPlanBench } from './core/slices/plan.bench.ts';
import { projectBench } from './kube/project.bench.ts';
import { codecBench } from './shard/codec.bench.ts';
import { runMicroBench, type MicroBench, type Size } from './support/micro-bench.ts';
import { table } from './support/table.ts';

export const MICRO_BENCHES: readonly MicroBench[] = [
  selectorIndexBench,
  planBench,
  repackBench,
  slicesPlanBench,
  workqueueBench,
  journalBench,
  codecBench,
  projectBench,
];

/** @param filter a part of a name; undefined = all */
export async function runMicroBenches(size: Size, filter: string | undefined): Promise<void> {
  const chosen = MICRO_BENCHES.filter(({ name }) => filter === undefined || name.includes(filter));
  if (chosen.length === 0) {
    throw new Error(`no bench is called ${filter}: there are ${MICRO_BENCHES.map(({ name }) => name).join(', ')}`);
  }
  for (const bench of chosen) {
    const results = await runMicroBench(bench, size);
    const rows = results.map(({ name, note, p50Us, p99Us, hash }) => [
      name,
      note,
      p50Us.toFixed(3),
      p99Us.toFixed(3),
      Math.round(1e6 / p50Us).toLocaleString('en'),
      hash,
    ]);
    console.log(`\n${bench.name}\n${table(['case', 'size', 'p50 us', 'p99 us', 'ops/s', 'hash'], rows)}`);
  }
}
