/** Reads at an interval what may change while the process runs. */
import { failureMessage } from '../failure.ts';

export interface RereadConfig<T> {
  readonly everyMs: number;
  readonly read: () => Promise<T>;
  /** Throws if the value cannot be used. Then the value before stays in use. */
  readonly take: (value: T) => void;
  /** Called once for the same failure, until a read succeeds. */
  readonly failed: (why: string) => void;
}

export interface Reread {
  /** Reads once, now. Never rejects. */
  readonly now: () => Promise<void>;
  readonly stop: () => void;
}

/** Reads every `everyMs`. A read that is due while another runs is left out. */
export function startReread<T>({ everyMs, read, take, failed }: RereadConfig<T>): Reread {
  let isReading = false;
  let failing = '';
  async function now(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      take(await read());
      failing = '';
    } catch (error) {
      const why = failureMessage(error);
      if (why !== failing) failed(why);
      failing = why;
    } finally {
      isReading = false;
    }
  }
  const timer = setInterval(() => void now(), everyMs).unref();
  return { now, stop: () => clearInterval(timer) };
}
