/** The pause before a list or watch is tried again: client-go's constants (spec/wire.md 2.4). */
import { nextFloat, type Prng } from '../lib/prng.ts';

const FIRST_MS = 800;
const CAP_MS = 30_000;
/** Quiet for this long, and the next failure counts as the first. */
const RESET_MS = 120_000;

export interface Reconnect {
  baseMs: number;
  lastMs: number;
}

export function createReconnect(): Reconnect {
  return { baseMs: FIRST_MS, lastMs: -Infinity };
}

/** The next failure counts as the first. */
export function resetReconnect(reconnect: Reconnect): void {
  reconnect.baseMs = FIRST_MS;
}

/** A pause of [base, 2 base) milliseconds; the base doubles up to 30 s. */
export function nextReconnectMs(reconnect: Reconnect, prng: Prng, nowMs: number): number {
  if (nowMs - reconnect.lastMs > RESET_MS) resetReconnect(reconnect);
  const pauseMs = reconnect.baseMs * (1 + nextFloat(prng));
  reconnect.lastMs = nowMs + pauseMs;
  reconnect.baseMs = Math.min(reconnect.baseMs * 2, CAP_MS);
  return pauseMs;
}
