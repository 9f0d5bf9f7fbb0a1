/** Reads again and again what may change under a running process. */
import { failureMessage } from '../failure.ts';

export interface RereadConfig<T> {
  readonly everyMs: number;
  readonly read: () => Promise<T>;
  /** Throws where it cannot be used; then what was taken before stays in use. */
  readonly take: (value: T) => void;
  /** Told once of the same failure, until it has gone. */
  readonly failed: (why: string) => void;
}

export interface Reread {
  /** Once, now. Never rejects. */
  readonly now: () => Promise<void>;
  readonly stop: () => void;
}

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
