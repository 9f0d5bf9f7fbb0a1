/**
 * A simulation of the queues of kube-controller-manager's endpoints and endpointslice controllers. It has units of work
 * and no objects. A pod worker of each controller takes a pod's event and adds the service's key after the batch
 * period. A sync worker plans, waits for a token, and waits for the API server. It is held all the time. All workers
 * share the CPU.
 */
import { createHeap, heapFirst, heapPlace, heapRemove, type HeapItem } from '../../src/lib/heap.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../../src/lib/prng.ts';

export interface ControllerSettings {
  readonly workers: number;
  readonly podWorkers: number;
  readonly batchSeconds: number;
  readonly qps: number;
  readonly burst: number;
  /** CPU of a pod's event. `syncSeconds`: CPU of a sync. */
  readonly podSeconds: number;
  readonly syncSeconds: number;
}

export interface Load {
  readonly seed: number;
  readonly podsPerSecond: number;
  readonly services: number;
  readonly apiSeconds: number;
  /** The share of syncs that write. */
  readonly writeShare: number;
  readonly cores: number;
  /** CPU of the process's other controllers, in cores, and their writes. */
  readonly otherCores: number;
  readonly otherWritesPerSecond: number;
  readonly otherApiSeconds: number;
  /** Seconds per second that other controllers wait for tokens. */
  readonly otherThrottle: number;
  readonly endpoint: ControllerSettings;
  readonly endpoint_slice: ControllerSettings;
}

export type ControllerName = 'endpoint' | 'endpoint_slice';

/** Sums since the start, as in metrics. */
export interface Sums {
  depth: number;
  adds: number;
  addAfters: number;
  queueSeconds: number;
  taken: number;
  workSeconds: number;
  syncs: number;
  writes: number;
  throttleSeconds: number;
  /** Seconds from a pod's event until the write that shows it is answered, without the batch period. */
  delaySeconds: number;
  delays: number;
}

export interface Look {
  readonly atSeconds: number;
  readonly endpoint: Sums;
  readonly endpoint_slice: Sums;
  readonly cpuSeconds: number;
  readonly apiSeconds: number;
  readonly apiCount: number;
}

interface Timer extends HeapItem {
  readonly at: number;
  readonly order: number;
  readonly call: () => void;
}

interface World {
  now: number;
  order: number;
  readonly load: Load;
  readonly prng: Prng;
  readonly timers: ReturnType<typeof createHeap<Timer>>;
  readonly cpu: { busy: number; seconds: number; readonly waiting: { seconds: number; call: () => void }[] };
  apiSeconds: number;
  apiCount: number;
}

interface Controller {
  readonly settings: ControllerSettings;
  readonly sums: Sums;
  readonly podQueue: { key: number; at: number }[];
  podBusy: number;
  readonly fifo: number[];
  /** When each key was added that no sync has taken yet. It may be in a sync from before. */
  readonly dirty: Map<number, number>;
  readonly processing: Set<number>;
  readonly delayed: Set<number>;
  /** Pod events by key, until a sync takes them. */
  readonly changes: Map<number, number[]>;
  busy: number;
  tokens: number;
  tokensAt: number;
}

/** Two looks at one run: after `warmUp` seconds, and `seconds` later. */
export function simulate(load: Load, warmUp: number, seconds: number): readonly [Look, Look] {
  const world: World = {
    now: 0,
    order: 0,
    load,
    prng: createPrng(load.seed),
    timers: createHeap((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order)),
    cpu: { busy: 0, seconds: 0, waiting: [] },
    apiSeconds: 0,
    apiCount: 0,
  };
  const endpoint = createController(load.endpoint);
  const slices = createController(load.endpoint_slice);
  const arrive = (): void => {
    const key = nextInt(world.prng, load.services);
    for (const controller of [endpoint, slices]) {
      controller.podQueue.push({ key, at: world.now });
      servePods(world, controller);
    }
    after(world, exponential(world, 1 / load.podsPerSecond), arrive);
  };
  after(world, 0, arrive);
  otherWork(world);
  return [look(world, endpoint, slices, warmUp), look(world, endpoint, slices, warmUp + seconds)];
}

function look(world: World, endpoint: Controller, slices: Controller, until: number): Look {
  for (let timer = heapFirst(world.timers); timer !== undefined && timer.at <= until; timer = heapFirst(world.timers)) {
    heapRemove(world.timers, timer);
    world.now = timer.at;
    timer.call();
  }
  world.now = until;
  const { otherWritesPerSecond, otherApiSeconds } = world.load;
  const others = otherWritesPerSecond * until;
  return {
    atSeconds: until,
    endpoint: { ...endpoint.sums, depth: endpoint.dirty.size },
    endpoint_slice: { ...slices.sums, depth: slices.dirty.size },
    cpuSeconds: world.cpu.seconds,
    apiSeconds: world.apiSeconds + others * otherApiSeconds,
    apiCount: world.apiCount + others,
  };
}

function createController(settings: ControllerSettings): Controller {
  return {
    settings,
    sums: {
      depth: 0,
      adds: 0,
      addAfters: 0,
      queueSeconds: 0,
      taken: 0,
      workSeconds: 0,
      syncs: 0,
      writes: 0,
      throttleSeconds: 0,
      delaySeconds: 0,
      delays: 0,
    },
    podQueue: [],
    podBusy: 0,
    fifo: [],
    dirty: new Map(),
    processing: new Set(),
    delayed: new Set(),
    changes: new Map(),
    busy: 0,
    tokens: settings.burst,
    tokensAt: 0,
  };
}

function after(world: World, seconds: number, call: () => void): void {
  heapPlace(world.timers, { at: world.now + seconds, order: world.order++, call, heapIndex: -1 });
}

function exponential({ prng }: World, mean: number): number {
  return -Math.log(1 - nextFloat(prng)) * mean;
}

/** The process's other controllers keep their cores busy by short pieces of work. */
function otherWork(world: World): void {
  const { otherCores } = world.load;
  if (otherCores <= 0) return;
  const piece = 0.005;
  const again = (): void => {
    onCpu(world, piece, () => undefined);
    after(world, exponential(world, piece / otherCores), again);
  };
  again();
}

function onCpu(world: World, seconds: number, call: () => void): void {
  const { cpu, load } = world;
  if (cpu.busy >= load.cores) {
    cpu.waiting.push({ seconds, call });
    return;
  }
  cpu.busy++;
  after(world, seconds, () => {
    cpu.busy--;
    cpu.seconds += seconds;
    const next = cpu.waiting.shift();
    if (next !== undefined) onCpu(world, next.seconds, next.call);
    call();
  });
}

function servePods(world: World, controller: Controller): void {
  const { settings, podQueue, delayed, changes, sums } = controller;
  if (controller.podBusy >= settings.podWorkers) return;
  const event = podQueue.shift();
  if (event === undefined) return;
  controller.podBusy++;
  onCpu(world, settings.podSeconds, () => {
    controller.podBusy--;
    sums.addAfters++;
    const { key, at } = event;
    const waiting = changes.get(key);
    // The batch period is no delay of the queues.
    if (waiting === undefined) changes.set(key, [at + settings.batchSeconds]);
    else waiting.push(Math.max(at, (waiting[0] ?? at) - settings.batchSeconds) + settings.batchSeconds);
    if (settings.batchSeconds === 0) add(world, controller, key);
    else if (!delayed.has(key)) {
      delayed.add(key);
      after(world, settings.batchSeconds, () => {
        delayed.delete(key);
        add(world, controller, key);
      });
    }
    servePods(world, controller);
  });
}

function add(world: World, controller: Controller, key: number): void {
  const { dirty, processing, sums } = controller;
  if (dirty.has(key)) return;
  // As client-go's metrics: a key that is added while it is synced waits from then on.
  dirty.set(key, world.now);
  sums.adds++;
  if (!processing.has(key)) append(world, controller, key);
}

function append(world: World, controller: Controller, key: number): void {
  controller.fifo.push(key);
  serve(world, controller);
}

function serve(world: World, controller: Controller): void {
  const { settings, fifo, dirty, processing, sums, changes } = controller;
  if (controller.busy >= settings.workers) return;
  const key = fifo.shift();
  if (key === undefined) return;
  controller.busy++;
  sums.queueSeconds += world.now - dirty.get(key)!;
  sums.taken++;
  dirty.delete(key);
  processing.add(key);
  const began = world.now;
  const shown = changes.get(key) ?? [];
  changes.delete(key);
  const done = (): void => {
    sums.workSeconds += world.now - began;
    sums.syncs++;
    for (const at of shown) sums.delaySeconds += Math.max(0, world.now - at);
    sums.delays += shown.length;
    controller.busy--;
    processing.delete(key);
    if (dirty.has(key)) append(world, controller, key);
    serve(world, controller);
  };
  onCpu(world, settings.syncSeconds, () => {
    if (nextFloat(world.prng) < world.load.writeShare) write(world, controller, done);
    else done();
  });
}

function write(world: World, controller: Controller, done: () => void): void {
  const { sums } = controller;
  const wait = takeToken(world, controller);
  sums.throttleSeconds += wait;
  const answer = exponential(world, world.load.apiSeconds);
  after(world, wait + answer, () => {
    world.apiSeconds += answer;
    world.apiCount++;
    sums.writes++;
    done();
  });
}

/** As golang.org/x/time/rate: a missing token is reserved. */
function takeToken(world: World, controller: Controller): number {
  const { qps, burst } = controller.settings;
  controller.tokens = Math.min(burst, controller.tokens + (world.now - controller.tokensAt) * qps) - 1;
  controller.tokensAt = world.now;
  return controller.tokens >= 0 ? 0 : -controller.tokens / qps;
}
