/**
 * How long a service waits after a failed sync, by the class of the error. Upstream retries everything from 5 ms on and
 * drops the key after 15 tries; here nothing is dropped, and what will not help soon is not tried soon.
 */
import { nextFloat, type Prng } from '../lib/prng.ts';

/**
 * conflict: somebody else wrote, the object is read again. throttled: 429. server: 5xx, timeout, connection.
 * invalid: 422, body too large. forbidden: 403. poison: planning ends the thread. foreign: no failure, but the repair of
 * a foreign edit.
 */
export type FailureClass = 'conflict' | 'throttled' | 'server' | 'invalid' | 'forbidden' | 'poison' | 'foreign';

export interface Backoff {
  readonly firstMs: number;
  /** Each further failure in a row waits this many times longer. */
  readonly factor: number;
  /** Longest wait, jitter included. */
  readonly capMs: number;
  /** Up to this share longer, at random: services that failed together do not come back together. */
  readonly jitter: number;
}

const MINUTE_MS = 60_000;

export const BACKOFFS: Readonly<Record<FailureClass, Backoff>> = {
  conflict: { firstMs: 20, factor: 2, capMs: 10_000, jitter: 0.5 },
  throttled: { firstMs: 1000, factor: 2, capMs: MINUTE_MS, jitter: 0.5 },
  server: { firstMs: 250, factor: 2, capMs: MINUTE_MS, jitter: 0.5 },
  invalid: { firstMs: 30_000, factor: 2, capMs: 5 * MINUTE_MS, jitter: 0.2 },
  forbidden: { firstMs: 15_000, factor: 2, capMs: 5 * MINUTE_MS, jitter: 0.2 },
  poison: { firstMs: 10_000, factor: 3, capMs: 5 * MINUTE_MS, jitter: 0.2 },
  foreign: { firstMs: 1000, factor: 2, capMs: 5 * MINUTE_MS, jitter: 0.2 },
};

/** Nothing waits longer, whatever Retry-After says. */
const DELAY_MS_MAX = 5 * MINUTE_MS;

export interface BackoffState {
  /** In a row, of whatever class: errors that alternate do not start from the shortest wait again and again. */
  failures: number;
}

export function createBackoff(): BackoffState {
  return { failures: 0 };
}

/** After a success, a sync without writes included. */
export function resetBackoff(state: BackoffState): void {
  state.failures = 0;
}

/** Counts a failure and says how long to wait; never less than `retryAfterMs`, the server's Retry-After (0 = none). */
export function nextDelayMs(state: BackoffState, failure: FailureClass, prng: Prng, retryAfterMs = 0): number {
  return delayMs(BACKOFFS[failure], state.failures++, prng, retryAfterMs);
}

/** The wait after `failures` earlier ones in a row. */
export function delayMs(backoff: Backoff, failures: number, prng: Prng, retryAfterMs = 0): number {
  const longest = backoff.capMs / (1 + backoff.jitter);
  const ownMs = Math.min(backoff.firstMs * backoff.factor ** failures, longest);
  return Math.min(Math.max(ownMs, retryAfterMs) * (1 + backoff.jitter * nextFloat(prng)), DELAY_MS_MAX);
}
