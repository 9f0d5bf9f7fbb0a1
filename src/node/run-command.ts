/**
 * Runs a command of somebody else's so that nothing of it stays behind, even if it hangs, forks or prints without end.
 */
import { spawn } from 'node:child_process';
import process from 'node:process';

export interface Command {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A command that has not ended by then is killed, with all that it has started. */
  readonly msMax: number;
}

const STDOUT_BYTES_MAX = 1_048_576;
const STDERR_CHARS_MAX = 1000;
/** From SIGTERM to SIGKILL. */
const GRACE_MS = 2000;

/** Process groups that may still have members. Each command leads one, so that what it starts is killed with it. */
const groups = new Set<number>();

function killGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-group, signal);
  } catch {
    // All processes of the group have ended.
  }
}

function killAll(): void {
  for (const group of groups) killGroup(group, 'SIGKILL');
}

/**
 * Gives what the command printed.
 * @throws Error with its last words on stderr, or with what it did wrong, and never with its output
 */
export function runCommand({ path, args, env, msMax }: Command): Promise<string> {
  if (!process.listeners('exit').includes(killAll)) process.on('exit', killAll);
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child.once('error', reject);
    const group = child.pid;
    // A command that was not started has no streams if file descriptors are used up.
    if (group === undefined) return;
    groups.add(group);
    const printed: Buffer[] = [];
    let printedBytes = 0;
    let said = '';
    let killed = false;

    const kill = (why: string): void => {
      if (killed) return;
      killed = true;
      clearTimeout(late);
      killGroup(group, 'SIGTERM');
      setTimeout(() => {
        killGroup(group, 'SIGKILL');
        groups.delete(group);
        child.stdout.destroy();
        child.stderr.destroy();
      }, GRACE_MS);
      reject(new Error(why));
    };

    const late = setTimeout(() => kill(`no answer within ${msMax} ms`), msMax);
    child.stdout.on('data', (chunk: Buffer) => {
      printedBytes += chunk.length;
      if (printedBytes > STDOUT_BYTES_MAX) kill(`it printed more than ${STDOUT_BYTES_MAX} bytes`);
      else printed.push(chunk);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said = (said + chunk).slice(-STDERR_CHARS_MAX)));
    child.once('close', (status, signal) => {
      clearTimeout(late);
      if (killed) return;
      groups.delete(group);
      if (status === 0) resolve(Buffer.concat(printed).toString());
      else reject(new Error(said.trim() || `it ended with ${signal ?? `status ${status}`}`));
    });
  });
}
