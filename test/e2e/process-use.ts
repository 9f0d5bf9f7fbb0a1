import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { WebSocket } from 'undici';
import type { Endpointd } from './endpointd.ts';

export interface MemoryUse {
  /** Of the main thread, after a full collection. */
  readonly heapBytes: number;
  /** Of the process, at the same moment. */
  readonly residentBytes: number;
}

export interface ProcessUse extends MemoryUse {
  /** Open files and sockets. */
  readonly descriptors: number;
  readonly threads: number;
}

/** What the kernel counts of a process. Linux only. */
export function kernelUse(pid: number): Pick<ProcessUse, 'descriptors' | 'threads'> {
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, threads: readdirSync(`/proc/${pid}/task`).length };
}

const ANSWER_MS_MAX = 60_000;

interface Answer {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: string } };
}

/** Asks the debugger of Node, which the tests start the process with, for a full collection, then for what is left. */
export async function memoryUse(endpointd: Endpointd): Promise<MemoryUse> {
  const log = await readFile(endpointd.logPath, 'utf8');
  const url = /Debugger listening on (\S+)/.exec(log)?.[1];
  if (url === undefined) throw new Error('endpointd has no debugger');
  const socket = new WebSocket(url);
  const requests = [
    { method: 'HeapProfiler.collectGarbage' },
    { method: 'Runtime.evaluate', params: { expression: 'JSON.stringify(process.memoryUsage())' } },
  ];
  try {
    const text = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(reject, ANSWER_MS_MAX, new Error(`no answer from the debugger at ${url}`));
      const send = (at: number): void => socket.send(JSON.stringify({ id: at, ...requests[at] }));
      socket.addEventListener('error', () => reject(new Error(`no debugger at ${url}`)));
      socket.addEventListener('open', () => send(0));
      socket.addEventListener('message', ({ data }) => {
        const { id, result } = JSON.parse(String(data)) as Answer;
        if (id === undefined) return;
        if (id + 1 < requests.length) {
          send(id + 1);
          return;
        }
        clearTimeout(timer);
        resolve(result?.result?.value ?? '{}');
      });
    });
    const { heapUsed, rss } = JSON.parse(text) as { heapUsed: number; rss: number };
    return { heapBytes: heapUsed, residentBytes: rss };
  } finally {
    socket.close();
  }
}
