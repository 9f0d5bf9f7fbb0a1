/**
 * A whole world in one thread and in virtual time: the real controller, the real planners and codecs, the embedded API
 * server's `apply`, and a network between them that delays, loses and refuses as the seed and the faults say.
 */
import { closeWatches } from './close-watches.ts';
import { createSimTime, type SimTask, type SimTime } from './sim-time.ts';
import { restoreBackup, takeBackup, type Backup } from './sim-backup.ts';
import {
  LATENCY_MS,
  NO_LAG,
  NOBODY,
  PAGE_BYTES_MAX,
  simTransport,
  type Exchange,
  type Lag,
  type Network,
  type NetworkSettings,
  type OpenStream,
  type Refuse,
} from './sim-network.ts';
import { createServers, type Servers, type ServersConfig } from './sim-servers.ts';
import { simulatedShards, type SimShards } from './sim-shards.ts';
import type { SimThread } from './sim-thread.ts';
import { NO_FAULTS, type FaultChances } from '../../src/apiserver/faults.ts';
import { apply, compact, createApiServer, tick, type ApiServer } from '../../src/apiserver/server.ts';
import type { LogEffect } from '../../src/controller/effect.ts';
import type { LeadershipOptions } from '../../src/controller/leader/leadership.ts';
import { createLoop, type Loop } from '../../src/controller/loop.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import type { Reports } from '../../src/controller/reports/reports.ts';
import type { ShadowPlan } from '../../src/controller/writes/shadow-plan.ts';
import { plannerConfigOf } from '../../src/controller/syncs/planner-config.ts';
import { JSON_TYPE } from '../../src/kube/media-type.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { fnv1a32 } from '../../src/lib/hash.ts';
import { createPrng, nextFloat, nextInt, nextUint32, type Prng } from '../../src/lib/prng.ts';
import { createMetricStore, type MetricStore } from '../../src/metrics/store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Shards } from '../../src/ports/shards.ts';
import type { HttpRequest, Transport, TransportEvent } from '../../src/ports/transport.ts';
import { createPlanner, plan, type Planner } from '../../src/shard/planner.ts';
import type { Batch } from '../../src/shard/protocol.ts';

export const DEFAULT_OPTIONS: ControllerOptions = {
  endpoints: true,
  slices: false,
  mirror: false,
  concurrentEndpointSyncs: 5,
  endpointUpdatesBatchPeriodMs: 0,
  concurrentServiceEndpointSyncs: 5,
  endpointsliceUpdatesBatchPeriodMs: 0,
  maxEndpointsPerSlice: 100,
  compactSlices: false,
  mirroringConcurrentServiceEndpointSyncs: 5,
  mirroringEndpointsliceUpdatesBatchPeriodMs: 0,
  mirroringMaxEndpointsPerSubset: 1000,
  mirroringAllEndpoints: false,
  mirroringZones: false,
  cleanUpUnselected: false,
  optOutLabel: '',
  kubeletShutdownIsTermination: false,
  adaptiveBatchPeriodMaxMs: 0,
  kubeApiQps: 20,
  kubeApiBurst: 30,
  minResyncPeriodMs: 12 * 3600_000,
  tolerateUnreadyEndpointsAnnotation: false,
  maxWritesInFlight: 32,
  maxBatchBytes: 16 * 1024 * 1024,
  shardDeadlineMs: 30_000,
  eventQueueSize: 1000,
  journalSize: 64,
  confirmMassRemoval: true,
  watchList: true,
};

export interface SimConfig {
  /** A further process before the same API server, in the same time. Its network, and what it asks for, is its own. */
  readonly beside?: Sim;
  readonly seed?: number;
  readonly options?: Partial<ControllerOptions>;
  readonly shards?: number;
  /** Lag is up to 20 s on one of the two ways, or of a piece of a stream: past most time limits. */
  readonly faults?: Partial<FaultChances>;
  /** The server has the WatchList feature gate. */
  readonly serverWatchList?: boolean;
  /** Virtual milliseconds that a shard takes for a batch. */
  readonly batchMs?: () => number;
  /** Called with each batch before it is planned: what it throws ends the shard's thread. */
  readonly poison?: (work: Batch) => void;
  /** A status of 400 and more refuses the controller's request; 0 lets it through. */
  readonly refuse?: Refuse;
  /** The server has no protobuf: whatever the controller would accept, it is answered in JSON. */
  readonly answersInJson?: boolean;
  /** One for each address family that the server gives to Services. */
  readonly serviceClusterIPRanges?: readonly string[];
  /** Admission on the server adds an address to whatever the controller writes. */
  readonly mutateEndpoints?: boolean;
  /** Default: one, whose watches are at once up to date. */
  readonly servers?: ServersConfig;
  /** Default: it writes without holding a Lease. */
  readonly leadership?: LeadershipOptions | null;
  /** Where syncs are told of; default: in events, metrics and the log. */
  readonly reports?: Reports;
  /** The main thread of a controller, which then plans too (`shards` is not looked at); default: it takes no time. */
  readonly thread?: SimThread;
  /** That the thread goes by; default: that of the process beside it, or a new one. */
  readonly time?: SimTime;
}

type StreamFate = 'cut' | 'end' | 'mute';

export interface RestoreOptions {
  /** Of `--bump-revision`, with `--mark-compacted`; default 0 = without. */
  readonly bump?: number;
  /**
   * What becomes of open streams: cut, they end with an error, the default; end, in good order; mute, nothing ever comes
   * through them again, but their end is not seen.
   */
  readonly streams?: StreamFate | ((path: string) => StreamFate);
}

export interface Sim extends NetworkSettings {
  readonly server: ApiServer;
  /** null = one, whose watches are at once up to date. */
  readonly servers: Servers | null;
  /** The server ends every watch cleanly. */
  cutWatches(): void;
  readonly logLines: LogEffect[];
  readonly time: SimTime;
  nowMs(): number;
  /** Those of the process, for what is done beside its loop. */
  readonly clocks: Pick<Clock, 'nowMs' | 'wallMs'>;
  /** The monotonic clock of the controller. */
  processMs(): number;
  /** Starts a controller (a new process: nothing is kept of one before), with other options from now on if told so. */
  start(changed?: Partial<ControllerOptions>): void;
  /** kill -9 of the controller. */
  kill(): void;
  /** SIGTERM. */
  stop(): void;
  readonly stopped: boolean;
  readonly loop: Loop | null;
  /** Of the controller that runs. */
  readonly metrics: MetricStore | null;
  /** A request of somebody else, done at once. Throws on a status of 400 and more. */
  request(method: string, path: string, body?: object, contentType?: string): KubeObject;
  /** As `request`, but gives back the status. */
  tryRequest(method: string, path: string, body?: object, contentType?: string): { status: number; body: KubeObject };
  /** Virtual time goes on. */
  run(ms: number): void;
  /** The API server takes no connections until `up`. */
  down(): void;
  up(): void;
  /** The history of the server is dropped, and watches are cut: those that come back are too old (410). */
  compact(): void;
  /** Copies all that the server holds, as a snapshot of etcd does. */
  backup(): Backup;
  /** The server goes on from a backup, as if nothing had happened since. */
  restore(backup: Backup, options?: RestoreOptions): void;
  /** The controller's shards, for killing them. */
  readonly shards: SimShards | null;
  /** The planner in that shard's thread now. */
  planner(shard: number): Planner;
  /** Calls `act` when virtual time gets there. */
  at(atMs: number, act: () => void): void;
  /** The network alone, without a controller. */
  transport(deliver: (events: readonly TransportEvent[]) => void): Transport;
  /** SIGSTOP: the controller does nothing and takes nothing in; the world goes on without it. */
  freeze(): void;
  /** SIGCONT: all that has come meanwhile comes now. `clockStood`: the machine slept, and its monotonic clock with it. */
  thaw(clockStood?: boolean): void;
  /** Of a controller that starts as a shadow; null = it writes. */
  onShadowPlan: ((plan: ShadowPlan) => void) | null;
  /** Added to the controller's wall clock, as somebody sets it. */
  wallShiftMs: number;
  /** Of all processes before the same API server. */
  readonly connections: Set<OpenStream>;
  /** Streams of the controller that are open, with the virtual ms of their opening. */
  streams(): { readonly path: string; readonly openedAtMs: number }[];
}

const START_WALL_MS = Date.UTC(2026, 0, 1);
/** So that the lag of servers does not hang on what else a seed draws. */
const SERVERS_SEED = 2_000_000;
/** Far above what is lost where milliseconds of hours are added. */
const ROUNDING_MS = 0.001;
export function createSim(config: SimConfig = {}): Sim {
  const prng = createPrng(config.seed ?? 1);
  const faults: FaultChances = { ...NO_FAULTS, ...config.faults };
  let options: ControllerOptions = { ...DEFAULT_OPTIONS, ...config.options };
  const time = config.time ?? config.beside?.time ?? createSimTime();
  const { at } = time;
  let generation = 0;

  const wallMs = (): number => START_WALL_MS + time.now;
  const server =
    config.beside?.server ??
    createApiServer({
      random: () => nextFloat(prng),
      watchList: config.serverWatchList ?? true,
      ...(config.serviceClusterIPRanges === undefined ? {} : { serviceClusterIPRanges: config.serviceClusterIPRanges }),
    });
  let serverTickAtMs = Infinity;
  function tickServer(): void {
    const next = tick(server, wallMs()) - START_WALL_MS;
    if (next < serverTickAtMs || serverTickAtMs <= time.now) {
      serverTickAtMs = next;
      if (next < Infinity)
        at(next, () => {
          if (time.now >= serverTickAtMs) tickServer();
        });
    }
  }

  const exchanges: Exchange[] = [];
  const logLines: LogEffect[] = [];
  const planners: Planner[] = [];
  const servers: Servers | null =
    config.beside?.servers ??
    (config.servers === undefined ? null : createServers(config.servers, (config.seed ?? 1) + SERVERS_SEED));
  const changed =
    config.beside?.changed ??
    ((): void => {
      servers?.note(time.now, server.revision);
      tickServer();
    });
  const requestsByKind = new Map<string, number>();
  /** Each request has draws of its own: in a story that lacks something it still meets the same fate. */
  function drawsOf({ method, pool, path }: HttpRequest): Prng {
    const kind = `${pool} ${method} ${path.split('?')[0]}`;
    const nth = (requestsByKind.get(kind) ?? 0) + 1;
    requestsByKind.set(kind, nth);
    return createPrng((config.seed ?? 1) ^ fnv1a32(`${kind} ${nth}`));
  }
  /** What waits for a frozen controller; null = it runs. */
  let frozen: (() => void)[] | null = null;
  let frozenAtMs = 0;
  /** How much its monotonic clock has stood still. */
  let clockStoodMs = 0;

  /** Those of the process, for what is done beside its loop. */
  const clocks = { nowMs: (): number => time.now - clockStoodMs, wallMs: (): number => wallMs() + sim.wallShiftMs };
  const sim = {
    connections: config.beside?.connections ?? new Set<OpenStream>(),
    time,
    changed,
    server,
    servers,
    faults,
    refuse: config.refuse ?? (() => 0),
    lag: (_request: HttpRequest): Lag => NO_LAG,
    latencyMs: LATENCY_MS,
    tamper: (bytes: Uint8Array, _request: HttpRequest): Uint8Array => bytes,
    muteWatches: false,
    trickleWatches: false,
    script: null as Sim['script'],
    onShadowPlan: null as Sim['onShadowPlan'],
    transport: (deliver: (events: readonly TransportEvent[]) => void): Transport =>
      simTransport(network, () => true, clocks, deliver),
    keepEndsBack: false,
    pageBytesMax: (_request: HttpRequest): number => PAGE_BYTES_MAX,
    exchanges,
    logLines,
    stopped: false,
    loop: null as Loop | null,
    metrics: null as MetricStore | null,
    shards: null as SimShards | null,
    planner: (shard: number) => planners[shard]!,
    nowMs: () => time.now,
    clocks,
    processMs: () => time.now - clockStoodMs,
    at(atMs: number, act: () => void) {
      at(atMs, act);
    },
    start(changed: Partial<ControllerOptions> = {}) {
      options = { ...options, ...changed };
      generation++;
      const mine = generation;
      sim.stopped = false;
      frozen = null;
      network.opened = new Map();
      const alive = (): boolean => mine === generation;
      /** A process that is stopped does nothing, nor do its threads: it goes on with what came meanwhile, in order. */
      const whenAwake = (run: () => void): void => {
        if (frozen !== null) frozen.push(() => whenAwake(run));
        else run();
      };
      const enter = (run: () => void): void =>
        whenAwake(() => {
          if (!alive()) return;
          run();
          sim.observer.stepped();
        });
      const clock: Clock = simClock(enter);
      const { thread } = config;
      const connect = (deliver: (events: readonly TransportEvent[]) => void): Transport =>
        simTransport(network, alive, clock, (events) => enter(() => deliver(events)));
      const loop = createLoop({
        options,
        clock: thread?.clock(clock) ?? clock,
        random: { uint32: () => nextUint32(prng) },
        transport: (deliver) => thread?.transport(deliver, connect) ?? connect(deliver),
        shards: (deliver): Shards => {
          const plannerConfig = plannerConfigOf(options);
          if (thread !== undefined) return thread.shards(plannerConfig, deliver);
          const shardOptions = {
            count: config.shards ?? 2,
            config: plannerConfig,
            // As on the main thread, but for odd seeds.
            byReference: (config.seed ?? 0) % 2 === 0,
            batchMs: config.batchMs ?? (() => 1),
            schedule: (delayMs: number, run: () => void) => void at(time.now + delayMs, () => whenAwake(run)),
            startPlanning: (shard: number) => {
              const planner = createPlanner(plannerConfig);
              if (alive()) planners[shard] = planner;
              return (work: Batch) => {
                config.poison?.(work);
                return plan(planner, work);
              };
            },
          };
          sim.shards = simulatedShards(shardOptions, (event) => enter(() => deliver(event)));
          return sim.shards;
        },
        host: 'simulated',
        leadership: leadershipOf(mine),
        ...(thread === undefined ? {} : { onStep: thread.onStep }),
        log: (line) => logLines.push(line),
        metrics: (sim.metrics = createMetricStore()),
        ...(sim.onShadowPlan === null ? {} : { onShadowPlan: sim.onShadowPlan }),
        onStopped: () => {
          sim.stopped = true;
        },
      });
      if (config.reports !== undefined) Object.assign(loop.state, { reports: config.reports });
      sim.loop = loop;
      at(time.now, () => enter(() => loop.start()));
    },
    kill() {
      generation++;
      frozen = null;
      network.opened = new Map();
      sim.loop = null;
    },
    admission: config.mutateEndpoints === true ? addAddress : (null as Sim['admission']),
    wallShiftMs: 0,
    observer: NOBODY,
    streams: () => [...network.opened.values()],
    freeze() {
      if (frozen !== null || sim.loop === null) return;
      frozen = [];
      frozenAtMs = time.now;
    },
    thaw(clockStood = false) {
      if (frozen === null) return;
      const waiting = frozen;
      frozen = null;
      if (clockStood) clockStoodMs += time.now - frozenAtMs;
      for (const run of waiting) run();
    },
    stop() {
      sim.loop?.stop();
    },
    tryRequest(method: string, path: string, body?: object, contentType = JSON_TYPE) {
      const reply = apply(server, wallMs(), {
        method,
        path,
        headers: { accept: JSON_TYPE, contentType },
        body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
      });
      changed();
      if ('watch' in reply) throw new Error('a script does not watch');
      return { status: reply.status, body: JSON.parse(Buffer.from(reply.body).toString('utf8')) as KubeObject };
    },
    request(method: string, path: string, body?: object, contentType?: string) {
      const reply = sim.tryRequest(method, path, body, contentType);
      if (reply.status >= 400) {
        throw new RefusedRequest(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`, reply.status);
      }
      return reply.body;
    },
    run: time.run,
    cutWatches() {
      closeWatches(server);
    },
    down() {
      network.isDown = true;
      closeWatches(server);
    },
    up() {
      network.isDown = false;
    },
    compact() {
      compact(server);
      closeWatches(server);
    },
    backup: () => takeBackup(server),
    restore(backup: Backup, { bump = 0, streams: fate = 'cut' }: RestoreOptions = {}) {
      for (const open of sim.connections) {
        switch (typeof fate === 'string' ? fate : fate(open.path)) {
          case 'cut':
            open.reset();
            break;
          case 'end':
            open.end();
            break;
          case 'mute':
            open.mute();
        }
      }
      restoreBackup(server, backup, bump);
      changed();
    },
  };

  /** Each life of a process has an identity of its own. */
  function leadershipOf(life: number): LeadershipOptions | null {
    const { leadership = null } = config;
    return leadership === null ? null : { ...leadership, identity: `${leadership.identity}-${life}` };
  }

  function simClock(enter: (run: () => void) => void): Clock {
    let timer: SimTask | null = null;
    const clock: Clock = {
      nowMs: () => time.now - clockStoodMs,
      wallMs: () => wallMs() + sim.wallShiftMs,
      wakeAt(atMs, wake) {
        if (timer !== null) time.drop(timer);
        // Rounding must not let it ring before its time: it would be set to the same time for ever.
        const ringMs = atMs + clockStoodMs;
        timer = at(ringMs - clockStoodMs < atMs ? ringMs + ROUNDING_MS : ringMs, () => {
          timer = null;
          enter(() => {
            // The clock may have stood since; a sum of fractions may be too small.
            if (clock.nowMs() >= atMs) wake();
            else if (timer === null) clock.wakeAt(Math.max(atMs, clock.nowMs() + 1), wake);
          });
        });
      },
    };
    return clock;
  }

  const network: Network = {
    settings: sim,
    time,
    server,
    servers,
    answersInJson: config.answersInJson ?? false,
    wallMs,
    drawsOf,
    isDown: false,
    streams: sim.connections,
    opened: new Map(),
  };
  return sim;
}

/** What an admission webhook may do to a write. */
export function addAddress(object: KubeObject): void {
  for (const subset of (object['subsets'] ?? []) as { addresses?: object[] }[]) {
    subset.addresses = [...(subset.addresses ?? []), { ip: '192.168.0.1' }];
  }
}

/** The server refuses a request of a script. */
class RefusedRequest extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** A pod that runs and is ready, unless told otherwise; make it with `createPod`. */
export interface PodText {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly ip?: string;
  readonly ready?: boolean;
  readonly node?: string;
  readonly ports?: readonly { name: string; containerPort: number; protocol?: string }[];
}

/** Creates a pod and writes its status, as a scheduler and a kubelet would; none while it has no address. */
export function createPod(sim: Sim, pod: PodText): void {
  const namespace = pod.namespace ?? 'default';
  sim.request('POST', `/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod.name, labels: pod.labels ?? { app: 'web' } },
    spec: {
      nodeName: pod.node ?? 'node-1',
      containers: [{ name: 'main', image: 'main:1', ports: pod.ports ?? [{ name: 'http', containerPort: 8080 }] }],
    },
  });
  if (pod.ip !== '') setPodStatus(sim, pod);
}

export function setPodStatus(sim: Sim, pod: Pick<PodText, 'name' | 'namespace' | 'ip' | 'ready'>): void {
  const namespace = pod.namespace ?? 'default';
  const path = `/api/v1/namespaces/${namespace}/pods/${pod.name}`;
  const current = sim.request('GET', path);
  const status = current['status'] as { podIP?: string } | undefined;
  const ip = pod.ip ?? status?.podIP ?? '10.0.0.1';
  sim.request('PUT', `${path}/status`, {
    ...current,
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [
        {
          type: 'Ready',
          status: (pod.ready ?? true) ? 'True' : 'False',
          lastTransitionTime: new Date(START_WALL_MS + sim.nowMs()).toISOString().replace(/\.\d+Z/, 'Z'),
        },
      ],
    },
  });
}

export interface ServiceText {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly spec?: object;
}

export function createService(sim: Sim, service: ServiceText): void {
  sim.request('POST', `/api/v1/namespaces/${service.namespace ?? 'default'}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: service.name, labels: service.labels ?? {} },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }], ...service.spec },
  });
}

export function deleteObject(sim: Sim, path: string): void {
  sim.request('DELETE', path, { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 });
}

/**
 * Every Endpoints object as a line: `namespace/name ready | not ready : ports`, subsets joined by ` ; `.
 */
export function endpointsTable(sim: Sim): string[] {
  const list = sim.request('GET', '/api/v1/endpoints') as unknown as { items: EndpointsJson[] };
  // The API server's own is not ours.
  return list.items
    .filter(({ metadata }) => metadata.name !== 'kubernetes')
    .map(({ metadata, subsets }) => {
      const text = (subsets ?? []).map((subset) => {
        const ready = (subset.addresses ?? []).map(({ ip }) => ip).join(' ');
        const notReady = (subset.notReadyAddresses ?? []).map(({ ip }) => ip).join(' ');
        const ports = (subset.ports ?? [])
          .map(({ name, port, protocol }) => `${name ?? ''}:${port}/${protocol}`)
          .join(' ');
        return [ready, notReady === '' ? '' : `| ${notReady}`, ports === '' ? '' : `: ${ports}`]
          .filter((t) => t !== '')
          .join(' ');
      });
      return `${metadata.namespace}/${metadata.name} ${text.length === 0 ? '-' : text.join(' ; ')}`;
    });
}

interface EndpointsJson {
  metadata: { namespace: string; name: string };
  subsets?: {
    addresses?: { ip: string }[];
    notReadyAddresses?: { ip: string }[];
    ports?: { name?: string; port: number; protocol: string }[];
  }[];
}

/** Requests that changed something, as `METHOD path status`. */
export function writesOf(sim: Sim): string[] {
  return sim.exchanges
    .filter(({ method, path }) => method !== 'GET' && !path.includes('/events'))
    .map(({ method, path, status }) => `${method} ${path} ${status}`);
}

export function pick<T>(prng: Prng, items: readonly T[]): T {
  return items[nextInt(prng, items.length)]!;
}
