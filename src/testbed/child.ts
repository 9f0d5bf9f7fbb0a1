import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';

/** A program that ends when this process ends, however that happens. */
export interface Child {
  readonly pid: number;
  readonly running: boolean;
  /** Whether `kill` has ended it, so that its end is expected. */
  readonly killed: boolean;
  /** Resolves with the exit status when it has ended; 128 and more = a signal has ended it. */
  readonly ended: Promise<number>;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Sends SIGSTOP: the program stands still until `resume`. */
  pause(): void;
  resume(): void;
  /** User and system time of all its threads until now, or until its end. On Linux only; elsewhere 0. */
  cpuSeconds(): number;
}

/**
 * A shell between this process and the program. It reads a pipe that only closes when this process is gone, and kills
 * the program then. It tells the program's pid on descriptor 3.
 */
const GUARD = [
  'exec 4<&0',
  '"$@" </dev/null 3>&- 4<&- &',
  'program=$!',
  'echo $program >&3',
  'exec 3>&-',
  // A signal to the whole process group must not end the guard, because the program may take longer to end.
  // Where the program leads a group of processes, as with `setsid`, all of it ends.
  "{ trap '' TERM INT HUP; cat <&4 >/dev/null; kill -9 -$program $program 2>/dev/null; } &",
  'wait $program',
].join('\n');

const CLOCK_TICKS_PER_SECOND = 100;

/**
 * Starts a program whose output goes to the file at `logPath`.
 * @param env variables beside those of this process
 */
export async function startChild(
  path: string,
  args: readonly string[],
  logPath: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const log = openSync(logPath, 'a');
  const shell = spawn('/bin/sh', ['-c', GUARD, 'sh', path, ...args], {
    stdio: ['pipe', log, log, 'pipe'],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  let running = true;
  let killed = false;
  const ended = new Promise<number>((resolve) => {
    shell.once('exit', (status) => {
      running = false;
      shell.stdin!.destroy();
      resolve(status ?? -1);
    });
  });
  shell.unref();
  const pid = await readPid(shell.stdio[3] as Readable);
  let lastCpuSeconds = 0;
  const cpuSeconds = (): number => {
    if (running) lastCpuSeconds = readCpuSeconds(pid) ?? lastCpuSeconds;
    return lastCpuSeconds;
  };
  // After the program's end, and before the shell's, there is nothing to signal.
  const signal = (name: NodeJS.Signals): void => {
    try {
      if (running) process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  return {
    pid,
    get running() {
      return running;
    },
    get killed() {
      return killed;
    },
    ended,
    async kill(name) {
      killed = true;
      cpuSeconds();
      signal(name);
      shell.ref();
      await ended;
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    cpuSeconds,
  };
}

async function readPid(pipe: Readable): Promise<number> {
  let text = '';
  for await (const chunk of pipe) text += String(chunk);
  return Number(text);
}

function readCpuSeconds(pid: number): number | null {
  try {
    // Fields 14 and 15. They are counted from behind the command, which may contain any text.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
  } catch {
    return null;
  }
}
