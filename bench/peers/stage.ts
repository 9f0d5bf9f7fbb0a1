/** Tells the story of a scenario to one peer, on a server of its own, and reports the results. */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE_NAME_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { type ClusterObjects, type WrongObject, wrongObjects, wrongText } from '../../src/judge/cluster-check.ts';
import { parseMetrics } from '../../src/metrics/text.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { watchEndpoints } from '../../src/testbed/endpoints-view.ts';
import { StillWrong } from '../../src/testbed/service-view.ts';
import { watchSlices } from '../../src/testbed/slices-view.ts';
import type { App, Cluster, PodModel } from '../../src/workload/cluster.ts';
import { readinessConditions } from '../../src/workload/objects.ts';
import { patchStatus } from '../../src/workload/request.ts';
import {
  converged,
  expectedOutputs,
  readCluster,
  stopOutputs,
  whichControllers,
  type ExpectedOutputs,
  type Outputs,
} from '../support/outputs.ts';
import { bytesReadBy, cpuSecondsOf, usageOf } from '../support/process-usage.ts';
import { openGate, type Gate } from './gate.ts';
import { median } from '../../src/lib/percentile.ts';
import { disturbanceOf } from './disturbance.ts';
import { fewestWrites } from './fewest-writes.ts';
import { notAtRest } from './known.ts';
import { lasting } from './lasting-watch.ts';
import { meanFigures, stageFigures, stageSamples, type Telling } from './change-stages.ts';
import { startSampler, thinned, type Sampler, type Timeline } from './sampler.ts';
import type { ChangeOrder, Peer, RunningPeer, Scenario, Settings, Size, Stage } from './scenario.ts';
import type { BenchServer } from './server.ts';
import {
  awaitAddress,
  awaitedOf,
  createStream,
  noteEvent,
  settleAwaited,
  type Stream,
  type TimedChange,
} from './stream.ts';
import {
  courseOf,
  type Course,
  figuresOf,
  read,
  runSamplesOf,
  type Figures,
  type Reading,
  type RunSamples,
  addThreads,
} from './window.ts';
import { startWatchers, type Watchers } from './watchers.ts';

export interface RunResult {
  readonly figures: Figures;
  /** CPU seconds of the measure by thread of the controller. */
  readonly threads: Readonly<Record<string, number>>;
  readonly samples: RunSamples;
  /** The latencies of slices over time. */
  readonly course: Course;
  readonly timeline: Timeline;
  readonly peakStep: string;
  /** What is wrong, one line each; [] = everything is right. A wrong run does not count in a comparison. */
  readonly wrong: readonly string[];
}

const RIGHT_MS_MAX = 300_000;
/** What a peer has not done by then, it does not do. */
const FOLLOWED_MS_MAX = 20_000;
const SEEN_MS_MAX = 120_000;
const POLL_MS = 20;
/**
 * A controller that used less than `REST_SHARE` of a core for so long, three times in a row, rests, if its server used
 * less than `SERVER_REST_SHARE`: else it may wait for a list.
 */
const STILL_MS: Readonly<Record<Size, number>> = { tiny: 250, small: 1000, full: 1000 };
/**
 * A busy machine holds a write up for less. Changes that are not shown yet will not be when nothing was written for so long.
 * The tiny size is that of tests, which run on a machine that does other work as well.
 */
const HELD_UP_MS: Readonly<Record<Size, number>> = { tiny: 10_000, small: 1000, full: 1000 };
const REST_SHARE = 0.05;
/** An idle kube-apiserver with its etcd uses a twentieth to a tenth of a core. */
const SERVER_REST_SHARE = 0.3;
const QUIET_LOOKS = 3;
const TIMELINE_POINTS_MAX = 200;
const SAID_MAX = 5;
const SETTLE_MS = 50;
const TOLD_MS_MAX = 2000;
/** One of Endpoints and one of slices, as each further watcher has them. */
const OWN_WATCHES = 2;

interface Run {
  readonly scenario: Scenario;
  readonly server: BenchServer;
  /** The client of the load and of the watchers that judge. */
  readonly client: ApiClient;
  readonly cluster: Cluster;
  readonly peer: Peer;
  readonly size: Size;
  readonly stillMs: number;
  readonly outputs: Outputs;
  /** What the peer does not follow, one line each. */
  readonly notFollowed: string[];
  readonly streams: Readonly<Record<'endpoints' | 'slices', Stream>>;
  readonly sampler: Sampler;
  /** The server's objects when the stage was set. */
  readonly objects: ClusterObjects;
  /** null = the controller reaches the server directly. */
  readonly gate: Gate | null;
  expected: ExpectedOutputs;
  readonly controllers: readonly string[];
  readonly changes: TimedChange[];
  /** The last change of each object, by its path. */
  readonly underWay: Map<string, Promise<unknown>>;
  readonly notes: Record<string, number>;
  /** How many watches were open on the server before the controller came, with those of this process. */
  readonly otherWatches: number;
  /** Those that only load the server; null = there are none. */
  readonly watchers: Watchers | null;
  /** CPU seconds of ended processes. */
  readonly ended: Map<string, number>;
  /** CPU seconds of their threads. */
  readonly endedThreads: Map<string, number>;
  endedReadBytes: number;
  running: RunningPeer | null;
  before: Reading | null;
  after: Reading | null;
  /** What the controller told at the begin and the end of the measure; null = it was not asked. */
  told: { readonly before: Telling; readonly after: Telling } | null;
  peakBytes: number;
}

export async function play(
  scenario: Scenario,
  settings: Settings,
  peer: Peer,
  { server, cluster }: { readonly server: BenchServer; readonly cluster: Cluster },
  controllers: readonly string[],
): Promise<RunResult> {
  const client = scenario.lasting === true ? lasting(server.client) : server.client;
  const objects = await readCluster(client, cluster.namespaces);
  const heldUpMs = HELD_UP_MS[settings.size];
  const streams = {
    endpoints: createStream('endpoints', ({ metadata }) => `${metadata.namespace}/${metadata.name}`, heldUpMs),
    slices: createStream('slices', serviceOfSlice, heldUpMs),
  };
  const noteOf = (stream: Stream) => (type: string, object: KubeObject, bytes: number) =>
    noteEvent(stream, type, object, bytes, { ms: performance.now(), wallMs: Date.now() });
  const otherWatches = (await settledWatches(client)) + OWN_WATCHES * (1 + (settings.watchers ?? 0));
  const outputs = {
    endpoints: await watchEndpoints(client, noteOf(streams.endpoints)),
    slices: await watchSlices(client, noteOf(streams.slices)),
  };
  const watchers = await startWatchers({ target: server.target, count: settings.watchers ?? 0 });
  const run: Run = {
    scenario,
    server,
    client,
    cluster,
    peer,
    size: settings.size,
    stillMs: STILL_MS[settings.size],
    outputs,
    notFollowed: [],
    streams,
    sampler: startSampler(watchers === null ? [] : [watchers.pid]),
    objects,
    gate: scenario.gated === true ? await openGate(server) : null,
    expected: expectedOutputs(objects, whichControllers(controllers)),
    controllers,
    changes: [],
    underWay: new Map(),
    otherWatches,
    watchers,
    notes: {},
    ended: new Map(),
    endedThreads: new Map(),
    endedReadBytes: 0,
    running: null,
    before: null,
    after: null,
    told: null,
    peakBytes: 0,
  };
  run.sampler.watch(server.processes(), {});
  try {
    await scenario.story(stageOf(run, settings));
    const wrong = await judge(run);
    await stop(run);
    return resultOf(run, wrong);
  } catch (error) {
    throw await causeOf(run, error);
  } finally {
    run.sampler.stop();
    stopOutputs(outputs);
    run.watchers?.stop();
    await stop(run).catch(() => undefined);
    run.gate?.close();
  }
}

/** A process that has ended has no counters any more. Why it ended is told a moment later. */
async function causeOf({ running }: Run, error: unknown): Promise<unknown> {
  if (running === null || (error as NodeJS.ErrnoException).code !== 'ENOENT') return error;
  return Promise.race([running.failed.catch((cause: unknown) => cause), sleep(TOLD_MS_MAX, error, { ref: false })]);
}

function stageOf(run: Run, settings: Settings): Stage {
  const { cluster, server, peer, sampler, notes } = run;
  const services = servicesByApp(cluster);
  const servicesOf = (app: App): readonly string[] => services.get(app) ?? [];
  const stage: Stage = {
    cluster,
    server,
    settings,
    echoes: peer.echoes,
    step: (name) => sampler.step(name),
    start: () => start(run),
    kill: () => end(run, ({ kill }) => kill()),
    right: () => becomesRight(run),
    follows: (what) => follows(run, what),
    rest: () => rests(run),
    cpuSeconds: () => secondsOf(run.running?.processes ?? {}),
    measure: (work) => measure(run, work),
    knows: () => knows(run),
    change: async (order) => void (await change(run, order, true)),
    turn: async (pod, ready, dueMs, isolated = false) =>
      void (await turn(run, servicesOf(pod.app), { pod, ready, dueMs, isolated, isCounted: true })),
    servicesOf,
    expect: (adjust) => void (run.expected = expectedOutputs(adjust(run.objects), whichControllers(run.controllers))),
    mayVanish: (service, address) => {
      for (const stream of Object.values(run.streams)) awaitAddress(stream, service, address, false, null);
    },
    hold: () => run.gate!.hold(),
    release: () => release(run),
    seen: () => seen(run),
    restartServer: () => restartServer(run),
    disturbance: (fromMs) => disturbanceOf(run.changes, fromMs),
    note: (figure, value) => void (notes[figure] = value),
  };
  return stage;
}

/** Questions to the controller are asked outside the measured time. */
async function measure(run: Run, work: () => Promise<void>): Promise<void> {
  const asked = run.running;
  const before = await asked?.tell?.();
  const receivedBefore = await run.watchers?.received();
  run.before = reading(run);
  await work();
  run.after = reading(run);
  const receivedAfter = await run.watchers?.received();
  if (receivedAfter !== undefined) {
    run.notes['watchesEnded'] = receivedAfter.ended;
    run.notes['watchersMB'] = (receivedAfter.bytes - receivedBefore!.bytes) / 1e6;
  }
  run.notes['watchStreams'] = (await openWatches(run.client)) - run.otherWatches + (receivedAfter?.ended ?? 0);
  // Another process counts from zero.
  if (before !== undefined && run.running === asked) run.told = { before, after: await asked!.tell!() };
}

/** How many watches are open, by the server's count. */
async function openWatches(client: ApiClient): Promise<number> {
  const metrics = parseMetrics(await client.text('/metrics'));
  const open = metrics.get('apiserver_longrunning_requests') ?? [];
  return open.reduce((sum, { labels, value }) => sum + (labels['verb'] === 'WATCH' ? value : 0), 0);
}

/** The watches of the server itself. Those of what made the outset may be closing. */
async function settledWatches(client: ApiClient): Promise<number> {
  for (let before = await openWatches(client); ;) {
    await sleep(SETTLE_MS);
    const now = await openWatches(client);
    if (now === before) return now;
    before = now;
  }
}

async function restartServer({ server, sampler, running, ended }: Run): Promise<void> {
  const before = server.processes();
  const used = Object.entries(before).map(([name, pid]) => [name, pid, cpuSecondsOf(pid)] as const);
  await server.restart();
  const after = server.processes();
  for (const [name, pid, cpuSeconds] of used) {
    if (after[name] !== pid) ended.set(name, (ended.get(name) ?? 0) + cpuSeconds);
  }
  sampler.watch(after, running?.processes ?? {});
}

async function start(run: Run): Promise<void> {
  const { peer, server, sampler, gate } = run;
  const { target, kubeconfigPath } = gate ?? server;
  run.running = await peer.start({ server, target, kubeconfigPath });
  sampler.watch(server.processes(), run.running.processes);
}

/** The figures of the processes are read before they end. */
async function end(run: Run, how: (running: RunningPeer) => Promise<void>): Promise<void> {
  const { running, sampler, server } = run;
  if (running === null) return;
  noteEnd(run);
  run.running = null;
  sampler.watch(server.processes(), {});
  await how(running);
}

function stop(run: Run): Promise<void> {
  return end(run, (running) => running.stop());
}

function noteEnd(run: Run): void {
  let [peak, resident] = [0, 0];
  const { processes } = run.running!;
  addThreads(run.endedThreads, processes);
  for (const [name, pid] of Object.entries(processes)) {
    const usage = usageOf(pid);
    run.ended.set(name, (run.ended.get(name) ?? 0) + usage.cpuSeconds);
    run.endedReadBytes += bytesReadBy(pid);
    peak += usage.peakBytes;
    resident += usage.residentBytes;
  }
  run.peakBytes = Math.max(run.peakBytes, peak);
  run.notes['steadyMB'] = resident / 1e6;
}

function reading({ running, server, streams, ended, endedThreads, endedReadBytes, watchers }: Run): Reading {
  const { user, system } = process.cpuUsage();
  const loadSeconds = (user + system) / 1e6 + (watchers === null ? 0 : cpuSecondsOf(watchers.pid));
  const processes = { controller: running?.processes ?? {}, server: server.processes() };
  const threads = addThreads(new Map(endedThreads), processes.controller);
  return read(processes, { ended, threads, streams }, { ms: performance.now(), loadSeconds, endedReadBytes });
}

async function becomesRight(run: Run): Promise<void> {
  if (run.peer.echoes) return;
  await orFails(run, converged(run.outputs, run.expected, RIGHT_MS_MAX));
}

async function follows(run: Run, what: string): Promise<boolean> {
  if (run.peer.echoes) return true;
  try {
    await orFails(run, converged(run.outputs, run.expected, FOLLOWED_MS_MAX));
    return true;
  } catch (error) {
    if (!(error instanceof StillWrong)) throw error;
    run.notFollowed.push(`does not follow ${what}: ${error.message}`);
    return false;
  }
}

/** Rejects when the controller has ended, or when a watch that judges is lost: nobody would see what comes. */
async function orFails({ running, outputs }: Run, work: Promise<void>): Promise<void> {
  const failed = [outputs.endpoints.broken, outputs.slices.broken];
  if (running !== null) failed.push(running.failed);
  await Promise.race([...failed, work]);
}

function nextLook(run: Run): Promise<void> {
  return orFails(run, new Promise((resolve) => void setTimeout(resolve, POLL_MS)));
}

async function rests({ running, server, stillMs }: Run): Promise<void> {
  const look = (): [number, number] => [secondsOf(running?.processes ?? {}), secondsOf(server.processes())];
  const shares = [REST_SHARE, SERVER_REST_SHARE];
  const untilMs = performance.now() + RIGHT_MS_MAX;
  for (let before = look(), quiet = 0; performance.now() < untilMs;) {
    await sleep(stillMs);
    const now = look();
    quiet = now.every((seconds, i) => seconds - before[i]! < (shares[i]! * stillMs) / 1000) ? quiet + 1 : 0;
    if (quiet === QUIET_LOOKS) return;
    before = now;
  }
  throw new Error(`the controller did not come to rest in ${RIGHT_MS_MAX / 1000} s`);
}

function secondsOf(processes: Readonly<Record<string, number>>): number {
  return Object.values(processes).reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
}

/**
 * A controller that has listed nothing rests as well, and writes nothing. One that knows the cluster follows a change. If it
 * still had to read much of the cluster, the measure has ended too early.
 */
async function knows(run: Run): Promise<void> {
  const { cluster, peer, notFollowed, running, size } = run;
  if (peer.echoes) return;
  const seconds = (): number => secondsOf(running?.processes ?? {});
  const before = seconds();
  const services = servicesByApp(cluster);
  const byApp = Map.groupBy(cluster.pods, ({ app }) => app);
  const small = [...byApp].filter(([app, pods]) => services.has(app) && pods.some(({ ready }) => ready));
  const [app, pods] = small.reduce((least, each) => (each[1].length < least[1].length ? each : least));
  const pod = pods.find(({ ready }) => ready)!;
  let waitedMs = 0;
  for (const ready of [false, true]) {
    const isCounted = false;
    const made = await turn(run, services.get(app)!, {
      pod,
      ready,
      dueMs: performance.now(),
      isolated: false,
      isCounted,
    });
    for (; isUnseen(made); waitedMs += POLL_MS) {
      if (waitedMs >= FOLLOWED_MS_MAX)
        throw new Error(`the controller does not follow pod ${app.namespace}/${pod.name} after its start`);
      await nextLook(run);
    }
  }
  const more = seconds() - before;
  run.notes['knownCpu'] = more;
  const wrong = notAtRest(before, more, size);
  if (wrong !== null) notFollowed.push(wrong);
}

/** Changes of one object keep their order, even if the server answers late. On two connections they would not. */
async function change(run: Run, order: ChangeOrder, isCounted: boolean): Promise<TimedChange> {
  const { path } = order.request;
  const before = run.underWay.get(path);
  const made = (async (): Promise<TimedChange> => {
    if (before !== undefined) await before;
    return send(run, order, isCounted);
  })();
  run.underWay.set(path, made);
  return made;
}

async function send(
  run: Run,
  { request, dueMs, expected, isolated = false }: ChangeOrder,
  isCounted: boolean,
): Promise<TimedChange> {
  const { streams, changes, peer, controllers, client } = run;
  const made: TimedChange = {
    dueMs,
    isolated,
    services: expected.map(({ service }) => service),
    sentMs: performance.now(),
    ackedMs: Number.NaN,
    resourceVersion: '',
    endpointsMs: null,
    slicesMs: null,
    takenBackMs: {},
  };
  const { endpointsController, slicesController, mirroringController } = whichControllers(controllers);
  // Expectations come before the request, because effects may be seen before the answer.
  for (const { service, address, ready } of expected) {
    if (peer.echoes) [made.endpointsMs, made.slicesMs] = [Number.NaN, Number.NaN];
    else {
      if (endpointsController) awaitAddress(streams.endpoints, service, address, ready, made);
      if (slicesController || mirroringController) awaitAddress(streams.slices, service, address, ready, made);
    }
  }
  if (isCounted && run.before !== null) changes.push(made);
  const answer = (await client.send(request)) as KubeObject | null;
  made.ackedMs = performance.now();
  made.resourceVersion = answer?.metadata.resourceVersion ?? '';
  return made;
}

interface Turn {
  readonly pod: PodModel;
  readonly ready: boolean;
  readonly dueMs: number;
  readonly isolated: boolean;
  readonly isCounted: boolean;
}

async function turn(
  run: Run,
  services: readonly string[],
  { pod, ready, dueMs, isolated, isCounted }: Turn,
): Promise<TimedChange> {
  pod.ready = ready;
  const conditions = readinessConditions(ready, Math.floor(Date.now() / 1000));
  const expected = services.map((service) => ({ service, address: pod.address, ready }));
  const request = patchStatus('Pod', pod.app.namespace, pod.name, { conditions });
  return change(run, { request, dueMs, expected, isolated }, isCounted);
}

function release(run: Run): void {
  run.gate!.release();
  const nowMs = performance.now();
  for (const each of run.changes) each.ackedMs = nowMs;
}

async function seen(run: Run): Promise<void> {
  const { streams, changes, peer, size } = run;
  const both = Object.values(streams);
  const left = (): { readonly owed: number; readonly open: number } => {
    if (!peer.echoes) {
      const [a, b] = both.map(awaitedOf) as [ReturnType<typeof awaitedOf>, ReturnType<typeof awaitedOf>];
      return { owed: a.owed + b.owed, open: a.open + b.open };
    }
    for (const each of changes) noteEchoes(run, each);
    return { owed: changes.filter(isUnseen).length, open: 0 };
  };
  const writes = (): number => both.reduce((sum, stream) => sum + stream.writes, 0);
  const untilMs = performance.now() + SEEN_MS_MAX;
  // Counted in looks: a pause of this process is one look, and what was written meanwhile is read before the next one.
  let [quietMs, before] = [0, writes()];
  for (;;) {
    const { owed, open } = left();
    if (writes() !== before) [quietMs, before] = [0, writes()];
    if (owed === 0 && (open === 0 || quietMs > HELD_UP_MS[size])) break;
    if (performance.now() > untilMs) return;
    await nextLook(run);
    quietMs += POLL_MS;
  }
  for (const stream of both) settleAwaited(stream);
}

function isUnseen({ endpointsMs, slicesMs }: TimedChange): boolean {
  return Number.isNaN(endpointsMs) || Number.isNaN(slicesMs);
}

/** For the echo floor: which objects have the pod's version. */
function noteEchoes({ streams }: Run, each: TimedChange): void {
  if (Number.isNaN(each.endpointsMs)) {
    each.endpointsMs = streams.endpoints.echoes.get(each.resourceVersion) ?? Number.NaN;
  }
  if (Number.isNaN(each.slicesMs)) each.slicesMs = streams.slices.echoes.get(each.resourceVersion) ?? Number.NaN;
}

/** Judges by the oracle on the server's objects, and by what the stream has shown on the way. */
async function judge(run: Run): Promise<string[]> {
  const { peer, streams, controllers, changes, notFollowed } = run;
  await orFails(run, Promise.resolve());
  const wrong = [...notFollowed];
  // What is not followed stays wrong until the end.
  if (!peer.echoes && notFollowed.length === 0) {
    const found = await wrongAtEnd(run);
    if (found.length > 0) wrong.push(`${found.length} objects are wrong at the end: ${wrongText(found, SAID_MAX)}`);
  }
  const { endpointsController } = whichControllers(controllers);
  for (const { gaps, returns, kind } of Object.values(streams)) {
    // Endpoints that no controller writes are inputs.
    if (kind === 'endpoints' && !endpointsController) continue;
    for (const [keys, what] of [
      [gaps, 'a ready address was missing'],
      [returns, 'an address came back as ready that is not'],
    ] as const) {
      if (keys.length > 0)
        wrong.push(`${keys.length} times ${what} in ${kind}, such as ${keys.slice(0, SAID_MAX).join(', ')}`);
    }
  }
  const unseen = changes.filter(isUnseen);
  if (unseen.length > 0) {
    const such = unseen.slice(0, SAID_MAX).map((one) => unseenText(one, run.before!.ms));
    wrong.push(`${unseen.length} of ${changes.length} changes were never seen, such as ${such.join(', ')}`);
  }
  return wrong;
}

/**
 * What stays wrong. A deleted pod takes two writes of its slice: the first one ends the wait for the change, and a back-off
 * may still hold the second one.
 */
async function wrongAtEnd(run: Run): Promise<WrongObject[]> {
  const { server, cluster, controllers, stillMs } = run;
  const untilMs = performance.now() + FOLLOWED_MS_MAX;
  for (;;) {
    const objects = await readCluster(server.client, cluster.namespaces);
    const found = wrongObjects(objects, whichControllers(controllers));
    if (found.length === 0 || performance.now() > untilMs) return found;
    await orFails(run, sleep(stillMs));
  }
}

function unseenText({ services, resourceVersion, endpointsMs, slicesMs, sentMs }: TimedChange, fromMs: number): string {
  const where = [
    ...(Number.isNaN(endpointsMs) ? ['Endpoints'] : []),
    ...(Number.isNaN(slicesMs) ? ['slices'] : []),
  ].join(' and ');
  const seconds = ((sentMs - fromMs) / 1000).toFixed(3);
  return `${services.join(' and ')} at ${seconds} s, version ${resourceVersion || 'unknown'}, in ${where}`;
}

function resultOf(run: Run, wrong: readonly string[]): RunResult {
  const { before, after, changes, sampler, notes, streams, peakBytes, told } = run;
  if (before === null || after === null) throw new Error(`${run.scenario.name}: nothing was measured`);
  const window = { before, after, changes, streams: Object.values(streams) };
  const threads = new Map<string, number>();
  for (const [name, seconds] of after.threads) threads.set(name, seconds - (before.threads.get(name) ?? 0));
  const measured = figuresOf(window);
  const { first, growth } = tenthsOf(sampler.timeline, before.ms - sampler.fromMs, after.ms - sampler.fromMs);
  return {
    figures: {
      ...measured,
      ...coalescedOf(run),
      ...fewestOf(run),
      ...(told === null ? {} : meanFigures(told.before.metrics, told.after.metrics)),
      ...stageFigures(
        stageSamples(
          changes.filter(({ isolated }) => !isolated),
          told?.after.journal ?? [],
          performance.timeOrigin,
        ),
      ),
      ...sharedOut(measured['controllerCpu']!, notes),
      firstMB: first / 1e6,
      growthMB: growth / 1e6,
      peakMB: peakBytes / 1e6,
      ...notes,
    },
    threads: Object.fromEntries(threads),
    samples: runSamplesOf(changes),
    course: courseOf(changes, before.ms),
    timeline: thinned(sampler.timeline, TIMELINE_POINTS_MAX),
    peakStep: sampler.peak().step,
    wrong,
  };
}

/** CPU per pod and per event, if the story tells their numbers. */
function sharedOut(cpuSeconds: number, { pods, events }: Readonly<Record<string, number>>): Record<string, number> {
  return {
    ...(pods === undefined ? {} : { cpuAPod: (cpuSeconds / pods) * 1e3 }),
    ...(events === undefined ? {} : { cpuAnEvent: (cpuSeconds / events) * 1e6 }),
  };
}

/** The bytes of the first tenth of the measure, and by how many the last one exceeds it. A flat course has no growth. */
function tenthsOf(
  { ms, residentBytes }: Timeline,
  fromMs: number,
  untilMs: number,
): { readonly first: number; readonly growth: number } {
  const within = residentBytes.filter((bytes, i) => bytes > 0 && ms[i]! >= fromMs && ms[i]! <= untilMs);
  const tenth = Math.max(1, Math.floor(within.length / 10));
  if (within.length === 0) return { first: 0, growth: 0 };
  const first = median(within.slice(0, tenth));
  return { first, growth: median(within.slice(-tenth)) - first };
}

/** Not for the echo floor, which writes for each event. */
function fewestOf({ scenario, peer, changes }: Run): Record<string, number> {
  if (scenario.additionsOnly !== true || peer.echoes || changes.some(isUnseen)) return {};
  return { fewestWrites: fewestWrites(changes, 1), fewestWritesHalf: fewestWrites(changes, 0.5) };
}

/** Only if there were any: a change that is taken back at once needs no write. */
function coalescedOf({ streams }: Run): Record<string, number> {
  const { endpoints, slices } = streams;
  const count = Math.max(endpoints.coalesced, slices.coalesced);
  return count === 0 ? {} : { coalesced: count };
}

function serviceOfSlice({ metadata }: KubeObject): string | null {
  const service = metadata.labels?.[SERVICE_NAME_LABEL] ?? '';
  return service === '' ? null : `${metadata.namespace}/${service}`;
}

/** The services of each app, where each service selects the pods of one app. */
function servicesByApp({ services }: Cluster): Map<PodModel['app'], string[]> {
  const byApp = new Map<PodModel['app'], string[]>();
  for (const { app, namespace, name, publishNotReady } of services) {
    if (publishNotReady) continue;
    byApp.set(app, [...(byApp.get(app) ?? []), `${namespace}/${name}`]);
  }
  return byApp;
}
