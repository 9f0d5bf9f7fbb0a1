/** What the log says of lost watches: that they are lost, why it lasts, and when they are back. */
import type { Now } from '../event.ts';
import type { Log } from '../outbox.ts';
import { roughDuration } from '../../lib/duration.ts';

/** What is told of a reflector. */
/** What is told of a reflector. */
export interface Watch {
  readonly resource: string;
  /** Monotonic ms; -1 = it runs, 0 = it was never there. */
  downSinceMs: number;
  /** Monotonic ms when `tellBack` has to be called, at the latest. */
  wakeAtMs: number;
}

/** The outages of all watches of this process. */
export interface Outages {
  readonly losses: Map<Watch, Loss>;
  /** Since the first of them was lost: monotonic ms. */
  sinceMs: number;
  /** Watches that were lost and are back, since then. */
  back: number;
}

/** What was told of a watch that is lost. Monotonic ms. */
interface Loss {
  readonly sinceMs: number;
  toldAtMs: number;
  reason: string;
  /** When it was opened again. */
  backAtMs: number;
}

/** How often the line comes while the outage lasts for the same reason. */
const TELL_EVERY_MS = 60_000;
/** A server that has just started opens a watch and refuses it in its first event: such a watch was not back. */
const SETTLED_MS = 1000;

export function createOutages(): Outages {
  return { losses: new Map(), sinceMs: -1, back: 0 };
}

/** Why a list or a watch is tried again, after `delayMs`. */
export function tellRetry(
  log: Log,
  outages: Outages,
  watch: Watch,
  next: 'list' | 'watch',
  delayMs: number,
  reason: string,
  now: Now,
): void {
  const { losses } = outages;
  let loss = losses.get(watch);
  const isNews = loss === undefined || loss.reason !== reason || now.nowMs - loss.toldAtMs >= TELL_EVERY_MS;
  log(isNews ? 'warning' : 'info', isNews ? 0 : 2, next === 'list' ? 'List is tried again' : 'Watch is tried again', {
    resource: watch.resource,
    ...(loss === undefined ? {} : { outage: roughDuration(now.nowMs - loss.sinceMs) }),
    afterMs: Math.round(delayMs),
    err: reason,
  });
  if (loss === undefined) {
    if (losses.size === 0) Object.assign(outages, { sinceMs: watch.downSinceMs, back: 0 });
    loss = { sinceMs: watch.downSinceMs, toldAtMs: now.nowMs, reason, backAtMs: -1 };
    losses.set(watch, loss);
  }
  if (isNews) Object.assign(loss, { toldAtMs: now.nowMs, reason });
  // The outage goes on.
  watch.downSinceMs = loss.sinceMs;
}

/** The watch runs. It is told when it has done so for a while. */
export function watchRuns(outages: Outages, watch: Watch, now: Now): void {
  watch.downSinceMs = -1;
  const loss = outages.losses.get(watch);
  if (loss === undefined) return;
  loss.backAtMs = now.nowMs;
  watch.wakeAtMs = Math.min(watch.wakeAtMs, now.nowMs + SETTLED_MS);
}

/**
 * Called as time goes by. A watch that was begun anew at once was no outage, and neither is the first one that comes
 * back.
 */
export function tellBack(log: Log, outages: Outages, watch: Watch, now: Now): void {
  const { losses } = outages;
  const loss = losses.get(watch);
  if (loss === undefined || watch.downSinceMs >= 0 || now.nowMs < loss.backAtMs + SETTLED_MS) return;
  losses.delete(watch);
  if (loss.sinceMs === 0) return;
  outages.back++;
  log('info', 0, 'Watch is back', { resource: watch.resource, outage: roughDuration(loss.backAtMs - loss.sinceMs) });
  if (losses.size > 0 || outages.back === 1) return;
  const outage = roughDuration(loss.backAtMs - outages.sinceMs);
  log('info', 0, 'All watches are back', { watches: outages.back, outage });
}
