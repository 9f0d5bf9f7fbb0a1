/**
 * The pause before a list or watch is tried again. The constants are client-go's (docs/spec/wire.md "Errors of lists
 * and watches"), with two changes. A watch that ran well ends the pauses of an outage (`GOOD_WATCH_MS`). A cheap try
 * has short pauses of its own (`CHEAP_CAP_MS`), which lengthen no others: a watch that is too old after a long outage
 * leads to a list within two seconds.
 */
import { nextFloat, type Prng } from '../../lib/prng.ts';

const FIRST_MS = 800;
const CAP_MS = 30_000;
/**
 * The longest pause after a try that costs the server next to nothing: a watch, or a list of which nothing has come.
 * With it all is right within ten seconds of the end of a long outage. By client-go's rule that would take up to sixty.
 */
const CHEAP_CAP_MS = 3000;
/** After so long without a failure the next failure counts as the first. */
const RESET_MS = 120_000;
/**
 * A watch that ran for so long shows that the server is well, and ends the pauses of the outage before. By client-go's
 * rule alone, caches are a minute old after the third restart of a server within a few minutes.
 */
const GOOD_WATCH_MS = 10_000;

export interface Reconnect {
  baseMs: number;
  cheapBaseMs: number;
  lastMs: number;
}

export function createReconnect(): Reconnect {
  return { baseMs: FIRST_MS, cheapBaseMs: FIRST_MS, lastMs: -Infinity };
}

/**
 * Notes that a watch has ended. After a good watch the next failure counts as the first. An error within a watch is not
 * noted here: it leads to a list, which is expensive.
 */
export function noteWatch(reconnect: Reconnect, ranMs: number): void {
  if (ranMs >= GOOD_WATCH_MS) beginAnew(reconnect);
}

/**
 * Draws a pause from [base, 2 base) milliseconds. The base doubles with each failure, up to 30 s.
 * @param isCheap the failed try, and the next one until it is answered, cost the server next to nothing: the pause is at
 *   most [3, 6) s
 */
export function nextReconnectMs(reconnect: Reconnect, prng: Prng, nowMs: number, isCheap: boolean): number {
  if (nowMs - reconnect.lastMs > RESET_MS) beginAnew(reconnect);
  const { baseMs, cheapBaseMs } = reconnect;
  const pauseMs = (isCheap ? cheapBaseMs : baseMs) * (1 + nextFloat(prng));
  reconnect.lastMs = nowMs + pauseMs;
  if (isCheap) reconnect.cheapBaseMs = Math.min(cheapBaseMs * 2, CHEAP_CAP_MS);
  else reconnect.baseMs = Math.min(baseMs * 2, CAP_MS);
  return pauseMs;
}

function beginAnew(reconnect: Reconnect): void {
  reconnect.baseMs = FIRST_MS;
  reconnect.cheapBaseMs = FIRST_MS;
}
