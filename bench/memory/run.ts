/** Memory of the main thread for each pod: records, keys, both directions of the selector index, and the work queue. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Size } from '../support/micro-bench.ts';
import { table } from '../support/table.ts';
import type { Weights } from './child.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));
const BYTES_PER_POD_MAX = 600;

export async function runMemoryBench(size: Size): Promise<void> {
  const { pods, services, queued, empty, withServices, withPods } = await weighInChild(size === 'full' ? 77 : 1);
  const row = (name: string, bytes: number, count: number): string[] => [
    name,
    count.toLocaleString('en'),
    (bytes / 1e6).toFixed(1),
    (bytes / count).toFixed(0),
  ];
  const rows = [
    row('services, each in the work queue', withServices - empty, services),
    row('pods', withPods - withServices, pods),
    row('all of it, per pod', withPods - empty, pods),
  ];
  console.log(`\nmemory of the main thread\n${table(['', 'count', 'MB', 'bytes each'], rows)}`);
  console.log(`${queued.toLocaleString('en')} services wait in the queue`);
  const within = (withPods - empty) / pods <= BYTES_PER_POD_MAX ? 'yes' : 'NO';
  // A table of few entries has much spare room, so a small cluster says nothing.
  const verdict = size === 'full' ? within : 'not asked of a small cluster';
  console.log(`all of it at most ${BYTES_PER_POD_MAX} bytes a pod: ${verdict}`);
}

/** In a process of its own, with a collector that can be called. */
export async function weighInChild(namespaces: number): Promise<Weights> {
  const child = spawn(process.execPath, ['--expose-gc', CHILD, String(namespaces)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = await text(child.stdout);
  return JSON.parse(output) as Weights;
}
