import type { Clock } from '../ports/clock.ts';

/** Node takes no longer timers than this; a later wake-up is approached in steps. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export function createClock(): Clock & { close(): void } {
  let timer: NodeJS.Timeout | undefined;
  let firesAtMs = Infinity;
  let wanted: { readonly atMs: number; readonly wake: () => void } | null = null;

  function arm(atMs: number): void {
    clearTimeout(timer);
    // Rounded up, because the port promises "never before".
    const restMs = Math.min(Math.max(Math.ceil(atMs - performance.now()), 0), TIMER_MS_MAX);
    firesAtMs = performance.now() + restMs;
    timer = setTimeout(fire, restMs);
  }

  function fire(): void {
    firesAtMs = Infinity;
    if (wanted === null) return;
    const { atMs, wake } = wanted;
    // A timer may fire up to a millisecond early. A timer that was kept may fire before the time that is wanted by now.
    if (performance.now() < atMs) {
      arm(atMs);
      return;
    }
    wanted = null;
    wake();
  }

  return {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    /**
     * A timer that fires too early is kept, and looks again when it fires. So a time that moves on with each event does
     * not cost a timer each.
     */
    wakeAt(atMs, wake) {
      wanted = { atMs, wake };
      if (atMs < firesAtMs) arm(atMs);
    },
    close() {
      wanted = null;
      clearTimeout(timer);
    },
  };
}
