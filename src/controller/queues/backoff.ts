/**
 * How long a unit waits after a failed sync, by the class of the error. Upstream retries every failure from 5 ms on and
 * drops the key after 15 tries. Here no key is dropped, and a try that will hardly help comes late.
 */
import { nextFloat, type Prng } from '../../lib/prng.ts';

/**
 * conflict: another writer was faster, and the object is read again. throttled: 429. unreachable: no connection, one that
 * broke, or a server that shuts down. server: 5xx or a timeout. invalid: 422, or a body that is too large. forbidden: 403.
 * poison: planning ended the thread.
 */
export type FailureClass = 'conflict' | 'throttled' | 'unreachable' | 'server' | 'invalid' | 'forbidden' | 'poison';

export interface Backoff {
  readonly firstMs: number;
  /** Each further failure in a row multiplies the wait by this. */
  readonly factor: number;
  /** Longest wait, jitter included. */
  readonly capMs: number;
  /** The wait grows by a random share of up to this, so that services that failed together do not retry together. */
  readonly jitter: number;
}

const MINUTE_MS = 60_000;

export const BACKOFFS: Readonly<Record<FailureClass, Backoff>> = {
  conflict: { firstMs: 20, factor: 2, capMs: 10_000, jitter: 0.5 },
  throttled: { firstMs: 1000, factor: 2, capMs: 30_000, jitter: 0.5 },
  // Such a try costs a server next to nothing, and everything is stale until one succeeds.
  unreachable: { firstMs: 250, factor: 2, capMs: 5000, jitter: 0.5 },
  server: { firstMs: 250, factor: 2, capMs: MINUTE_MS, jitter: 0.5 },
  invalid: { firstMs: 30_000, factor: 2, capMs: 5 * MINUTE_MS, jitter: 0.2 },
  forbidden: { firstMs: 5000, factor: 2, capMs: 5 * MINUTE_MS, jitter: 0.2 },
  poison: { firstMs: 10_000, factor: 3, capMs: 5 * MINUTE_MS, jitter: 0.2 },
};

/** The longest that a Retry-After delays anything. It may come from a webhook or a proxy, or be a mistake. */
const RETRY_AFTER_MS_MAX = 30_000;

/** @param seconds the server's Retry-After; negative = none */
export function retryAfterMs(seconds: number): number {
  return seconds < 0 ? -1 : Math.min(seconds * 1000, RETRY_AFTER_MS_MAX);
}

/**
 * The wait after a failure. `failures`: how many failures came before it in a row (`Unit.failures` if the class is
 * `unreachable`, else `Unit.failuresReached`). `leastMs`: the wait is at least this, the server's Retry-After (0 = none).
 */
export function nextDelayMs(failure: FailureClass, failures: number, prng: Prng, leastMs = 0): number {
  const { firstMs, factor, capMs, jitter } = BACKOFFS[failure];
  const ownMs = Math.min(firstMs * factor ** failures, capMs / (1 + jitter));
  const spread = 1 + jitter * nextFloat(prng);
  return Math.max(ownMs * spread, Math.min(leastMs * spread, RETRY_AFTER_MS_MAX));
}
