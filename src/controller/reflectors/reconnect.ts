/**
 * The pause before a list or watch is tried again. The constants are client-go's (docs/spec/wire.md "Errors of lists
 * and watches"), with two changes. A watch that ran well ends the pauses of an outage (`GOOD_WATCH_MS`). A cheap try
 * has short pauses of its own (`CAPS_MS`), which lengthen no others: a watch that is too old after a long outage
 * leads to a list within two seconds.
 */
import { nextFloat, type Prng } from '../../lib/prng.ts';

const FIRST_MS = 800;
/** What a failed try, and the next one until it is answered, cost the server. */
export type TryCost =
  /** No server was reached. */
  | 'nothing'
  /** A watch that was refused, or a list of which nothing has come. */
  | 'little'
  | 'list';

/**
 * The longest base of a pause. With the first two all is right within ten seconds of the end of a long outage. By
 * client-go's rule that would take up to sixty.
 */
const CAPS_MS: Readonly<Record<TryCost, number>> = { nothing: 1000, little: 3000, list: 30_000 };
/** After so long without a failure the next failure counts as the first. */
const RESET_MS = 120_000;
/**
 * A watch that ran for so long shows that the server is well, and ends the pauses of the outage before. By client-go's
 * rule alone, caches are a minute old after the third restart of a server within a few minutes.
 */
const GOOD_WATCH_MS = 10_000;

export interface Reconnect {
  baseMs: number;
  /** Of tries that cost nothing or little. */
  cheapBaseMs: number;
  lastMs: number;
  /** The last try reached no server. */
  unreached: boolean;
}

export function createReconnect(): Reconnect {
  return { baseMs: FIRST_MS, cheapBaseMs: FIRST_MS, lastMs: -Infinity, unreached: false };
}

/**
 * Notes that a watch has ended. After a good watch the next failure counts as the first. An error within a watch is not
 * noted here: it leads to a list, which is expensive.
 */
export function noteWatch(reconnect: Reconnect, ranMs: number): void {
  if (ranMs >= GOOD_WATCH_MS) resetPauses(reconnect);
}

/**
 * Draws a pause from [base, 2 base) milliseconds. The base doubles with each failure, up to 1, 3 or 30 s by the cost. A
 * server that answers at last is asked again soon.
 */
export function nextReconnectMs(reconnect: Reconnect, prng: Prng, nowMs: number, cost: TryCost): number {
  if (nowMs - reconnect.lastMs > RESET_MS) resetPauses(reconnect);
  if (reconnect.unreached && cost !== 'nothing') reconnect.cheapBaseMs = FIRST_MS;
  reconnect.unreached = cost === 'nothing';
  const { baseMs, cheapBaseMs } = reconnect;
  const capMs = CAPS_MS[cost];
  const pauseMs = Math.min(cost === 'list' ? baseMs : cheapBaseMs, capMs) * (1 + nextFloat(prng));
  reconnect.lastMs = nowMs + pauseMs;
  if (cost === 'list') reconnect.baseMs = Math.min(baseMs * 2, capMs);
  else reconnect.cheapBaseMs = Math.min(cheapBaseMs * 2, capMs);
  return pauseMs;
}

/** The next failure counts as the first. */
export function resetPauses(reconnect: Reconnect): void {
  reconnect.baseMs = FIRST_MS;
  reconnect.cheapBaseMs = FIRST_MS;
}
