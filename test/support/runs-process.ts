import { readFileSync } from 'node:fs';

/** Whether the process has not ended. On Linux only. */
export function runs(pid: number): boolean {
  try {
    // A zombie has ended; who started it may be gone, and then nobody of ours can wait for it.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
