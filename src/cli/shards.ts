import type { Event } from '../controller/event.ts';
import { plannerConfigOf } from '../controller/syncs/planner-config.ts';
import { readSeries, type MetricStore } from '../metrics/store.ts';
import type { Shards } from '../ports/shards.ts';
import type { RunOptions } from './flags/flags.ts';

export type ClosableShards = Shards & { close(): void | Promise<void> };

/** Loads Piscina and msgpackr before the loop starts. The threads themselves start beside the first lists. */
export async function shardsFactory(
  options: Pick<RunOptions, 'controller' | 'shards' | 'shardHeapLimitMb'>,
): Promise<(deliver: (event: Event) => void, metrics: MetricStore) => ClosableShards> {
  const config = plannerConfigOf(options.controller);
  if (options.shards === 0) {
    const { createInlineShards } = await import('../node/inline-shards.ts');
    return (deliver) => createInlineShards(config, deliver);
  }
  const { createThreadShards } = await import('../node/thread-shards.ts');
  const threads = { count: options.shards, heapLimitMb: options.shardHeapLimitMb, config };
  return (deliver, metrics) => {
    const shards = createThreadShards(threads, deliver);
    readSeries(metrics, 'endpointd_shard_heap_bytes', () =>
      Array.from({ length: shards.count }, (_, shard) => ({
        labels: { shard: String(shard) },
        value: shards.facts(shard).heapBytes,
      })),
    );
    return shards;
  };
}
