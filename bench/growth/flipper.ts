/** Turns pods ready and unready, and judges the controller's writes: how late they are, and whether they are right. */
import { performance } from 'node:perf_hooks';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import { ENDPOINTS_ADDRESSES_MAX } from '../../src/kube/names.ts';
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
import { serviceKeyOf } from '../support/outputs.ts';
import { podFrame } from './frames.ts';
import { endpointsAt, podPartsAt, podRevision, serviceCount, slicesAt, type Shape } from './shape.ts';

export interface FlipOrder {
  /** An even number. */
  readonly count: number;
  readonly seed: number;
  /** Milliseconds after which a flip is given up. */
  readonly seenMsMax: number;
}

export interface FlipResult {
  readonly flips: number;
  readonly writes: number;
  /** Bytes of the bodies of the writes. */
  readonly bytes: number;
  /** Milliseconds from the pod's frame to the write that follows. */
  readonly samples: Samples;
  /** What is wrong, one line each; [] = everything is right. */
  readonly wrong: readonly string[];
}

export interface Flipper {
  readonly flip: (order: FlipOrder) => Promise<FlipResult>;
  /** Called for each write that the server has accepted. */
  readonly note: (kind: StreamKind, object: KubeObject, bytes: number, atMs: number) => void;
}

interface Ports {
  readonly nextVersion: () => number;
  readonly send: (frame: Buffer) => void;
}

const CANDIDATES_MAX = 2000;
/** How many pods are unready at a time. */
const LAG = 100;
const SAID_MAX = 5;

interface Bench {
  readonly shape: Shape;
  readonly ports: Ports;
  readonly streams: Readonly<Record<StreamKind, Stream>>;
  /**
   * The ready addresses of each object before the first flip, by the stream and the object's key. The object should
   * have them again after the last flip.
   */
  readonly begun: Map<string, ReadonlySet<string>>;
  readonly services: Set<number>;
  /** Called after each write, so that whoever waits for one looks again. */
  written: () => void;
}

export function createFlipper(shape: Shape, ports: Ports): Flipper {
  const bench: Bench = {
    shape,
    ports,
    streams: { endpoints: createStream('endpoints', serviceKeyOf), slices: createStream('slices', serviceKeyOf) },
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

/**
 * Makes one flip at a time: the next one follows when the writes of the one before are done. So no two share a batch,
 * however loaded the machine is.
 */
async function flip(bench: Bench, { count, seed, seenMsMax }: FlipOrder): Promise<FlipResult> {
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
    await seen(bench, made, seenMsMax);
    if (isUnseen(made)) break;
  }
  const sum = (of: 'writes' | 'bytes'): number =>
    both.reduce((total, stream, i) => total + stream[of] - before[i]![of], 0);
  return {
    flips: changes.length,
    writes: sum('writes'),
    bytes: sum('bytes'),
    samples: samplesOf(changes),
    wrong: wrongOf(bench, changes, seenMsMax),
  };
}

/** Pods from all parts of the cluster. An Endpoints object has room for each of them. */
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

/** From now on the streams know the addresses of the service. */
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
    takenBackMs: {},
  };
  for (const stream of Object.values(streams)) {
    awaitAddress(stream, `${parts.namespace}/${parts.app}`, parts.address, ready, made);
  }
  ports.send(frame);
  return made;
}

/** Resolves when both kinds show the change, or when it is given up. */
async function seen(bench: Bench, made: TimedChange, seenMsMax: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, seenMsMax);
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

function wrongOf({ streams, begun }: Bench, changes: readonly TimedChange[], seenMsMax: number): string[] {
  const wrong: string[] = [];
  const isSlow = changes.some(isUnseen);
  if (isSlow) wrong.push(`flip ${changes.length} was not seen within ${seenMsMax} ms, so nothing was measured`);
  for (const { kind, objects, gaps } of Object.values(streams)) {
    if (gaps.length > 0) wrong.push(`${gaps.length} times a ready address was missing in ${kind}, such as ${gaps[0]}`);
    // The pods were not turned back, and the writes may still come.
    if (isSlow) continue;
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
