/** The network of a simulated world: between a controller and the API server it delays, loses and refuses as it is told. */
import type { Servers } from './sim-servers.ts';
import type { SimTime } from './sim-time.ts';
import { tooLargeResourceVersion } from '../../src/apiserver/api-error.ts';
import { faultReply, goneWatch, turnedAway, type FaultChances, type FaultReply } from '../../src/apiserver/faults.ts';
import { apply, type ApiReply, type ApiServer, type Watch } from '../../src/apiserver/server.ts';
import { decodeObject, encodeObject } from '../../src/kube/codec.ts';
import { JSON_TYPE } from '../../src/kube/media-type.ts';
import type { KubeObject, Status } from '../../src/kube/types.ts';
import { nextFloat, type Prng } from '../../src/lib/prng.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { HttpRequest, Transport, TransportEvent } from '../../src/ports/transport.ts';

/** Milliseconds on top of the usual latency, on the way to the server and back; of a stream: of each of its pieces. */
export interface Lag {
  readonly toMs: number;
  readonly backMs: number;
}

export const NO_LAG: Lag = { toMs: 0, backMs: 0 };
const LAG_MS_MAX = 20_000;

/**
 * 0 lets the request through. Any other number is answered in plain text, as proxies do it (429 with Retry-After: 1); a
 * Status as the API server does.
 */
export type Refuse = (request: HttpRequest) => number | Status | FaultReply;

/** One exchange with the API server as it happened, for tests that count. */
export interface Exchange {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** What a story may change as it goes, and what it may look at. */
export interface NetworkSettings {
  readonly faults: FaultChances;
  refuse: Refuse;
  lag: (request: HttpRequest) => Lag;
  /** Each way takes so long, or up to twice as long, whatever else holds it up. */
  latencyMs: number;
  /** Changes bytes of a watch or a list on their way. */
  tamper: (bytes: Uint8Array, request: HttpRequest) => Uint8Array;
  /** Watches that have something to say meanwhile stay open, and nothing ever comes through them again. */
  muteWatches: boolean;
  /** Bytes of watches come one by one, a second apart, from the next frame on. */
  trickleWatches: boolean;
  /** The ends of watches never arrive: the server has closed them, and the connection stays. */
  keepEndsBack: boolean;
  /** Most bytes of the answer to a list; a bigger one is a failure of kind too-big. */
  pageBytesMax: (request: HttpRequest) => number;
  /** What the controller asked, in order of arrival, watches and lists too. */
  readonly exchanges: Exchange[];
  /** Tells watches of a change. */
  readonly changed: () => void;
  /** Answers in place of the API server, or loses the connection, or never answers; null = the API server answers. */
  script: ((request: HttpRequest) => ApiReply | 'reset' | 'hang' | null) | null;
  /** What admission on the server makes of each object that the controller writes; null = nothing. */
  admission: ((object: KubeObject) => void) | null;
  /** Looks on at all times. */
  observer: SimObserver;
}

/** A stream between the server and the controller, as the network has it. */
export interface OpenStream {
  readonly path: string;
  /** Ends with an error. */
  reset(): void;
  /** Ends in good order. */
  end(): void;
  /** The server has gone, and nobody tells. */
  mute(): void;
}

/** Sees what the controller does, while it does it. */
export interface SimObserver {
  /** The controller puts the request on the wire. */
  sent?(request: HttpRequest): void;
  /** The API server is about to do what the controller asks. */
  before(request: HttpRequest): void;
  /** It has done or refused it; the answer is not on its way yet. */
  after(request: HttpRequest, status: number): void;
  /** The controller is about to be told that nobody knows what has become of its request. */
  lost?(id: number): void;
  /** The controller does not wait for the answer any more. */
  cancelled?(id: number): void;
  /** The controller has taken something in and done all that follows. */
  stepped(): void;
}

export const NOBODY: SimObserver = { before() {}, after() {}, stepped() {} };

/** A server waits this long for its cache to reach the version that a watch starts from. */
const REACH_MS_MAX = 3000;
export const LATENCY_MS = 1;
const TRICKLE_MS = 1000;
/** As the real transport. */
export const PAGE_BYTES_MAX = 64 * 2 ** 20;

export interface Network {
  readonly settings: NetworkSettings;
  readonly time: SimTime;
  readonly server: ApiServer;
  /** null = one, whose watches are at once up to date. */
  readonly servers: Servers | null;
  /** Whatever the controller would accept, it is answered in JSON. */
  readonly answersInJson: boolean;
  readonly wallMs: () => number;
  /** Each request has draws of its own. */
  readonly drawsOf: (request: HttpRequest) => Prng;
  /** The API server takes no connections. */
  isDown: boolean;
  readonly streams: Set<OpenStream>;
  /** Streams of the controller that runs, by the id of their request. */
  opened: Map<number, { readonly path: string; readonly openedAtMs: number }>;
}

/** One process on the network. */
interface Peer {
  readonly network: Network;
  readonly alive: () => boolean;
  readonly deliver: (events: readonly TransportEvent[]) => void;
  readonly cancelled: Set<number>;
  readonly watches: Map<number, Watch>;
}

/**
 * The way of one process to the server.
 * @param alive whether the process is there: nothing reaches it once it is not
 */
export function simTransport(
  network: Network,
  alive: () => boolean,
  clock: Pick<Clock, 'nowMs' | 'wallMs'>,
  deliver: (events: readonly TransportEvent[]) => void,
): Transport {
  const peer: Peer = { network, alive, deliver, cancelled: new Set(), watches: new Map() };
  const { cancelled, watches } = peer;
  const { time } = network;
  return {
    send(request) {
      const { id, notAfter, timeoutMs } = request;
      cancelled.delete(id);
      if (notAfter !== undefined && (clock.nowMs() >= notAfter.nowMs || clock.wallMs() >= notAfter.wallMs)) {
        return fail(peer, id, 'late', false, LATENCY_MS);
      }
      network.settings.observer.sent?.(request);
      const draws = network.drawsOf(request);
      const { toMs, backMs } = request.stream ? NO_LAG : lagOf(network, request, draws);
      // The server does what it is asked even if nobody waits for the answer any more.
      if (toMs + backMs > timeoutMs) {
        time.at(time.now + timeoutMs, () => {
          answer(peer, id, { type: 'failure', id, kind: 'timeout', message: 'simulated', mayHaveArrived: true });
          cancelled.add(id);
        });
      }
      time.at(time.now + delay(network, draws) + toMs, () => {
        if (alive() || toMs > 0) arrive(peer, request, backMs, draws);
      });
    },
    cancel(id) {
      network.settings.observer.cancelled?.(id);
      cancelled.add(id);
      network.opened.delete(id);
      watches.get(id)?.close();
      watches.delete(id);
    },
  };
}

function delay({ settings: { latencyMs } }: Network, draws: Prng): number {
  return latencyMs + nextFloat(draws) * latencyMs;
}

function chance(draws: Prng, p: number): boolean {
  return p > 0 && nextFloat(draws) < p;
}

function lagOf({ settings }: Network, request: HttpRequest, draws: Prng): Lag {
  if (!chance(draws, settings.faults.lag)) return settings.lag(request);
  const ms = nextFloat(draws) * LAG_MS_MAX;
  return chance(draws, 0.5) ? { toMs: ms, backMs: 0 } : { toMs: 0, backMs: ms };
}

function answer({ network, alive, cancelled, deliver }: Peer, id: number, event: TransportEvent): void {
  if (!alive() || cancelled.has(id)) return;
  if (event.type === 'failure' && event.mayHaveArrived) network.settings.observer.lost?.(id);
  deliver([event]);
}

function fail(
  peer: Peer,
  id: number,
  kind: (TransportEvent & { type: 'failure' })['kind'],
  mayHaveArrived: boolean,
  afterMs: number,
  message = 'simulated',
): void {
  const { time } = peer.network;
  time.at(time.now + afterMs, () => answer(peer, id, { type: 'failure', id, kind, message, mayHaveArrived }));
}

function respond(peer: Peer, id: number, { status, headers, body }: Answer, afterMs: number): void {
  const { time } = peer.network;
  time.at(time.now + afterMs, () =>
    answer(peer, id, {
      type: 'response',
      id,
      status,
      contentType: headers['content-type'] ?? '',
      retryAfterSeconds: Number(headers['retry-after'] ?? -1),
      priorityLevel: headers['x-kubernetes-pf-prioritylevel-uid'] ?? '',
      body: typeof body === 'string' ? Buffer.from(body) : body,
    }),
  );
}

/** The request has reached the server, or what stands before it. */
function arrive(peer: Peer, request: HttpRequest, backMs: number, draws: Prng): void {
  const { network } = peer;
  const { settings, time, servers } = network;
  const { id } = request;
  const delayMs = delay(network, draws);
  if (network.isDown) return fail(peer, id, 'refused', false, delayMs);
  if (chance(draws, settings.faults.loseRequest)) return fail(peer, id, 'reset', true, delayMs);
  const fault = faultOf(network, request, draws);
  if (fault?.status === 200) {
    return stream(
      peer,
      request,
      { status: 200, headers: fault.headers, watch: endedWatch(fault.body as Uint8Array) },
      0,
      draws,
    );
  }
  if (fault !== null) return respond(peer, id, fault, delayMs);
  const refused = settings.refuse(request);
  if (refused !== 0) {
    const reply = replyOf(refused);
    note(network, request, reply.status);
    return respond(peer, id, reply, delayMs + backMs);
  }
  const from = servers === null || !request.stream ? null : reachOn(servers, time, request);
  if (from !== null && from.waitMs > REACH_MS_MAX) {
    const { status } = tooLargeResourceVersion(from.wanted, from.reached);
    return respond(peer, id, replyOf(status), REACH_MS_MAX);
  }
  const scripted = settings.script?.(request) ?? null;
  if (scripted === 'reset') return fail(peer, id, 'reset', true, delayMs);
  if (scripted === 'hang') return fail(peer, id, 'timeout', true, request.timeoutMs);
  settings.observer.before(request);
  const reply = scripted ?? askServer(network, request);
  settings.changed();
  note(network, request, reply.status);
  settings.observer.after(request, reply.status);
  if ('watch' in reply) return stream(peer, request, reply, from?.server ?? 0, draws);
  if (chance(draws, settings.faults.loseReply)) return fail(peer, id, 'timeout', true, request.timeoutMs);
  const bytesMax = request.pool === 'list' ? settings.pageBytesMax(request) : Infinity;
  if (reply.body.byteLength > bytesMax) {
    const message = `answer to ${request.method} ${request.path} is bigger than ${bytesMax} bytes`;
    return fail(peer, id, 'too-big', true, delayMs + backMs, message);
  }
  const body = request.pool === 'list' ? settings.tamper(reply.body, request) : reply.body;
  respond(peer, id, { ...reply, body }, delayMs + backMs);
}

/** What the server answers in place of doing anything; null = it does what it is asked. */
function faultOf(network: Network, request: HttpRequest, draws: Prng): FaultReply | null {
  const { faults } = network.settings;
  if (chance(draws, faults.serverError)) return textReply(500);
  if (chance(draws, faults.tooMany)) return turnedAway(1);
  if ((!request.stream && request.pool !== 'list') || !chance(draws, faults.gone)) return null;
  return request.stream ? goneWatch(acceptOf(network, request)) : faultReply('gone', () => nextFloat(draws));
}

/** A watch that has ended behind one frame. */
function endedWatch(frame: Uint8Array): Watch {
  const frames = [frame];
  const watch: Watch = {
    take: () => frames.splice(0),
    get ended() {
      return frames.length === 0;
    },
    onReady: null,
    close: () => void frames.splice(0),
  };
  return watch;
}

function acceptOf({ answersInJson }: Network, { accept }: HttpRequest): string {
  return answersInJson ? JSON_TYPE : accept;
}

function note({ settings, time }: Network, { method, path }: HttpRequest, status: number): void {
  settings.exchanges.push({ atMs: time.now, method, path, status });
}

function askServer(network: Network, request: HttpRequest): ApiReply {
  const { server, settings, wallMs } = network;
  const { method, path, contentType } = request;
  return apply(server, wallMs(), {
    method,
    path,
    headers: { accept: acceptOf(network, request), contentType },
    body: settings.admission === null ? request.body : mutated(request, settings.admission),
  });
}

/** The server that a stream reaches, and how long its cache needs to get where the stream is to start. */
function reachOn(
  servers: Servers,
  { now }: SimTime,
  { path }: HttpRequest,
): { server: number; wanted: number; reached: number; waitMs: number } {
  const server = servers.pick();
  const wanted = Number(new URLSearchParams(path.split('?')[1]).get('resourceVersion') ?? '');
  const reached = servers.reached(server, now);
  return { server, wanted, reached, waitMs: wanted > reached ? servers.lagMs(server, now) : 0 };
}

function stream(
  peer: Peer,
  request: HttpRequest,
  { watch, headers }: ApiReply & { watch: Watch },
  from: number,
  draws: Prng,
): void {
  const { network, alive, watches, cancelled } = peer;
  const { settings, time } = network;
  const { id, path, timeoutMs } = request;
  const openedAfterMs = delay(network, draws) + lagOf(network, request, draws).backMs;
  if (openedAfterMs > timeoutMs) {
    watch.close();
    return fail(peer, id, 'timeout', true, timeoutMs);
  }
  watches.set(id, watch);
  const wire = createWire(network, request, from, draws, openedAfterMs);
  let ended = false;
  let dead = false;
  wire.first(() => {
    if (alive() && !cancelled.has(id) && !ended) network.opened.set(id, { path, openedAtMs: time.now });
    const contentType = headers['content-type'] ?? '';
    const body = new Uint8Array(0);
    answer(peer, id, {
      type: 'response',
      id,
      status: 200,
      contentType,
      retryAfterSeconds: -1,
      priorityLevel: '',
      body,
    });
  });
  const end = (error: string | null): void => {
    if (ended) return;
    ended = true;
    network.streams.delete(open);
    watches.delete(id);
    if (alive()) network.opened.delete(id);
    wire.next(() => answer(peer, id, { type: 'ended', id, error }));
  };
  const close = (error: string | null): void => {
    watch.close();
    end(error);
  };
  const reset = (): void => close('simulated reset');
  const open: OpenStream = { path, reset, end: () => close(null), mute: () => watch.close() };
  network.streams.add(open);
  const pump = (): void => {
    if (ended) return;
    for (const taken of watch.take()) {
      dead ||= settings.muteWatches;
      if (dead) continue;
      const bytes = settings.tamper(taken, request);
      wire.send(bytes, (piece) => answer(peer, id, { type: 'chunk', id, bytes: piece }));
      if (chance(draws, settings.faults.cutWatch)) return reset();
    }
    if (watch.ended && !settings.keepEndsBack) end(null);
  };
  watch.onReady = () => time.at(time.now, pump);
  pump();
}

/** What goes over one connection, in order: nothing overtakes what was sent before. */
interface Wire {
  /** The opening of the stream. */
  first(run: () => void): void;
  next(run: () => void): void;
  /** `take` gets all of the bytes, or one after the other where they trickle. */
  send(bytes: Uint8Array, take: (piece: Uint8Array) => void): void;
}

function createWire(network: Network, request: HttpRequest, from: number, draws: Prng, openedAfterMs: number): Wire {
  const { time, servers, settings } = network;
  let lastAtMs = time.now + openedAfterMs;
  const next = (run: () => void): void => {
    const behindMs = servers?.lagMs(from, time.now) ?? 0;
    lastAtMs = Math.max(lastAtMs, time.now + delay(network, draws) + behindMs + lagOf(network, request, draws).backMs);
    time.at(lastAtMs, run);
  };
  return {
    first: (run) => void time.at(lastAtMs, run),
    next,
    send: (bytes, take) => {
      if (!settings.trickleWatches) {
        next(() => take(bytes));
        return;
      }
      for (const byte of bytes) {
        lastAtMs += TRICKLE_MS;
        next(() => take(Uint8Array.of(byte)));
      }
    },
  };
}

/** The headers in lower case. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

function replyOf(refused: number | Status | FaultReply): Answer {
  if (typeof refused === 'number') return textReply(refused);
  if ('headers' in refused) return refused;
  const retryAfter = refused.details?.retryAfterSeconds;
  const headers: Record<string, string> = { 'content-type': JSON_TYPE };
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  return { status: refused.code, headers, body: JSON.stringify(refused) };
}

function textReply(status: number): Answer {
  const headers: Record<string, string> = { 'content-type': 'text/plain' };
  if (status === 429) headers['retry-after'] = '1';
  return { status, headers, body: 'simulated fault' };
}

function mutated(request: HttpRequest, admission: (object: KubeObject) => void): Uint8Array | null {
  if (request.body === null || request.pool !== 'write' || request.method === 'DELETE') return request.body;
  const object = decodeObject(request.body);
  admission(object);
  return encodeObject(object);
}
