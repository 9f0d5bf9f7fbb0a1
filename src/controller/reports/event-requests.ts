/** Requests for Event objects, and their answers. */
import type { Now } from '../event.ts';
import { nextEventMs, nextEventRequest, onEventReply, type EventRecorder } from './event-recorder.ts';
import type { Outbox } from '../outbox.ts';
import { ACCEPT_METADATA } from '../../kube/media-type.ts';
import { isNamespaceTerminating, readStatus } from '../../kube/status.ts';
import type { TransportEvent } from '../../ports/transport.ts';

export interface EventPurpose {
  readonly for: 'event';
}

const EVENT_TIMEOUT_MS = 10_000;
const TELL_EVERY_MS = 3_600_000;

/**
 * Sends the requests that may be sent now. Returns when the next one may; Infinity = only after another Event object or
 * an answer.
 */
export function sendEventObjects(outbox: Outbox<EventPurpose>, recorder: EventRecorder, now: Now): number {
  for (let next = nextEventRequest(recorder, now.nowMs); next !== null; next = nextEventRequest(recorder, now.nowMs)) {
    outbox.send(
      { for: 'event' },
      {
        pool: 'event',
        method: next.method,
        path: next.path,
        accept: ACCEPT_METADATA,
        contentType: next.contentType,
        body: next.body,
        stream: false,
        timeoutMs: EVENT_TIMEOUT_MS,
      },
    );
  }
  return nextEventMs(recorder);
}

/** Takes an answer. If Event objects are refused, for example for a missing right, the log says so once an hour. */
export function onEventObjectAnswered(
  { log }: Pick<Outbox<EventPurpose>, 'log'>,
  recorder: EventRecorder,
  event: TransportEvent,
  now: Now,
): void {
  if (event.type !== 'response') {
    onEventReply(recorder, { status: 0, retryAfterSeconds: -1 }, now.nowMs);
    return;
  }
  const { failedTotal } = recorder;
  onEventReply(recorder, { status: event.status, retryAfterSeconds: event.retryAfterSeconds }, now.nowMs);
  if (recorder.failedTotal === failedTotal || now.nowMs - recorder.refusalToldAtMs < TELL_EVERY_MS) return;
  const status = readStatus(event.contentType, event.status, event.body);
  // The namespace goes, or is gone.
  if (isNamespaceTerminating(status) || event.status === 404) return;
  recorder.refusalToldAtMs = now.nowMs;
  log('warning', 0, 'Events cannot be recorded', { err: `${event.status}: ${status.message ?? status.reason ?? ''}` });
}
