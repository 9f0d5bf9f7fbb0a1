import { spawn } from 'node:child_process';
import { rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { MAIN } from './controller-process.ts';
import { endWithUs } from './guard.ts';

const STARTED = /serving at (\S+) until/;

/** `endpointd serve` as a process of its own, on a free port. */
export interface ServeProcess {
  readonly url: string;
  readonly kubeconfig: string;
  readonly pid: number;
  /** Rejected when it ends without `stop`. Never resolves. */
  readonly failed: Promise<never>;
  /** Sends SIGTERM. Resolves with the exit status. */
  stop(): Promise<number>;
}

/**
 * @param main the program
 * @throws Error with its output if it ends before it serves
 */
export async function startServe(flags: readonly string[] = [], main: URL = MAIN): Promise<ServeProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-serve-'));
  const kubeconfig = join(directory, 'kubeconfig');
  const child = spawn(process.execPath, [fileURLToPath(main), 'serve', `--kubeconfig=${kubeconfig}`, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithUs(child);
  const removeDirectory = (): void => rmSync(directory, { recursive: true, force: true });
  const endAtExit = (): void => {
    child.kill('SIGKILL');
    removeDirectory();
  };
  process.once('exit', endAtExit);
  let said = '';
  let stopping = false;
  // A process that could not be started closes without an exit.
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (!stopping) reject(new Error(`serve has ended with status ${code ?? -1}:\n${said}`));
    });
  });
  failed.catch(() => undefined);
  const served = new Promise<string>((resolve) => {
    const listen = (chunk: Buffer): void => {
      said += chunk.toString();
      const match = STARTED.exec(said);
      if (match !== null) resolve(match[1]!);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
  });
  const forget = (): void => {
    process.off('exit', endAtExit);
    removeDirectory();
  };
  const url = await Promise.race([served, failed]).catch((error: unknown) => {
    forget();
    throw error;
  });
  return {
    url,
    failed,
    kubeconfig,
    pid: child.pid!,
    stop: async () => {
      stopping = true;
      child.kill('SIGTERM');
      const status = await ended;
      forget();
      return status;
    },
  };
}
