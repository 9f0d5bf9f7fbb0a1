/** The controller in a child process that takes orders (child.mjs), and the CPU of its threads. Linux only. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ApiClient } from '../../src/node/api-client.ts';
import { NODE_FLAGS } from '../../src/testbed/controller-process.ts';
import type { Cluster } from '../../src/workload/cluster.ts';
import { threadSecondsOf } from '../support/process-usage.ts';
import type { ExpectedOutputs } from '../support/outputs.ts';
import type { CpuProfile } from './profile.ts';

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url));

export const THREADS = ['main', 'V8 helpers', 'others'] as const;
export type Seconds = Readonly<Record<(typeof THREADS)[number], number>>;
export const NONE: Seconds = { main: 0, 'V8 helpers': 0, others: 0 };

/** Collections of the main thread, by kind. */
export type Collections = Readonly<Record<string, { readonly count: number; readonly ms: number }>>;

export interface Stage {
  readonly client: ApiClient;
  readonly cluster: Cluster;
  readonly expected: ExpectedOutputs;
  /** How many objects a service gets, where it has one slice. */
  readonly outputsEach: number;
  /** The module that exports `run`. */
  readonly program: string;
  readonly args: readonly string[];
  /** More variables of its environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Controller {
  readonly pid: number;
  /** Rejected if the process ends before `kill`. */
  readonly ended: Promise<never>;
  run(): void;
  profile(): Promise<void>;
  profiled(): Promise<CpuProfile>;
  /** Resolves when the controller has ended. The process lives on. */
  stop(): Promise<Collections>;
  kill(): Promise<void>;
}

/** Resolves when the modules are loaded. */
export async function startProcess({ program, args, env }: Stage, nodeFlags: readonly string[]): Promise<Controller> {
  const child = fork(CHILD, [program, ...args], {
    execArgv: [...NODE_FLAGS, ...nodeFlags],
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`the controller has ended with status ${code}`)));
  });
  ended.catch(() => undefined);
  const answer = async (): Promise<unknown> => ((await Promise.race([once(child, 'message'), ended])) as unknown[])[0];
  const ask = async (order: string): Promise<unknown> => {
    const answered = answer();
    child.send(order);
    return answered;
  };
  await answer();
  return {
    pid: child.pid!,
    ended,
    run: () => void child.send('run'),
    profile: async () => void (await ask('profile')),
    profiled: async () => (await ask('profiled')) as CpuProfile,
    stop: async () => (await ask('stop')) as Collections,
    kill: async () => {
      child.kill('SIGKILL');
      await ended.catch(() => undefined);
    },
  };
}

export function secondsOf(pid: number): Seconds {
  const threads = threadSecondsOf(pid);
  const main = threads.get('node-MainThread') ?? 0;
  const helpers = threads.get('node-V8Worker') ?? 0;
  const all = [...threads.values()].reduce((sum, each) => sum + each, 0);
  return { main, 'V8 helpers': helpers, others: all - main - helpers };
}

export function sumOf(all: readonly Seconds[]): Seconds {
  return all.reduce((sum, each) => combine(sum, each, 1), NONE);
}

export function minus(a: Seconds, b: Seconds): Seconds {
  return combine(a, b, -1);
}

function combine(a: Seconds, b: Seconds, sign: number): Seconds {
  return {
    main: a.main + sign * b.main,
    'V8 helpers': a['V8 helpers'] + sign * b['V8 helpers'],
    others: a.others + sign * b.others,
  };
}
