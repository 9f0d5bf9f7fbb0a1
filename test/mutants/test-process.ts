/** Runs test files in a process of their own. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type Outcome =
  | { readonly kind: 'passed' }
  /** `by` names the test, or is '' where the process ended without one. */
  | { readonly kind: 'failed'; readonly by: string }
  | { readonly kind: 'endless' };

export interface TestRun {
  /** Current directory. */
  readonly root: string;
  /** Absolute paths. */
  readonly files: readonly string[];
  /** Seconds of CPU time: a busy machine makes no test endless. */
  readonly cpuLimit: number;
  readonly env: Readonly<Record<string, string>>;
}

const here = (name: string): string => fileURLToPath(new URL(`in-process/${name}`, import.meta.url));

/** What only waits is given up after this many times its limit of CPU time, by the clock: a busy machine needs some. */
const PATIENCE = 20;
/** A mutant that collects without end must not take the machine's memory. */
const HEAP_MEGABYTES = 1024;

export function runTests({ root, files, cpuLimit, env }: TestRun): Promise<Outcome> {
  const seconds = Math.ceil(cpuLimit);
  const node = [
    process.execPath,
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    `--test-reporter=${here('first-failure.ts')}`,
    '--test-reporter-destination=stdout',
    here('entry.ts'),
  ];
  const child = spawn('/bin/sh', ['-c', 'ulimit -t "$0"; exec "$@"', String(seconds), ...node, ...files], {
    cwd: root,
    // A group of its own: with the process goes whatever it has left behind.
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    // NODE_TEST_CONTEXT would make the tests report to a test runner above us.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: `--import=${here('preload.ts')}`, ...env },
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const kill = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // The whole group is gone.
    }
  };
  return new Promise((resolve, reject) => {
    let late = false;
    const timer = setTimeout(
      () => {
        late = true;
        kill();
      },
      seconds * PATIENCE * 1000,
    );
    child.on('error', reject);
    child.on('exit', kill);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (late || signal === 'SIGXCPU' || (signal === 'SIGKILL' && said === '')) resolve({ kind: 'endless' });
      else if (code === 0) resolve({ kind: 'passed' });
      else resolve({ kind: 'failed', by: said });
    });
  });
}
