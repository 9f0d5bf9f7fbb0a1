/** Memory of the embedded API server for each pod of production size: objects, history, and their cached bytes. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Size } from '../support/micro-bench.ts';
import { table } from '../support/table.ts';
import type { ServerWeights } from './memory-child.ts';

const CHILD = fileURLToPath(new URL('memory-child.ts', import.meta.url));

export async function runServerMemoryBench(size: Size): Promise<void> {
  const { pods, empty, filled, sent } = await weighServerInChild(size === 'full' ? 77 : 1);
  const row = (name: string, bytes: number): string[] => [name, (bytes / 1e6).toFixed(0), (bytes / pods).toFixed(0)];
  const rows = [row('created and made ready', filled - empty), row('sent in protobuf and in JSON', sent - empty)];
  console.log(
    `\nmemory of the API server, ${pods.toLocaleString('en')} pods\n${table(['', 'MB', 'bytes a pod'], rows)}`,
  );
}

/** Weighs in a process of its own, whose garbage collector can be called. */
export async function weighServerInChild(namespaces: number): Promise<ServerWeights> {
  const child = spawn(process.execPath, ['--expose-gc', CHILD, String(namespaces)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await text(child.stdout)) as ServerWeights;
}
