/**
 * The work queue of one controller. It keeps the promises of upstream's workqueue (docs/spec/endpoints.md "The work
 * queue") and adds lanes, slots and fairness between namespaces.
 * - Stingy: a key that is added several times before it is taken is taken once.
 * - Never twice at once: a key that is added while it is processing waits for `doneWork`.
 * - Of several delays the earliest counts: the first event opens a window, and later ones do not prolong it.
 * - Nothing is dropped. The bound is the number of items: the caller makes one for each key.
 *
 * One difference: upstream leaves a delay standing when the same key is added directly, and runs the key a second time.
 * Here taking a key ends all its delays, because a sync sees every change that came before it.
 */
import { assert } from '../../lib/assert.ts';
import { createHeap, heapFirst, heapPlace, heapRemove, type Heap } from '../../lib/heap.ts';
import { createHistogram, observe, type Histogram } from '../../lib/histogram.ts';
import { append, createLinkedList, remove, type LinkedList } from '../../lib/linked-list.ts';
import { WORKQUEUE_BOUNDS } from '../../metrics/catalogue.ts';
import { noteLane, pickLane, type WorkLane } from './lane-share.ts';
import { createSlots, type Slots } from './slots.ts';

/** The place of a key in the queue. The caller keeps one for each key. Only the queue writes it. */
export interface WorkItem<K> {
  readonly key: K;
  readonly namespace: string;
  /**
   * When the oldest change came that the next processing will cover; -1 = there is none. Whole milliseconds, because a
   * fraction or Infinity would take 16 bytes more.
   */
  changedMs: number;
  /** As `changedMs`, for the processing that has begun last. */
  coveredMs: number;
  /** When the key is due in this lane; Infinity = it is not due. */
  freshDueMs: number;
  choreDueMs: number;
  /** The lane in which it waits for a slot; null = it does not wait. */
  waiting: WorkLane | null;
  /** The lane that it was taken from, until `doneWork`. */
  processing: WorkLane | null;
  startedMs: number;
  /** Its namespace, while it waits or is processing. */
  namespaceQueue: NamespaceQueue<K> | null;
  heapIndex: number;
  heapDueMs: number;
  previous: WorkItem<K> | null;
  next: WorkItem<K> | null;
}

/** The items of one namespace that wait or are processing. */
interface NamespaceQueue<K> {
  readonly namespace: string;
  readonly fresh: NamespaceLane<K>;
  readonly chore: NamespaceLane<K>;
  processing: number;
}

/** The items of one namespace that wait in one lane, first come first served. */
interface NamespaceLane<K> {
  namespaceQueue: NamespaceQueue<K> | null;
  readonly items: LinkedList<WorkItem<K>>;
  previous: NamespaceLane<K> | null;
  next: NamespaceLane<K> | null;
}

/** The namespaces that wait in one lane, in the order of their turns. */
interface LaneRotation<K> {
  readonly namespaces: LinkedList<NamespaceLane<K>>;
  /** How many items they have in it. */
  depth: number;
}

export interface WorkQueue<K> {
  /** Value of the label `name` of workqueue_*. */
  readonly name: string;
  readonly slots: Slots;
  readonly fresh: LaneRotation<K>;
  readonly chore: LaneRotation<K>;
  /** By namespace. A namespace without waiting or processing items is not kept. */
  readonly namespaces: Map<string, NamespaceQueue<K>>;
  /** Items with a due time that has not come. The next one is first. */
  readonly delayed: Heap<WorkItem<K>>;
  /** In the order of their start. */
  readonly processing: LinkedList<WorkItem<K>>;
  /** Sum of `startedMs` of those that are processing. */
  startedSumMs: number;
  shuttingDown: boolean;
  /** Whether what happens counts in the four figures below. What a standby only plans does not. */
  readonly isCounted: () => boolean;
  /** Keys that began to wait for a slot. Adding a key that waits already does not count, nor does a delay. */
  addsTotal: number;
  retriesTotal: number;
  /** From the due time until the key was taken. A delay before the due time does not count. */
  readonly queueSeconds: Histogram;
  /** From taken to done. */
  readonly workSeconds: Histogram;
}

/**
 * `concurrent`: the most keys that are processed at once, at least 1.
 * @param isCounted see `WorkQueue`
 */
export function createWorkQueue<K>(
  name: string,
  concurrent: number,
  isCounted: () => boolean = () => true,
): WorkQueue<K> {
  assert(Number.isInteger(concurrent) && concurrent >= 1, `work queue ${name}: ${concurrent} slots`);
  return {
    name,
    slots: createSlots(concurrent),
    fresh: { namespaces: createLinkedList(), depth: 0 },
    chore: { namespaces: createLinkedList(), depth: 0 },
    namespaces: new Map(),
    delayed: createHeap((a, b) => a.heapDueMs < b.heapDueMs),
    processing: createLinkedList(),
    startedSumMs: 0,
    shuttingDown: false,
    isCounted,
    addsTotal: 0,
    retriesTotal: 0,
    queueSeconds: createHistogram(WORKQUEUE_BOUNDS),
    workSeconds: createHistogram(WORKQUEUE_BOUNDS),
  };
}

/** `key`: whatever the caller wants to get back. The queue never looks at it. */
export function createWorkItem<K>(key: K, namespace: string): WorkItem<K> {
  return {
    key,
    namespace,
    changedMs: NO_CHANGE,
    coveredMs: NO_CHANGE,
    freshDueMs: Infinity,
    choreDueMs: Infinity,
    waiting: null,
    processing: null,
    startedMs: 0,
    namespaceQueue: null,
    heapIndex: -1,
    heapDueMs: Infinity,
    previous: null,
    next: null,
  };
}

/** Something has changed: the key is due after `delayMs` at the latest. Ignored after `shutDownWork`. */
export function addWork<K>(queue: WorkQueue<K>, item: WorkItem<K>, lane: WorkLane, nowMs: number, delayMs = 0): void {
  if (queue.shuttingDown) return;
  item.changedMs = earlier(item.changedMs, Math.floor(nowMs));
  addCheck(queue, item, lane, nowMs, delayMs);
}

/** As `addWork`, for a look at a key of which nothing has changed. */
export function addCheck<K>(queue: WorkQueue<K>, item: WorkItem<K>, lane: WorkLane, nowMs: number, delayMs = 0): void {
  if (queue.shuttingDown) return;
  const dueMs = nowMs + Math.max(0, delayMs);
  // Infinity in an item means that the key is not due. NaN would spoil the order of the heap.
  assert(Number.isFinite(dueMs), 'work queue: a key is added for no time');
  if (lane === 'fresh') {
    if (dueMs >= item.freshDueMs) return;
    item.freshDueMs = dueMs;
    // The chore would run no sooner than this fresh work.
    if (item.choreDueMs >= dueMs) item.choreDueMs = Infinity;
  } else {
    if (dueMs >= item.choreDueMs || dueMs >= item.freshDueMs) return;
    item.choreDueMs = dueMs;
  }
  place(queue, item, nowMs);
}

/**
 * Puts the key back after a processing that failed: the changes that it was to cover are still open. Counted as a
 * retry.
 */
export function retryWork<K>(
  queue: WorkQueue<K>,
  item: WorkItem<K>,
  lane: WorkLane,
  nowMs: number,
  delayMs: number,
): void {
  if (!queue.shuttingDown && queue.isCounted()) queue.retriesTotal++;
  putOffWork(queue, item, lane, nowMs, delayMs);
}

/** As `retryWork`, for a processing that was put off before any try. It is not counted. */
export function putOffWork<K>(
  queue: WorkQueue<K>,
  item: WorkItem<K>,
  lane: WorkLane,
  nowMs: number,
  delayMs: number,
): void {
  item.changedMs = earlier(item.changedMs, item.coveredMs);
  addCheck(queue, item, lane, nowMs, delayMs);
}

/**
 * Takes the next key to run; null while none is due or no slot is free for it. Namespaces take turns within a lane. The
 * caller gives every item back by `doneWork`.
 */
export function takeWork<K>(queue: WorkQueue<K>, nowMs: number): WorkItem<K> | null {
  if (queue.shuttingDown) return null;
  placeDue(queue, nowMs);
  const { slots } = queue;
  if (slots.held >= slots.count) return null;
  const choreWaits = queue.chore.depth > 0 && slots.heldByChores < slots.choreMax;
  const lane = pickLane(slots.share, queue.fresh.depth > 0, choreWaits);
  if (lane === null) return null;
  const otherLane = lane === 'fresh' ? 'chore' : 'fresh';
  const otherWaits = lane === 'fresh' ? choreWaits : queue.fresh.depth > 0;
  const namespaceLane =
    namespaceWithin(queue, queue[lane]) ??
    (otherWaits ? namespaceWithin(queue, queue[otherLane]) : null) ??
    namespaceAlone(queue, queue[lane]);
  if (namespaceLane === null) return null;
  return start(queue, namespaceLane.items.first!, choreWaits, nowMs);
}

/** Ends the processing of a key and frees its slot. If the key was added meanwhile, it waits from now on. */
export function doneWork<K>(queue: WorkQueue<K>, item: WorkItem<K>, nowMs: number): void {
  const namespaceQueue = item.namespaceQueue;
  assert(
    item.processing !== null && namespaceQueue !== null,
    `work queue ${queue.name}: done, but it was not processing`,
  );
  remove(queue.processing, item);
  queue.startedSumMs = queue.processing.length === 0 ? 0 : queue.startedSumMs - item.startedMs;
  assert(queue.slots.held > 0 && namespaceQueue.processing > 0, `work queue ${queue.name}: no slot is held`);
  queue.slots.held--;
  if (item.processing === 'chore') queue.slots.heldByChores--;
  if (queue.isCounted()) observe(queue.workSeconds, (nowMs - item.startedMs) / 1000);
  item.processing = null;
  item.namespaceQueue = null;
  namespaceQueue.processing--;
  place(queue, item, nowMs);
  dropIfIdle(queue, namespaceQueue);
}

/** Takes back all adds of a key. A key that is processing stays so until `doneWork`. */
export function forgetWork<K>(queue: WorkQueue<K>, item: WorkItem<K>): void {
  item.changedMs = NO_CHANGE;
  item.freshDueMs = Infinity;
  item.choreDueMs = Infinity;
  heapRemove(queue.delayed, item);
  leaveLane(queue, item);
}

/** From now on nothing is added or taken. Keys that are processing can still be given back. */
export function shutDownWork<K>(queue: WorkQueue<K>): void {
  queue.shuttingDown = true;
}

/**
 * Monotonic ms at which the next delay ends; Infinity = there is none. A key that waits for a slot needs no time:
 * `doneWork` frees one.
 */
export function nextWorkMs<K>(queue: WorkQueue<K>): number {
  return queue.shuttingDown ? Infinity : (heapFirst(queue.delayed)?.heapDueMs ?? Infinity);
}

/** How many keys wait for a slot: neither delayed nor processing. */
export function workDepth<K>(queue: WorkQueue<K>): number {
  return queue.fresh.depth + queue.chore.depth;
}

/** Sum of the seconds that all processing keys have taken so far. */
export function unfinishedWorkSeconds<K>(queue: WorkQueue<K>, nowMs: number): number {
  return Math.max(0, queue.processing.length * nowMs - queue.startedSumMs) / 1000;
}

/** Seconds that the longest processing has taken so far; 0 = there is none. */
export function longestWorkSeconds<K>(queue: WorkQueue<K>, nowMs: number): number {
  return queue.processing.first === null ? 0 : (nowMs - queue.processing.first.startedMs) / 1000;
}

/**
 * When the oldest open change came. A change is open while its key waits, and until the processing that covers it has
 * ended. -1 = there is none. Looks only at keys that wait or are processing.
 * @param without keys that do not count
 */
export function oldestChangeMs<K>(queue: WorkQueue<K>, without: Pick<ReadonlySet<K>, 'has'> = new Set()): number {
  let oldestMs = NO_CHANGE;
  const look = ({ key, changedMs }: WorkItem<K>, coveredMs = NO_CHANGE): void => {
    if (!without.has(key)) oldestMs = earlier(oldestMs, earlier(changedMs, coveredMs));
  };
  for (const item of queue.delayed.items) look(item);
  for (const { fresh, chore } of queue.namespaces.values()) {
    for (const { items } of [fresh, chore]) for (let item = items.first; item !== null; item = item.next) look(item);
  }
  for (let item = queue.processing.first; item !== null; item = item.next) look(item, item.coveredMs);
  return oldestMs;
}

const NO_CHANGE = -1;

function earlier(aMs: number, bMs: number): number {
  if (aMs === NO_CHANGE) return bMs;
  return bMs === NO_CHANGE ? aMs : Math.min(aMs, bMs);
}

function placeDue<K>(queue: WorkQueue<K>, nowMs: number): void {
  for (;;) {
    const item = heapFirst(queue.delayed);
    if (item === undefined || item.heapDueMs > nowMs) return;
    place(queue, item, nowMs);
  }
}

/**
 * Puts an item where its due times say: in a lane, in the heap, or in both. It is in both when it waits as a chore and is
 * due later as fresh work.
 */
function place<K>(queue: WorkQueue<K>, item: WorkItem<K>, nowMs: number): void {
  if (item.processing !== null) return;
  const lane = item.freshDueMs <= nowMs ? 'fresh' : item.choreDueMs <= nowMs ? 'chore' : null;
  if (lane !== item.waiting) {
    if (item.waiting === null && queue.isCounted()) queue.addsTotal++;
    leaveLane(queue, item);
    if (lane !== null) enterLane(queue, item, lane);
  }
  item.heapDueMs =
    lane === 'fresh' ? Infinity : lane === 'chore' ? item.freshDueMs : Math.min(item.freshDueMs, item.choreDueMs);
  if (item.heapDueMs === Infinity) heapRemove(queue.delayed, item);
  else heapPlace(queue.delayed, item);
}

function enterLane<K>(queue: WorkQueue<K>, item: WorkItem<K>, lane: WorkLane): void {
  const namespaceQueue = namespaceQueueOf(queue, item.namespace);
  const rotation = queue[lane];
  const namespaceLane = namespaceQueue[lane];
  if (namespaceLane.items.length === 0) append(rotation.namespaces, namespaceLane);
  append(namespaceLane.items, item);
  rotation.depth++;
  item.namespaceQueue = namespaceQueue;
  item.waiting = lane;
}

function leaveLane<K>(queue: WorkQueue<K>, item: WorkItem<K>): void {
  const { namespaceQueue, waiting } = item;
  if (waiting === null || namespaceQueue === null) return;
  const rotation = queue[waiting];
  const namespaceLane = namespaceQueue[waiting];
  remove(namespaceLane.items, item);
  if (namespaceLane.items.length === 0) remove(rotation.namespaces, namespaceLane);
  rotation.depth--;
  item.namespaceQueue = null;
  item.waiting = null;
  dropIfIdle(queue, namespaceQueue);
}

/**
 * The first namespace of a lane that may have a slot now. At most two are looked at: a namespace that has used up its
 * share holds at least half of all slots, so while a slot is free there is at most one such.
 */
function namespaceWithin<K>(queue: WorkQueue<K>, rotation: LaneRotation<K>): NamespaceLane<K> | null {
  const { first } = rotation.namespaces;
  if (first === null || first.namespaceQueue!.processing < queue.slots.namespaceMax) return first;
  return first.next;
}

/**
 * A namespace that is alone in waiting for this slot may have it, whatever its share. The last slot stays free: writes
 * of a namespace may hang, as behind an admission webhook, and nearly always it is alone when it takes the slots.
 */
function namespaceAlone<K>({ slots }: WorkQueue<K>, { namespaces }: LaneRotation<K>): NamespaceLane<K> | null {
  const namespaceLane = namespaces.first!;
  const held = namespaceLane.namespaceQueue!.processing;
  return slots.count > 1 && held >= slots.count - 1 ? null : namespaceLane;
}

function start<K>(queue: WorkQueue<K>, item: WorkItem<K>, choreWaits: boolean, nowMs: number): WorkItem<K> {
  const { waiting: lane, namespaceQueue } = item;
  assert(
    lane !== null && namespaceQueue !== null && item.processing === null,
    'work queue: a key is taken that does not wait',
  );
  const { slots } = queue;
  if (queue.isCounted()) {
    observe(queue.queueSeconds, Math.max(0, nowMs - Math.min(item.freshDueMs, item.choreDueMs)) / 1000);
  }
  // Counted before the item leaves its lane, so that the namespace is not forgotten in between.
  namespaceQueue.processing++;
  item.coveredMs = item.changedMs;
  forgetWork(queue, item);
  const namespaceLane = namespaceQueue[lane];
  if (namespaceLane.items.length > 0) {
    remove(queue[lane].namespaces, namespaceLane);
    append(queue[lane].namespaces, namespaceLane);
  }
  noteLane(slots.share, lane, choreWaits);
  assert(slots.held < slots.count, `work queue ${queue.name}: all slots are held`);
  slots.held++;
  if (lane === 'chore') slots.heldByChores++;
  item.processing = lane;
  item.namespaceQueue = namespaceQueue;
  item.startedMs = nowMs;
  queue.startedSumMs += nowMs;
  append(queue.processing, item);
  return item;
}

function namespaceQueueOf<K>(queue: WorkQueue<K>, namespace: string): NamespaceQueue<K> {
  const known = queue.namespaces.get(namespace);
  if (known !== undefined) return known;
  const namespaceQueue: NamespaceQueue<K> = {
    namespace,
    fresh: createNamespaceLane(),
    chore: createNamespaceLane(),
    processing: 0,
  };
  namespaceQueue.fresh.namespaceQueue = namespaceQueue;
  namespaceQueue.chore.namespaceQueue = namespaceQueue;
  queue.namespaces.set(namespace, namespaceQueue);
  return namespaceQueue;
}

function createNamespaceLane<K>(): NamespaceLane<K> {
  return { namespaceQueue: null, items: createLinkedList(), previous: null, next: null };
}

function dropIfIdle<K>(queue: WorkQueue<K>, namespaceQueue: NamespaceQueue<K>): void {
  if (namespaceQueue.processing > 0 || namespaceQueue.fresh.items.length > 0 || namespaceQueue.chore.items.length > 0)
    return;
  queue.namespaces.delete(namespaceQueue.namespace);
}
