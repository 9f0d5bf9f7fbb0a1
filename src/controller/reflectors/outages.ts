/** The log lines about lost watches: that they are lost, why they stay lost, and when they are back. */
import type { Now } from '../event.ts';
import type { Log } from '../outbox.ts';
import { roughDuration } from '../../lib/duration.ts';

/** What is told of a reflector. */
export interface Watch {
  readonly resource: string;
  /** Monotonic ms since when it has been lost, or since the start of one that has never run; -1 = it runs. */
  downSinceMs: number;
  hasRun: boolean;
  /** Monotonic ms by which `logBack` must be called. */
  wakeAtMs: number;
}

/** The outages of all watches of this process. */
export interface Outages {
  readonly losses: Map<Watch, Loss>;
  /** Monotonic ms when the first of them was lost. */
  sinceMs: number;
  /** How many watches have been lost and are back since then. */
  back: number;
}

/** A watch that is lost. Times in monotonic ms. */
interface Loss {
  readonly sinceMs: number;
  /** The watch had never run before. */
  readonly isFirst: boolean;
  toldAtMs: number;
  reason: string;
  /** When the watch was opened again. */
  backAtMs: number;
}

/** How often the same line is repeated while the outage has the same reason. */
const TELL_EVERY_MS = 60_000;
/**
 * A watch must have run for so long before it counts as back. A server that has just started opens a watch and refuses
 * it in its first event.
 */
const SETTLED_MS = 1000;

export function createOutages(): Outages {
  return { losses: new Map(), sinceMs: -1, back: 0 };
}

export type Retried = 'list' | 'page' | 'watch';

const RETRIES: Readonly<Record<Retried, string>> = {
  list: 'List is tried again',
  page: 'Page of a list is tried again',
  watch: 'Watch is tried again',
};

/** Logs why a list, a page or a watch will be tried again after `delayMs`. */
export function logRetry(
  log: Log,
  outages: Outages,
  watch: Watch,
  next: Retried,
  delayMs: number,
  reason: string,
  now: Now,
): void {
  const { losses } = outages;
  let loss = losses.get(watch);
  const isNews = loss === undefined || loss.reason !== reason || now.nowMs - loss.toldAtMs >= TELL_EVERY_MS;
  log(isNews ? 'warning' : 'info', isNews ? 0 : 2, RETRIES[next], {
    resource: watch.resource,
    ...(loss === undefined ? {} : { outage: roughDuration(now.nowMs - loss.sinceMs) }),
    afterMs: Math.round(delayMs),
    err: reason,
  });
  if (loss === undefined) {
    if (losses.size === 0) Object.assign(outages, { sinceMs: watch.downSinceMs, back: 0 });
    loss = { sinceMs: watch.downSinceMs, isFirst: !watch.hasRun, toldAtMs: now.nowMs, reason, backAtMs: -1 };
    losses.set(watch, loss);
  }
  if (isNews) Object.assign(loss, { toldAtMs: now.nowMs, reason });
  // The outage goes on.
  watch.downSinceMs = loss.sinceMs;
}

/** Notes that the watch runs. It is told as back only after a while. */
export function watchRuns(outages: Outages, watch: Watch, now: Now): void {
  watch.downSinceMs = -1;
  watch.hasRun = true;
  const loss = outages.losses.get(watch);
  if (loss === undefined) return;
  loss.backAtMs = now.nowMs;
  watch.wakeAtMs = Math.min(watch.wakeAtMs, now.nowMs + SETTLED_MS);
}

/**
 * Logs that a watch is back, once it has stayed so. A watch that was opened anew at once was no outage. The first opening
 * after the start is none either.
 */
export function logBack(log: Log, outages: Outages, watch: Watch, now: Now): void {
  const { losses } = outages;
  const loss = losses.get(watch);
  if (loss === undefined || watch.downSinceMs >= 0 || now.nowMs < loss.backAtMs + SETTLED_MS) return;
  losses.delete(watch);
  if (loss.isFirst) return;
  outages.back++;
  log('info', 0, 'Watch is back', { resource: watch.resource, outage: roughDuration(loss.backAtMs - loss.sinceMs) });
  if (losses.size > 0 || outages.back === 1) return;
  const outage = roughDuration(loss.backAtMs - outages.sinceMs);
  log('info', 0, 'All watches are back', { watches: outages.back, outage });
}
