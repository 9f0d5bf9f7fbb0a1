/** The kernel's counters of a running process, from /proc. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  /** utime + stime of all threads, including those that have ended. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly residentBytes: number;
}

/** The ticks per second of /proc. They are the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
const NANOSECONDS = 1e9;

/** @throws Error if there is no such process */
export function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    cpuSeconds: cpuSecondsOf(pid),
    peakBytes: kilobytes(status, 'VmHWM') * 1024,
    residentBytes: kilobytes(status, 'VmRSS') * 1024,
  };
}

/** @throws Error if there is no such process */
export function cpuSecondsOf(pid: number): number {
  // Fields are counted from behind the name, which may contain spaces.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** CPU seconds by the name of the thread. Threads of one name are summed. Threads that have ended are left out. */
export function threadSecondsOf(pid: number): ReadonlyMap<string, number> {
  const seconds = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const directory = `/proc/${pid}/task/${thread}`;
    try {
      const name = readFileSync(`${directory}/comm`, 'utf8').trim();
      const nanoseconds = Number(readFileSync(`${directory}/schedstat`, 'utf8').split(' ')[0]);
      seconds.set(name, (seconds.get(name) ?? 0) + nanoseconds / NANOSECONDS);
    } catch {
      // The thread has ended since the directory was read.
    }
  }
  return seconds;
}

/**
 * CPU seconds of the threads that have not ended, by the scheduler's clock. `cpuSecondsOf` counts in ticks of 10 ms, which
 * are more than the work of a few changes.
 */
export function exactSecondsOf(pid: number): number {
  return [...threadSecondsOf(pid).values()].reduce((sum, seconds) => sum + seconds, 0);
}

/** How many bytes a process has read from sockets and files. */
export function bytesReadBy(pid: number): number {
  return Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0);
}
