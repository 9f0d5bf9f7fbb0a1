import { TIMER_MS_MAX } from '../lib/duration.ts';
import type { Clock } from '../ports/clock.ts';

export function createClock(): Clock & { close(): void } {
  let timer: NodeJS.Timeout | undefined;
  /** The time for which the timer is set. It fires up to a millisecond later. */
  let armedForMs = Infinity;
  let wanted: { readonly atMs: number; readonly wake: () => void } | null = null;

  function arm(atMs: number): void {
    clearTimeout(timer);
    // Rounded up, because the port promises "never before". A later wake-up is approached in steps.
    const nowMs = performance.now();
    const restMs = Math.min(Math.max(Math.ceil(atMs - nowMs), 0), TIMER_MS_MAX);
    armedForMs = Math.min(atMs, nowMs + TIMER_MS_MAX);
    timer = setTimeout(fire, restMs);
  }

  function fire(): void {
    armedForMs = Infinity;
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
      if (atMs < armedForMs) arm(atMs);
    },
    close() {
      wanted = null;
      clearTimeout(timer);
    },
  };
}
