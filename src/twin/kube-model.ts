/**
 * kube-controller-manager's endpoints and endpointslice controllers as queues (docs/spec/endpoints.md "The work queue",
 * docs/spec/endpointslice.md "The slice tracker"). Each has its own workers and its own token bucket. A worker that
 * waits for a token keeps its service. Writes of a sync go one after the other. The first failure ends the writes of
 * its address family, and the sync fails at its end. The Event object that tells of it takes a token too.
 */
import { append, createLinkedList, type LinkedList, type LinkedNode, remove } from '../lib/linked-list.ts';
import { placeAbove } from '../lib/sorted.ts';
import { createTokenBucket, nextTokenMs, tryTakeToken, type TokenBucket } from '../lib/token-bucket.ts';
import { at } from './agenda.ts';
import type { DrawArrivals } from './api-latency.ts';
import {
  bytesOf,
  closeBook,
  createBook,
  forgetService,
  giveBack,
  listPods,
  noteShown,
  owe,
  planService,
  sizeOf,
  spoil,
  takeChange,
  waitingOf,
  type Book,
  type ModelWrite,
} from './book.ts';
import {
  addKey,
  addKeyAfter,
  createKubeQueue,
  forgetFailures,
  keyDone,
  retryKey,
  takeKey,
  type KubeQueue,
} from './kube-queue.ts';
import { type Output, perOutput, SYNCS } from './ledger.ts';
import { compute, createThread, runOn, type Thread } from './processors.ts';
import { isLookedAt, outputsOf, type StoryChange } from './story.ts';
import type { Model, WaitingService, World } from './world.ts';
import { tryTakeWriteToken, type WriteBucket } from './write-tokens.ts';

interface KubeController {
  readonly world: World;
  readonly book: Book;
  readonly queue: KubeQueue;
  readonly batchMs: number;
  readonly workers: number;
  busyWorkers: number;
  readonly pods: LinkedList<PodEvent>;
  busyPodWorkers: number;
  /** The thread that calls its handlers: one event after the other. */
  readonly listener: Thread;
  /** The informer of its outputs. */
  readonly informer: Thread;
  readonly tokens: WriteBucket;
  /** For each service: own writes that were answered and that its cache does not show yet. */
  readonly unseen: Int32Array;
  /** Services whose Endpoints were created, while its cache does not show them yet. */
  readonly uncached: Set<number>;
  readonly writesOf: Int32Array;
  /** For each service: how many writes of its sync are not sent; `UNPLANNED` = it has not planned them. */
  readonly unsent: Int32Array;
  /** For each service: when others changed its objects. */
  readonly foreignMs: ReadonlyMap<number, readonly number[]>;
  /** Event objects that wait until the one before them is answered. */
  readonly events: LinkedList<ServiceEvent>;
  isSendingEvents: boolean;
  /** For each service: how many Event objects may still be sent. */
  readonly eventsLeft: Map<number, TokenBucket>;
  /** Services with hints by CPU. */
  readonly hinted: readonly number[];
  /** Services that are gone. */
  readonly gone: Set<number>;
  /** What becomes of the one key of its topology queue. `again`: a node has changed while the worker was busy. */
  topology: 'idle' | 'busy' | 'again';
}

interface PodEvent extends LinkedNode<PodEvent> {
  readonly change: StoryChange;
}

/** An Event object. */
interface ServiceEvent extends LinkedNode<ServiceEvent> {
  readonly service: number;
}

const OWN_NAME = 'kube-controller-manager';

/** Upstream's first wait after a failed sync. */
const FIRST_RETRY_MS: Readonly<Record<Output, number>> = { endpoints: 5, slices: 1000 };

/** From this minor version on, a pod's event waits in a queue of its own until its services are looked for. */
const POD_QUEUE_SINCE = 35;

export function createKubeModel(world: World): Model {
  const { settings } = world;
  const informer = createThread(world.cores);
  const controllers = [
    createController(world, 'endpoints', settings.endpointSyncs, settings.endpointsBatchMs),
    createController(world, 'slices', settings.serviceEndpointSyncs, settings.slicesBatchMs),
  ].filter(({ book }) => outputsOf(world.story).includes(book.output));
  for (const controller of controllers) queueWaiting(controller);
  let taken = 0;
  return {
    take: (change) =>
      runOn(informer, world.costs.intake * (change.events ?? 1), () => {
        taken++;
        for (const controller of controllers) takeEvent(controller, change);
      }),
    isBehind: () => controllers.some(({ queue }) => queue.line.length > 0),
    waiting: () => perOutput((output) => controllers.filter(({ book }) => book.output === output).flatMap(waitingIn)),
    close: () => {
      const left = world.story.changes.slice(taken);
      for (const { book } of controllers) closeBook(book, left, world.agenda.nowMs);
    },
  };
}

function createController(world: World, output: Output, workers: number, batchMs: number): KubeController {
  const { agenda, cores, ledger, settings, story } = world;
  const controller: KubeController = {
    world,
    book: createBook(story, output, ledger, {
      perSlice: settings.endpointsPerSlice,
      perSliceAtStart: world.endpointsPerSliceAtStart,
      // docs/spec/endpoints.md "Defects: cost" (#127370)
      rewritesFull: true,
      // Slices come as a map of Go gives them, in another order for each sync.
      rankOf: world.rankOf,
      recycles: 'last',
      // As slices, in an order of its own for each sync.
      firstFamilyOf: world.firstFamilyOf,
    }),
    queue: createKubeQueue(agenda, FIRST_RETRY_MS[output], () => startSyncs(controller)),
    batchMs,
    workers,
    busyWorkers: 0,
    pods: createLinkedList(),
    busyPodWorkers: 0,
    listener: createThread(cores),
    informer: createThread(cores),
    tokens: world.tokens[output],
    unseen: new Int32Array(story.services.length),
    uncached: new Set(),
    writesOf: new Int32Array(story.services.length),
    unsent: new Int32Array(story.services.length),
    foreignMs: foreignTimes(story.changes, output),
    events: createLinkedList(),
    isSendingEvents: false,
    eventsLeft: new Map(),
    hinted: [...story.services.keys()].filter((service) => story.services[service]!.hasHints === true),
    gone: new Set(),
    topology: 'idle',
  };
  return controller;
}

/** What waited before the story: it takes workers and tokens, and shows nothing of the story. */
function queueWaiting({ book, queue, world }: KubeController): void {
  for (const { service, writes, dueMs } of world.waitingAtStart[book.output]) {
    if (book.services[service]!.isMissing) continue;
    owe(book, service, writes);
    addKeyAfter(queue, service, dueMs);
    // It waits once more when its sync is over.
    if (book.services[service]!.owedLater > 0) at(world.agenda, dueMs + BEGUN_MS, () => addKey(queue, service));
  }
}

/** By then a service that has a worker is in its sync. */
const BEGUN_MS = 1;

function waitingIn({ book, queue, unsent, world }: KubeController): WaitingService[] {
  const { nowMs } = world.agenda;
  const inSync = [...queue.processing].map((service) => {
    const isPlanned = unsent[service] !== UNPLANNED;
    if (isPlanned && !queue.dirty.has(service)) return unsentOf(service, unsent[service]!);
    return waitingOf(book, service, isPlanned ? unsent[service]! : 0, 0);
  });
  const inLine: (WaitingService | null)[] = [];
  for (let { first } = queue.line; first !== null; first = first.next) inLine.push(waitingOf(book, first.key, 0, 0));
  const delayed = [...queue.delayed].toSorted(([, a], [, b]) => a - b);
  const later = delayed.map(([service, dueMs]) => waitingOf(book, service, 0, dueMs - nowMs));
  return [...inSync, ...inLine, ...later].filter((one) => one !== null);
}

function unsentOf(service: number, writes: number): WaitingService | null {
  return writes === 0 ? null : { service, writes, dueMs: 0 };
}

const UNPLANNED = -1;

function foreignTimes(changes: readonly StoryChange[], output: Output): Map<number, number[]> {
  const times = new Map<number, number[]>();
  for (const { kind, output: of, service, atMs } of changes) {
    if (kind !== 'foreign' || of !== output) continue;
    const own = times.get(service);
    if (own === undefined) times.set(service, [atMs]);
    else own.push(atMs);
  }
  return times;
}

function takeEvent(controller: KubeController, change: StoryChange): void {
  const { book, queue, world } = controller;
  for (const placed of change.places) takeChange(book, placed, change.atMs);
  if (change.kind === 'service') addKey(queue, change.service);
  if (change.kind === 'deleted') takeDeleted(controller, change.service);
  if (change.kind === 'node' && book.output === 'slices') queueHinted(controller);
  if (change.kind === 'foreign' && change.output === book.output) takeForeign(controller, change.service);
  if (change.kind !== 'pod' || change.noticed?.[OWN_NAME] === 'nothing') return;
  if (world.kubeMinor < POD_QUEUE_SINCE) {
    runOn(controller.listener, matchMs(controller, change), () => queueServices(controller, change));
    return;
  }
  append(controller.pods, { change, previous: null, next: null });
  startPods(controller);
}

/**
 * The slices of a Service that is gone are left to the garbage collector. Its Endpoints, which the API server has deleted, are
 * deleted once more: for the event of the Service, and for that of the Endpoints, unless both wait together.
 */
function takeDeleted({ book, gone, informer, queue, world }: KubeController, service: number): void {
  forgetService(book, service, world.agenda.nowMs);
  gone.add(service);
  if (book.output !== 'endpoints') return;
  addKey(queue, service);
  runOn(informer, world.costs.echo, () => addKey(queue, service));
}

function takeForeign(controller: KubeController, service: number): void {
  spoil(controller.book, service);
  queueForSlice(controller, service);
}

/** Only slices have a handler. Endpoints that others change stay so until the service is synced for another reason. */
function queueForSlice({ book, queue, batchMs }: KubeController, service: number): void {
  if (book.output === 'slices') addKeyAfter(queue, service, Math.max(FOREIGN_MS_MIN, batchMs));
}

const FOREIGN_MS_MIN = 1000;

/** The topology queue has one key and one worker, so nodes that change while it works lead to one more look. */
function queueHinted(controller: KubeController): void {
  if (controller.hinted.length === 0) return;
  if (controller.topology === 'idle') lookAtHints(controller);
  else controller.topology = 'again';
}

/** The model does not know which hints fit, so all services with hints are synced. */
function lookAtHints(controller: KubeController): void {
  const { book, gone, hinted, queue, world } = controller;
  controller.topology = 'busy';
  compute(world.cores, world.costs.match * world.story.services.length, () => {
    for (const service of hinted) if (!gone.has(service) && !book.services[service]!.isMissing) addKey(queue, service);
    const isDue = controller.topology === 'again';
    controller.topology = 'idle';
    if (isDue) lookAtHints(controller);
  });
}

/** As many workers as sync services find the services of pods. Equal events are not merged. */
function startPods(controller: KubeController): void {
  const { pods, world } = controller;
  while (controller.busyPodWorkers < controller.workers && pods.first !== null) {
    const { change } = pods.first;
    remove(pods, pods.first);
    controller.busyPodWorkers++;
    compute(world.cores, matchMs(controller, change), () => {
      controller.busyPodWorkers--;
      queueServices(controller, change);
      startPods(controller);
    });
  }
  if (pods.first !== null) noteSyncsReached(controller);
}

function noteSyncsReached({ book: { ledger, output } }: KubeController): void {
  ledger.reached.add(SYNCS[output]);
}

function matchMs({ world }: KubeController, { namespace }: StoryChange): number {
  return world.costs.match * world.story.namespaces[namespace]!.services;
}

function queueServices({ queue, batchMs, world }: KubeController, change: StoryChange): void {
  for (const placed of change.places) {
    if (isLookedAt(change, placed, OWN_NAME)) addKeyAfter(queue, world.story.places[placed.place]!.service, batchMs);
  }
}

function startSyncs(controller: KubeController): void {
  while (controller.busyWorkers < controller.workers) {
    const service = takeKey(controller.queue);
    if (service < 0) return;
    controller.busyWorkers++;
    sync(controller, service);
  }
  if (controller.queue.line.first !== null) noteSyncsReached(controller);
}

/**
 * A sync lists the pods before it reads its own objects from the cache, and of Endpoints it makes the subsets before, too.
 * Only then does a stale cache fail it, so an event of its last write may come meanwhile. A pod's event that comes meanwhile
 * is for the next sync.
 */
function sync(controller: KubeController, service: number): void {
  const { book, unseen, world } = controller;
  const { costs, ledger, story } = world;
  ledger.syncs++;
  const { namespace, families } = story.services[service]!;
  const listMs = costs.sync + costs.scan * story.namespaces[namespace]!.pods;
  // Each family goes through all pods.
  const packMs = costs.endpoint * sizeOf(book, service) * (book.output === 'slices' ? families : 1);
  const listing = listPods(book, service);
  controller.unsent[service] = UNPLANNED;
  if (controller.gone.has(service)) {
    compute(world.cores, costs.sync, () => {
      if (book.output === 'endpoints') deleteAgain(controller, service);
      else finish(controller, service);
    });
    return;
  }
  const [beforeMs, afterMs] = book.output === 'endpoints' ? [listMs + packMs, 0] : [listMs, packMs];
  compute(world.cores, beforeMs, () => {
    if (unseen[service]! > 0) {
      ledger.staleSyncs++;
      if (!retryKey(controller.queue, service)) ledger.dropped++;
      done(controller, service);
      return;
    }
    const readMs = world.agenda.nowMs;
    const isUncached = controller.uncached.has(service);
    const writes = planService(book, service, listing);
    compute(world.cores, afterMs, () => {
      controller.unsent[service] = writes.length;
      if (isUncached) createAgain(controller, service, writes);
      else writeNext(controller, { service, writes, failed: [], readMs });
    });
  });
}

/** The server has no such object, so no watch tells of it. */
function deleteAgain(controller: KubeController, service: number): void {
  const { book, world } = controller;
  const { agenda, costs } = world;
  at(agenda, takeToken(controller), () => {
    const ordinal = controller.writesOf[service]!++;
    at(agenda, agenda.nowMs + world.latencyOf(service, ordinal, book.output, 0), () => {
      compute(world.cores, costs.reply, () => finish(controller, service));
    });
  });
}

/** The sync has succeeded. */
function finish(controller: KubeController, service: number): void {
  forgetFailures(controller.queue, service);
  done(controller, service);
}

/** Takes the next token. Returns when it is there. */
function takeToken({ tokens, world: { agenda, ledger } }: KubeController): number {
  const sentMs = Math.max(agenda.nowMs, nextTokenMs(tokens));
  tryTakeWriteToken(tokens, sentMs);
  if (sentMs > agenda.nowMs) ledger.reached.add('tokens');
  ledger.throttledMs += sentMs - agenda.nowMs;
  return sentMs;
}

interface WritingSync {
  readonly service: number;
  /** Those that are not done yet. */
  readonly writes: readonly ModelWrite[];
  /** Those that failed, or were left out because one before them did. */
  readonly failed: readonly ModelWrite[];
  /** When its own objects were read from the cache. */
  readonly readMs: number;
}

function writeNext(controller: KubeController, syncing: WritingSync): void {
  const { book, world } = controller;
  const { agenda, costs } = world;
  const { service, writes } = syncing;
  const [write, ...rest] = writes;
  controller.unsent[service] = writes.length;
  if (write === undefined) {
    if (syncing.failed.length > 0) fail(controller, service, syncing.failed);
    else finish(controller, service);
    return;
  }
  send(controller, service, write, ({ answerMs, eventMs }) => {
    const isConflict = write.verb === 'update' && wasOvertaken(controller, syncing);
    const isStored = !isConflict && write.isSame !== true;
    if (isStored) noteShown(book, service, write, agenda.nowMs);
    const echo = isStored ? expectEcho(controller, service, eventMs) : null;
    at(agenda, agenda.nowMs + answerMs, () => {
      compute(world.cores, costs.reply, () => {
        if (echo !== null) takeAnswer(controller, service, write, echo);
        writeNext(controller, isConflict ? withoutFamily(syncing, write) : { ...syncing, writes: rest });
      });
    });
  });
}

/** @param arrived called when the server has handled the write */
function send(
  controller: KubeController,
  service: number,
  write: ModelWrite,
  arrived: (arrivals: ReturnType<DrawArrivals>) => void,
): void {
  const { book, world } = controller;
  const { agenda, costs } = world;
  at(agenda, takeToken(controller), () => {
    controller.unsent[service]!--;
    compute(world.cores, costs.write + costs.writtenByte * bytesOf(book, write), () => {
      const ordinal = controller.writesOf[service]!++;
      at(agenda, agenda.nowMs + world.latencyOf(service, ordinal, book.output, write.endpoints), () => {
        arrived(world.arrivalsOf(service, ordinal));
      });
    });
  });
}

/** The tracker of Endpoints takes no note of creates: what its cache does not show yet, a sync creates once more: 409. */
function createAgain(controller: KubeController, service: number, planned: readonly ModelWrite[]): void {
  const { book, world } = controller;
  const { agenda, costs } = world;
  const { published } = book.services[service]!;
  send(controller, service, { verb: 'create', family: 0, endpoints: published, shows: [] }, ({ answerMs }) => {
    at(agenda, agenda.nowMs + answerMs, () => {
      compute(world.cores, costs.reply, () => fail(controller, service, planned));
    });
  });
}

/** A write has failed: the sync goes on with the other family. */
function withoutFamily(syncing: WritingSync, { family }: ModelWrite): WritingSync {
  const { writes } = syncing;
  return {
    ...syncing,
    writes: writes.filter((write) => write.family !== family),
    failed: writes.filter((write) => write.family === family),
  };
}

/**
 * Whether somebody else has written since the sync has read its objects. It was one object, of which the story does not tell
 * which: here it is the one that is written first.
 */
function wasOvertaken({ foreignMs, world }: KubeController, { service, failed, readMs }: WritingSync): boolean {
  if (failed.length > 0) return false;
  const { agenda, watchLagMs } = world;
  const times = foreignMs.get(service) ?? NEVER;
  return (times[placeAbove(times, readMs - watchLagMs)] ?? Infinity) <= agenda.nowMs;
}

const NEVER: readonly number[] = [];

function fail(controller: KubeController, service: number, failed: readonly ModelWrite[]): void {
  const { book, queue, world } = controller;
  world.ledger.conflicts++;
  tellEvent(controller, service);
  if (failed.length > 0) giveBack(book, service, failed);
  if (!retryKey(queue, service)) world.ledger.dropped++;
  done(controller, service);
}

/** client-go's correlator: so many Event objects of one object at once, then one in so many seconds. */
const EVENTS_MAX = 25;
const EVENT_EVERY_SECONDS = 300;

/** More are dropped. */
const EVENTS_WAITING_MAX = 1000;

/** The controller's own client sends Event objects, one after the other. Nobody waits for them. */
function tellEvent(controller: KubeController, service: number): void {
  if (controller.events.length >= EVENTS_WAITING_MAX) return;
  append(controller.events, { service, previous: null, next: null });
  if (!controller.isSendingEvents) sendEvent(controller);
}

function sendEvent(controller: KubeController): void {
  const { book, events, tokens, world } = controller;
  const { agenda } = world;
  const { first } = events;
  controller.isSendingEvents = first !== null;
  if (first === null) return;
  remove(events, first);
  const { service } = first;
  if (!tryTakeToken(eventsLeftOf(controller, service), agenda.nowMs)) {
    sendEvent(controller);
    return;
  }
  const sentMs = Math.max(agenda.nowMs, nextTokenMs(tokens));
  tryTakeWriteToken(tokens, sentMs);
  if (sentMs > agenda.nowMs) world.ledger.reached.add('tokens');
  const ordinal = controller.writesOf[service]!++;
  at(agenda, sentMs, () => {
    at(agenda, agenda.nowMs + world.latencyOf(service, ordinal, book.output, 0), () => sendEvent(controller));
  });
}

function eventsLeftOf({ eventsLeft }: KubeController, service: number): TokenBucket {
  let left = eventsLeft.get(service);
  if (left === undefined) eventsLeft.set(service, (left = createTokenBucket(1 / EVENT_EVERY_SECONDS, EVENTS_MAX)));
  return left;
}

/** The event of an own write, and the answer to it: either may come first. */
interface Echo {
  isSeen: boolean;
  isAnswered: boolean;
}

/**
 * The handler of slices takes an event that comes before the answer for somebody else's, because the tracker learns of the
 * write by the answer. So the service is synced once more.
 */
function expectEcho(controller: KubeController, service: number, afterMs: number): Echo {
  const { informer, uncached, unseen, world } = controller;
  const echo = { isSeen: false, isAnswered: false };
  at(world.agenda, world.agenda.nowMs + afterMs, () => {
    runOn(informer, world.costs.echo, () => {
      echo.isSeen = true;
      if (!echo.isAnswered) queueForSlice(controller, service);
      else if (!uncached.delete(service)) unseen[service]!--;
    });
  });
  return echo;
}

/** From the answer on a service cannot be synced until its cache shows the write. */
function takeAnswer(
  { book, uncached, unseen }: KubeController,
  service: number,
  { verb }: ModelWrite,
  echo: Echo,
): void {
  echo.isAnswered = true;
  if (echo.isSeen) return;
  if (book.output === 'endpoints' && verb === 'create') uncached.add(service);
  else unseen[service]!++;
}

function done(controller: KubeController, service: number): void {
  controller.busyWorkers--;
  controller.unsent[service] = 0;
  keyDone(controller.queue, service);
  startSyncs(controller);
}
