/**
 * endpointd's endpoints and endpointslice controllers as queues: its own work queues and token bucket, and one main
 * thread. Writes of a sync go side by side, those that take nothing away first.
 */
import { collectForMs, createPace, type Pace } from '../controller/queues/batch-pace.ts';
import { placesOfOne, TURN_WRITES } from '../controller/queues/lane-share.ts';
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
} from '../controller/queues/workqueue.ts';
import { nextTokenMs } from '../lib/token-bucket.ts';
import { addTurn, allTurns, createTurns, nextTurn, takeTurn, type Turns } from '../lib/turns.ts';
import { at } from './agenda.ts';
import {
  bytesOf,
  closeBook,
  createBook,
  forgetService,
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
import { type Output, perOutput, SYNCS } from './ledger.ts';
import { compute } from './processors.ts';
import { isLookedAt, outputsOf, type StoryChange } from './story.ts';
import type { Model, WaitingService, World } from './world.ts';
import { tryTakeWriteToken, type WriteBucket } from './write-tokens.ts';

interface OwnController {
  readonly book: Book;
  readonly queue: WorkQueue<number>;
  readonly items: readonly WorkItem<number>[];
  readonly paces: readonly Pace[];
  readonly batchMs: number;
  readonly writesOf: Int32Array;
}

interface Own {
  readonly world: World;
  readonly tokens: WriteBucket;
  readonly controllers: readonly OwnController[];
  readonly writes: Turns<number, QueuedWrite>;
  inFlight: number;
  /** By namespace. */
  readonly inFlightOf: Map<number, number>;
  /** Whether the main thread is in a turn of its event loop. */
  isBusy: boolean;
  /** Whether a timer is due. */
  rings: boolean;
  /** What has arrived since the main thread last took something in. */
  arrived: Arrival[];
  /** Syncs that no batch has taken yet. */
  unplanned: Sync[];
  /** Batches that wait to be planned on the same thread. */
  readonly batches: PlannedSync[][];
  wakesAtMs: number;
}

/** An event or answer that reaches the main thread. */
interface Arrival {
  readonly costMs: number;
  /** Adjacent pieces of one stream count as one; '' = the answer to a request. */
  readonly stream: '' | 'inputs' | Output;
  readonly take: () => void;
}

interface Sync {
  readonly controller: OwnController;
  readonly item: WorkItem<number>;
}

/** A sync in a batch. Its plan is of the state at which the batch was made. */
interface PlannedSync extends Sync {
  readonly writes: readonly ModelWrite[];
  readonly costMs: number;
}

interface QueuedWrite {
  readonly controller: OwnController;
  readonly service: number;
  readonly write: ModelWrite;
  readonly queuedMs: number;
  readonly done: () => void;
}

export function createEndpointdModel(world: World): Model {
  const { settings, story } = world;
  const outputs = outputsOf(story);
  const own: Own = {
    world,
    // Both outputs share them.
    tokens: world.tokens.endpoints,
    controllers: [
      createController(world, 'endpoints', settings.endpointSyncs, settings.endpointsBatchMs),
      createController(world, 'slices', settings.serviceEndpointSyncs, settings.slicesBatchMs),
    ].filter(({ book }) => outputs.includes(book.output)),
    writes: createTurns(TURN_WRITES),
    inFlight: 0,
    inFlightOf: new Map(),
    isBusy: false,
    rings: false,
    arrived: [],
    unplanned: [],
    batches: [],
    wakesAtMs: Infinity,
  };
  queueWaiting(own);
  let taken = 0;
  const takeIn = (change: StoryChange): void => {
    taken++;
    takeEvent(own, change);
  };
  return {
    take: (change) => {
      const costMs = world.costs.intake * (change.events ?? 1);
      arrive(own, { costMs, stream: 'inputs', take: () => takeIn(change) });
    },
    isBehind: () => own.controllers.some(({ queue }) => workDepth(queue) > 0),
    waiting: () =>
      perOutput((output) =>
        own.controllers
          .filter(({ book }) => book.output === output)
          .flatMap((controller) => waitingIn(own, controller)),
      ),
    close: () => {
      const left = story.changes.slice(taken);
      for (const { book } of own.controllers) closeBook(book, left, world.agenda.nowMs);
    },
  };
}

function createController(world: World, output: Output, syncs: number, batchMs: number): OwnController {
  const { ledger, settings, story } = world;
  return {
    book: createBook(story, output, ledger, {
      perSlice: settings.endpointsPerSlice,
      perSliceAtStart: world.endpointsPerSliceAtStart,
      rewritesFull: false,
      // Slices come by their names, which are drawn once.
      rankOf: (founder, _sync, family) => world.rankOf(founder, 0, family),
      recycles: 'first',
      // The shorter addresses make the smaller slice, which goes first.
      firstFamilyOf: () => 0,
    }),
    // Nobody reads its figures.
    queue: createWorkQueue(output, syncs, () => false),
    items: story.services.map(({ namespace }, service) => createWorkItem(service, String(namespace))),
    paces: story.services.map(() => createPace()),
    batchMs,
    writesOf: new Int32Array(story.services.length),
  };
}

/** What waited before the story: it takes slots and tokens, and shows nothing of the story. */
function queueWaiting(own: Own): void {
  const { agenda, waitingAtStart } = own.world;
  for (const { book, items, queue } of own.controllers) {
    for (const { service, writes, dueMs } of waitingAtStart[book.output]) {
      if (book.services[service]!.isMissing) continue;
      owe(book, service, writes);
      const item = items[service]!;
      addWork(queue, item, 'fresh', agenda.nowMs, dueMs);
      own.rings = true;
      if (book.services[service]!.owedLater === 0) continue;
      // It waits once more when its sync is over.
      at(agenda, dueMs + BEGUN_MS, () => {
        addWork(queue, item, 'fresh', agenda.nowMs);
        own.rings = true;
        wake(own);
      });
    }
  }
  if (own.rings) wake(own);
}

/** By then a service that has a slot is in its sync. */
const BEGUN_MS = 1;

function waitingIn(own: Own, controller: OwnController): WaitingService[] {
  const { book, items } = controller;
  const { nowMs } = own.world.agenda;
  const unsent = new Map<number, number>();
  const note = (service: number, writes: number): void => {
    unsent.set(service, (unsent.get(service) ?? 0) + writes);
  };
  for (const write of allTurns(own.writes)) if (write.controller === controller) note(write.service, 1);
  for (const sync of own.batches.flat()) if (sync.controller === controller) note(sync.item.key, sync.writes.length);
  const unplanned = new Set(own.unplanned.filter((sync) => sync.controller === controller).map(({ item }) => item.key));
  const dueMs = ({ freshDueMs, choreDueMs, processing }: WorkItem<number>): number =>
    processing === null ? Math.max(0, Math.min(freshDueMs, choreDueMs) - nowMs) : 0;
  const all = items.filter(
    ({ key, freshDueMs, choreDueMs, processing }) =>
      processing !== null || Math.min(freshDueMs, choreDueMs) < Infinity || unsent.has(key),
  );
  return all
    .toSorted((a, b) => dueMs(a) - dueMs(b) || a.changedMs - b.changedMs)
    .map((item) => {
      const { key, freshDueMs, choreDueMs } = item;
      const isToPlan = unplanned.has(key) || Math.min(freshDueMs, choreDueMs) < Infinity;
      const writes = unsent.get(key) ?? 0;
      if (isToPlan) return waitingOf(book, key, writes, dueMs(item));
      return writes === 0 ? null : { service: key, writes, dueMs: 0 };
    })
    .filter((one) => one !== null);
}

function arrive(own: Own, arrival: Arrival): void {
  own.arrived.push(arrival);
  wake(own);
}

/** Everything that arrives at one moment is taken together. */
function wake(own: Own): void {
  if (own.isBusy) return;
  own.isBusy = true;
  at(own.world.agenda, own.world.agenda.nowMs, () => turn(own));
}

/** A turn of Node's event loop: a due timer, then one batch, then everything that has arrived by then. */
function turn(own: Own): void {
  const isTimer = own.rings;
  own.rings = false;
  if (isTimer) endPiece(own, 0, () => takeArrived(own));
  else takeArrived(own);
}

function takeArrived(own: Own): void {
  const { arrived, batches } = own;
  own.arrived = [];
  const groups = together(arrived);
  if (batches.length > 0) endPiece(own, planBatch(own), () => takeGroup(own, groups, 0));
  else takeGroup(own, groups, 0);
}

/** One group after the other, from the i-th on. */
function takeGroup(own: Own, groups: readonly (readonly Arrival[])[], i: number): void {
  const group = groups[i];
  if (group === undefined) {
    if (own.rings || own.arrived.length > 0 || own.batches.length > 0) turn(own);
    else own.isBusy = false;
    return;
  }
  let costMs = 0;
  for (const arrival of group) {
    arrival.take();
    costMs += arrival.costMs;
  }
  endPiece(own, costMs, () => takeGroup(own, groups, i + 1));
}

/** Ends a piece of the main thread's work without a break. What it sends leaves when its time has passed. */
function endPiece(own: Own, pieceMs: number, next: () => void): void {
  const { cores, costs } = own.world;
  const sent = advance(own);
  let costMs = pieceMs;
  for (const { controller, write } of sent) costMs += costs.write + costs.writtenByte * bytesOf(controller.book, write);
  const go = (): void => {
    for (const queued of sent) send(own, queued);
    next();
  };
  if (costMs > 0) compute(cores, costMs, go);
  else go();
}

/** The most events that are taken together, as in the transport. */
const TOGETHER_MAX = 64;

function together(arrived: readonly Arrival[]): readonly (readonly Arrival[])[] {
  if (arrived.length < 2) return arrived.length === 0 ? NO_GROUPS : [arrived];
  const groups: Arrival[][] = [];
  let [events, last]: [number, Arrival['stream']] = [0, ''];
  for (const arrival of arrived) {
    const isNext = arrival.stream === '' || arrival.stream !== last;
    if (isNext) events++;
    last = arrival.stream;
    if (groups.length === 0 || (isNext && events > TOGETHER_MAX)) {
      groups.push([]);
      events = 1;
    }
    groups.at(-1)!.push(arrival);
  }
  return groups;
}

const NO_GROUPS: readonly (readonly Arrival[])[] = [];

function planBatch(own: Own): number {
  let sum = 0;
  for (const { controller, item, writes, costMs } of own.batches.shift()!) {
    sum += costMs;
    queueWrites(own, controller, item, writes);
  }
  return sum;
}

/** Starts syncs, as far as slots allow. Returns the writes that tokens and the bound let go. */
function advance(own: Own): readonly QueuedWrite[] {
  const { agenda } = own.world;
  for (const controller of own.controllers) {
    for (;;) {
      const item = takeWork(controller.queue, agenda.nowMs);
      if (item === null) break;
      own.world.ledger.syncs++;
      own.unplanned.push({ controller, item });
    }
    noteSyncs(controller);
  }
  if (own.unplanned.length > 0 && own.batches.length < BATCHES_MAX) {
    own.batches.push(batchOf(own, own.unplanned));
    own.unplanned = [];
  }
  const { sent, tokenMs } = flush(own);
  let dueMs = tokenMs;
  for (const { queue } of own.controllers) dueMs = Math.min(dueMs, nextWorkMs(queue));
  wakeAt(own, dueMs);
  return sent;
}

/**
 * With fewer slots held neither the share of a namespace nor the slot that is kept for others has changed anything. One
 * slot has other turns than several have.
 */
function noteSyncs({ book: { ledger, output }, queue: { slots } }: OwnController): void {
  if (slots.held >= Math.min(slots.namespaceMax + 1, slots.count - 1)) ledger.reached.add(SYNCS[output]);
}

/** Syncs of one service are planned together, slices before Endpoints. */
function batchOf(own: Own, syncs: readonly Sync[]): PlannedSync[] {
  if (syncs.length === 1) return [plannedSync(own, syncs[0]!)];
  if (syncs.length === 2) {
    const [first, second] = syncs as [Sync, Sync];
    const isTurned = first.item.key === second.item.key && rankOf(second) < rankOf(first);
    return (isTurned ? [second, first] : [first, second]).map((sync) => plannedSync(own, sync));
  }
  const byService = Map.groupBy(syncs, ({ item }) => item.key);
  return [...byService.values()].flatMap((same) =>
    same.toSorted((a, b) => rankOf(a) - rankOf(b)).map((sync) => plannedSync(own, sync)),
  );
}

function plannedSync({ world: { costs } }: Own, { controller, item }: Sync): PlannedSync {
  const writes = planService(controller.book, item.key);
  return { controller, item, writes, costMs: costs.sync + costs.endpoint * sizeOf(controller.book, item.key) };
}

function rankOf({ controller: { book } }: Sync): number {
  return book.output === 'slices' ? 0 : 1;
}

/** The most batches of a shard without an answer, as in the controller. */
const BATCHES_MAX = 2;

function wakeAt(own: Own, dueMs: number): void {
  if (dueMs === own.wakesAtMs) return;
  own.wakesAtMs = dueMs;
  if (dueMs === Infinity) return;
  at(own.world.agenda, dueMs, () => {
    if (own.wakesAtMs !== dueMs) return;
    own.wakesAtMs = Infinity;
    own.rings = true;
    wake(own);
  });
}

function takeEvent(own: Own, change: StoryChange): void {
  const { agenda, settings, story } = own.world;
  const { adaptiveBatchMs } = settings;
  for (const controller of own.controllers) {
    const { book, queue, items } = controller;
    for (const placed of change.places) {
      takeChange(book, placed, change.atMs);
      if (change.kind !== 'pod' || !isLookedAt(change, placed, 'endpointd')) continue;
      const { service } = story.places[placed.place]!;
      const item = items[service]!;
      const isFirst = item.freshDueMs === Infinity;
      const pacedMs =
        adaptiveBatchMs > 0
          ? collectForMs(controller.paces[service]!, placed.change ?? 'other', isFirst, agenda.nowMs, adaptiveBatchMs)
          : 0;
      addWork(queue, item, 'fresh', agenda.nowMs, Math.max(controller.batchMs, pacedMs));
    }
    if (change.kind === 'foreign' && change.output === book.output) {
      spoil(book, change.service);
      addWork(queue, items[change.service]!, 'chore', agenda.nowMs);
    }
    if (change.kind === 'deleted') forgetService(book, change.service, agenda.nowMs);
    if (change.kind === 'service') addWork(queue, items[change.service]!, 'fresh', agenda.nowMs);
  }
}

/** Queues the writes of a planned sync: small ones first. Deletes wait for the others. */
function queueWrites(own: Own, controller: OwnController, item: WorkItem<number>, writes: readonly ModelWrite[]): void {
  if (writes.length <= 1 && writes[0]?.verb !== 'delete') {
    queuePhases(own, controller, item, [writes], 0);
    return;
  }
  const kept = writes.filter(({ verb }) => verb !== 'delete').toSorted((a, b) => a.endpoints - b.endpoints);
  const phases = [kept, writes.filter(({ verb }) => verb === 'delete')];
  queuePhases(own, controller, item, phases, 0);
}

function queuePhases(
  own: Own,
  controller: OwnController,
  item: WorkItem<number>,
  phases: readonly (readonly ModelWrite[])[],
  i: number,
): void {
  const { nowMs } = own.world.agenda;
  const phase = phases[i];
  if (phase === undefined) {
    doneWork(controller.queue, item, nowMs);
    return;
  }
  let open = phase.length;
  if (open === 0) {
    queuePhases(own, controller, item, phases, i + 1);
    return;
  }
  const done = (): void => {
    if (--open === 0) queuePhases(own, controller, item, phases, i + 1);
  };
  for (const write of phase) {
    addTurn(own.writes, item.key, { controller, service: item.key, write, queuedMs: nowMs, done });
  }
}

interface Flushed {
  readonly sent: readonly QueuedWrite[];
  /** The time of the next token; Infinity = no write waits for one. */
  readonly tokenMs: number;
}

const NOTHING_FLUSHED: Flushed = { sent: [], tokenMs: Infinity };

function flush(own: Own): Flushed {
  const { agenda, ledger, settings } = own.world;
  if (nextTurn(own.writes) === undefined) return NOTHING_FLUSHED;
  const sent: QueuedWrite[] = [];
  const places = placesOfOne(settings.inFlight);
  const hasPlace = ({ service }: QueuedWrite): boolean =>
    own.inFlight < places || (own.inFlightOf.get(namespaceOf(own, service)) ?? 0) < places;
  for (;;) {
    const queued = nextTurn(own.writes, hasPlace);
    if (queued === undefined || own.inFlight >= settings.inFlight) return { sent, tokenMs: Infinity };
    if (!tryTakeWriteToken(own.tokens, agenda.nowMs)) {
      ledger.reached.add('tokens');
      return { sent, tokenMs: nextTokenMs(own.tokens) };
    }
    takeTurn(own.writes, hasPlace);
    countInFlight(own, queued, 1);
    ledger.throttledMs += agenda.nowMs - queued.queuedMs;
    sent.push(queued);
  }
}

function countInFlight(own: Own, { service }: QueuedWrite, change: 1 | -1): void {
  const namespace = namespaceOf(own, service);
  own.inFlight += change;
  own.inFlightOf.set(namespace, (own.inFlightOf.get(namespace) ?? 0) + change);
}

function namespaceOf({ world: { story } }: Own, service: number): number {
  return story.services[service]!.namespace;
}

const TAKEN = (): void => undefined;

function send(own: Own, queued: QueuedWrite): void {
  const { controller, service, write, done } = queued;
  const { agenda, costs, latencyOf, watchLagMs } = own.world;
  const { output } = controller.book;
  at(agenda, agenda.nowMs + latencyOf(service, controller.writesOf[service]!++, output, write.endpoints), () => {
    noteShown(controller.book, service, write, agenda.nowMs);
    const take = (): void => {
      countInFlight(own, queued, -1);
      done();
    };
    at(agenda, agenda.nowMs + watchLagMs, () => arrive(own, { costMs: costs.echo, stream: output, take: TAKEN }));
    arrive(own, { costMs: costs.reply, stream: '', take });
  });
}
