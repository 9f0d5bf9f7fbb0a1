/**
 * A simulation of endpointd's endpoints and endpointslice controllers, of units of work without objects: its own work
 * queue, one token bucket for both controllers, a bound on the writes without an answer, and one main thread. A pod's
 * event, a sync and an answer are each a piece of the main thread's work. The writes of a sync go side by side.
 */
import {
  addWork,
  createWorkItem,
  createWorkQueue,
  doneWork,
  nextWorkMs,
  takeWork,
  workDepth,
  type WorkItem,
  type WorkQueue,
} from '../../src/controller/queues/workqueue.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../../src/lib/prng.ts';
import { createTokenBucket, nextTokenMs, tryTakeToken, type TokenBucket } from '../../src/lib/token-bucket.ts';
import { at, createAgenda, play, type Agenda } from '../../src/twin/agenda.ts';
import type { ControllerName } from './simulate.ts';

export interface OwnSettings {
  readonly workers: number;
  readonly batchSeconds: number;
  /** Writes of a sync that writes. */
  readonly writes: number;
}

export interface OwnLoad extends Readonly<Record<ControllerName, OwnSettings>> {
  readonly seed: number;
  readonly podsPerSecond: number;
  readonly services: number;
  readonly apiSeconds: number;
  /** The share of syncs that write. */
  readonly writeShare: number;
  /** The bucket of both controllers. */
  readonly qps: number;
  readonly burst: number;
  /** `--max-writes-in-flight`. */
  readonly places: number;
  /** The main thread's time for a pod's event, a sync, and an answer. */
  readonly eventSeconds: number;
  readonly syncSeconds: number;
  readonly replySeconds: number;
  /** The share of the main thread that other work takes, and the cores of other threads. */
  readonly otherShare: number;
  readonly otherCores: number;
}

/** Sums since the start, as in metrics. */
interface OwnSums {
  readonly depth: number;
  readonly queueSeconds: number;
  readonly taken: number;
  readonly workSeconds: number;
  readonly syncs: number;
  readonly writes: number;
  /** Seconds from a change, or the end of the batch period in which it came, until the sync that shows it is done. */
  readonly delaySeconds: number;
  readonly delays: number;
}

export interface OwnLook extends Readonly<Record<ControllerName, OwnSums>> {
  readonly atSeconds: number;
  readonly threadSeconds: number;
  /** Seconds that writes waited for tokens. */
  readonly waitedSeconds: number;
  readonly apiSeconds: number;
  readonly apiCount: number;
}

interface Controller {
  readonly settings: OwnSettings;
  readonly queue: WorkQueue<number>;
  readonly items: readonly WorkItem<number>[];
  /** By key, from when on each change waits that no sync has taken yet. */
  readonly changes: Map<number, number[]>;
  writes: number;
  delayMs: number;
  delays: number;
}

interface QueuedWrite {
  /** `World.tokenWaitMs` when it was queued. */
  readonly tokenWaitBeforeMs: number;
  readonly done: () => void;
}

interface Piece {
  readonly ms: number;
  readonly call: () => void;
}

interface World {
  readonly agenda: Agenda;
  readonly load: OwnLoad;
  readonly prng: Prng;
  readonly controllers: readonly Controller[];
  readonly pieces: Piece[];
  isBusy: boolean;
  threadMs: number;
  readonly tokens: TokenBucket;
  readonly queued: QueuedWrite[];
  inFlight: number;
  /** For how long a missing token alone has held writes back, and since when it does. */
  tokenWaitMs: number;
  tokenWaitSinceMs: number;
  waitedMs: number;
  apiMs: number;
  apiCount: number;
  wakesAtMs: number;
}

/** Two looks at one run: after `warmUp` seconds, and `seconds` later. */
export function simulateEndpointd(load: OwnLoad, warmUp: number, seconds: number): readonly [OwnLook, OwnLook] {
  const controllers = [createController(load, 'endpoint'), createController(load, 'endpoint_slice')];
  const world: World = {
    agenda: createAgenda(),
    load,
    prng: createPrng(load.seed),
    controllers,
    pieces: [],
    isBusy: false,
    threadMs: 0,
    tokens: createTokenBucket(load.qps, load.burst),
    queued: [],
    inFlight: 0,
    tokenWaitMs: 0,
    tokenWaitSinceMs: Infinity,
    waitedMs: 0,
    apiMs: 0,
    apiCount: 0,
    wakesAtMs: Infinity,
  };
  const change = (): void => {
    const key = nextInt(world.prng, load.services);
    const { nowMs } = world.agenda;
    onThread(world, load.eventSeconds, () => {
      for (const controller of controllers) takeChange(world, controller, key, nowMs);
    });
    after(world, 1 / load.podsPerSecond, change);
  };
  const piece = 0.005;
  const other = (): void => {
    onThread(world, piece, () => undefined);
    after(world, piece / load.otherShare, other);
  };
  change();
  if (load.otherShare > 0) other();
  return [look(world, warmUp), look(world, warmUp + seconds)];
}

function createController(load: OwnLoad, name: ControllerName): Controller {
  const settings = load[name];
  return {
    settings,
    queue: createWorkQueue(name, settings.workers),
    items: Array.from({ length: load.services }, (_, service) => createWorkItem(service, String(service))),
    changes: new Map(),
    writes: 0,
    delayMs: 0,
    delays: 0,
  };
}

function look(world: World, atSeconds: number): OwnLook {
  play(world.agenda, atSeconds * 1000);
  const [endpoint, slices] = world.controllers.map(({ queue, writes, delayMs, delays }): OwnSums => ({
    depth: workDepth(queue),
    queueSeconds: queue.queueSeconds.sum,
    taken: queue.queueSeconds.count,
    workSeconds: queue.workSeconds.sum,
    syncs: queue.workSeconds.count,
    writes,
    delaySeconds: delayMs / 1000,
    delays,
  }));
  return {
    atSeconds,
    endpoint: endpoint!,
    endpoint_slice: slices!,
    threadSeconds: world.threadMs / 1000,
    waitedSeconds: world.waitedMs / 1000,
    apiSeconds: world.apiMs / 1000,
    apiCount: world.apiCount,
  };
}

/** Exponential, as the time between events that know nothing of each other. */
function after({ agenda, prng }: World, meanSeconds: number, call: () => void): void {
  at(agenda, agenda.nowMs - Math.log(1 - nextFloat(prng)) * meanSeconds * 1000, call);
}

function onThread(world: World, seconds: number, call: () => void): void {
  world.pieces.push({ ms: seconds * 1000, call });
  if (!world.isBusy) nextPiece(world);
}

function nextPiece(world: World): void {
  const { agenda, pieces } = world;
  const piece = pieces.shift();
  world.isBusy = piece !== undefined;
  if (piece === undefined) return;
  at(agenda, agenda.nowMs + piece.ms, () => {
    world.threadMs += piece.ms;
    piece.call();
    advance(world);
    nextPiece(world);
  });
}

function takeChange({ agenda }: World, controller: Controller, key: number, changedMs: number): void {
  const { settings, queue, items, changes } = controller;
  const item = items[key]!;
  addWork(queue, item, 'fresh', agenda.nowMs, settings.batchSeconds * 1000);
  const waits = changes.get(key) ?? [];
  changes.set(key, waits);
  // The batch period is no delay of the queues.
  waits.push(waits.length === 0 ? changedMs + settings.batchSeconds * 1000 : Math.max(changedMs, waits[0]!));
}

/** Starts syncs and sends writes, as far as slots, places and tokens allow. */
function advance(world: World): void {
  const { agenda, controllers, load } = world;
  for (const controller of controllers) {
    for (;;) {
      const item = takeWork(controller.queue, agenda.nowMs);
      if (item === null) break;
      const shown = controller.changes.get(item.key) ?? [];
      controller.changes.delete(item.key);
      onThread(world, load.syncSeconds, () => plan(world, controller, item, shown));
    }
  }
  wakeAt(world, Math.min(flush(world), ...controllers.map(({ queue }) => nextWorkMs(queue))));
}

function wakeAt(world: World, dueMs: number): void {
  if (dueMs === world.wakesAtMs) return;
  world.wakesAtMs = dueMs;
  if (dueMs === Infinity) return;
  at(world.agenda, dueMs, () => {
    if (world.wakesAtMs !== dueMs) return;
    world.wakesAtMs = Infinity;
    onThread(world, 0, () => undefined);
  });
}

function plan(world: World, controller: Controller, item: WorkItem<number>, shown: readonly number[]): void {
  const { agenda, load, prng } = world;
  let open = nextFloat(prng) < load.writeShare ? controller.settings.writes : 0;
  const end = (): void => {
    doneWork(controller.queue, item, agenda.nowMs);
    for (const fromMs of shown) controller.delayMs += Math.max(0, agenda.nowMs - fromMs);
    controller.delays += shown.length;
  };
  if (open === 0) {
    end();
    return;
  }
  const tokenWaitBeforeMs = tokenWaitMsAt(world);
  const done = (): void => {
    controller.writes++;
    if (--open === 0) end();
  };
  for (let i = open; i > 0; i--) world.queued.push({ tokenWaitBeforeMs, done });
}

/** As the controller counts it: what comes after the token is no wait for it. */
function tokenWaitMsAt({ agenda, tokens, tokenWaitMs, tokenWaitSinceMs }: World): number {
  return tokenWaitMs + Math.max(0, Math.min(agenda.nowMs, nextTokenMs(tokens)) - tokenWaitSinceMs);
}

/** The time of the next token; Infinity = no write waits for one. */
function flush(world: World): number {
  const { agenda, load, queued, tokens } = world;
  world.tokenWaitMs = tokenWaitMsAt(world);
  world.tokenWaitSinceMs = Infinity;
  while (queued.length > 0 && world.inFlight < load.places) {
    if (!tryTakeToken(tokens, agenda.nowMs)) {
      world.tokenWaitSinceMs = agenda.nowMs;
      return nextTokenMs(tokens);
    }
    send(world, queued.shift()!);
  }
  return Infinity;
}

function send(world: World, { tokenWaitBeforeMs, done }: QueuedWrite): void {
  const { agenda, load } = world;
  world.inFlight++;
  world.waitedMs += world.tokenWaitMs - tokenWaitBeforeMs;
  const sentMs = agenda.nowMs;
  after(world, load.apiSeconds, () => {
    onThread(world, load.replySeconds, () => {
      world.inFlight--;
      world.apiMs += agenda.nowMs - sentMs;
      world.apiCount++;
      done();
    });
  });
}
