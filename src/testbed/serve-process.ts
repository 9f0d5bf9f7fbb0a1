import { spawn } from 'node:child_process';
import { rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { MAIN } from './controller-process.ts';

const STARTED = /serving at (\S+) until/;

/** `endpointd serve` as a process of its own, on any free port. */
export interface ServeProcess {
  readonly url: string;
  readonly kubeconfig: string;
  readonly pid: number;
  /** SIGTERM; gives the exit status. */
  stop(): Promise<number>;
}

/** @throws Error with what it said when it ends before it serves */
export async function startServe(flags: readonly string[] = []): Promise<ServeProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-serve-'));
  const kubeconfig = join(directory, 'kubeconfig');
  const child = spawn(process.execPath, [fileURLToPath(MAIN), 'serve', `--kubeconfig=${kubeconfig}`, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  let said = '';
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer): void => {
      said += chunk.toString();
      const match = STARTED.exec(said);
      if (match !== null) resolve(match[1]!);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    void ended.then((status) => reject(new Error(`serve has ended with status ${status}:\n${said}`)));
  });
  return {
    url,
    kubeconfig,
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGTERM');
      const status = await ended;
      process.off('exit', killWithUs);
      rmSync(directory, { recursive: true });
      return status;
    },
  };
}
