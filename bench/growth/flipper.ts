/** Pods turn ready and unready, and what the controller writes is held against it: how late it is, and whether it is right. */
import { performance } from 'node:perf_hooks';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import { ENDPOINTS_ADDRESSES_MAX, SERVICE_NAME_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { flipPlan } from '../peers/drive.ts';
import {
  awaitAddress,
  createStream,
  noteEvent,
  type Stream,
  type StreamKind,
  type TimedChange,
} from '../peers/stream.ts';
import { samplesOf, type Samples } from '../peers/window.ts';
import { podFrame } from './frames.ts';
import { endpointsAt, podPartsAt, podRevision, serviceCount, slicesAt, type Shape } from './shape.ts';

export interface FlipOrder {
  /** Even. */
  readonly count: number;
  readonly seed: number;
}

export interface FlipResult {
  readonly flips: number;
  readonly writes: number;
  /** Of the bodies of the writes. */
  readonly bytes: number;
  /** Milliseconds from the frame of the pod to the write that follows. */
  readonly samples: Samples;
  /** What is wrong, one line each; empty = all is right. */
  readonly wrong: readonly string[];
}

export interface Flipper {
  readonly flip: (order: FlipOrder) => Promise<FlipResult>;
  /** A write that was taken. */
  readonly note: (kind: StreamKind, object: KubeObject, bytes: number, atMs: number) => void;
}

interface Ports {
  readonly nextVersion: () => number;
  readonly send: (frame: Buffer) => void;
}

const CANDIDATES_MAX = 2000;
/** So many pods are unready at a time. */
const LAG = 100;
const SEEN_MS_MAX = 60_000;
const SAID_MAX = 5;

interface Bench {
  readonly shape: Shape;
  readonly ports: Ports;
  readonly streams: Readonly<Record<StreamKind, Stream>>;
  /** What an object held before any flip: as it is to be when all are over. By the stream and the key of the object. */
  readonly begun: Map<string, ReadonlySet<string>>;
  readonly services: Set<number>;
  /** Whoever waits for a write looks again. */
  written: () => void;
}

export function createFlipper(shape: Shape, ports: Ports): Flipper {
  const serviceOf = ({ metadata: { namespace, name, labels } }: KubeObject): string =>
    `${namespace}/${labels?.[SERVICE_NAME_LABEL] ?? name}`;
  const bench: Bench = {
    shape,
    ports,
    streams: { endpoints: createStream('endpoints', serviceOf), slices: createStream('slices', serviceOf) },
    begun: new Map(),
    services: new Set(),
    written: () => undefined,
  };
  return {
    flip: (order) => flip(bench, order),
    note: (kind, object, bytes, ms) => {
      noteEvent(bench.streams[kind], 'MODIFIED', object, bytes, { ms, wallMs: Date.now() });
      bench.written();
    },
  };
}

/** One at a time, each when what follows from the one before it was written: no two share a batch, however loaded the machine. */
async function flip(bench: Bench, { count, seed }: FlipOrder): Promise<FlipResult> {
  const { streams, shape } = bench;
  const both = Object.values(streams);
  const before = both.map(({ writes, bytes }) => ({ writes, bytes }));
  const pods = candidates(shape, count, seed);
  for (const pod of pods) follow(bench, Math.floor(pod / shape.podsPerService));
  const plan = flipPlan(pods, count, LAG);
  const changes: TimedChange[] = [];
  for (const { pod, ready } of plan) {
    const made = turn(bench, pod, ready);
    changes.push(made);
    await seen(bench, made);
    if (isUnseen(made)) break;
  }
  const sum = (of: 'writes' | 'bytes'): number =>
    both.reduce((total, stream, i) => total + stream[of] - before[i]![of], 0);
  return {
    flips: changes.length,
    writes: sum('writes'),
    bytes: sum('bytes'),
    samples: samplesOf(changes),
    wrong: wrongOf(bench, changes),
  };
}

/** Pods in all parts of the cluster, each of those that an Endpoints object holds. */
function candidates(shape: Shape, count: number, seed: number): number[] {
  const prng = createPrng(seed);
  const held = Math.min(shape.podsPerService, ENDPOINTS_ADDRESSES_MAX);
  const wanted = Math.min(CANDIDATES_MAX, count, serviceCount(shape) * held);
  const drawn = new Set<number>();
  while (drawn.size < wanted) {
    drawn.add(nextInt(prng, serviceCount(shape)) * shape.podsPerService + nextInt(prng, held));
  }
  return [...drawn];
}

/** From here on the streams know what the service has. */
function follow({ shape, services, streams, begun }: Bench, service: number): void {
  if (services.has(service)) return;
  services.add(service);
  const at = { ms: 0, wallMs: 0 };
  const begin = (stream: Stream, object: KubeObject): void => {
    noteEvent(stream, 'LISTED', object, 0, at);
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    begun.set(`${stream.kind} ${key}`, stream.objects.get(key)!.ready);
  };
  begin(streams.endpoints, endpointsAt(shape, service));
  for (const slice of slicesAt(shape, service)) begin(streams.slices, slice);
}

function turn({ streams, ports, shape }: Bench, index: number, ready: boolean): TimedChange {
  const parts = podPartsAt(shape, index);
  const version = ports.nextVersion();
  const seconds = Math.floor(Date.now() / 1000);
  const frame = podFrame('MODIFIED', parts, podRevision(index), version, ready, seconds);
  const nowMs = performance.now();
  const made: TimedChange = {
    dueMs: nowMs,
    isolated: false,
    services: [],
    sentMs: nowMs,
    ackedMs: nowMs,
    resourceVersion: String(version),
    endpointsMs: null,
    slicesMs: null,
  };
  for (const stream of Object.values(streams)) {
    awaitAddress(stream, `${parts.namespace}/${parts.app}`, parts.address, ready, made);
  }
  ports.send(frame);
  return made;
}

/** Until both kinds show it, or it is given up. */
async function seen(bench: Bench, made: TimedChange): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, SEEN_MS_MAX);
    bench.written = () => {
      if (isUnseen(made)) return;
      clearTimeout(timer);
      resolve();
    };
  });
  bench.written = () => undefined;
}

function isUnseen({ endpointsMs, slicesMs }: TimedChange): boolean {
  return Number.isNaN(endpointsMs) || Number.isNaN(slicesMs);
}

function wrongOf({ streams, begun }: Bench, changes: readonly TimedChange[]): string[] {
  const wrong: string[] = [];
  if (changes.some(isUnseen)) wrong.push(`flip ${changes.length} was not seen within ${SEEN_MS_MAX} ms`);
  for (const { kind, objects, gaps } of Object.values(streams)) {
    if (gaps.length > 0) wrong.push(`${gaps.length} times a ready address was missing in ${kind}, such as ${gaps[0]}`);
    const other = [...objects].filter(([key, { ready }]) => !equal(ready, begun.get(`${kind} ${key}`)));
    if (other.length === 0) continue;
    const names = other.slice(0, SAID_MAX).map(([key]) => key);
    wrong.push(`${other.length} objects of ${kind} are wrong at the end, such as ${names.join(', ')}`);
  }
  return wrong;
}

function equal(a: ReadonlySet<string>, b: ReadonlySet<string> | undefined): boolean {
  return b !== undefined && a.size === b.size && [...a].every((each) => b.has(each));
}
