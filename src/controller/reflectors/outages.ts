/** What the log says of lost watches: that they are lost, why it lasts, and when they are back. */
import type { Now } from '../event.ts';
import type { Log } from '../outbox.ts';
import { roughDuration } from '../../lib/duration.ts';

/** What is told of a reflector. */
export interface Watch {
  readonly resource: string;
  /** Monotonic ms; -1 = it runs, 0 = it was never there. */
  downSinceMs: number;
}

/** The outages of all watches of this process. */
export interface Outages {
  readonly losses: Map<Watch, Loss>;
  /** Since the first of them was lost: monotonic ms. */
  sinceMs: number;
  /** Watches that were lost and are back, since then. */
  back: number;
}

/** What was told of a watch that is lost. */
interface Loss {
  toldAtMs: number;
  reason: string;
}

/** How often the line comes while the outage lasts for the same reason. */
const TELL_EVERY_MS = 60_000;

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
  const { resource, downSinceMs } = watch;
  if (outages.losses.size === 0) Object.assign(outages, { sinceMs: downSinceMs, back: 0 });
  const told = outages.losses.get(watch);
  const isNews = told === undefined || told.reason !== reason || now.nowMs - told.toldAtMs >= TELL_EVERY_MS;
  if (isNews) outages.losses.set(watch, { toldAtMs: now.nowMs, reason });
  log(isNews ? 'warning' : 'info', isNews ? 0 : 2, next === 'list' ? 'List is tried again' : 'Watch is tried again', {
    resource,
    ...(downSinceMs > 0 ? { outage: roughDuration(now.nowMs - downSinceMs) } : {}),
    afterMs: Math.round(delayMs),
    err: reason,
  });
}

/** The watch runs. A watch that was begun anew at once was no outage. */
export function watchRuns(log: Log, outages: Outages, watch: Watch, now: Now): void {
  const { resource, downSinceMs } = watch;
  watch.downSinceMs = -1;
  if (!outages.losses.delete(watch) || downSinceMs === 0) return;
  outages.back++;
  log('info', 0, 'Watch is back', { resource, outage: roughDuration(now.nowMs - downSinceMs) });
  if (outages.losses.size > 0 || outages.back === 1) return;
  const outage = roughDuration(now.nowMs - outages.sinceMs);
  log('info', 0, 'All watches are back', { watches: outages.back, outage });
}
