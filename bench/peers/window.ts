/** Figures of a measured window: counters before and after, and the changes in between. */
import { availableParallelism } from 'node:os';
import { percentile } from '../../src/lib/percentile.ts';
import { bytesReadBy, threadSecondsOf, usageOf } from '../support/process-usage.ts';
import { STAGES } from './change-stages.ts';
import { endOf, type Stream, type StreamKind, type TimedChange } from './stream.ts';

/** Counters at one moment. */
export interface Reading {
  readonly ms: number;
  /** CPU seconds by process, with ended processes. */
  readonly cpu: ReadonlyMap<string, number>;
  /** The names of the controller's processes. */
  readonly controllers: readonly string[];
  /** CPU seconds by thread of the controller's processes, with ended processes. */
  readonly threads: ReadonlyMap<string, number>;
  readonly readBytes: number;
  readonly streams: Readonly<Record<StreamKind, { readonly writes: number; readonly bytes: number }>>;
}

export interface Processes {
  readonly controller: Readonly<Record<string, number>>;
  readonly server: Readonly<Record<string, number>>;
}

export interface Window {
  readonly before: Reading;
  readonly after: Reading;
  readonly changes: readonly TimedChange[];
  readonly streams: readonly Stream[];
}

/**
 * Milliseconds of all changes that were seen, and of those that were taken back before, until then: 0 for those that want
 * what was shown all along. Changes that were never seen are reported apart.
 */
export interface Samples {
  readonly endpoints: readonly number[];
  readonly slices: readonly number[];
}

/** What a run keeps. */
export interface RunSamples extends Samples {
  /** To the slice, of a quiet side; absent = there is none, or the run is of before 26 November 2026. */
  readonly isolated?: readonly number[];
  /**
   * To the slice, of those that a write has shown; absent = none was taken back before, or the run is of an older bench.
   */
  readonly shown?: readonly number[];
  /** Those of `slices` above 0. No run keeps them: a report makes them of the others. */
  readonly wrong?: readonly number[];
}

export type Figures = Readonly<Record<string, number>>;

export const LOAD_PROCESS = 'load and watchers';
/** CL2 takes the worst of its windows of this length. */
const CL2_WINDOW_MS = 300_000;
/** Trigger times have whole seconds. */
const TRIGGER_ROUNDED_MS = 1000;
const MEGA = 1e6;

/**
 * @param known `ended`: CPU seconds of processes that have ended
 * @param now `loadSeconds`: CPU of the processes that load and watch; `endedReadBytes`: bytes read by controllers that
 * have ended
 */
export function read(
  { controller, server }: Processes,
  {
    ended,
    threads,
    streams,
  }: {
    readonly ended: ReadonlyMap<string, number>;
    readonly threads: Reading['threads'];
    readonly streams: Readonly<Record<StreamKind, Stream>>;
  },
  now: { readonly ms: number; readonly loadSeconds: number; readonly endedReadBytes: number },
): Reading {
  const cpu = new Map<string, number>([[LOAD_PROCESS, now.loadSeconds], ...ended]);
  for (const [name, pid] of [...Object.entries(controller), ...Object.entries(server)]) {
    cpu.set(name, (ended.get(name) ?? 0) + usageOf(pid).cpuSeconds);
  }
  const pids = Object.values(controller);
  const counted = ({ writes, bytes }: Stream) => ({ writes, bytes });
  return {
    ms: now.ms,
    cpu,
    controllers: [...new Set([...ended.keys(), ...Object.keys(controller)])].filter((name) => !(name in server)),
    threads,
    readBytes: pids.reduce((sum, pid) => sum + bytesReadBy(pid), now.endedReadBytes),
    streams: { endpoints: counted(streams.endpoints), slices: counted(streams.slices) },
  };
}

/** Adds the CPU seconds of the processes' threads to `threads`, by their names. */
export function addThreads(
  threads: Map<string, number>,
  processes: Readonly<Record<string, number>>,
): ReadonlyMap<string, number> {
  for (const pid of Object.values(processes)) {
    for (const [name, seconds] of threadSecondsOf(pid)) threads.set(name, (threads.get(name) ?? 0) + seconds);
  }
  return threads;
}

export function samplesOf(changes: readonly TimedChange[]): Samples {
  const of = (kind: StreamKind): number[] =>
    changes
      .map((change) => endOf(change, kind) - change.ackedMs)
      .filter((ms) => !Number.isNaN(ms))
      // A watcher may see the effect before the answer to the change has come.
      .map((ms) => rounded(Math.max(0, ms)));
  return { endpoints: of('endpoints'), slices: of('slices') };
}

/** The samples of a run, with those of its quiet side apart. */
export function runSamplesOf(changes: readonly TimedChange[]): RunSamples {
  const loud = changes.filter(({ isolated }) => !isolated);
  const quiet = changes.filter(({ isolated }) => isolated);
  const shown = loud.filter(({ takenBackMs }) => takenBackMs.slices === undefined);
  return {
    ...samplesOf(loud),
    ...(quiet.length === 0 ? {} : { isolated: samplesOf(quiet).slices }),
    ...(shown.length === loud.length ? {} : { shown: samplesOf(shown).slices }),
  };
}

/** Latencies over time: in each second of the measure with changes. */
export interface Course {
  /** Seconds since the begin of the measure. */
  readonly seconds: readonly number[];
  readonly p50: readonly number[];
  readonly p99: readonly number[];
  readonly max: readonly number[];
}

/**
 * Groups changes by the second of their acknowledgement. There are at most `COURSE_MAX` groups, of several seconds if
 * there are more.
 */
export function courseOf(changes: readonly TimedChange[], fromMs: number): Course {
  const late = changes
    .map((change) => ({ atMs: change.ackedMs - fromMs, ms: Math.max(0, endOf(change, 'slices') - change.ackedMs) }))
    .filter(({ ms }) => !Number.isNaN(ms));
  const lastMs = late.reduce((most, { atMs }) => Math.max(most, atMs), 0);
  const groupMs = 1000 * Math.ceil((lastMs + 1) / 1000 / COURSE_MAX);
  const groups = [...Map.groupBy(late, ({ atMs }) => Math.floor(atMs / groupMs))].sort(([a], [b]) => a - b);
  const of = (share: number): number[] =>
    groups.map(([, each]) =>
      rounded(
        percentile(
          each.map(({ ms }) => ms),
          share,
        ),
      ),
    );
  return { seconds: groups.map(([at]) => (at * groupMs) / 1000), p50: of(0.5), p99: of(0.99), max: of(1) };
}

const COURSE_MAX = 300;

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

export function figuresOf(window: Window): Record<string, number> {
  const { before, after, changes } = window;
  const cpuOf = (name: string): number => (after.cpu.get(name) ?? 0) - (before.cpu.get(name) ?? 0);
  const wall = (after.ms - before.ms) / 1000;
  const controllerCpu = after.controllers.reduce((sum, name) => sum + cpuOf(name), 0);
  const [apiserverCpu, etcdCpu, loadCpu] = ['apiserver', 'etcd', LOAD_PROCESS].map(cpuOf) as [number, number, number];
  const figures: Record<string, number> = {
    controllerCpu,
    wall,
    apiserverCpu,
    etcdCpu,
    loadCpu,
    sumCpu: controllerCpu + apiserverCpu + etcdCpu,
    serverShare: (100 * (apiserverCpu + etcdCpu + loadCpu)) / wall / availableParallelism(),
    readMB: (after.readBytes - before.readBytes) / MEGA,
  };
  let writes = 0;
  for (const kind of ['endpoints', 'slices'] as const) {
    const count = after.streams[kind].writes - before.streams[kind].writes;
    writes += count;
    figures[`${kind}Writes`] = count;
    figures[`${kind}MB`] = (after.streams[kind].bytes - before.streams[kind].bytes) / MEGA;
  }
  figures['writes'] = writes;
  if (changes.length === 0) return figures;
  figures['changes'] = changes.length;
  figures['cpuAChange'] = (controllerCpu / changes.length) * 1000;
  figures['sentLateMs'] = Math.max(...changes.map(({ sentMs, dueMs }) => sentMs - dueMs));
  return { ...figures, ...latencyFigures(window) };
}

function latencyFigures({ changes, streams, before }: Window): Record<string, number> {
  const figures: Record<string, number> = {};
  const samples = samplesOf(changes.filter(({ isolated }) => !isolated));
  const quiet = samplesOf(changes.filter(({ isolated }) => isolated)).slices;
  if (quiet.length > 0) {
    figures['isolatedP50'] = percentile(quiet, 0.5);
    figures['isolatedP99'] = percentile(quiet, 0.99);
  }
  for (const kind of ['endpoints', 'slices'] as const) {
    const ms = samples[kind];
    if (ms.length === 0) continue;
    figures[`${kind}P50`] = percentile(ms, 0.5);
    figures[`${kind}P90`] = percentile(ms, 0.9);
    figures[`${kind}P99`] = percentile(ms, 0.99);
    figures[`${kind}Max`] = percentile(ms, 1);
    figures[`${kind}AtOnce`] = (100 * ms.filter((each) => each === 0).length) / ms.length;
    for (const limit of [50, 500, 1000]) {
      figures[`${kind}Over${limit}`] = (100 * ms.filter((each) => each > limit).length) / ms.length;
    }
  }
  for (const { kind, trigger } of streams) {
    // A restarted controller tells the time of a Service's creation, which is long before the measure.
    const within = trigger.filter(({ atMs, ms }) => atMs >= before.ms && atMs - ms >= before.ms - TRIGGER_ROUNDED_MS);
    if (within.length === 0) continue;
    const windows = Map.groupBy(within, ({ atMs }) => Math.floor((atMs - before.ms) / CL2_WINDOW_MS));
    for (const [name, share] of [
      ['P50', 0.5],
      ['P99', 0.99],
    ] as const) {
      const worst = [...windows.values()].map((each) =>
        percentile(
          each.map(({ ms }) => ms),
          share,
        ),
      );
      figures[`${kind}Cl2${name}`] = Math.max(...worst);
    }
  }
  return figures;
}

export interface FigureText {
  readonly title: string;
  readonly digits: number;
}

/** The figures that tables show, in their order. A report leaves out figures that no peer has. */
export const FIGURES: Readonly<Record<string, FigureText>> = {
  controllerCpu: { title: 'CPU of the controller, s', digits: 2 },
  cpuAChange: { title: 'CPU of the controller a change, ms', digits: 2 },
  restCpu: { title: 'CPU of the controller until it was at rest, s', digits: 2 },
  knownCpu: { title: 'CPU of the controller behind the measure, until two changes were shown, s', digits: 2 },
  cpuAPod: { title: 'CPU of the controller a pod, ms', digits: 3 },
  apiserverCpu: { title: 'CPU of the API server, s', digits: 2 },
  etcdCpu: { title: 'CPU of etcd, s', digits: 2 },
  sumCpu: { title: 'CPU of controller, API server and etcd, s', digits: 2 },
  loadCpu: { title: 'CPU of load and watchers, s', digits: 2 },
  serverShare: { title: 'API server, etcd and load of all cores, %', digits: 0 },
  wall: { title: 'wall, s', digits: 2 },
  changes: { title: 'changes', digits: 0 },
  coalesced: { title: 'changes taken back before a write', digits: 0 },
  takenBack: { title: 'changes taken back before a write, %', digits: 1 },
  sentLateMs: { title: 'sent late at most, ms', digits: 0 },
  writes: { title: 'writes', digits: 0 },
  fewestWrites: { title: 'fewest writes for the same p99', digits: 0 },
  fewestWritesHalf: { title: 'fewest writes for half of that p99', digits: 0 },
  endpointsWrites: { title: 'writes of Endpoints', digits: 0 },
  slicesWrites: { title: 'writes of slices', digits: 0 },
  endpointsMB: { title: 'Endpoints to a watcher, MB', digits: 2 },
  slicesMB: { title: 'slices to a watcher, MB', digits: 2 },
  readMB: { title: 'read by the controller, its files too, MB', digits: 1 },
  watchStreams: { title: 'watches of the controller', digits: 0 },
  watchersMB: { title: 'to all further watchers together, MB', digits: 1 },
  watchesEnded: { title: 'watches of further watchers that the server has ended', digits: 0 },
  ...latencyTexts('slices', 'slice'),
  wrongP50: { title: 'change to slice, without those of 0 ms, p50, ms', digits: 1 },
  wrongP99: { title: 'change to slice, without those of 0 ms, p99, ms', digits: 1 },
  shownP50: { title: 'change to slice, without those taken back, p50, ms', digits: 1 },
  shownP99: { title: 'change to slice, without those taken back, p99, ms', digits: 1 },
  ...latencyTexts('endpoints', 'Endpoints'),
  isolatedP50: { title: 'the quiet side: change to slice, p50, ms', digits: 1 },
  isolatedP99: { title: 'the quiet side: change to slice, p99, ms', digits: 1 },
  ...stageTexts(),
  stageChanges: { title: 'changes whose stages the journal has', digits: 0 },
  queueMean: { title: 'a key waits in the queue, mean, ms', digits: 2 },
  syncMean: { title: 'a sync with its writes, mean, ms', digits: 2 },
  throttleMean: { title: 'an update waits until it may be sent, mean, ms', digits: 2 },
  putMean: { title: 'an update and its answer, mean, ms', digits: 2 },
  letThrough: { title: 'requests that flow control has let through for controllers', digits: 0 },
  serverRightMs: { title: 'API server restarted: until no change was late, ms', digits: 0 },
  serverWrongMost: { title: 'API server restarted: most addresses wrong at once', digits: 0 },
  serverWrongSeconds: { title: 'API server restarted: wrong addresses x seconds', digits: 1 },
  controllerRightMs: { title: 'controller restarted: until no change was late, ms', digits: 0 },
  controllerWrongMost: { title: 'controller restarted: most addresses wrong at once', digits: 0 },
  controllerWrongSeconds: { title: 'controller restarted: wrong addresses x seconds', digits: 1 },
  rightMs: { title: 'until all was right again, ms', digits: 0 },
  lostMs: { title: 'a node is lost: until all was right, ms', digits: 0 },
  cpuAnEvent: { title: 'CPU of the controller an event, us', digits: 1 },
  growthMB: { title: 'memory in the last tenth more than in the first, MB', digits: 1 },
  peakMB: { title: 'peak memory, MB', digits: 0 },
  steadyMB: { title: 'memory at the end, MB', digits: 0 },
};

/** Trigger times have whole seconds, so a difference between these figures tells nothing of two quick controllers. */
export const CL2_FIGURES: ReadonlySet<string> = new Set(
  Object.keys(FIGURES).filter((figure) => figure.includes('Cl2')),
);

/** For each figure of CPU, the figure with the seconds that it is made from. */
export const CPU_SECONDS_OF: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['controllerCpu', 'apiserverCpu', 'etcdCpu', 'sumCpu', 'loadCpu'].map((figure) => [figure, figure]),
  ),
  restCpu: 'restCpu',
  cpuAChange: 'controllerCpu',
  cpuAPod: 'controllerCpu',
  cpuAnEvent: 'controllerCpu',
};

function stageTexts(): Record<string, FigureText> {
  return Object.fromEntries(
    Object.entries(STAGES).flatMap(([stage, what]) =>
      ['P50', 'P99'].map((share) => [
        `stage${stage}${share}`,
        { title: `stage, ${what}, ${share.toLowerCase()}, ms`, digits: 2 },
      ]),
    ),
  );
}

function latencyTexts(kind: StreamKind, title: string): Record<string, FigureText> {
  return {
    [`${kind}P50`]: { title: `change to ${title}, p50, ms`, digits: 1 },
    [`${kind}P90`]: { title: `change to ${title}, p90, ms`, digits: 1 },
    [`${kind}P99`]: { title: `change to ${title}, p99, ms`, digits: 1 },
    [`${kind}Max`]: { title: `change to ${title}, longest, ms`, digits: 1 },
    [`${kind}AtOnce`]: { title: `change to ${title}, shown when it was answered, or never wrong, %`, digits: 1 },
    [`${kind}Over50`]: { title: `change to ${title}, later than 50 ms, %`, digits: 1 },
    [`${kind}Over500`]: { title: `change to ${title}, later than 500 ms, %`, digits: 1 },
    [`${kind}Over1000`]: { title: `change to ${title}, later than 1 s, %`, digits: 1 },
    [`${kind}Cl2P50`]: { title: `trigger time to ${title} (CL2), p50, ms`, digits: 0 },
    [`${kind}Cl2P99`]: { title: `trigger time to ${title} (CL2), p99, ms`, digits: 0 },
  };
}
