/**
 * The pause of all writes, and of nothing else, for which an overloaded or ending API server asks. At its end one write
 * goes out alone as a trial. Only its answer lets the rest go, or begins another pause.
 *
 * Any other Retry-After, such as an admission webhook's or a proxy's, is about one object and delays that one alone
 * (`backoff.ts`).
 */
import type { Now } from '../event.ts';
import type { Log } from '../outbox.ts';
import { encodingOrNull } from '../../kube/media-type.ts';
import { readStatus } from '../../kube/status.ts';
import type { TransportEvent } from '../../ports/transport.ts';

/** The longest that priority and fairness ever asks for. */
const PAUSE_MS_MAX = 32_000;
/** The pause where the answer names no time. */
const PAUSE_MS_MIN = 1000;

export interface WritePause {
  /** When it began; Infinity = there is none. Monotonic ms, as all times here. */
  sinceMs: number;
  /** No write before. */
  untilMs: number;
  /** The write that was sent after it, while it has no answer. */
  trial: object | null;
}

export function createWritePause(): WritePause {
  return { sinceMs: Infinity, untilMs: -Infinity, trial: null };
}

/** When the next write may be sent; in the past = at once, Infinity = after an answer. */
export function nextWriteMs({ sinceMs, untilMs, trial }: WritePause): number {
  if (sinceMs === Infinity) return -Infinity;
  return trial === null ? untilMs : Infinity;
}

/** The caller tells every write that it sends. The first one after a pause is its trial. */
export function noteWriteSent(pause: WritePause, write: object): void {
  if (pause.sinceMs !== Infinity) pause.trial = write;
}

/** The answer to a write begins a pause, or ends it. */
export function noteWriteAnswered(pause: WritePause, log: Log, write: object, event: TransportEvent, now: Now): void {
  const isTrial = pause.trial === write;
  if (isTrial) pause.trial = null;
  const asked = pauseAsked(event);
  if (asked !== null) {
    // The latest time of several answers counts.
    pause.untilMs = Math.max(pause.untilMs, now.nowMs + asked.forMs);
    const goesOn = pause.sinceMs !== Infinity;
    if (!goesOn) pause.sinceMs = now.nowMs;
    // One line a pause: every answer would bring another.
    log(goesOn ? 'info' : 'warning', goesOn ? 2 : 0, 'All writes wait, as the API server asks', {
      reason: asked.reason,
      seconds: asked.forMs / 1000,
    });
  } else if (isTrial) {
    log('info', 0, 'Writes go on', { waitedMs: Math.round(now.nowMs - pause.sinceMs) });
    pause.sinceMs = Infinity;
    pause.untilMs = -Infinity;
  }
}

export interface AskedPause {
  readonly reason: string;
  readonly forMs: number;
}

/**
 * Whether the answer is about the API server itself and not about the object.
 *
 * Priority and fairness turns a request away with 429 in plain text. Its header alone is no sign: it also stands on the
 * answers to requests that it has let through, such as a Status that an admission webhook has made.
 *
 * A server that shuts down answers 429 in plain text (`--shutdown-send-retry-after`), or 503 with a Status. A webhook's
 * message begins with `admission webhook`. The header `Connection: close` would be no sign: a proxy strips it.
 */
export function pauseAsked(event: TransportEvent): AskedPause | null {
  if (event.type !== 'response' || (event.status !== 429 && event.status !== 503)) return null;
  const { status, contentType, body, priorityLevel, retryAfterSeconds } = event;
  const forMs = Math.min(Math.max(retryAfterSeconds * 1000, PAUSE_MS_MIN), PAUSE_MS_MAX);
  if (status === 429 && priorityLevel !== '' && encodingOrNull(contentType) === null) {
    return { reason: 'priority and fairness has turned a write away', forMs };
  }
  const { message = '' } = readStatus(contentType, status, body);
  if (!/^(the )?apiserver is shutting down/i.test(message)) return null;
  return { reason: 'the API server shuts down', forMs };
}

/** Seconds until a write is tried again; 0 = there is no pause. */
export function pauseSecondsLeft({ sinceMs, untilMs }: WritePause, nowMs: number): number {
  return sinceMs === Infinity ? 0 : Math.max(0, untilMs - nowMs) / 1000;
}
