/**
 * The pause of all writes that an overloaded API server asks for. Reads and events go on. At its end one write goes out
 * alone as a trial. Its answer lets the others go, or begins another pause. If none has come when the API server would have
 * refused it, the others go, too. Any other Retry-After, such as an admission webhook's or a proxy's, is about one object
 * and delays that one alone (`backoff.ts`). That of an API server that shuts down is about one of several servers, and
 * begins no pause.
 */
import type { Now } from '../event.ts';
import type { Log } from '../outbox.ts';
import { encodingOrNull } from '../../kube/media-type.ts';
import { isShuttingDown, readStatus } from '../../kube/status.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import { assert } from '../../lib/assert.ts';

/** The longest pause that priority and fairness asks for. */
const PAUSE_MS_MAX = 32_000;
/** The pause where the answer names no time. */
const PAUSE_MS_MIN = 1000;
/**
 * Priority and fairness refuses a request that has waited in its queue for a quarter of its `timeout`, which is 13 s at
 * most for a write of a leader by default. A trial that has no answer by then was let in, and something else holds it up,
 * such as an admission webhook of its namespace.
 */
const TRIAL_MS = 3500;

export interface WritePause {
  /** When the pause began; Infinity = there is none. All times here are monotonic ms. */
  sinceMs: number;
  /** No write is sent before this time. */
  untilMs: number;
  /** The trial: the first write after a pause, until its answer; null = none is under way. */
  trial: object | null;
  /** When the trial was sent. */
  trialSentMs: number;
}

export function createWritePause(): WritePause {
  return { sinceMs: Infinity, untilMs: -Infinity, trial: null, trialSentMs: -Infinity };
}

/** When the next write may be sent, if no answer comes before. In the past = at once. */
export function nextWriteMs({ sinceMs, untilMs, trial, trialSentMs }: WritePause): number {
  if (sinceMs === Infinity) return -Infinity;
  return trial === null ? untilMs : Math.max(untilMs, trialSentMs + TRIAL_MS);
}

/** Notes each write that is sent. The first one after a pause is its trial, and the next one ends the pause. */
export function noteWriteSent(pause: WritePause, log: Log, write: object, now: Now): void {
  assert(now.nowMs >= nextWriteMs(pause), 'a write is sent in a pause');
  if (pause.trial !== null) endPause(pause, log, now);
  if (pause.sinceMs === Infinity) return;
  pause.trial = write;
  pause.trialSentMs = now.nowMs;
}

/** Takes the answer to a write. It may begin a pause, or end one. */
export function noteWriteAnswered(pause: WritePause, log: Log, write: object, event: TransportEvent, now: Now): void {
  const isTrial = pause.trial === write;
  if (isTrial) pause.trial = null;
  const askedMs = pauseAskedMs(event);
  if (askedMs !== null) {
    // Of several answers the latest time counts.
    pause.untilMs = Math.max(pause.untilMs, now.nowMs + askedMs);
    const goesOn = pause.sinceMs !== Infinity;
    if (!goesOn) pause.sinceMs = now.nowMs;
    // One line for each pause. Otherwise every answer would bring one.
    log(goesOn ? 'info' : 'warning', goesOn ? 2 : 0, 'All writes wait, as the API server asks', {
      reason: 'priority and fairness has turned a write away',
      seconds: askedMs / 1000,
    });
  } else if (isTrial && hasToldNothing(event)) {
    // The next write is a trial again.
    pause.untilMs = Math.max(pause.untilMs, now.nowMs + PAUSE_MS_MIN);
  } else if (isTrial) {
    endPause(pause, log, now);
  }
}

/** Whether the write has reached nobody, or only a server that shuts down: the others may be as busy as before. */
function hasToldNothing(event: TransportEvent): boolean {
  if (event.type === 'failure') return !event.mayHaveArrived;
  return event.type === 'response' && isShuttingDown(readStatus(event.contentType, event.status, event.body));
}

function endPause(pause: WritePause, log: Log, now: Now): void {
  log('info', 0, 'Writes go on', { waitedMs: Math.round(now.nowMs - pause.sinceMs) });
  pause.sinceMs = Infinity;
  pause.untilMs = -Infinity;
  pause.trial = null;
}

/**
 * How long all writes are to wait; null = the answer is about one object, or about one of several API servers. Priority
 * and fairness refuses a request with 429 in plain text. Its header alone proves nothing: the header is also on answers to
 * requests that were let through, such as a Status made by an admission webhook.
 */
export function pauseAskedMs(event: TransportEvent): number | null {
  if (event.type !== 'response' || event.status !== 429) return null;
  const { contentType, priorityLevel, retryAfterSeconds } = event;
  if (priorityLevel === '' || encodingOrNull(contentType) !== null) return null;
  return Math.min(Math.max(retryAfterSeconds * 1000, PAUSE_MS_MIN), PAUSE_MS_MAX);
}

/** Seconds until a write is sent again; 0 = there is no pause. */
export function pauseSecondsLeft(pause: WritePause, nowMs: number): number {
  return pause.sinceMs === Infinity ? 0 : Math.max(0, nextWriteMs(pause) - nowMs) / 1000;
}
