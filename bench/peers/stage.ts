/** Tells the story of a scenario to one peer, on a server of its own, and says what came out. */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiRequest } from '../../src/node/api-client.ts';
import { SERVICE_NAME_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { wrongObjects, wrongText } from '../../src/judge/cluster-check.ts';
import { watchEndpoints } from '../../src/testbed/endpoints-view.ts';
import { watchSlices } from '../../src/testbed/slices-view.ts';
import type { Cluster, PodModel } from '../../src/workload/cluster.ts';
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
import { cpuSecondsOf, usageOf } from '../support/process-usage.ts';
import { startSampler, thinned, type Sampler, type Timeline } from './sampler.ts';
import type { Expectation, Peer, RunningPeer, Scenario, Settings, Stage } from './scenario.ts';
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
import { figuresOf, read, samplesOf, type Figures, type Reading, type Samples } from './window.ts';

export interface RunResult {
  readonly figures: Figures;
  /** CPU seconds of the measure by thread of the controller. */
  readonly threads: Readonly<Record<string, number>>;
  readonly samples: Samples;
  readonly timeline: Timeline;
  readonly peakStep: string;
  /** What is wrong, one line each; empty = all is right. A run that is wrong has no say in a comparison. */
  readonly wrong: readonly string[];
}

const RIGHT_MS_MAX = 300_000;
const SEEN_MS_MAX = 120_000;
const POLL_MS = 20;
/** Without a write for so long, what was not shown will not be. */
const QUIET_MS = 1000;
/** A controller rests when it used less than that share of a core for so long. */
const REST_SHARE = 0.05;
const REST_MS = 1000;
const REST_MS_MAX = 30_000;
const TIMELINE_POINTS_MAX = 200;
const SAID_MAX = 5;

interface Run {
  readonly scenario: Scenario;
  readonly server: BenchServer;
  readonly cluster: Cluster;
  readonly peer: Peer;
  readonly outputs: Outputs;
  readonly streams: Readonly<Record<'endpoints' | 'slices', Stream>>;
  readonly sampler: Sampler;
  readonly expected: ExpectedOutputs;
  readonly controllers: readonly string[];
  readonly changes: TimedChange[];
  /** The last change of each pod. */
  readonly underWay: Map<PodModel, Promise<void>>;
  readonly notes: Record<string, number>;
  /** CPU seconds of controllers that have ended. */
  readonly ended: Map<string, number>;
  running: RunningPeer | null;
  before: Reading | null;
  after: Reading | null;
  peakBytes: number;
}

export async function play(
  scenario: Scenario,
  settings: Settings,
  peer: Peer,
  { server, cluster }: { readonly server: BenchServer; readonly cluster: Cluster },
  controllers: readonly string[],
): Promise<RunResult> {
  const { client } = server;
  const objects = await readCluster(client, cluster.namespaces);
  const streams = {
    endpoints: createStream('endpoints', ({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    slices: createStream('slices', serviceOfSlice),
  };
  const noteOf = (stream: Stream) => (type: string, object: KubeObject, bytes: number) =>
    noteEvent(stream, type, object, bytes, { ms: performance.now(), wallMs: Date.now() });
  const outputs = {
    endpoints: await watchEndpoints(client, noteOf(streams.endpoints)),
    slices: await watchSlices(client, noteOf(streams.slices)),
  };
  const run: Run = {
    scenario,
    server,
    cluster,
    peer,
    outputs,
    streams,
    sampler: startSampler(),
    expected: expectedOutputs(objects, whichControllers(controllers)),
    controllers,
    changes: [],
    underWay: new Map(),
    notes: {},
    ended: new Map(),
    running: null,
    before: null,
    after: null,
    peakBytes: 0,
  };
  run.sampler.watch(server.processes(), {});
  try {
    await scenario.story(stageOf(run, settings));
    const wrong = await judge(run);
    await stop(run);
    return resultOf(run, wrong);
  } finally {
    run.sampler.stop();
    stopOutputs(outputs);
    await stop(run).catch(() => undefined);
  }
}

function stageOf(run: Run, settings: Settings): Stage {
  const { cluster, server, peer, sampler, notes } = run;
  const services = servicesByApp(cluster);
  const stage: Stage = {
    cluster,
    server,
    settings,
    echoes: peer.echoes,
    step: (name) => sampler.step(name),
    start: () => start(run),
    stop: () => stop(run),
    right: () => becomesRight(run),
    rest: () => rests(run),
    measure: async (work) => {
      run.before = reading(run);
      await work();
      run.after = reading(run);
    },
    change: (request, dueMs, expected) => change(run, request, dueMs, expected),
    turn: (pod, ready, dueMs) => turn(run, services.get(pod.app)!, pod, ready, dueMs),
    seen: () => seen(run),
    note: (figure, value) => void (notes[figure] = value),
  };
  return stage;
}

async function start(run: Run): Promise<void> {
  const { peer, server, sampler } = run;
  run.running = await peer.start({ server, target: server.target, kubeconfigPath: server.kubeconfigPath });
  sampler.watch(server.processes(), run.running.processes);
}

async function stop(run: Run): Promise<void> {
  const { running, sampler, server } = run;
  if (running === null) return;
  noteEnd(run);
  run.running = null;
  sampler.watch(server.processes(), {});
  await running.stop();
}

function noteEnd(run: Run): void {
  let [peak, resident] = [0, 0];
  for (const [name, pid] of Object.entries(run.running?.processes ?? {})) {
    const usage = usageOf(pid);
    run.ended.set(name, (run.ended.get(name) ?? 0) + usage.cpuSeconds);
    peak += usage.peakBytes;
    resident += usage.residentBytes;
  }
  run.peakBytes = Math.max(run.peakBytes, peak);
  run.notes['steadyMB'] = resident / 1e6;
}

function reading({ running, server, streams, ended }: Run): Reading {
  const { user, system } = process.cpuUsage();
  const processes = { controller: running?.processes ?? {}, server: server.processes() };
  return read(processes, ended, streams, { ms: performance.now(), loadSeconds: (user + system) / 1e6 });
}

async function becomesRight(run: Run): Promise<void> {
  if (run.peer.echoes) return;
  await orFails(run, converged(run.outputs, run.expected, RIGHT_MS_MAX));
}

async function orFails(run: Run, work: Promise<void>): Promise<void> {
  const failed = run.running?.failed;
  await (failed === undefined ? work : Promise.race([work, failed]));
}

async function rests({ running }: Run): Promise<void> {
  const cpu = (): number => Object.values(running?.processes ?? {}).reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
  const untilMs = performance.now() + REST_MS_MAX;
  for (let before = cpu(); performance.now() < untilMs;) {
    await sleep(REST_MS);
    const now = cpu();
    if (now - before < (REST_SHARE * REST_MS) / 1000) return;
    before = now;
  }
}

async function change(run: Run, request: ApiRequest, dueMs: number, expected: readonly Expectation[]): Promise<void> {
  const { streams, changes, peer, controllers, server } = run;
  const made: TimedChange = {
    dueMs,
    sentMs: performance.now(),
    ackedMs: Number.NaN,
    resourceVersion: '',
    endpointsMs: null,
    slicesMs: null,
  };
  const { endpointsController, slicesController } = whichControllers(controllers);
  // Before the request is sent: what follows may be seen before the answer.
  for (const { service, address, ready } of expected) {
    if (peer.echoes) [made.endpointsMs, made.slicesMs] = [Number.NaN, Number.NaN];
    else {
      if (endpointsController) awaitAddress(streams.endpoints, service, address, ready, made);
      if (slicesController) awaitAddress(streams.slices, service, address, ready, made);
    }
  }
  if (run.before !== null) changes.push(made);
  const answer = (await server.client.send(request)) as KubeObject | null;
  made.ackedMs = performance.now();
  made.resourceVersion = answer?.metadata.resourceVersion ?? '';
}

async function turn(
  run: Run,
  services: readonly string[],
  pod: PodModel,
  ready: boolean,
  dueMs: number,
): Promise<void> {
  // The changes of one pod keep their order, however late its server answers: on two connections they would not.
  const before = run.underWay.get(pod);
  const made = (async (): Promise<void> => {
    if (before !== undefined) await before;
    pod.ready = ready;
    const conditions = readinessConditions(ready, Math.floor(Date.now() / 1000));
    const expected = services.map((service) => ({ service, address: pod.address, ready }));
    await change(run, patchStatus('Pod', pod.app.namespace, pod.name, { conditions }), dueMs, expected);
  })();
  run.underWay.set(pod, made);
  await made;
}

async function seen(run: Run): Promise<void> {
  const { streams, changes, peer } = run;
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
  let [quietSinceMs, before] = [performance.now(), writes()];
  for (;;) {
    const { owed, open } = left();
    const nowMs = performance.now();
    if (writes() !== before) [quietSinceMs, before] = [nowMs, writes()];
    if (owed === 0 && (open === 0 || nowMs - quietSinceMs > QUIET_MS)) break;
    if (nowMs > untilMs) return;
    await orFails(run, sleep(POLL_MS));
  }
  for (const stream of both) settleAwaited(stream);
}

function isUnseen({ endpointsMs, slicesMs }: TimedChange): boolean {
  return Number.isNaN(endpointsMs) || Number.isNaN(slicesMs);
}

/** Of the echo floor: which objects name the pod's version. */
function noteEchoes({ streams }: Run, each: TimedChange): void {
  if (Number.isNaN(each.endpointsMs)) {
    each.endpointsMs = streams.endpoints.echoes.get(each.resourceVersion) ?? Number.NaN;
  }
  if (Number.isNaN(each.slicesMs)) each.slicesMs = streams.slices.echoes.get(each.resourceVersion) ?? Number.NaN;
}

/** By the oracle on what the server holds, and by what the stream has shown on the way. */
async function judge(run: Run): Promise<string[]> {
  const { peer, streams, server, cluster, controllers, changes } = run;
  const wrong: string[] = [];
  if (!peer.echoes) {
    const objects = await readCluster(server.client, cluster.namespaces);
    const found = wrongObjects(objects, whichControllers(controllers));
    if (found.length > 0) wrong.push(`${found.length} objects are wrong at the end: ${wrongText(found, SAID_MAX)}`);
  }
  for (const stream of Object.values(streams)) {
    const { gaps, kind } = stream;
    if (gaps.length > 0) {
      wrong.push(
        `${gaps.length} times a ready address was missing in ${kind}, such as ${gaps.slice(0, SAID_MAX).join(', ')}`,
      );
    }
  }
  const unseen = changes.filter(isUnseen);
  if (unseen.length > 0) wrong.push(`${unseen.length} of ${changes.length} changes were never seen`);
  return wrong;
}

function resultOf(run: Run, wrong: readonly string[]): RunResult {
  const { before, after, changes, sampler, notes, streams, peakBytes } = run;
  if (before === null || after === null) throw new Error(`${run.scenario.name}: nothing was measured`);
  const window = { before, after, changes, streams: Object.values(streams) };
  const threads = new Map<string, number>();
  for (const [name, seconds] of after.threads) threads.set(name, seconds - (before.threads.get(name) ?? 0));
  return {
    figures: { ...figuresOf(window), ...coalescedOf(run), peakMB: peakBytes / 1e6, ...notes },
    threads: Object.fromEntries(threads),
    samples: samplesOf(changes),
    timeline: thinned(sampler.timeline, TIMELINE_POINTS_MAX),
    peakStep: sampler.peak().step,
    wrong,
  };
}

/** Only where there were any: a change that is taken back at once needs no write. */
function coalescedOf({ streams }: Run): Record<string, number> {
  const { endpoints, slices } = streams;
  const count = Math.max(endpoints.coalesced, slices.coalesced);
  return count === 0 ? {} : { coalesced: count };
}

function serviceOfSlice({ metadata }: KubeObject): string | null {
  const service = metadata.labels?.[SERVICE_NAME_LABEL] ?? '';
  return service === '' ? null : `${metadata.namespace}/${service}`;
}

/** Whose pods each service selects, where each selects those of one app. */
function servicesByApp({ services }: Cluster): Map<PodModel['app'], string[]> {
  const byApp = new Map<PodModel['app'], string[]>();
  for (const { app, namespace, name, publishNotReady } of services) {
    if (publishNotReady) continue;
    byApp.set(app, [...(byApp.get(app) ?? []), `${namespace}/${name}`]);
  }
  return byApp;
}
