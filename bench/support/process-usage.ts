import { readFileSync } from 'node:fs';

export interface Usage {
  /** utime + stime of all threads. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}

/** Ticks a second of /proc, the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Of a running process, from /proc. @throws Error where there is none */
export function usageOf(pid: number): Usage {
  // Fields are counted from behind the name, which may contain spaces.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    peakBytes: Number(peak?.[1] ?? 0) * 1024,
  };
}
