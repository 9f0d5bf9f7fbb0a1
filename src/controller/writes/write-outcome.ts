/** What an answer to a write means (docs/spec/endpoints.md "Errors", docs/spec/wire.md "Answers to writes"). */
import { retryAfterMs } from '../queues/backoff.ts';
import type { Failure } from '../caches/service-state.ts';
import { objectSourceOf } from '../../kube/object.ts';
import { hasMetadataAsSent, projectMeta, type MetaRecord } from '../../kube/object-meta.ts';
import { projectOutput } from '../../kube/project.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { isApiAnswer, isNamespaceTerminating, isNotFound, isShuttingDown, readStatus } from '../../kube/status.ts';
import type { OutputRecord, Status } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import type { Interner } from '../../lib/interner.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import type { Ack, PlannedWrite } from '../../shard/protocol.ts';

/** The meaning of an answer to a write. */
export interface WriteOutcome {
  readonly result: Ack['result'];
  /** The object after the write; null = there is none, because the write was not applied or was a delete. */
  readonly applied: OutputRecord | null;
  /** The metadata of `applied`; null = they are as they were sent, or there is no object. */
  readonly metadata: MetaRecord | null;
  /** The server may hold what it has not told. The object is read before the next plan. */
  readonly mustRead: boolean;
  /** 409: another writer has changed the object since. */
  readonly isConflict: boolean;
  /** A create was refused because its namespace is being deleted. That is no failure of the service. */
  readonly namespaceEnds: boolean;
  /** The write succeeded, but its answer cannot be read. */
  readonly isUndecodable: boolean;
  readonly failure: Failure | null;
  /** The failure settles itself, so it is not told in an Event object. */
  readonly withoutEvent: boolean;
}

/**
 * A delete whose answer proves nothing, because it has no version and a list was asked for meanwhile. The delete may
 * have been done before a restore from a backup that brought the object back, or the list may be older than the delete.
 */
const OVERTAKEN: WriteOutcome = {
  result: 'unknown',
  applied: null,
  metadata: null,
  mustRead: true,
  isConflict: false,
  namespaceEnds: false,
  isUndecodable: false,
  failure: { class: 'conflict', message: 'a list was asked for while the delete was under way', retryAfterMs: -1 },
  withoutEvent: true,
};
const APPLIED: WriteOutcome = {
  result: 'applied',
  applied: null,
  metadata: null,
  mustRead: false,
  isConflict: false,
  namespaceEnds: false,
  isUndecodable: false,
  failure: null,
  withoutEvent: true,
};

/** The outcome of a write that was withdrawn. */
export const NOT_SENT: WriteOutcome = { ...APPLIED, result: 'not-sent' };

/**
 * What the answer to a write says of its object.
 * @param isOvertaken of a delete: a list was asked for since it was sent
 */
export function outcomeOf(
  write: PlannedWrite,
  event: TransportEvent,
  isOvertaken: boolean,
  interner: Interner,
): WriteOutcome {
  if (event.type === 'response') {
    const { status, contentType, body } = event;
    if (write.verb === 'delete') {
      const isDone = (status === 200 || status === 202) && isApiAnswer(contentType, body);
      if (isDone || isNotFound(contentType, status, body)) return isOvertaken ? OVERTAKEN : APPLIED;
    } else if (status === 200 || status === 201) {
      try {
        const source = objectSourceOf(contentType, body);
        const applied = projectOutput(source, interner);
        if (applied.name !== write.name) throw new DecodeError(`it is of ${JSON.stringify(applied.name)}`);
        return { ...APPLIED, applied, metadata: hasMetadataAsSent(source, write.body) ? null : projectMeta(source) };
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        const failure: Failure = { class: 'server', message: `undecodable reply: ${error.message}`, retryAfterMs: -1 };
        return { ...APPLIED, result: 'unknown', mustRead: true, isUndecodable: true, failure };
      }
    } else if (write.verb === 'create' && status === 403) {
      const isTerminating = isNamespaceTerminating(readStatus(contentType, status, body));
      if (isTerminating) return { ...APPLIED, result: 'refused', namespaceEnds: true };
    }
  }
  const { failure, mustRead, withoutEvent } = classify(event, write.verb === 'create');
  const isConflict = event.type === 'response' && event.status === 409;
  // A create whose name is taken has changed nothing. If the object is not ours, the create must not be repeated.
  const isTaken = write.verb === 'create' && isConflict;
  // Also of an update that was certainly refused: the version that the planner knows is wrong, and `unknown` keeps it from
  // planning anything before it is told the object.
  const result = mustRead && !isTaken ? 'unknown' : 'refused';
  return { ...APPLIED, result, mustRead, isConflict, failure, withoutEvent };
}

interface Verdict {
  readonly failure: Failure;
  /** The write may have been applied, or the object is not as it was known. */
  readonly mustRead: boolean;
  readonly withoutEvent: boolean;
}

/** What an answer other than a success means for a sync. */
export function classify(event: TransportEvent, isCreate = false): Verdict {
  if (event.type === 'failure') {
    const { kind, message } = event;
    const hadNoConnection = !event.mayHaveArrived && (kind === 'timeout' || kind === 'late');
    const failureClass = kind === 'refused' || kind === 'reset' || hadNoConnection ? 'unreachable' : 'server';
    const failure: Failure = { class: failureClass, message: `${kind}: ${message}`, retryAfterMs: -1 };
    return { failure, mustRead: event.mayHaveArrived, withoutEvent: true };
  }
  assert(event.type === 'response', `${event.type} is no answer`);
  const status = readStatus(event.contentType, event.status, event.body);
  const failed = (failureClass: Failure['class'], mustRead: boolean, withoutEvent: boolean): Verdict => ({
    failure: { class: failureClass, message: messageOf(status), retryAfterMs: retryAfterMs(event.retryAfterSeconds) },
    mustRead,
    withoutEvent,
  });
  // The next try may reach another server.
  if (isShuttingDown(status)) {
    const failure: Failure = { class: 'unreachable', message: messageOf(status), retryAfterMs: -1 };
    return { failure, mustRead: false, withoutEvent: true };
  }
  switch (event.status) {
    case 409:
      // Another writer was faster, or the known version is old. The read before the next plan will show it.
      return failed('conflict', true, true);
    case 404:
      // For a create the namespace does not exist, for an update the object.
      return failed(isCreate ? 'forbidden' : 'conflict', !isCreate, true);
    case 403:
      return failed('forbidden', false, false);
    case 429:
      return failed('throttled', false, true);
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return failed('invalid', false, false);
    case 401:
      return failed('server', false, false);
    default:
      if (event.status >= 500 && isTooLarge(status)) return failed('invalid', false, false);
      // A bare 500 or a 504 may come after it was done.
      return failed('server', !isTurnedAway(event), false);
  }
}

/**
 * Whether nothing was done: a 503 of an API server comes before, and so does the 500 that tells of an admission webhook
 * which could not be asked. A proxy answers 503 too when the server has taken the request and the connection broke.
 */
export function isTurnedAway({ status, contentType, body }: Extract<TransportEvent, { type: 'response' }>): boolean {
  if ((status !== 503 && status !== 500) || !isApiAnswer(contentType, body)) return false;
  return status === 503 || isUnaskedWebhook(readStatus(contentType, status, body));
}

/** Objects are stored after all webhooks have been asked. */
function isUnaskedWebhook({ message = '' }: Status): boolean {
  return message.includes('failed calling webhook');
}

/** etcd's and gRPC's limits arrive as a bare 500 (docs/spec/wire.md "Answers to writes"). */
function isTooLarge(status: Status): boolean {
  const message = status.message ?? '';
  return message.includes('request is too large') || message.includes('message larger than max');
}

/**
 * It is kept as long as the service is stuck, and in Event objects. So what a webhook says of each of 1,000 addresses is
 * cut. A copy, because a part of a text would keep all of it.
 */
function messageOf(status: Status): string {
  const message = status.message ?? `${status.code} ${status.reason ?? ''}`;
  if (message.length <= MESSAGE_LENGTH_MAX) return message;
  return Buffer.from(`${message.slice(0, MESSAGE_LENGTH_MAX)}...`).toString();
}

const MESSAGE_LENGTH_MAX = 2048;
