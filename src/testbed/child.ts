import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';

/** A program that never outlives this process, however this one ends. */
export interface Child {
  readonly pid: number;
  readonly running: boolean;
  /** By `kill`, so that its end is no surprise. */
  readonly killed: boolean;
  /** Settles when it has ended, with its exit status; 128 and more = ended by a signal. */
  readonly ended: Promise<number>;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** SIGSTOP: it stands still until `resume`. */
  pause(): void;
  resume(): void;
  /** User and system time of all its threads so far, or until it ended. Linux only; elsewhere 0. */
  cpuSeconds(): number;
}

/**
 * A shell between us and the program: it reads a pipe that only closes when this process is gone, and then kills.
 * It tells the program's own pid on descriptor 3.
 */
const GUARD = [
  'exec 4<&0',
  '"$@" </dev/null 3>&- 4<&- &',
  'program=$!',
  'echo $program >&3',
  'exec 3>&-',
  // A signal to the whole process group must not end the guard before a program that takes its time over it.
  "{ trap '' TERM INT HUP; cat <&4 >/dev/null; kill -9 $program 2>/dev/null; } &",
  'wait $program',
].join('\n');

const CLOCK_TICKS_PER_SECOND = 100;

/**
 * Output goes to the file at `logPath`.
 * @param env beside that of this process
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
  // Between the end of the program and that of the shell there is nobody to signal.
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
    // Fields 14 and 15, counted from behind the command, which may contain anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
  } catch {
    return null;
  }
}
