import type { Dispatcher } from 'undici';
import type { HttpRequest, Lane, Transport, TransportEvent } from '../ports/transport.ts';
import { connectionKey, type Access, type ReadAccess } from './access.ts';
import { failureKind, failureMessage, type FailureKind } from './failure.ts';
import type { LogLine } from './log.ts';
import { createPools, type Pools } from './pools.ts';
import { createWarningFilter } from './warnings.ts';

/** What became of one request, for `rest_client_*` metrics. */
export interface RequestObservation {
  readonly method: string;
  readonly host: string;
  /** The status, or `<error>` where none came, as upstream. */
  readonly code: string;
  /** Until the whole answer; for a stream until its headers. */
  readonly durationMs: number;
  readonly requestBytes: number;
  /** Of the answer's body; 0 for a stream. */
  readonly responseBytes: number;
}

export interface TransportConfig {
  /** As read at start. */
  readonly access: Access;
  readonly readAccess: ReadAccess;
  /** How often the access is read again. */
  readonly refreshMs: number;
  /** `endpointd/<version> (<os>/<arch>)`: names the field manager and the flow of priority and fairness. */
  readonly userAgent: string;
  /** Most connections of the write lane. */
  readonly maxWritesInFlight: number;
  readonly log: (line: LogLine) => void;
  readonly observe: (observation: RequestObservation) => void;
  /** Most bytes of one answer, streams aside; a bigger one is a `failure` of kind too-big. Default: by lane. */
  readonly replyBytesMax?: number;
}

/** A list goes on with smaller pages after one that is too big; everything else is a few objects of at most 1.5 MiB. */
const REPLY_BYTES_MAX: Readonly<Record<Lane, number>> = {
  list: 64 * 2 ** 20,
  watch: 4 * 2 ** 20,
  read: 16 * 2 ** 20,
  write: 16 * 2 ** 20,
  event: 4 * 2 ** 20,
};

/** Requests without an answer; the loop's own bounds are far below, so this only stops a fault from growing. */
const CALLS_MAX = 16_384;

/** Most events delivered at once: a step stays short. */
const EVENTS_TOGETHER_MAX = 64;
/** Pieces of a stream are put together up to about this size, which holds some hundred pods. */
const CHUNK_BYTES_MAX = 256 * 1024;
/** Larger pieces stay as they are: to put together those of one big object would only be garbage. */
const SMALL_PIECE_BYTES = 8 * 1024;

/** A second 401 within this time does not read the credentials again. */
const UNAUTHORIZED_REREAD_MS = 1000;

/** What waits for its macrotask: an event, or pieces of a stream that will be one. */
type Outgoing =
  | { readonly call: Call; readonly event: TransportEvent }
  | { readonly call: Call; readonly pieces: Uint8Array[]; bytes: number };

function chunkOf({ call, pieces }: Outgoing & { pieces: Uint8Array[] }): TransportEvent {
  const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  return { type: 'chunk', id: call.request.id, bytes };
}

interface Call {
  readonly request: HttpRequest;
  readonly startedMs: number;
  /** Of the access that it was sent with. */
  readonly generation: number;
  readonly timer: NodeJS.Timeout;
  /** undefined until a connection begins to send it: until then nothing can have reached the server. */
  controller: Dispatcher.DispatchController | undefined;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  chunks: Uint8Array[];
  bytes: number;
  /** The last event is queued, or the call was cancelled: whatever undici still says is ignored. */
  settled: boolean;
  cancelled: boolean;
}

/**
 * The transport port over undici pools, one for each lane. Bytes go through `dispatch`, the layer below `request`,
 * because its `onRequestStart` is the one moment that tells "certainly not sent" from "may have arrived".
 */
// oxlint-disable-next-line max-lines-per-function -- one object: its functions share its state, and each of them is short
export function createTransport(
  config: TransportConfig,
  deliver: (events: readonly TransportEvent[]) => void,
): Transport & { close(): Promise<void> } {
  let access = config.access;
  let generation = 1;
  let pools = createPools(access, config.maxWritesInFlight);
  let host = new URL(access.origin).host;
  const retired = new Set<Pools>();
  const calls = new Map<number, Call>();
  const dueWarnings = createWarningFilter();
  let refreshing = false;
  let unauthorizedAtMs = Number.NEGATIVE_INFINITY;
  let closed = false;

  /** Events wait here for a macrotask of their own, so that `deliver` is never called from inside send or cancel. */
  let outbox: Outgoing[] = [];

  function emit(call: Call, event: TransportEvent): void {
    if (outbox.length === 0) setImmediate(flush);
    outbox.push({ call, event });
  }

  /** A server flushes a stream in many small pieces: those that come in one turn of the event loop are one chunk. */
  function emitPiece(call: Call, piece: Uint8Array): void {
    const last = outbox.at(-1);
    const isSmall = piece.byteLength < SMALL_PIECE_BYTES;
    if (isSmall && last !== undefined && 'pieces' in last && last.call === call && last.bytes < CHUNK_BYTES_MAX) {
      last.pieces.push(piece);
      last.bytes += piece.byteLength;
      return;
    }
    if (outbox.length === 0) setImmediate(flush);
    outbox.push({ call, pieces: [piece], bytes: piece.byteLength });
  }

  function flush(): void {
    const entries = outbox;
    outbox = [];
    for (let from = 0; from < entries.length; from += EVENTS_TOGETHER_MAX) {
      const events: TransportEvent[] = [];
      for (const outgoing of entries.slice(from, from + EVENTS_TOGETHER_MAX)) {
        const { call } = outgoing;
        if (call.cancelled || closed) continue;
        const event = 'pieces' in outgoing ? chunkOf(outgoing) : outgoing.event;
        if (call.settled && event.type !== 'chunk' && !(event.type === 'response' && isOpenStream(call))) {
          calls.delete(call.request.id);
        }
        events.push(event);
      }
      if (events.length > 0) deliver(events);
    }
  }

  function isOpenStream(call: Call): boolean {
    return call.request.stream && call.status >= 200 && call.status < 300;
  }

  function settle(call: Call, event: TransportEvent): void {
    call.settled = true;
    clearTimeout(call.timer);
    emit(call, event);
  }

  function fail(call: Call, kind: FailureKind, message: string): void {
    if (call.settled) return;
    const { id, stream } = call.request;
    if (stream && isOpenStream(call)) {
      settle(call, { type: 'ended', id, error: message });
      return;
    }
    settle(call, { type: 'failure', id, kind, message, mayHaveArrived: call.controller !== undefined });
    observe(call, '<error>');
  }

  function abort(call: Call): void {
    call.controller?.abort(new Error('no longer wanted'));
  }

  function observe(call: Call, code: string): void {
    config.observe({
      method: call.request.method,
      host,
      code,
      durationMs: performance.now() - call.startedMs,
      requestBytes: call.request.body?.byteLength ?? 0,
      responseBytes: call.bytes,
    });
  }

  function respond(call: Call): TransportEvent {
    return {
      type: 'response',
      id: call.request.id,
      status: call.status,
      contentType: headerText(call.headers['content-type']),
      retryAfterSeconds: retryAfterSeconds(call.headers['retry-after']),
      priorityLevel: headerText(call.headers['x-kubernetes-pf-prioritylevel-uid']),
      body: call.chunks.length === 1 ? call.chunks[0]! : Buffer.concat(call.chunks),
    };
  }

  function handlerOf(call: Call): Dispatcher.DispatchHandler {
    return {
      onRequestStart(controller) {
        call.controller = controller;
        if (call.settled) abort(call);
      },
      onResponseStart(_controller, status, headers) {
        if (call.settled || status < 200) return;
        call.status = status;
        call.headers = headers;
        if (headers['warning'] !== undefined) {
          for (const text of dueWarnings(headers['warning'], performance.now())) {
            config.log({ level: 'warning', v: 0, message: 'Warning from the API server', fields: { text } });
          }
        }
        if (status === 401 && call.generation === generation) void unauthorized();
        if (!isOpenStream(call)) return;
        clearTimeout(call.timer);
        observe(call, String(status));
        emit(call, respond(call));
      },
      onResponseData(_controller, chunk) {
        if (call.settled) return;
        if (isOpenStream(call)) {
          emitPiece(call, chunk);
          return;
        }
        call.bytes += chunk.byteLength;
        const bytesMax = config.replyBytesMax ?? REPLY_BYTES_MAX[call.request.lane];
        if (call.bytes > bytesMax) {
          call.chunks = [];
          const { method, path } = call.request;
          fail(call, 'too-big', `answer to ${method} ${path} is bigger than ${bytesMax} bytes`);
          abort(call);
          return;
        }
        call.chunks.push(chunk);
      },
      onResponseEnd() {
        if (call.settled) return;
        if (isOpenStream(call)) {
          settle(call, { type: 'ended', id: call.request.id, error: null });
          return;
        }
        settle(call, respond(call));
        observe(call, String(call.status));
      },
      onResponseError(_controller, error) {
        fail(call, failureKind(error), failureMessage(error));
      },
    };
  }

  function timedOut(call: Call): void {
    fail(call, 'timeout', `no answer within ${call.request.timeoutMs} ms`);
    abort(call);
  }

  function send(request: HttpRequest): void {
    const call: Call = {
      request,
      startedMs: performance.now(),
      generation,
      timer: setTimeout(() => timedOut(call), request.timeoutMs),
      controller: undefined,
      status: 0,
      headers: {},
      chunks: [],
      bytes: 0,
      settled: false,
      cancelled: false,
    };
    if (closed || calls.size >= CALLS_MAX) {
      fail(call, 'other', closed ? 'the transport is closed' : `more than ${CALLS_MAX} requests without an answer`);
      return;
    }
    calls.set(request.id, call);
    const headers: Record<string, string | string[]> = {
      ...access.headers,
      'User-Agent': config.userAgent,
      Accept: request.accept,
    };
    if (request.body !== null) headers['Content-Type'] = request.contentType;
    try {
      pools[request.lane].dispatch(
        {
          origin: access.origin,
          method: request.method,
          path: access.basePath + request.path,
          headers,
          body: request.body,
          // A stream has a connection of its own: on a kept one that has died meanwhile, the unanswered request would hide
          // it from the probes of keepalive.
          reset: request.stream,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        handlerOf(call),
      );
    } catch (error) {
      fail(call, 'other', failureMessage(error));
    }
  }

  function cancel(id: number): void {
    const call = calls.get(id);
    if (call === undefined) return;
    calls.delete(id);
    call.cancelled = true;
    call.settled = true;
    clearTimeout(call.timer);
    abort(call);
  }

  async function unauthorized(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - unauthorizedAtMs < UNAUTHORIZED_REREAD_MS) return;
    unauthorizedAtMs = nowMs;
    await reread('unauthorized');
  }

  async function reread(why: 'refresh' | 'unauthorized'): Promise<void> {
    if (refreshing || closed) return;
    refreshing = true;
    try {
      take(await config.readAccess(why));
    } catch (error) {
      const message = 'Cannot read the credentials again, going on with the last ones';
      config.log({ level: 'error', v: 0, message, fields: { err: failureMessage(error) } });
    } finally {
      refreshing = false;
    }
  }

  function take(next: Access): void {
    if (closed || JSON.stringify(next) === JSON.stringify(access)) return;
    const sameConnections = connectionKey(next) === connectionKey(access);
    access = next;
    generation++;
    if (sameConnections) return;
    const old = pools;
    pools = createPools(access, config.maxWritesInFlight);
    host = new URL(access.origin).host;
    retired.add(old);
    // Graceful: what is under way ends on its old connection, watches at their own timeout.
    void Promise.all(Object.values(old).map((pool) => pool.close())).then(
      () => retired.delete(old),
      () => retired.delete(old),
    );
    config.log({ level: 'info', v: 0, message: 'Credentials changed, new connections use them', fields: {} });
  }

  const refreshTimer = setInterval(() => void reread('refresh'), config.refreshMs);
  refreshTimer.unref();

  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    clearInterval(refreshTimer);
    for (const call of calls.values()) {
      call.settled = true;
      clearTimeout(call.timer);
    }
    calls.clear();
    const all = [pools, ...retired].flatMap((set) => Object.values(set));
    await Promise.all(all.map((pool) => pool.destroy()));
  }

  return { send, cancel, close };
}

function headerText(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/** Only the form in seconds: the API server sends no dates. */
function retryAfterSeconds(value: string | string[] | undefined): number {
  const text = headerText(value);
  return /^\d{1,9}$/.test(text) ? Number(text) : -1;
}
