/**
 * An HTTPS proxy between one client and a real API server that misbehaves on demand, as networks, load balancers and
 * overloaded servers do. It knows HTTP, so that a fault can meet just the writes, or just the watches.
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Agent as HttpsAgent, createServer, request as httpsRequest } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { createPrng, nextFloat, nextInt, type Prng } from '../../src/lib/prng.ts';
import { selfSigned } from '../../src/node/self-signed.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import type { ExchangeKind, ProxyFault, ReplyFault, RequestFault, StreamFault } from './proxy-faults.ts';

export interface FaultProxy {
  /** Of a client that goes through the proxy, with the rights of the cluster's administrator. */
  readonly kubeconfigPath: string;
  /** The fault from now on, also for streams that are open; null = none. What one before it holds up stays so. */
  setFault(fault: ProxyFault | null): void;
  /** No fault any more, and what is held up is cut, as when a network comes back. */
  heal(): void;
  /** Exchanges that the fault has struck since it was set: 0 = it has shown nothing. */
  readonly struck: number;
  /** Paths of the requests among them that were struck before they went on. */
  readonly struckPaths: readonly string[];
  stop(): Promise<void>;
}

type ProxiedCluster = Pick<Cluster, 'url' | 'caFile' | 'directory' | 'token'>;

interface ProxyState {
  readonly url: string;
  readonly agent: HttpsAgent;
  readonly prng: Prng;
  fault: ProxyFault | null;
  struck: number;
  struckPaths: string[];
  /** Of clients that a fault holds up. */
  readonly held: Set<Socket>;
  readonly timers: Set<NodeJS.Timeout>;
}

const TRICKLE_MS = 200;
/** A watch frame begins with its length, four bytes; a client has to take 16 MiB. */
const LONG_FRAME = Buffer.from([0, 0xf0, 0, 0]);
const NOISE_BYTES = 64;

export async function startFaultProxy(cluster: ProxiedCluster, seed: number): Promise<FaultProxy> {
  const identity = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  const agent = new HttpsAgent({ keepAlive: true, ca: readFileSync(cluster.caFile, 'utf8') });
  const prng = createPrng(seed);
  const state: ProxyState = {
    url: cluster.url,
    agent,
    prng,
    fault: null,
    struck: 0,
    struckPaths: [],
    held: new Set(),
    timers: new Set(),
  };
  const sockets = new Set<Socket>();
  const server = createServer(identity, (request, response) => serve(state, request, response));
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfigPath = join(cluster.directory, `proxy-${port}.kubeconfig`);
  await writeFile(kubeconfigPath, kubeconfig(cluster, port, identity.cert));

  function heal(): void {
    state.fault = null;
    for (const timer of state.timers) clearTimeout(timer);
    state.timers.clear();
    for (const socket of state.held) socket.destroy();
    state.held.clear();
  }

  return {
    kubeconfigPath,
    get struck() {
      return state.struck;
    },
    get struckPaths() {
      return state.struckPaths;
    },
    setFault(fault) {
      state.fault = fault;
      state.struck = 0;
      state.struckPaths = [];
    },
    heal,
    async stop() {
      heal();
      agent.destroy();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

function serve(state: ProxyState, request: IncomingMessage, response: ServerResponse): void {
  const kind = kindOf(request);
  const met = kind === 'watch' ? null : draw(state, kind);
  if (met?.at === 'request') {
    state.struckPaths.push(request.url!);
    strikeRequest(state, met, request, response);
    return;
  }
  const { url, agent } = state;
  const headers = { ...request.headers, host: new URL(url).host };
  const onward = httpsRequest(new URL(request.url!, url), { method: request.method!, headers, agent }, (answer) => {
    answer.on('error', () => response.socket?.destroy());
    if (kind === 'watch') stream(state, answer, response);
    else reply(state, met?.at === 'reply' ? met : null, answer, response);
  });
  onward.on('error', () => response.socket?.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

function kindOf({ url = '', method }: IncomingMessage): ExchangeKind {
  const { searchParams } = new URL(url, 'https://proxy');
  if (searchParams.has('watch')) return 'watch';
  if (method !== 'GET') return 'write';
  return searchParams.has('limit') ? 'list' : 'read';
}

/** The fault, if it strikes this time. */
function draw(state: ProxyState, kind: ExchangeKind): ProxyFault | null {
  const { fault } = state;
  if (fault === null || !fault.meets.includes(kind) || nextFloat(state.prng) >= fault.chance) return null;
  state.struck++;
  return fault;
}

function strikeRequest(
  state: ProxyState,
  { does }: RequestFault,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (does === 'cut') response.socket?.destroy();
  else if (does === 'swallow') state.held.add(response.socket!);
  else if ('lateMs' in does) sendLate(state, does.lateMs, request);
  else {
    request.resume();
    response.writeHead(does.status, { 'content-type': does.contentType, ...does.headers });
    response.end(does.body);
  }
}

function sendLate(state: ProxyState, lateMs: number, request: IncomingMessage): void {
  const { url, agent } = state;
  const { method, headers } = request;
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () =>
    later(state, lateMs, () => {
      const options = { method: method!, headers: { ...headers, host: new URL(url).host }, agent };
      const onward = httpsRequest(new URL(request.url!, url), options, (answer) => answer.resume());
      onward.on('error', () => undefined);
      onward.end(Buffer.concat(parts));
    }),
  );
}

function reply(state: ProxyState, met: ReplyFault | null, answer: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  answer.on('data', (part: Buffer) => parts.push(part));
  answer.on('end', () => {
    const body = Buffer.concat(parts);
    const head = (): ServerResponse => response.writeHead(answer.statusCode!, answer.headers);
    // `heal` has run when the fault is over: it could not cut this answer any more.
    if (met === null || met !== state.fault) head().end(body);
    else strikeReply(state, met, head, body, response);
  });
}

function strikeReply(
  state: ProxyState,
  { does }: ReplyFault,
  head: () => ServerResponse,
  body: Buffer,
  response: ServerResponse,
): void {
  switch (does) {
    case 'lose':
      response.socket?.destroy();
      return;
    case 'hold':
      state.held.add(response.socket!);
      return;
    case 'cut':
      // Its length, or its last chunk, is what the client waits for.
      head().write(body.subarray(0, body.length >>> 1), () => response.socket?.destroy());
      return;
    case 'garble':
      head().end(noise(state.prng, body));
      return;
    default: {
      const socket = response.socket!;
      state.held.add(socket);
      later(state, does.delayMsMax * nextFloat(state.prng), () => {
        state.held.delete(socket);
        head().end(body);
      });
    }
  }
}

/** What a stream suffers is decided piece by piece. Nothing of one that is held up goes on behind a gap. */
function stream(state: ProxyState, answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode!, answer.headers);
  response.flushHeaders();
  let isHeld = false;
  /** What a stream that trickles has still to bring. */
  const waiting: Buffer[] = [];
  answer.on('data', (piece: Buffer) => {
    if (isHeld) {
      waiting.push(piece);
      return;
    }
    const met = draw(state, 'watch');
    if (met?.at === 'stream') isHeld = strikeStream(state, met, piece, waiting, response);
    else response.write(piece);
  });
  answer.on('end', () => {
    if (!isHeld) response.end();
  });
}

/** Returns whether the stream is held up from now on. */
function strikeStream(
  state: ProxyState,
  { does }: StreamFault,
  piece: Buffer,
  waiting: Buffer[],
  response: ServerResponse,
): boolean {
  const { prng, held } = state;
  switch (does) {
    case 'cut':
      response.write(piece.subarray(0, nextInt(prng, piece.length + 1)), () => response.socket?.destroy());
      return true;
    case 'end':
      response.end();
      return true;
    case 'garble':
      response.write(noise(prng, Buffer.alloc(NOISE_BYTES)));
      response.write(piece);
      return false;
    case 'stall':
      held.add(response.socket!);
      return true;
    case 'trickle':
      held.add(response.socket!);
      waiting.push(piece);
      trickle(state, response, waiting);
      return true;
    case 'endless-frame':
      held.add(response.socket!);
      response.write(LONG_FRAME);
      trickle(state, response, [Buffer.alloc(LONG_FRAME.readUInt32BE())]);
      return true;
  }
}

/** Byte by byte, as long as the client takes them. */
function trickle(state: ProxyState, response: ServerResponse, waiting: Buffer[]): void {
  const [first] = waiting;
  if (response.destroyed) return;
  if (first !== undefined) {
    response.write(first.subarray(0, 1));
    if (first.length > 1) waiting[0] = first.subarray(1);
    else waiting.shift();
  }
  later(state, TRICKLE_MS, () => trickle(state, response, waiting));
}

function later({ timers }: ProxyState, milliseconds: number, act: () => void): void {
  const timer = setTimeout(() => {
    timers.delete(timer);
    act();
  }, milliseconds);
  timers.add(timer);
}

function noise(prng: Prng, bytes: Buffer): Buffer {
  for (let i = 0; i < bytes.length; i++) bytes[i] = nextInt(prng, 256);
  return bytes;
}

function kubeconfig({ token }: ProxiedCluster, port: number, cert: string): string {
  const ca = Buffer.from(cert).toString('base64');
  return [
    'apiVersion: v1',
    'kind: Config',
    'current-context: proxy',
    `clusters: [{ name: proxy, cluster: { server: "https://127.0.0.1:${port}", certificate-authority-data: ${ca} } }]`,
    `users: [{ name: admin, user: { token: ${token} } }]`,
    'contexts: [{ name: proxy, context: { cluster: proxy, user: admin } }]',
    '',
  ].join('\n');
}
