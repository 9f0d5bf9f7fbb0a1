/**
 * Time for the loop. The weakest useful promise: `nowMs` never goes back. A wake-up comes at or after the time asked
 * for, never before. The newest request replaces the one before.
 */
export interface Clock {
  /** Monotonic milliseconds, fractions allowed, from an arbitrary start. */
  nowMs(): number;
  /** Wall-clock milliseconds since the epoch; may jump. */
  wallMs(): number;
  /** Calls `wake` once at or after `atMs` (monotonic). */
  wakeAt(atMs: number, wake: () => void): void;
}
