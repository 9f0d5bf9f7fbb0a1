/**
 * The planners alone, with full snapshots of small and large services, 64 under way at a time, inline and on threads. What a
 * batch costs the main thread, the planners and V8's helpers decides how far threads can help. Linux only.
 */
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { createPool, createThreadShards } from '../../src/node/thread-shards.ts';
import type { Shards, ShardsEvent } from '../../src/ports/shards.ts';
import { decodeReply, encodeBatch } from '../../src/shard/codec.ts';
import { createPlanner, plan } from '../../src/shard/planner.ts';
import type { Batch, PlannerConfig, PlanReply } from '../../src/shard/protocol.ts';
import { NODE_FLAGS } from '../../src/testbed/controller-process.ts';
import type { BenchMark } from '../marks/data.ts';
import { plural } from '../../src/lib/figures.ts';
import { median } from '../../src/lib/percentile.ts';
import { verdictOver } from '../marks/mark-result.ts';
import { createTeller, type Teller } from '../marks/tell.ts';
import type { Size } from '../support/micro-bench.ts';
import { threadSecondsOf } from '../support/process-usage.ts';
import { clusterRecords } from '../support/records.ts';
import type { BenchTable } from '../support/table.ts';
import { batchEntry } from '../../test/support/batches.ts';
import { type Costs, limitOf } from './limit.ts';

/** The numbers of pods of a service. */
const PODS = [5, 25, 250] as const;
const SERVICES: Readonly<Record<Size, number>> = { tiny: 4, full: 200 };
/** Of one run, with the same threads. */
const ROUNDS: Readonly<Record<Size, number>> = { tiny: 1, full: 5 };
const RUNS: Readonly<Record<Size, number>> = { tiny: 1, full: 5 };
const IN_FLIGHT = 64;
const CORES = [2, 4, 8] as const;
const HEAP_LIMIT_MB = 512;
/** The marks are of large services, whose snapshots are encoded before. */
const MARKED_PODS = 250;
const FASTER_MIN = 1.6;
const LIMIT_MIN = 4;
/** Thread names as the kernel has them, cut to 15 characters. */
const HELPER = 'node-V8Worker';
const NOT_PLANNERS: ReadonlySet<string> = new Set([
  'node-MainThread',
  HELPER,
  'libuv-worker',
  'DelayedTaskSche',
  'SignalInspector',
]);
const CONFIG: PlannerConfig = {
  tolerateUnreadyEndpointsAnnotation: false,
  outputs: ['endpoints', 'slices'],
  maxEndpointsPerSlice: 100,
  compactSlices: false,
  mirroringMaxEndpointsPerSubset: 1000,
  mirroringAllEndpoints: false,
  mirroringZones: false,
};

/** In a process with the flags of Node that endpointd has: they decide about half of what V8's helpers take. */
export async function runThreadsBench(size: Size, rest: readonly string[]): Promise<void> {
  const { show, end } = createTeller('threads', size, rest);
  if (NODE_FLAGS.every((flag) => process.execArgv.includes(flag))) return end(await measureAll(size, show));
  const { status } = spawnSync(process.execPath, [...NODE_FLAGS, ...process.argv.slice(1)], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`the bench of the planners has ended with status ${status}`);
}

/** One run of each way with the same batches, in turn. */
interface Run {
  readonly inline: Costs;
  readonly one: Costs;
  readonly two: Costs;
  readonly oneReady: Costs;
  readonly twoReady: Costs;
  /** Microseconds of the main thread to encode a snapshot, beside a planner. */
  readonly encodeUs: number;
}

const WAYS = [
  ['inline', 'inline'],
  ['1 thread', 'one'],
  ['2 threads', 'two'],
  ['1 thread, encoded before', 'oneReady'],
  ['2 threads, encoded before', 'twoReady'],
] as const satisfies readonly (readonly [string, keyof Run])[];

async function measureAll(size: Size, show: Teller['show']): Promise<readonly BenchMark[]> {
  const marks: BenchMark[] = [];
  for (const pods of PODS) {
    const batches = snapshots(SERVICES[size], pods);
    const runs: Run[] = [];
    for (let run = 0; run < RUNS[size]; run++) runs.push(await measureOnce(batches, ROUNDS[size]));
    const kilobytes = (encodeBatch(batches[0]!).length / 1000).toFixed(1);
    const what = `snapshots of ${pods} pods, ${kilobytes} KB each, ${IN_FLIGHT} under way`;
    show(costsTable(what, runs));
    show(limitsTable(what, runs));
    if (pods === MARKED_PODS) marks.push(...marksOf(runs));
  }
  return marks;
}

function costsTable(what: string, runs: readonly Run[]): BenchTable {
  const [faster, fasterReady] = [fasterOf(runs, 'one', 'two'), fasterOf(runs, 'oneReady', 'twoReady')];
  const encodeUs = median(runs.map((run) => run.encodeUs));
  return {
    title: `A batch, microseconds: ${what}`,
    columns: ['', 'wall', 'CPU of main', 'CPU of planners', "CPU of V8's helpers", 'writes'],
    rows: WAYS.map(([title, way]) => rowOf(title, runs, way)),
    note: `Medians of ${plural(runs.length, 'run')}. Two threads are ${faster.toFixed(2)} times as fast as one, ${fasterReady.toFixed(2)} with snapshots encoded before. To encode one takes the main thread ${encodeUs.toFixed(0)} us`,
  };
}

function limitsTable(what: string, runs: readonly Run[]): BenchTable {
  return {
    title: `The limit, times inline: ${what}`,
    columns: ['cores', 'planners', 'snapshots encoded before', 'encoded on the main thread'],
    rows: CORES.map((cores) => {
      const { encodedBefore, encodedOnMain } = limitOf(runs, cores);
      return [String(cores), String(cores - 1), encodedBefore.toFixed(1), encodedOnMain.toFixed(1)];
    }),
    note: "With the costs of one thread. What binds is the main thread, an equal share of the planners' CPU, or an equal share for each core of all CPU, V8's helpers included. `--shards` encodes on the main thread",
  };
}

async function measureOnce(batches: readonly Batch[], rounds: number): Promise<Run> {
  const encodeUs = encodingUs(batches);
  const inline = measureInline(batches, rounds);
  const measured = (count: number, open: Open): Promise<Costs> => measureThreads(batches, open(count), rounds);
  const [one, two] = [await measured(1, openShards), await measured(2, openShards)];
  const [oneReady, twoReady] = [await measured(1, openReady), await measured(2, openReady)];
  return { inline, one, two, oneReady, twoReady, encodeUs };
}

function marksOf(runs: readonly Run[]): readonly BenchMark[] {
  const faster = (drawn: readonly Run[]): number => fasterOf(drawn, 'oneReady', 'twoReady');
  const cores = CORES.at(-1)!;
  const { encodedBefore, encodedOnMain } = limitOf(runs, cores);
  return [
    {
      what: `planners with encoded snapshots, from 1 to 2 threads, >= ${FASTER_MIN} times as fast`,
      got: faster(runs).toFixed(2),
      verdict: verdictOver(runs, (drawn) => faster(drawn) >= FASTER_MIN),
      rounds: runs.length,
    },
    {
      what: `the limit of planners with encoded snapshots at ${cores} cores >= ${LIMIT_MIN} times inline`,
      got: `${encodedBefore.toFixed(1)}, and ${encodedOnMain.toFixed(1)} where the main thread encodes them, as it is shipped`,
      verdict: verdictOver(runs, (drawn) => limitOf(drawn, cores).encodedBefore >= LIMIT_MIN),
      rounds: runs.length,
    },
  ];
}

/** How many times as fast `two` is as `one`, by the median over the runs. */
function fasterOf(runs: readonly Run[], one: 'one' | 'oneReady', two: 'two' | 'twoReady'): number {
  return median(runs.map((run) => run[one].wallUs / run[two].wallUs));
}

function rowOf(title: string, runs: readonly Run[], way: Exclude<keyof Run, 'encodeUs'>): string[] {
  const middle = (figure: keyof Costs): number => median(runs.map((run) => run[way][figure]));
  return [
    title,
    ...(['wallUs', 'mainUs', 'plannersUs', 'helpersUs'] as const).map((figure) => middle(figure).toFixed(0)),
    String(middle('writes')),
  ];
}

function snapshots(services: number, pods: number): Batch[] {
  const sizes = [{ pods, weight: 1 }];
  const records = clusterRecords('spread', { namespaces: 1, servicesPerNamespace: services, sizes });
  return records.services.map((spec, i) => ({
    seed: 1,
    shares: undefined,
    entries: [
      {
        ...NOTHING,
        service: `${spec.namespace}/${spec.name}`,
        spec,
        upserts: records.pods.slice(i * pods, (i + 1) * pods).map((pod) => ({ pod, zone: 'zone-a' })),
      },
    ],
  }));
}

const NOTHING = batchEntry({ outputs: ['slices', 'endpoints'] });

/**
 * Microseconds to encode one batch, after as much warm-up. By the clock, because the kernel counts the CPU of a thread that
 * does not pause in ticks of milliseconds, and 200 small batches take no longer.
 */
function encodingUs(batches: readonly Batch[]): number {
  let fromMs = 0;
  for (const warm of [false, true]) {
    if (warm) fromMs = performance.now();
    for (const batch of batches) encodeBatch(batch);
  }
  return ((performance.now() - fromMs) * 1000) / batches.length;
}

/** Inline there is no codec. Each round has a planner of its own. */
function measureInline(batches: readonly Batch[], rounds: number): Costs {
  let [micros, ms, helpers, writes] = [0, 0, 0, 0];
  for (let round = 0; round <= rounds; round++) {
    const planner = createPlanner(CONFIG);
    const [fromMicros, fromMs, fromHelpers] = [mainMicros(), performance.now(), othersMicros().helpers];
    writes = 0;
    for (const batch of batches) writes += writesOf(plan(planner, batch));
    // The first round warms up the compilers.
    if (round === 0) continue;
    micros += mainMicros() - fromMicros;
    ms += performance.now() - fromMs;
    helpers += othersMicros().helpers - fromHelpers;
  }
  const count = rounds * batches.length;
  return { wallUs: (ms * 1000) / count, mainUs: micros / count, plannersUs: 0, helpersUs: helpers / count, writes };
}

/** Threads with planners, as the bench uses them. */
interface Threads extends Pick<Shards, 'count' | 'post'> {
  /** Takes the place of the listener before. */
  readonly listen: (listener: (event: ShardsEvent) => void) => void;
  readonly close: () => Promise<unknown>;
}

type Open = (count: number) => Threads;

/** As the controller has them. */
function openShards(count: number): Threads {
  let onEvent: (event: ShardsEvent) => void = () => undefined;
  const shards = createThreadShards({ count, heapLimitMb: HEAP_LIMIT_MB, config: CONFIG }, (event) => onEvent(event));
  return { ...shards, listen: (listener) => void (onEvent = listener) };
}

/** The same threads, which get a copy of bytes that were made before. */
function openReady(count: number): Threads {
  let onEvent: (event: ShardsEvent) => void = () => undefined;
  const options = { count, heapLimitMb: HEAP_LIMIT_MB, config: CONFIG };
  const pools = Array.from({ length: count }, () => createPool(options));
  const encoded = new Map<Batch, Uint8Array>();
  return {
    count,
    post(shard, batchId, batch) {
      let bytes = encoded.get(batch);
      if (bytes === undefined) encoded.set(batch, (bytes = encodeBatch(batch)));
      const copy = new Uint8Array(bytes);
      const transferList = [copy.buffer] as never;
      pools[shard]!.run(copy, { transferList }).then(
        (reply: Uint8Array) => onEvent({ type: 'shard.planned', shard, batchId, reply: decodeReply(reply) }),
        (error: unknown) => onEvent({ type: 'shard.lost', shard, batchIds: [batchId], reason: String(error) }),
      );
    },
    listen: (listener) => void (onEvent = listener),
    close: () => Promise.all(pools.map((pool) => pool.destroy())),
  };
}

async function measureThreads(batches: readonly Batch[], threads: Threads, rounds: number): Promise<Costs> {
  const forgets = batches.map(forgetting);
  try {
    let [micros, planners, helpers, ms, writes] = [0, 0, 0, 0, 0];
    for (let round = 0; round <= rounds; round++) {
      await postAll(threads, forgets);
      const before = { main: mainMicros(), others: othersMicros(), ms: performance.now() };
      writes = await postAll(threads, batches);
      // The first round starts and warms up the threads.
      if (round === 0) continue;
      micros += mainMicros() - before.main;
      ms += performance.now() - before.ms;
      const others = othersMicros();
      planners += others.planners - before.others.planners;
      helpers += others.helpers - before.others.helpers;
    }
    const all = rounds * batches.length;
    const [wallUs, mainUs] = [(ms * 1000) / all, micros / all];
    return { wallUs, mainUs, plannersUs: planners / all, helpersUs: helpers / all, writes };
  } finally {
    await threads.close();
  }
}

/** Keeps so many batches under way. Resolves with the number of planned writes. */
function postAll(threads: Threads, batches: readonly Batch[]): Promise<number> {
  let [posted, answered, writes] = [0, 0, 0];
  const post = (): void => {
    if (posted >= batches.length) return;
    threads.post(posted % threads.count, posted, batches[posted]!);
    posted++;
  };
  return new Promise((resolve, reject) => {
    threads.listen((event) => {
      if (event.type !== 'shard.planned') return reject(new Error(event.reason));
      writes += writesOf(event.reply);
      post();
      if (++answered === batches.length) resolve(writes);
    });
    for (let i = 0; i < IN_FLIGHT; i++) post();
  });
}

/** The batch with an order to forget the services, so that a planner is asked for the same again. */
function forgetting(batch: Batch): Batch {
  const entries = batch.entries.map((entry) => ({ ...NOTHING, service: entry.service, outputs: [], spec: null }));
  return { ...batch, entries };
}

function writesOf({ error, results }: PlanReply): number {
  const failure = error ?? results.find((result) => result.error !== null)?.error;
  if (failure != null) throw new Error(failure);
  return results.flatMap(({ plans }) => plans.flatMap(({ writes }) => writes)).length;
}

function mainMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** CPU of V8's helpers, and of all threads except these, the main thread and libuv's. */
function othersMicros(): { planners: number; helpers: number } {
  let [planners, helpers] = [0, 0];
  for (const [name, seconds] of threadSecondsOf(process.pid)) {
    if (name === HELPER) helpers += seconds * 1e6;
    else if (!NOT_PLANNERS.has(name)) planners += seconds * 1e6;
  }
  return { planners, helpers };
}
