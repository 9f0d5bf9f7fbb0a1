/**
 * Plays a story on a test API server with a running controller. Measures, by a watcher of its own, how long each change
 * took until an object showed it, and what was written. The result is a ledger, as the queue model makes it.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { slicesJudges } from '../judge/cluster-check.ts';
import { expectedEndpoints } from '../judge/endpoints-check.ts';
import type { Endpoint, EndpointSubset, KubeObject } from '../kube/types.ts';
import { percentile } from '../lib/percentile.ts';
import type { ApiClient } from '../node/api-client.ts';
import { createLedger, type Ledger, type Output, OUTPUTS } from '../twin/ledger.ts';
import { outputsOf } from '../twin/story.ts';
import { type AwaitedChanges, createAwaitedChanges } from './awaited-changes.ts';
import { startController } from './controller-process.ts';
import { watchEndpoints } from './endpoints-view.ts';
import { readObjects } from './read-objects.ts';
import { sendThrough } from './send-through.ts';
import type { ServiceView } from './service-view.ts';
import { watchSlices } from './slices-view.ts';
import {
  changeRequests,
  fixedObjectRequests,
  probeRequest,
  startRequests,
  type StoryCluster,
  type StoryRequest,
} from './story-cluster.ts';

export interface ReplayServer {
  readonly client: ApiClient;
  readonly kubeconfigPath: string;
  /** Rejected when the server ends by itself, or when nothing more is to be played on it. */
  readonly failed: Promise<never>;
}

/** A controller as a process. */
export interface TestController {
  readonly cpuSeconds: () => Promise<number>;
  /** The text of its /metrics. */
  readonly metricsText: () => Promise<string>;
  readonly stop: () => Promise<unknown>;
  /** Rejected when the controller ends by itself. */
  readonly failed: Promise<never>;
}

export interface Replayed {
  readonly ledger: Ledger;
  /** The milliseconds from when a change was due to its acknowledgement, 99th percentile, of those with a Service. */
  readonly lateMs: number;
}

/** The connections of the client of a `ReplayServer`: a request beyond them would wait unseen in the client. */
export const REQUESTS_AT_ONCE = 32;
const RIGHT_MS_MAX = 300_000;
const STARTED_MS_MAX = 120_000;
/** A change that is still not shown so long after the last change counts as shown then. */
const SHOWN_MS_MAX = 30_000;
const QUIET_MS = 1000;
const POLL_MS = 50;
const CPU_MS = 10_000;

/** Creates the objects beside the pods. @throws Error if the server ends */
export async function createFixedObjects(server: ReplayServer, cluster: StoryCluster): Promise<void> {
  await whileServed(server, async (signal) => {
    for (const request of fixedObjectRequests(cluster)) await sendThrough(server.client, request, signal);
  });
}

/**
 * @param start begins a process with the controllers of the story's outputs
 * @param batchMs the longest batch period of all runs that are compared: a write may wait so long
 * @throws Error if the server or the controller ends, or the objects do not become right
 */
export async function replay(
  server: ReplayServer,
  cluster: StoryCluster,
  start: () => Promise<TestController>,
  batchMs = 0,
): Promise<Replayed> {
  await toOutset(server, cluster);
  const served = new AbortController();
  server.failed.catch(() => served.abort());
  const ledger = createLedger(cluster.story.objects);
  const state: State = { ledger, fromMs: Infinity, cluster, served: served.signal, underWay: new Map() };
  const views = await whileServed(server, async () => ({
    endpoints: await watchEndpoints(server.client, (type, object) => noteEvent(state, 'endpoints', type, object)),
    slices: await watchSlices(server.client, (type, object) => noteEvent(state, 'slices', type, object)),
  }));
  const controller = await start();
  try {
    return await whileServed(server, (signal) =>
      Promise.race([
        controller.failed,
        ...OUTPUTS.map((output) => brokenOf(views[output])),
        played(server, state, views, controller, batchMs, signal),
      ]),
    );
  } finally {
    // The next run begins with the pods as the requests of this one leave them, so none may be left out.
    await Promise.race([server.failed, Promise.all(state.underWay.values())]).catch(() => undefined);
    for (const output of OUTPUTS) views[output].stop();
    await controller.stop();
  }
}

/**
 * Rejected when the watch breaks: a change that it does not show would count as one that nothing has shown. If it breaks
 * because the server has ended, that is known a little later, and tells more.
 */
async function brokenOf({ broken }: Pick<ServiceView, 'broken'>): Promise<never> {
  try {
    return await broken;
  } catch (error) {
    await sleep(QUIET_MS);
    throw error;
  }
}

/**
 * Rejected as soon as the server has ended. The signal then ends work that would try to reach the server again and
 * again.
 */
async function whileServed<T>({ failed }: ReplayServer, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  try {
    return await Promise.race([failed, work(over.signal)]);
  } finally {
    over.abort();
  }
}

interface State {
  readonly ledger: Ledger;
  /** Monotonic ms at which the story has begun; Infinity = not yet. */
  fromMs: number;
  readonly cluster: StoryCluster;
  /** Aborted when the server has ended. */
  readonly served: AbortSignal;
  /** The last request for each object. */
  readonly underWay: Map<string, Promise<void>>;
}

type Views = Readonly<Record<Output, Pick<ServiceView, 'expectAddress' | 'writes' | 'broken' | 'stop'>>>;

async function played(
  { client }: ReplayServer,
  state: State,
  views: Views,
  controller: TestController,
  batchMs: number,
  signal: AbortSignal,
): Promise<Replayed> {
  await isRunning(client, state, views, signal);
  const spending = await noteCpu(state, controller, signal);
  const awaited = createAwaitedChanges(
    state.ledger,
    ({ output, service, address, ready }, seen) => views[output].expectAddress(service, address, ready, seen),
    () => performance.now() - state.fromMs,
  );
  const lateMs = await playStory(client, state, awaited, signal);
  const untilMs = performance.now() + SHOWN_MS_MAX;
  while (awaited.isOpen() && !signal.aborted && performance.now() < untilMs) await sleep(POLL_MS);
  // Pods that are not ready are written too, and nothing awaits them.
  await noMoreWrites(views, QUIET_MS + batchMs, SHOWN_MS_MAX, signal);
  await spending.stop();
  awaited.close();
  state.fromMs = Infinity;
  return { ledger: state.ledger, lateMs: percentile(lateMs, 0.99) };
}

/** Notes the controller's CPU from now on, in steps of `CPU_MS`. */
async function noteCpu(
  { ledger }: State,
  controller: TestController,
  signal: AbortSignal,
): Promise<{ stop(): Promise<void> }> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const beganMs = performance.now();
  let [before, atMs] = [await controller.cpuSeconds(), 0];
  const note = async (): Promise<void> => {
    const now = await controller.cpuSeconds();
    ledger.cpu.push({ atMs, ms: 1000 * (now - before) });
    [before, atMs] = [now, performance.now() - beganMs];
  };
  const noting = (async () => {
    // A reading that fails is left out. The next one has what it would have had.
    while (await sleep(CPU_MS, true, { signal: either }).catch(() => false)) await note().catch(() => undefined);
  })();
  return {
    stop: async () => {
      over.abort();
      await noting;
      await note();
    },
  };
}

/** Brings every pod to its start, and makes all Endpoints and slices anew, so that all runs begin alike. */
async function toOutset(server: ReplayServer, cluster: StoryCluster): Promise<void> {
  const { client, kubeconfigPath } = server;
  const objects = await whileServed(server, (signal) => startAnew(client, cluster, signal));
  const views = await whileServed(server, async () => ({
    endpoints: await watchEndpoints(client),
    slices: await watchSlices(client),
  }));
  const flags = [`--kubeconfig=${kubeconfigPath}`, '--kube-api-qps=5000', '--kube-api-burst=5000'];
  const maker = startController(flags);
  try {
    await whileServed(server, () => {
      const right = [
        views.endpoints.converged(expectedEndpoints(objects.services, objects.pods), RIGHT_MS_MAX),
        views.slices.converged(slicesJudges(objects), RIGHT_MS_MAX),
      ];
      return Promise.race([maker.failed, Promise.all(right)]);
    });
  } finally {
    views.endpoints.stop();
    views.slices.stop();
    await maker.stop();
  }
}

async function startAnew(
  client: ApiClient,
  cluster: StoryCluster,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<typeof readObjects>>> {
  await sendAll(client, [...startRequests(cluster), probeRequest(true)], signal);
  for (let i = 0; i < cluster.story.namespaces.length; i++) {
    await client.send({ method: 'DELETE', path: `/api/v1/namespaces/ns-${i}/endpoints` });
    await client.send({ method: 'DELETE', path: `/apis/discovery.k8s.io/v1/namespaces/ns-${i}/endpointslices` });
  }
  return readObjects(client);
}

/** Waits until the controller has shown a change of the probe and writes nothing more. */
async function isRunning(client: ApiClient, { cluster }: State, views: Views, signal: AbortSignal): Promise<void> {
  const outputs = outputsOf(cluster.story);
  const show = (isReady: boolean): Promise<void> => showing(client, outputs, views, probeRequest(isReady), signal);
  await Promise.race([show(false).then(() => show(true)), late()]);
  await noMoreWrites(views, QUIET_MS, Infinity, signal);
}

/** Waits until nothing was written for `quietMs`. After `mostMs` no write makes it wait longer. */
async function noMoreWrites(views: Views, quietMs: number, mostMs: number, signal: AbortSignal): Promise<void> {
  const writes = (): number => views.endpoints.writes() + views.slices.writes();
  const beganMs = performance.now();
  let [count, sinceMs] = [writes(), beganMs];
  for (let nowMs = beganMs; nowMs < sinceMs + quietMs && !signal.aborted; nowMs = performance.now()) {
    await sleep(POLL_MS);
    if (writes() !== count && nowMs < beganMs + mostMs) [count, sinceMs] = [writes(), performance.now()];
  }
}

async function late(): Promise<never> {
  await sleep(STARTED_MS_MAX, undefined, { ref: false });
  throw new Error(`the controller shows no change ${STARTED_MS_MAX / 1000} s after its start`);
}

async function showing(
  client: ApiClient,
  outputs: readonly Output[],
  views: Views,
  { request, shows }: StoryRequest,
  signal: AbortSignal,
): Promise<void> {
  const { service, address, ready } = shows!;
  await sendThrough(client, request, signal);
  await Promise.all(
    outputs.map((output) => new Promise<void>((seen) => views[output].expectAddress(service, address, ready, seen))),
  );
}

/** Returns by how many milliseconds each change was late. */
async function playStory(
  client: ApiClient,
  state: State,
  awaited: AwaitedChanges,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const { cluster, served, underWay } = state;
  const outputs = outputsOf(cluster.story);
  const lateMs: number[] = [0];
  const slots = createSlots(REQUESTS_AT_ONCE);
  let failure: unknown = null;
  state.fromMs = performance.now();
  const happen = ({ request, shows }: StoryRequest, dueMs: number, isTimed: boolean): Promise<void> =>
    slots.within(async () => {
      const atMs = performance.now() - state.fromMs;
      if (shows !== null) for (const output of outputs) awaited.add({ output, atMs, ...shows });
      await sendThrough(client, request, served);
      if (isTimed) lateMs.push(performance.now() - dueMs);
    });
  for (const change of cluster.story.changes) {
    const dueMs = state.fromMs + change.atMs;
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await sleep(waitMs, undefined, { signal });
    // Events that make nothing wait are many, and may hide that changes are late, or be late themselves.
    const isTimed = change.kind === 'service' || change.places.length > 0;
    for (const request of changeRequests(cluster, change)) {
      const before = underWay.get(request.object) ?? Promise.resolve();
      const after = before
        .then(() => happen(request, dueMs, isTimed))
        .catch((error: unknown) => void (failure ??= error));
      underWay.set(request.object, after);
    }
  }
  await Promise.all(underWay.values());
  if (failure !== null) throw failure;
  return lateMs;
}

/** Lets so many works run at a time. The others wait in order. */
function createSlots(count: number): { within(work: () => Promise<void>): Promise<void> } {
  const waiting: (() => void)[] = [];
  let free = count;
  return {
    within: async (work) => {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free++;
        else next();
      }
    },
  };
}

function noteEvent({ ledger, fromMs }: State, output: Output, type: string, object: KubeObject): void {
  const nowMs = performance.now() - fromMs;
  if (type === 'LISTED' || !(nowMs >= 0)) return;
  ledger.writes[output].push({ atMs: nowMs, endpoints: sizeOf(output, object) });
}

function sizeOf(output: Output, object: KubeObject): number {
  if (output === 'slices') return ((object['endpoints'] ?? []) as readonly Endpoint[]).length;
  const subsets = (object['subsets'] ?? []) as readonly EndpointSubset[];
  return subsets.reduce(
    (sum, { addresses = [], notReadyAddresses = [] }) => sum + addresses.length + notReadyAddresses.length,
    0,
  );
}

async function sendAll(client: ApiClient, requests: readonly StoryRequest[], signal: AbortSignal): Promise<void> {
  const byObject = [...Map.groupBy(requests, ({ object }) => object).values()];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < byObject.length) {
      for (const { request } of byObject[next++]!) await sendThrough(client, request, signal);
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, lane));
}
