import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';
import type { Clock } from '../ports/clock.ts';
import type { HttpRequest, PoolName, Transport, TransportEvent } from '../ports/transport.ts';
import { errorCode, failureKind, failureMessage, isAboutCertificates, isAlert, type FailureKind } from './failure.ts';
import { createLiveAccess, type LiveAccess, type LiveAccessConfig } from './live-access.ts';
import { isOpenStream, responseOf, type Call } from './transport-call.ts';
import { createTransportDelivery, type TransportDelivery } from './transport-delivery.ts';
import { createWarningFilter, type WarningFilter } from './warnings.ts';

/** What became of one request, for `rest_client_*` metrics. */
export interface RequestObservation {
  readonly method: string;
  readonly host: string;
  /** The status, or `<error>` if none came, as upstream. */
  readonly code: string;
  /** Until the end of the answer; for a stream until its headers. */
  readonly durationMs: number;
  readonly requestBytes: number;
  /** Of the answer's body; 0 for a stream. */
  readonly responseBytes: number;
}

export interface TransportConfig extends LiveAccessConfig {
  /** `endpointd/<version> (<os>/<arch>)`: names the field manager and the flow of priority and fairness. */
  readonly userAgent: string;
  /** The loop's clock: `notAfter` of a request is a time of this clock. */
  readonly clock: Pick<Clock, 'nowMs' | 'wallMs'>;
  readonly observe: (observation: RequestObservation) => void;
  /** Most bytes of one answer, streams aside; a bigger one is a `failure` of kind too-big. Default: by pool. */
  readonly replyBytesMax?: number;
}

/**
 * After a page that is too big, a list goes on with smaller pages. A read may be of all slices of one service. Every
 * other answer is a few objects of at most 1.5 MiB.
 */
const REPLY_BYTES_MAX: Readonly<Record<PoolName, number>> = {
  list: 64 * 2 ** 20,
  watch: 4 * 2 ** 20,
  read: 64 * 2 ** 20,
  write: 16 * 2 ** 20,
  event: 4 * 2 ** 20,
  lease: 4 * 2 ** 20,
};

/** Most requests without an answer. The loop's own bounds are far below, so this only stops a fault from growing. */
const CALLS_MAX = 16_384;

/** How often a request is sent at most if it is refused with 401, each time with other credentials. */
const TRIES_MAX = 3;

interface State {
  readonly config: TransportConfig;
  readonly access: LiveAccess;
  readonly delivery: TransportDelivery;
  readonly dueWarnings: WarningFilter;
  /** By the id of the request, until its last event is delivered. */
  readonly calls: Map<number, Call>;
  closed: boolean;
}

/**
 * The transport port over undici pools, one for each pool. Bytes go through `dispatch`, the layer below `request`,
 * because its `onRequestStart` is the one moment that tells "certainly not sent" from "may have arrived".
 */
export function createTransport(
  config: TransportConfig,
  deliver: (events: readonly TransportEvent[]) => void,
): Transport & { close(): Promise<void> } {
  const calls = new Map<number, Call>();
  const state: State = {
    config,
    access: createLiveAccess(config),
    delivery: createTransportDelivery(deliver, ({ request }) => calls.delete(request.id)),
    dueWarnings: createWarningFilter(),
    calls,
    closed: false,
  };
  return {
    send: (request) => send(state, request),
    cancel: (id) => cancel(state, id),
    close: () => close(state),
  };
}

function send(state: State, request: HttpRequest): void {
  const { calls, closed } = state;
  const call: Call = {
    request,
    startedMs: performance.now(),
    generation: 0,
    tries: 1,
    timer: setTimeout(() => timedOut(state, call), request.timeoutMs),
    controller: undefined,
    status: 0,
    headers: {},
    chunks: [],
    bytes: 0,
    settled: false,
    cancelled: false,
  };
  if (closed || calls.size >= CALLS_MAX) {
    const why = closed ? 'the transport is closed' : `more than ${CALLS_MAX} requests without an answer`;
    fail(state, call, 'other', why);
    return;
  }
  calls.set(request.id, call);
  dispatch(state, call);
}

/** Sends the request with the credentials that are in effect now. */
function dispatch(state: State, call: Call): void {
  const { request } = call;
  const { access, generation, pools } = state.access.current();
  call.generation = generation;
  const headers: Record<string, string | string[]> = {
    ...access.headers,
    'User-Agent': state.config.userAgent,
    Accept: request.accept,
  };
  if (request.body !== null) headers['Content-Type'] = request.contentType;
  try {
    pools[request.pool].dispatch(
      {
        origin: access.origin,
        method: request.method,
        path: access.basePath + request.path,
        headers,
        body: request.body,
        // A stream gets a new connection. A connection that was kept may have died, and then the unanswered request
        // would keep the probes of keepalive from noticing.
        reset: request.stream,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handlerOf(state, call),
    );
  } catch (error) {
    fail(state, call, 'other', failureMessage(error));
  }
}

function cancel({ calls }: State, id: number): void {
  const call = calls.get(id);
  if (call === undefined) return;
  calls.delete(id);
  call.cancelled = true;
  call.settled = true;
  clearTimeout(call.timer);
  abort(call);
}

async function close(state: State): Promise<void> {
  if (state.closed) return;
  state.closed = true;
  state.delivery.close();
  for (const call of state.calls.values()) {
    call.settled = true;
    clearTimeout(call.timer);
  }
  state.calls.clear();
  await state.access.close();
}

function handlerOf(state: State, call: Call): Dispatcher.DispatchHandler {
  return {
    // An error that is thrown here ends this request alone. An abort would end the connection too.
    onRequestStart(controller) {
      if (isLate(state, call.request)) fail(state, call, 'late', 'not sent, its time is over');
      if (call.settled) throw new Error('no longer wanted');
      call.controller = controller;
    },
    onResponseStart(_controller, status, headers) {
      if (call.settled || status < 200) return;
      call.status = status;
      call.headers = headers;
      if (headers['warning'] !== undefined) logWarnings(state, headers['warning']);
      if (!isOpenStream(call)) return;
      clearTimeout(call.timer);
      observe(state, call, String(status));
      state.delivery.emit(call, responseOf(call));
    },
    onResponseData(_controller, chunk) {
      if (call.settled) return;
      if (isOpenStream(call)) state.delivery.emitPiece(call, chunk);
      else takeData(state, call, chunk);
    },
    onResponseEnd() {
      if (call.settled) return;
      if (isOpenStream(call)) {
        settle(state, call, { type: 'ended', id: call.request.id, error: null });
        return;
      }
      observe(state, call, String(call.status));
      if (call.status === 401 && call.tries < TRIES_MAX) void tryAgain(state, call);
      else settle(state, call, responseOf(call));
    },
    onResponseError(_controller, error) {
      const code = errorCode(error);
      if (isAboutCertificates(code)) void state.access.refused(call.generation, refusalOf(code, state.access));
      fail(state, call, failureKind(error), failureMessage(error));
    },
  };
}

/**
 * A TLS alert means that the server has refused the certificate of this process. Any other code means that this process does
 * not trust the server's: its authority may be new, and not read here yet. A plugin cannot help then.
 */
function refusalOf(code: string, access: LiveAccess): 'unauthorized' | 'refresh' {
  return isAlert(code) && access.current().access.tls.cert !== null ? 'unauthorized' : 'refresh';
}

/**
 * A request that was refused for its credentials was not carried out. If there are other credentials by now, it is sent
 * again.
 */
async function tryAgain(state: State, call: Call): Promise<void> {
  // From here on nothing of it is under way, whatever becomes of the credentials.
  call.controller = undefined;
  await state.access.refused(call.generation, 'unauthorized');
  if (call.settled) return;
  if (call.generation === state.access.current().generation) {
    settle(state, call, responseOf(call));
    return;
  }
  call.tries++;
  Object.assign(call, { status: 0, headers: {}, chunks: [], bytes: 0 });
  dispatch(state, call);
}

function takeData(state: State, call: Call, chunk: Uint8Array): void {
  const { pool, method, path } = call.request;
  call.bytes += chunk.byteLength;
  const bytesMax = state.config.replyBytesMax ?? REPLY_BYTES_MAX[pool];
  if (call.bytes <= bytesMax) {
    call.chunks.push(chunk);
    return;
  }
  call.chunks = [];
  fail(state, call, 'too-big', `answer to ${method} ${path} is bigger than ${bytesMax} bytes`);
  abort(call);
}

function isLate({ config: { clock } }: State, { notAfter }: HttpRequest): boolean {
  return notAfter !== undefined && (clock.nowMs() >= notAfter.nowMs || clock.wallMs() >= notAfter.wallMs);
}

function timedOut(state: State, call: Call): void {
  // The server has refused it, and the credentials are still being read.
  if (call.status === 401 && call.controller === undefined) {
    settle(state, call, responseOf(call));
    return;
  }
  fail(state, call, 'timeout', `no answer within ${call.request.timeoutMs} ms`);
  abort(call);
}

function fail(state: State, call: Call, kind: FailureKind, message: string): void {
  if (call.settled) return;
  const { id } = call.request;
  if (isOpenStream(call)) {
    settle(state, call, { type: 'ended', id, error: message });
    return;
  }
  settle(state, call, { type: 'failure', id, kind, message, mayHaveArrived: call.controller !== undefined });
  // A write that was not sent is no request.
  if (kind !== 'late') observe(state, call, '<error>');
}

/** Ends a call with its last event. */
function settle(state: State, call: Call, event: TransportEvent): void {
  call.settled = true;
  clearTimeout(call.timer);
  state.delivery.emit(call, event);
}

function abort(call: Call): void {
  call.controller?.abort(new Error('no longer wanted'));
}

function observe({ config, access }: State, call: Call, code: string): void {
  config.observe({
    method: call.request.method,
    host: access.current().host,
    code,
    durationMs: performance.now() - call.startedMs,
    requestBytes: call.request.body?.byteLength ?? 0,
    responseBytes: call.bytes,
  });
}

function logWarnings({ config, dueWarnings }: State, header: string | string[]): void {
  for (const text of dueWarnings(header, performance.now())) {
    config.log({ level: 'warning', v: 0, message: 'Warning from the API server', fields: { text } });
  }
}
