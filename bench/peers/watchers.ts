/** Further watchers of all Endpoints and slices, in a process of their own. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadTarget } from '../support/http-load.ts';

export interface WatchersOrder {
  readonly target: LoadTarget;
  /** Of each kind. */
  readonly count: number;
}

/** By all watchers together, since they were opened. */
export interface Received {
  readonly bytes: number;
  /** Watches that the server has ended. */
  readonly ended: number;
}

export interface Watchers {
  readonly pid: number;
  /** @throws Error if their process has ended */
  readonly received: () => Promise<Received>;
  readonly stop: () => void;
}

const PROCESS = fileURLToPath(new URL('watchers-process.ts', import.meta.url));

/** Resolves when all watch; null = there are none. @throws Error if one of them cannot be opened */
export async function startWatchers(order: WatchersOrder): Promise<Watchers | null> {
  if (order.count === 0) return null;
  const child = fork(PROCESS, { stdio: 'inherit' });
  const failed = new Promise<never>((_, reject) => {
    child.once('exit', (status) => reject(new Error(`the further watchers have ended with status ${status}`)));
  });
  failed.catch(() => undefined);
  const ask = (question: WatchersOrder | 'received'): Promise<Received> => {
    const answer = new Promise<Received>((resolve) => child.once('message', (told) => resolve(told as Received)));
    child.send(question);
    return Promise.race([answer, failed]);
  };
  await ask(order);
  return { pid: child.pid!, received: () => ask('received'), stop: () => void child.kill('SIGKILL') };
}
