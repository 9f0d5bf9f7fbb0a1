/** What the kernel counts of a process that runs, from /proc: Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  /** utime + stime of all threads, those that have ended too. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly residentBytes: number;
}

/** Ticks a second of /proc, the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
const NANOSECONDS = 1e9;

/** @throws Error where there is no such process */
export function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    cpuSeconds: cpuSecondsOf(pid),
    peakBytes: kilobytes(status, 'VmHWM') * 1024,
    residentBytes: kilobytes(status, 'VmRSS') * 1024,
  };
}

/** @throws Error where there is no such process */
export function cpuSecondsOf(pid: number): number {
  // Fields are counted from behind the name, which may contain spaces.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** CPU seconds by the name of the thread; threads of one name are summed. Threads that have ended are not told. */
export function threadSecondsOf(pid: number): ReadonlyMap<string, number> {
  const seconds = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const directory = `/proc/${pid}/task/${thread}`;
    try {
      const name = readFileSync(`${directory}/comm`, 'utf8').trim();
      const nanoseconds = Number(readFileSync(`${directory}/schedstat`, 'utf8').split(' ')[0]);
      seconds.set(name, (seconds.get(name) ?? 0) + nanoseconds / NANOSECONDS);
    } catch {
      // It has ended since the directory was read.
    }
  }
  return seconds;
}

/** Bytes that a process has read so far, from sockets and files alike. */
export function bytesReadBy(pid: number): number {
  return Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0);
}
