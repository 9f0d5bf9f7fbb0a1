/**
 * The exact twin: a story told to the real controller, its planners and codecs and the embedded API server, in virtual time,
 * which goes on by what the main thread costs. It is what the queue model is held to.
 */
import { NO_LAG, type Lag } from './sim-network.ts';
import { createSimThread, type ThreadCosts } from './sim-thread.ts';
import { createSimTime } from './sim-time.ts';
import { createSim, type Sim } from './sim.ts';
import { addressOf, placeOf, placeRequests, type PodStory, storyRequests } from './story-requests.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import { apply } from '../../src/apiserver/server.ts';
import { DUAL_STACK_RANGES } from '../../src/cli/serve.ts';
import { FAMILIES } from '../../src/core/slices/slice-families.ts';
import { decodeObject } from '../../src/kube/codec.ts';
import { PROTOBUF } from '../../src/kube/media-type.ts';
import type { PodRecord } from '../../src/kube/types.ts';
import { assert } from '../../src/lib/assert.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';
import type { OutputKind } from '../../src/shard/protocol.ts';
import { createLatency } from '../../src/twin/api-latency.ts';
import { scaled } from '../../src/twin/run.ts';
import type { Calibration, Costs } from '../../src/twin/settings.ts';
import { type Output, OUTPUTS, type Sample, type ObjectSizes } from '../../src/twin/ledger.ts';
import { APART_MS_MAX } from '../../src/recording/measure.ts';
import type { Published } from '../../src/twin/story.ts';
import { addSize, NO_SUMS, sizeLine, type SizeSums } from '../../src/recording/sizes.ts';
import type { WorkloadRequest } from '../../src/workload/request.ts';

export interface Played {
  /** Of the objects that were written. */
  readonly sizes: ObjectSizes;
  readonly writes: Readonly<Record<Output, number>>;
  readonly samples: Readonly<Record<Output, readonly Sample[]>>;
  /** The names of slices, for each family by the first place that each was made for. */
  readonly names: readonly ReadonlyMap<number, string>[];
  /** CPU of the main thread. */
  readonly cpuMs: number;
}

interface Told {
  readonly sim: Sim;
  readonly story: PodStory;
  /** By `addressKey`, which no two places share. */
  readonly open: Readonly<Record<Output, Map<string, OpenChange>>>;
  /** In the same way: what the next change undid, at `undoneAtMs`, before it was shown. */
  readonly undone: Readonly<Record<Output, Map<string, OpenChange & { readonly undoneAtMs: number }>>>;
  /** By place. */
  readonly isReady: boolean[];
  /** By pod. */
  readonly exists: boolean[];
  readonly samples: Readonly<Record<Output, Sample[]>>;
  readonly writes: Record<Output, number>;
  lastWriteMs: number;
  readonly sizes: Record<Output, SizeSums>;
  readonly names: readonly Map<number, string>[];
  /** The keys of the ready addresses of each object, by its path. */
  readonly shown: Map<string, ReadonlySet<string>>;
  /** How many objects show an address as ready. */
  readonly counts: Readonly<Record<Output, Map<string, number>>>;
}

interface OpenChange {
  readonly atMs: number;
  readonly isReady: boolean;
}

const START_MS = 60_000;
/** A controller that has written nothing for so long has written all, and has all its tokens. */
const SETTLED_MS = 40_000;
const AFTERWARDS_MS = 120_000;
const NO_LIMIT = -1;

export interface ExactRun {
  readonly story: PodStory;
  /** They hold from the start, but for QPS. */
  readonly options: Partial<ControllerOptions>;
  /** Latency of writes, lag of watches, and what the main thread costs. */
  readonly calibration: Calibration;
  /** Of the latencies. */
  readonly seed: number;
  /** Of the names of slices, by which the controller orders slices that are equally full. */
  readonly namesSeed?: number;
}

export function playStory({ story, options, calibration, seed, namesSeed = 1 }: ExactRun): Played {
  const { kubeApiQps = NO_LIMIT, kubeApiBurst = 1, ...others } = options;
  const time = createSimTime();
  const thread = createSimThread(time, threadCosts(scaled(calibration.costs.endpointd, calibration.cpuFactor)));
  const sim = createSim({
    seed: namesSeed,
    time,
    thread,
    serviceClusterIPRanges: DUAL_STACK_RANGES,
    options: { endpoints: true, slices: true, mirror: true, ...others, kubeApiQps, kubeApiBurst },
  });
  const told: Told = {
    sim,
    story,
    open: { endpoints: new Map(), slices: new Map() },
    undone: { endpoints: new Map(), slices: new Map() },
    isReady: story.places.map(({ start }) => start.isReady),
    exists: story.places.map(({ start }) => start.slices !== 0),
    samples: { endpoints: [], slices: [] },
    writes: { endpoints: 0, slices: 0 },
    lastWriteMs: 0,
    sizes: { endpoints: NO_SUMS, slices: NO_SUMS },
    names: FAMILIES.map(() => new Map()),
    shown: new Map(),
    counts: { endpoints: new Map(), slices: new Map() },
  };
  for (const request of storyRequests(story)) send(sim, request);
  sim.observer = {
    before() {},
    after: (request, status) => note(told, request, status),
    stepped() {},
  };
  sim.start();
  // Few tokens make it slow.
  do sim.run(START_MS);
  while (sim.nowMs() < told.lastWriteMs + SETTLED_MS);
  told.writes.endpoints = 0;
  told.writes.slices = 0;
  const busyMs = thread.busyMs();
  sim.latencyMs = 0;
  sim.lag = lagOf(calibration, seed);
  const beganMs = sim.nowMs();
  for (const { atMs, places } of story.changes) {
    sim.at(beganMs + atMs, () => {
      for (const { place, wanted } of places) change(told, place, wanted);
    });
  }
  sim.run(story.durationMs + AFTERWARDS_MS);
  const since = ({ atMs, ...sample }: Sample): Sample => ({ ...sample, atMs: atMs - beganMs });
  const sizesOf = (output: Output): ObjectSizes[Output] => ({
    ...story.objects[output],
    protobuf: sizeLine(told.sizes[output], story.objects[output].protobuf),
  });
  return {
    sizes: { endpoints: sizesOf('endpoints'), slices: sizesOf('slices') },
    writes: told.writes,
    names: told.names,
    samples: { endpoints: told.samples.endpoints.map(since), slices: told.samples.slices.map(since) },
    cpuMs: thread.busyMs() - busyMs,
  };
}

/** Writes take what the law of the queue model says, by the same draws and the size of the object; events of watches lag. */
function lagOf(calibration: Calibration, seed: number): (request: HttpRequest) => Lag {
  const latencyOf = createLatency(calibration, seed);
  const ordinals = new Map<string, number>();
  return ({ pool, method, path, stream, body }) => {
    if (stream) return { toMs: 0, backMs: calibration.watchLagMs };
    if (pool !== 'write') return NO_LAG;
    const output = path.includes('endpointslices') ? 'slices' : 'endpoints';
    // A slice that is created has its name in its body alone. That of a delete is no object.
    const isNeeded = method !== 'DELETE' && (calibration.apiEach[output] > 0 || !NAMED.test(path));
    const object = isNeeded ? decodeObject(body!) : null;
    const service = serviceIn(NAMED.test(path) ? path : `/${object!.metadata.name!}`);
    const kind = `${service} ${output}`;
    const ordinal = ordinals.get(kind) ?? 0;
    ordinals.set(kind, ordinal + 1);
    const endpoints = object === null ? 0 : endpointsIn(object as Subsets & Slice);
    return { toMs: latencyOf(service, ordinal, output, endpoints), backMs: 0 };
  };
}

const NAMED = /\/s-(\d+)/;

/** The number of the Service of an object. */
function serviceIn(path: string): number {
  return Number(NAMED.exec(path)![1]);
}

/** Services may share pods. */
function addressKey(service: number, address: string): string {
  return `${service} ${address}`;
}

function change(told: Told, place: number, wanted: Published): void {
  const { sim, story } = told;
  // The pod has changed with its first place.
  if (place < story.pods) {
    const seconds = Math.floor(sim.clocks.wallMs() / 1000);
    for (const request of placeRequests(story, place, wanted, told.exists[place]!, seconds)) send(sim, request);
    told.exists[place] = true;
  }
  if (told.isReady[place] === wanted.isReady) return;
  told.isReady[place] = wanted.isReady;
  const address = addressKey(story.places[place]!.service, addressOf(story, place));
  for (const output of OUTPUTS) {
    const isShown = (told.counts[output].get(address) ?? 0) > 0 === wanted.isReady;
    const before = told.open[output].get(address);
    told.undone[output].delete(address);
    if (before !== undefined) told.undone[output].set(address, { ...before, undoneAtMs: sim.nowMs() });
    if (isShown) told.open[output].delete(address);
    else told.open[output].set(address, { atMs: sim.nowMs(), isReady: wanted.isReady });
  }
}

/** Nobody reads the answer: protobuf is what the watches need anyway. */
function send({ server, clocks, changed }: Sim, { method, path, body, contentType }: WorkloadRequest): void {
  const reply = apply(server, clocks.wallMs(), {
    method,
    path,
    headers: { accept: PROTOBUF, contentType },
    body: Buffer.from(JSON.stringify(body)),
  });
  changed();
  assert(!('watch' in reply) && reply.status < 400, `${method} ${path}: ${reply.status}`);
}

/** After a write: counts it, and which open changes the object shows. */
function note(told: Told, { method, path, body }: HttpRequest, status: number): void {
  const output = /\/endpointslices/.test(path) ? 'slices' : /\/endpoints/.test(path) ? 'endpoints' : null;
  if (output === null || status >= 300 || method === 'GET') return;
  told.writes[output]++;
  told.lastWriteMs = told.sim.nowMs();
  const { shown } = told;
  const [collection, name] = OBJECT_PATH.exec(path)!.slice(1);
  // What is created is sent to the collection, under its name.
  const key = `${collection}/${method === 'POST' ? decodeObject(body!).metadata.name! : name!}`;
  const service = serviceIn(key);
  const object = method === 'DELETE' ? null : storedAt(told.sim, key);
  const founder = method === 'POST' ? object?.endpoints?.[0]?.targetRef?.name : undefined;
  if (founder !== undefined) {
    const family = Number(object!.addressType === 'IPv6');
    told.names[family]!.set(placeOf(told.story, service, founder), key.split('/').at(-1)!);
  }
  if (object !== null) told.sizes[output] = addSize(told.sizes[output], endpointsIn(object), body!.length);
  const before = shown.get(key) ?? NOBODY;
  const after = object === null ? NOBODY : readyAddresses(service, object);
  shown.set(key, after);
  for (const address of before) if (!after.has(address)) showAddress(told, output, address, -1);
  for (const address of after) if (!before.has(address)) showAddress(told, output, address, 1);
}

/** An object more, or one less, shows the address as ready. */
function showAddress({ sim, counts, open, undone, samples }: Told, output: Output, address: string, by: 1 | -1): void {
  const count = (counts[output].get(address) ?? 0) + by;
  counts[output].set(address, count);
  const change = open[output].get(address);
  const last = undone[output].get(address);
  const shown = change ?? last;
  if (shown === undefined || count > 0 !== shown.isReady) return;
  if (change === undefined && sim.nowMs() - last!.undoneAtMs > APART_MS_MAX) return;
  open[output].delete(address);
  undone[output].delete(address);
  if (change === undefined) open[output].set(address, { atMs: last!.undoneAtMs, isReady: !last!.isReady });
  const { atMs, isReady } = shown;
  samples[output].push({ atMs, kind: isReady ? 'add' : 'remove', latencyMs: sim.nowMs() - atMs });
}

/** Namespace and resource, then the name. */
const OBJECT_PATH = /\/namespaces\/([^/]+\/(?:endpointslices|endpoints))(?:\/([^/?]+))?/;

/** As the server has it, which spares the reading of each body. */
function storedAt({ server }: Sim, key: string): Subsets & Slice {
  const [namespace, resource, name] = key.split('/') as [string, 'endpoints' | 'endpointslices', string];
  return server.stores.get(resource)!.records.get(`${namespace}/${name}`)!.object as Subsets & Slice;
}

function endpointsIn({ subsets, endpoints }: Subsets & Slice): number {
  const inSubset = ({ addresses = [], notReadyAddresses = [] }: Subset): number =>
    addresses.length + notReadyAddresses.length;
  return (endpoints ?? []).length + (subsets ?? []).reduce((sum, subset) => sum + inSubset(subset), 0);
}

const NOBODY: ReadonlySet<string> = new Set();

function readyAddresses(service: number, { subsets, endpoints }: Subsets & Slice): Set<string> {
  const ready = (subsets ?? []).flatMap(({ addresses }) => (addresses ?? []).map(({ ip }) => ip));
  for (const { addresses, conditions } of endpoints ?? []) if (conditions?.ready === true) ready.push(...addresses);
  return new Set(ready.map((address) => addressKey(service, address)));
}

interface Subset {
  readonly addresses?: readonly { readonly ip: string }[];
  readonly notReadyAddresses?: readonly object[];
}

interface Subsets {
  readonly subsets?: readonly Subset[] | null;
}

interface Slice {
  readonly addressType?: string;
  readonly endpoints?: readonly SliceEndpoint[] | null;
}

interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions?: { readonly ready?: boolean };
  readonly targetRef?: { readonly name?: string };
}

/** What the queue model is told of the main thread, for the events and effects of the real one. */
function threadCosts(costs: Costs): ThreadCosts {
  const members = new Map<string, Map<string, PodRecord>>();
  return {
    event: (event, path) => {
      if (event.type === 'chunk') return framesIn(event.bytes) * (OUTPUT_PATH.test(path) ? costs.echo : costs.intake);
      return event.type === 'response' && path === '' ? costs.reply : 0;
    },
    effect: (effect) => {
      if (effect.type !== 'http' || effect.request.pool !== 'write') return 0;
      return costs.write + costs.writtenByte * (effect.request.body?.length ?? 0);
    },
    plan: (batch) => {
      let ms = 0;
      for (const { service, base, outputs, upserts, removals } of batch.entries) {
        const pods = base === 0 ? new Map<string, PodRecord>() : (members.get(service) ?? new Map<string, PodRecord>());
        for (const { pod } of upserts) pods.set(pod.name, pod);
        for (const name of removals) pods.delete(name);
        members.set(service, pods);
        for (const output of outputs) ms += costs.sync + costs.endpoint * endpointsOf(output, pods.values());
      }
      return ms;
    },
  };
}

function endpointsOf(output: OutputKind, pods: Iterable<PodRecord>): number {
  let count = 0;
  for (const { podIP, deleting } of pods) if (podIP !== '' && !(deleting && output === 'endpoints')) count++;
  return count;
}

const OUTPUT_PATH = /\/(?:endpoints|endpointslices)(?:\?|$)/;

/** Whole frames of a watch, each behind its length. */
function framesIn(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let frames = 0;
  for (let at = 0; at < bytes.length; frames++) at += 4 + view.getUint32(at);
  return frames;
}
