/**
 * What a write costs kube-apiserver by the size of the object: the latency of a PUT while nothing else is asked of the
 * server, and its CPU beyond that of an idle one, without watchers and with some. `tune` scales the latency and the CPU
 * of a write by these slopes.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../src/lib/percentile.ts';
import { encodeObject } from '../../src/kube/codec.ts';
import { ACCEPT_METADATA, PROTOBUF } from '../../src/kube/media-type.ts';
import { type Output, OUTPUTS } from '../../src/twin/ledger.ts';
import {
  encodeRequest,
  isSuccess,
  onAnswer,
  openLoadWatch,
  openSocket,
  type LoadRequest,
  type LoadTarget,
} from '../support/http-load.ts';
import type { Size } from '../support/micro-bench.ts';
import { lineThrough } from '../support/statistics.ts';
import { table } from '../support/table.ts';
import { openEmbedded, openReal, type Server } from './server.ts';

type Body = Parameters<typeof encodeObject>[0];

const ROOTS: Readonly<Record<Output, string>> = {
  endpoints: '/api/v1/namespaces/default/endpoints',
  slices: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
};
const WATCHES: Readonly<Record<Output, string>> = {
  endpoints: '/api/v1/endpoints?watch=1',
  slices: '/apis/discovery.k8s.io/v1/endpointslices?watch=1',
};

interface Scale {
  readonly sizes: readonly number[];
  readonly watchers: number;
  readonly rounds: number;
  readonly puts: number;
  /** How long the server is watched without a request. */
  readonly idleMs: number;
}

const SCALES: Readonly<Record<Size, Scale>> = {
  tiny: { sizes: [2, 20], watchers: 2, rounds: 1, puts: 10, idleMs: 50 },
  full: { sizes: [5, 10, 30, 100, 300, 1000], watchers: 64, rounds: 4, puts: 50, idleMs: 5000 },
};
/** Between an answer and the next write. A server that never rests is faster for small objects than one that is woken. */
const PAUSE_MS = 10;

interface Block {
  readonly output: Output;
  readonly endpoints: number;
  readonly bytes: number;
  readonly ms: number[];
  /** CPU seconds, and how many PUTs they were for. */
  readonly cpu: Record<'alone' | 'watched', { seconds: number; puts: number }>;
}

export async function runObjectSizeBench(size: Size, rest: readonly string[]): Promise<void> {
  const scale = SCALES[size];
  const server = await (rest.includes('--embedded-only') ? openEmbedded() : openReal());
  try {
    const blocks = OUTPUTS.flatMap((output) => scale.sizes.map((endpoints) => blockOf(output, endpoints)));
    const put = await openWriter(server.target);
    for (const { output, endpoints } of blocks) await put(createOf(output, endpoints));
    const idleShare = await idleShareOf(server, scale.idleMs);
    // The first round finds a server that is not warm yet.
    for (let round = -1; round < scale.rounds; round++) {
      await play(server, blocks, put, scale.puts, 'alone', round, idleShare);
      await watched(server.target, scale.watchers, () =>
        play(server, blocks, put, scale.puts, 'watched', round, idleShare),
      );
    }
    console.log(
      table(
        ['', 'bytes', 'PUT, p50 ms', 'CPU ms each', 'CPU us a watcher'],
        blocks.map((block) => rowOf(block, scale.watchers)),
      ),
    );
    for (const output of OUTPUTS) console.log(slopesOf(output, blocks, scale.watchers));
  } finally {
    await server.client.close();
    await server.stop();
  }
}

async function play(
  { cpuSeconds }: Server,
  blocks: readonly Block[],
  put: (request: LoadRequest) => Promise<number>,
  puts: number,
  when: keyof Block['cpu'],
  round: number,
  idleShare: number,
): Promise<void> {
  for (const { output, endpoints, ms, cpu } of blocks) {
    const requests = ['a', 'b'].map((value) => putOf(output, endpoints, value));
    const [from, fromMs] = [cpuSeconds(), performance.now()];
    for (let i = 0; i < puts; i++) {
      const took = await put(requests[i % 2]!);
      await sleep(PAUSE_MS);
      if (round >= 0 && when === 'alone') ms.push(took);
    }
    if (round < 0) continue;
    cpu[when].seconds += cpuSeconds() - from - (idleShare * (performance.now() - fromMs)) / 1000;
    cpu[when].puts += puts;
  }
}

/** The CPU that the server uses anyway, as a share of a core. */
async function idleShareOf({ cpuSeconds }: Server, ms: number): Promise<number> {
  await sleep(ms);
  const from = cpuSeconds();
  await sleep(ms);
  return (cpuSeconds() - from) / (ms / 1000);
}

async function watched(target: LoadTarget, watchers: number, work: () => Promise<void>): Promise<void> {
  const paths = OUTPUTS.flatMap((output) => Array.from({ length: watchers }, () => WATCHES[output]));
  const watches = await Promise.all(paths.map((path) => openLoadWatch(target, path, PROTOBUF)));
  try {
    await work();
  } finally {
    for (const { stop } of watches) stop();
  }
}

/** Sends one request after the other. Resolves with the milliseconds until the answer. */
async function openWriter(target: LoadTarget): Promise<(request: LoadRequest) => Promise<number>> {
  const socket = await openSocket(target);
  let answered: PromiseWithResolvers<void>;
  socket.on('error', (error) => answered.reject(error));
  socket.on('close', () => answered.reject(new Error('the server has closed the connection')));
  onAnswer(socket, (answer) => {
    if (isSuccess(answer)) answered.resolve();
    else answered.reject(new Error(answer.toString('latin1')));
  });
  return async (request) => {
    answered = Promise.withResolvers();
    const from = performance.now();
    socket.write(encodeRequest(target, request));
    await answered.promise;
    return performance.now() - from;
  };
}

function blockOf(output: Output, endpoints: number): Block {
  const none = { seconds: 0, puts: 0 };
  const bytes = encodeObject(objectOf(output, endpoints, 'a')).length;
  return { output, endpoints, bytes, ms: [], cpu: { alone: { ...none }, watched: { ...none } } };
}

function nameOf(endpoints: number): string {
  return `size-${endpoints}`;
}

function createOf(output: Output, endpoints: number): LoadRequest {
  const body = encodeObject(objectOf(output, endpoints, 'new'));
  return { method: 'POST', path: ROOTS[output], accept: ACCEPT_METADATA, contentType: PROTOBUF, body };
}

/** Each of two values in turn, so that none is a no-op. */
function putOf(output: Output, endpoints: number, value: string): LoadRequest {
  const path = `${ROOTS[output]}/${nameOf(endpoints)}`;
  const body = encodeObject(objectOf(output, endpoints, value));
  return { method: 'PUT', path, accept: ACCEPT_METADATA, contentType: PROTOBUF, body };
}

function objectOf(output: Output, endpoints: number, value: string): Body {
  const metadata = { name: nameOf(endpoints), namespace: 'default', annotations: { value } };
  const pods = Array.from({ length: endpoints }, (_, i) => ({
    ip: `10.${i >> 8}.${i & 255}.1`,
    nodeName: `node-${i % 100}`,
    targetRef: {
      kind: 'Pod',
      namespace: 'default',
      name: `application-7d9c5b8f6d-${String(i).padStart(5, '0')}`,
      uid: `0f4a2c1e-1111-4222-8333-${String(i).padStart(12, '0')}`,
    },
  }));
  const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }];
  if (output === 'endpoints') {
    return { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets: [{ addresses: pods, ports }] };
  }
  const conditions = { ready: true, serving: true, terminating: false };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    addressType: 'IPv4',
    endpoints: pods.map(({ ip, nodeName, targetRef }) => ({
      addresses: [ip],
      conditions,
      nodeName,
      targetRef,
      zone: 'zone-a',
    })),
    ports,
  };
}

function rowOf(block: Block, watchers: number): string[] {
  const { output, endpoints, bytes, ms } = block;
  const figures = [percentile(ms, 0.5).toFixed(2), cpuMs(block, 'alone').toFixed(2)];
  return [`${output}, ${endpoints}`, String(bytes), ...figures, (1000 * watcherMs(block, watchers)).toFixed(1)];
}

function cpuMs({ cpu }: Block, when: keyof Block['cpu']): number {
  return (1000 * cpu[when].seconds) / cpu[when].puts;
}

function watcherMs(block: Block, watchers: number): number {
  return (cpuMs(block, 'watched') - cpuMs(block, 'alone')) / watchers;
}

function slopesOf(output: Output, blocks: readonly Block[], watchers: number): string {
  const own = blocks.filter((block) => block.output === output);
  const share = (figure: (block: Block) => number): string => {
    const { base, each } = lineThrough(own.map((block) => ({ x: block.endpoints, y: figure(block) })));
    return `${((100 * each) / base).toFixed(2)} %`;
  };
  const latency = share(({ ms }) => percentile(ms, 0.5));
  const cpu = share((block) => cpuMs(block, 'alone'));
  const { base, each } = lineThrough(own.map((block) => ({ x: block.bytes / 1000, y: watcherMs(block, watchers) })));
  return `${output}: each endpoint adds ${latency} of the latency and ${cpu} of the CPU of a write without endpoints; a watcher takes ${(1000 * base).toFixed(1)} us of CPU, and ${(1000 * each).toFixed(2)} us for each KB`;
}
