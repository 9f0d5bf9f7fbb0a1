/** The controller as a process of its own, so that its cost can be told from its surroundings'. */
import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { endWithUs } from './guard.ts';

export interface ControllerProcess {
  readonly pid: number;
  /** Read from its own metrics, so it works on every platform. */
  readonly usage: () => Promise<ProcessUsage>;
  /** The body of a page of its port without TLS, such as `/metrics`. */
  readonly get: (path: string) => Promise<string>;
  /** Sends SIGTERM. Resolves with the exit status. */
  readonly stop: () => Promise<number>;
  /** Sends SIGKILL. Resolves when the process has ended. */
  readonly kill: () => Promise<void>;
  /** Rejected when the process ends without `stop` or `kill`. Never resolves. */
  readonly failed: Promise<never>;
}

export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

const STDERR_CHARS_MAX = 4000;
/** The address of the port without TLS in the log line about the start, as text and as JSON. */
const SERVED_AT = /"?http"?[=:]"(127\.0\.0\.1:\d+)"/;

/**
 * The flags with which the image starts Node, and `bin` but for the last one, which older versions of Node refuse. V8
 * lets the heap of a program that allocates little grow by a few megabytes only, and then marks all of it again. With the
 * caches of a large cluster that costs more than the work itself. So the heap may double from 96 MB on, as a Go program's
 * heap does, and the young generation stays small. SIGUSR1 opens no debugger.
 */
export const NODE_FLAGS: readonly string[] = [
  '--max-semi-space-size=4',
  '--heap-growing-percent=100',
  '--initial-old-space-size=96',
  '--disable-sigusr1',
];

/** The program beside this file: its sources, or the compiled files. */
export const MAIN = new URL(`../main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

/**
 * @param flags flags of `endpointd run`, without an address for metrics
 * @param env more variables of its environment
 */
export function startController(
  flags: readonly string[],
  mainUrl: URL = MAIN,
  env: Readonly<Record<string, string>> = {},
): ControllerProcess {
  const main = fileURLToPath(mainUrl);
  // A killed process would hold the Lease, and the next one would wait for it.
  const own = ['--leader-elect=false', '--secure-port=0', '--metrics-bind-address=127.0.0.1:0'];
  const args = [...NODE_FLAGS, main, 'run', ...own, ...flags];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  endWithUs(child);
  let said = '';
  const address = new Promise<string>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-STDERR_CHARS_MAX);
      const match = SERVED_AT.exec(said);
      if (match !== null) resolve(match[1]!);
    });
  });
  // A process that could not be started closes without an exit.
  const exited = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  let stopping = false;
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (!stopping) reject(new Error(`the controller has ended with status ${code}:\n${said}`));
    });
  });
  failed.catch(() => undefined);
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    stopping = true;
    child.kill(signal);
    const code = await exited;
    process.off('exit', killWithUs);
    return code;
  };
  const get = async (path: string): Promise<string> => {
    const served = await Promise.race([address, failed]);
    return (await request(`http://${served}${path}`)).body.text();
  };
  return {
    pid: child.pid ?? -1,
    failed,
    get,
    usage: async () => {
      const text = await get('/metrics');
      return {
        cpuSeconds: metric(text, 'process_cpu_seconds_total'),
        residentBytes: metric(text, 'process_resident_memory_bytes'),
      };
    },
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}

function metric(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}
