import { decodeBare, decodeEnvelope, isEnvelope, parseJsonObject } from './codec.ts';
import { encodingOrNull } from './media-type.ts';
import { utf8 } from '../lib/bytes-text.ts';
import type { ObjectSource } from './source.ts';
import type { Status, StatusCause } from './types.ts';

/** The most bytes of a plain-text error that go into a message. */
const TEXT_BYTES_MAX = 1024;

/**
 * The Status in the body of an error response. If the body has none, one is made from the HTTP status: proxies, flow
 * control and panics answer in plain text (docs/spec/wire.md "Watch framing"). Never throws.
 */
export function readStatus(contentType: string, status: number, body: Uint8Array): Status {
  try {
    const encoding = isEnvelope(body) ? 'protobuf' : encodingOrNull(contentType);
    if (encoding === 'protobuf') {
      const { apiVersion, kind, raw } = decodeEnvelope(body);
      if (kind === 'Status') return toStatus(decodeBare(apiVersion, kind, body, raw.start, raw.end), status);
    } else if (encoding === 'json') {
      const value = parseJsonObject(body);
      if (value['kind'] === 'Status') return toStatus(value, status);
    }
  } catch {
    // A body that cannot be read is shown as text below.
  }
  const text = utf8(body, 0, Math.min(body.length, TEXT_BYTES_MAX)).trim();
  const reason = reasonOf(status);
  return makeStatus(status, reason, text === '' || isEnvelope(body) ? `HTTP status ${status}` : text);
}

/**
 * Whether the answer is an API server's, and not a proxy's or a page to sign in: an API server's answer names its kind.
 * Never throws.
 */
export function isApiAnswer(contentType: string, body: Uint8Array): boolean {
  if (isEnvelope(body)) return true;
  try {
    return encodingOrNull(contentType) === 'json' && typeof parseJsonObject(body)['kind'] === 'string';
  } catch {
    return false;
  }
}

/** Whether the API server says that the object does not exist. A 404 alone may come from anybody. Never throws. */
export function isNotFound(contentType: string, status: number, body: Uint8Array): boolean {
  return (
    status === 404 && isApiAnswer(contentType, body) && readStatus(contentType, status, body).reason === 'NotFound'
  );
}

/** The Status in an ERROR frame of a watch; anything else there counts as an internal error. Never throws. */
export function readStatusSource(source: ObjectSource): Status {
  try {
    if (source.kind === 'Status') {
      const value = source.encoding === 'json' ? source.value : decodeBare(source.apiVersion, 'Status', source.bytes);
      return toStatus(value, 500);
    }
  } catch {
    // An error that cannot be read is still an error.
  }
  return makeStatus(500, 'InternalError', `watch error of kind ${JSON.stringify(source.kind.slice(0, 100))}`);
}

/** A Status object; a code below 400 makes it a success. */
export function makeStatus(code: number, reason: string, message: string, details?: Status['details']): Status {
  const status: Status = {
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: code < 400 ? 'Success' : 'Failure',
    message,
    reason,
    code,
  };
  if (details !== undefined) status.details = details;
  return status;
}

/** Whether a create was refused because its namespace is being deleted. */
export function isNamespaceTerminating(status: Status): boolean {
  return hasCause(status, 'NamespaceTerminating');
}

/**
 * Whether the API server has turned the request away because it shuts down: with 429 in plain text
 * (`--shutdown-send-retry-after`), or with 503 and a Status. Nothing was done, and another server may answer.
 */
export function isShuttingDown({ code, message = '' }: Status): boolean {
  return (code === 429 || code === 503) && /^(the )?apiserver is shutting down/i.test(message);
}

/** Whether the server's cache has not reached the requested resourceVersion yet. */
export function isResourceVersionTooLarge(status: Status): boolean {
  return hasCause(status, 'ResourceVersionTooLarge');
}

function hasCause(status: Status, reason: string): boolean {
  return status.details?.causes?.some((cause) => cause.reason === reason) ?? false;
}

/** Keeps the fields that have the right type. */
function toStatus(value: object, httpStatus: number): Status {
  const { metadata, status, message, reason, details, code } = value as Record<string, unknown>;
  const fields = asRecord(metadata);
  const result: Status = {
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: status === 'Success' ? 'Success' : 'Failure',
    code: typeof code === 'number' && code !== 0 ? code : httpStatus,
  };
  if (typeof fields['continue'] === 'string') result.metadata.continue = fields['continue'];
  if (typeof fields['resourceVersion'] === 'string') result.metadata.resourceVersion = fields['resourceVersion'];
  if (typeof message === 'string') result.message = message;
  if (typeof reason === 'string') result.reason = reason;
  if (typeof details === 'object' && details !== null) result.details = toDetails(asRecord(details));
  return result;
}

function toDetails(value: Record<string, unknown>): NonNullable<Status['details']> {
  const details: NonNullable<Status['details']> = {};
  for (const name of ['name', 'group', 'kind', 'uid'] as const) {
    const text = value[name];
    if (typeof text === 'string') details[name] = text;
  }
  if (typeof value['retryAfterSeconds'] === 'number') details.retryAfterSeconds = value['retryAfterSeconds'];
  if (Array.isArray(value['causes']))
    details.causes = value['causes'].map((cause: unknown) => toCause(asRecord(cause)));
  return details;
}

function toCause(value: Record<string, unknown>): StatusCause {
  const cause: StatusCause = {};
  for (const name of ['reason', 'message', 'field'] as const) {
    const text = value[name];
    if (typeof text === 'string') cause[name] = text;
  }
  return cause;
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The reasons that the API gives its own errors of these codes (apimachinery, api/errors). */
const REASONS: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [405, 'MethodNotAllowed'],
  [406, 'NotAcceptable'],
  [409, 'Conflict'],
  [410, 'Gone'],
  [413, 'RequestEntityTooLarge'],
  [415, 'UnsupportedMediaType'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [500, 'InternalError'],
  [503, 'ServiceUnavailable'],
  [504, 'Timeout'],
]);

function reasonOf(status: number): string {
  return REASONS.get(status) ?? 'Unknown';
}
