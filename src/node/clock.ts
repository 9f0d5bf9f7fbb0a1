import type { Clock } from '../ports/clock.ts';

/** Node takes no longer timers than this; a later wake-up is approached in steps. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export function createClock(): Clock & { close(): void } {
  let timer: NodeJS.Timeout | undefined;

  function wakeAt(atMs: number, wake: () => void): void {
    clearTimeout(timer);
    // The time is rounded up and asked again, because a timer may fire up to a millisecond early and the port promises
    // "never before".
    const restMs = Math.min(Math.max(Math.ceil(atMs - performance.now()), 0), TIMER_MS_MAX);
    timer = setTimeout(() => {
      if (performance.now() < atMs) wakeAt(atMs, wake);
      else wake();
    }, restMs);
  }

  return {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    wakeAt,
    close: () => clearTimeout(timer),
  };
}
