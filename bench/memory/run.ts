/**
 * The main thread's memory for each pod: records, keys, both directions of the selector index, nodes and their pods,
 * units and the queues. Measured for the endpoints controller alone, and for all three.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Size } from '../support/micro-bench.ts';
import { table } from '../support/table.ts';
import type { Weights } from './child.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));

/** `bytesPerPodMax`: the mark; null = there is none. */
const STATES = [
  { title: 'the endpoints controller alone', controllers: 'endpoints-controller', bytesPerPodMax: 600 },
  { title: 'all three controllers', controllers: '*', bytesPerPodMax: null },
] as const;

export async function runMemoryBench(size: Size): Promise<void> {
  for (const { title, controllers, bytesPerPodMax } of STATES) {
    const weights = await weighInChild(controllers, size === 'full' ? 77 : 1);
    const { pods, services, nodes, queued, empty, withServices, withNodes, withPods, withAgedPods } = weights;
    const rows = [
      row('services, each in the work queues', withServices - empty, services),
      ...(nodes === 0 ? [] : [row('nodes', withNodes - withServices, nodes)]),
      row('pods', withPods - withNodes, pods),
      row('all of it, per pod', withPods - empty, pods),
      row('the same when each pod has changed', withAgedPods - empty, pods),
    ];
    console.log(`\nmemory of the main thread, ${title}\n${table(['', 'count', 'MB', 'bytes each'], rows)}`);
    console.log(`${queued.toLocaleString('en')} units of work wait in the queues`);
    if (bytesPerPodMax === null) continue;
    const within = (withPods - empty) / pods <= bytesPerPodMax ? 'yes' : 'NO';
    // A table with few entries has much spare room, so a small cluster shows nothing.
    const verdict = size === 'full' ? within : 'not asked of a small cluster';
    console.log(`all of it at most ${bytesPerPodMax} bytes a pod: ${verdict}`);
  }
}

function row(name: string, bytes: number, count: number): string[] {
  return [name, count.toLocaleString('en'), (bytes / 1e6).toFixed(1), (bytes / count).toFixed(0)];
}

/** Weighs in a process of its own, whose garbage collector can be called. @param controllers the value of the flag */
export async function weighInChild(controllers: string, namespaces: number): Promise<Weights> {
  const child = spawn(process.execPath, ['--expose-gc', CHILD, controllers, String(namespaces)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = await text(child.stdout);
  return JSON.parse(output) as Weights;
}
