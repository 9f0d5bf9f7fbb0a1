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
  crowd: Crowd<K> | null;
  heapIndex: number;
  heapDueMs: number;
  previous: WorkItem<K> | null;
  next: WorkItem<K> | null;
}

/** The items of one namespace that wait or are processing. */
interface Crowd<K> {
  readonly namespace: string;
  readonly fresh: Line<K>;
  readonly chore: Line<K>;
  processing: number;
}

/** The items of one namespace that wait in one lane, first come first served. */
interface Line<K> {
  crowd: Crowd<K> | null;
  readonly items: LinkedList<WorkItem<K>>;
  previous: Line<K> | null;
  next: Line<K> | null;
}

/** The namespaces that wait in one lane, in the order of their turns. */
interface Ring<K> {
  readonly lines: LinkedList<Line<K>>;
  /** How many items all lines have. */
  depth: number;
}

export interface WorkQueue<K> {
  /** Value of the label `name` of workqueue_*. */
  readonly name: string;
  readonly slots: Slots;
  readonly fresh: Ring<K>;
  readonly chore: Ring<K>;
  /** By namespace. A namespace without waiting or processing items is not kept. */
  readonly crowds: Map<string, Crowd<K>>;
  /** Items with a due time that has not come. The next one is first. */
  readonly delayed: Heap<WorkItem<K>>;
  /** In the order of their start. */
  readonly processing: LinkedList<WorkItem<K>>;
  /** Sum of `startedMs` of those that are processing. */
  startedSumMs: number;
  shuttingDown: boolean;
  /** Whether what happens counts in the four figures below. What a standby only plans does not. */
  readonly counts: () => boolean;
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
 * @param counts see `WorkQueue`
 */
export function createWorkQueue<K>(name: string, concurrent: number, counts: () => boolean = () => true): WorkQueue<K> {
  assert(Number.isInteger(concurrent) && concurrent >= 1, `work queue ${name}: ${concurrent} slots`);
  return {
    name,
    slots: createSlots(concurrent),
    fresh: { lines: createLinkedList(), depth: 0 },
    chore: { lines: createLinkedList(), depth: 0 },
    crowds: new Map(),
    delayed: createHeap((a, b) => a.heapDueMs < b.heapDueMs),
    processing: createLinkedList(),
    startedSumMs: 0,
    shuttingDown: false,
    counts,
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
    crowd: null,
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
  if (!queue.shuttingDown && queue.counts()) queue.retriesTotal++;
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
  const line =
    lineWithin(queue, queue[lane]) ??
    (otherWaits ? lineWithin(queue, queue[otherLane]) : null) ??
    lineOfOneAlone(queue, queue[lane]);
  if (line === null) return null;
  return start(queue, line.items.first!, choreWaits, nowMs);
}

/** Ends the processing of a key and frees its slot. If the key was added meanwhile, it waits from now on. */
export function doneWork<K>(queue: WorkQueue<K>, item: WorkItem<K>, nowMs: number): void {
  const crowd = item.crowd;
  assert(item.processing !== null && crowd !== null, `work queue ${queue.name}: done, but it was not processing`);
  remove(queue.processing, item);
  queue.startedSumMs = queue.processing.length === 0 ? 0 : queue.startedSumMs - item.startedMs;
  assert(queue.slots.held > 0 && crowd.processing > 0, `work queue ${queue.name}: no slot is held`);
  queue.slots.held--;
  if (item.processing === 'chore') queue.slots.heldByChores--;
  if (queue.counts()) observe(queue.workSeconds, (nowMs - item.startedMs) / 1000);
  item.processing = null;
  item.crowd = null;
  crowd.processing--;
  place(queue, item, nowMs);
  forgetCrowd(queue, crowd);
}

/** Takes back all adds of a key. A key that is processing stays so until `doneWork`. */
export function forgetWork<K>(queue: WorkQueue<K>, item: WorkItem<K>): void {
  item.changedMs = NO_CHANGE;
  item.freshDueMs = Infinity;
  item.choreDueMs = Infinity;
  heapRemove(queue.delayed, item);
  leaveLine(queue, item);
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
 */
export function oldestChangeMs<K>(queue: WorkQueue<K>): number {
  let oldestMs = NO_CHANGE;
  for (const { changedMs } of queue.delayed.items) oldestMs = earlier(oldestMs, changedMs);
  for (const { fresh, chore } of queue.crowds.values()) {
    for (const { items } of [fresh, chore]) {
      for (let item = items.first; item !== null; item = item.next) oldestMs = earlier(oldestMs, item.changedMs);
    }
  }
  for (let item = queue.processing.first; item !== null; item = item.next) {
    oldestMs = earlier(earlier(oldestMs, item.changedMs), item.coveredMs);
  }
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
 * Puts an item where its due times say: in line, in the heap, or in both. It is in both when it is in line as a chore
 * and due later as fresh work.
 */
function place<K>(queue: WorkQueue<K>, item: WorkItem<K>, nowMs: number): void {
  if (item.processing !== null) return;
  const lane = item.freshDueMs <= nowMs ? 'fresh' : item.choreDueMs <= nowMs ? 'chore' : null;
  if (lane !== item.waiting) {
    if (item.waiting === null && queue.counts()) queue.addsTotal++;
    leaveLine(queue, item);
    if (lane !== null) enterLine(queue, item, lane);
  }
  item.heapDueMs =
    lane === 'fresh' ? Infinity : lane === 'chore' ? item.freshDueMs : Math.min(item.freshDueMs, item.choreDueMs);
  if (item.heapDueMs === Infinity) heapRemove(queue.delayed, item);
  else heapPlace(queue.delayed, item);
}

function enterLine<K>(queue: WorkQueue<K>, item: WorkItem<K>, lane: WorkLane): void {
  const crowd = crowdOf(queue, item.namespace);
  const ring = queue[lane];
  const line = crowd[lane];
  if (line.items.length === 0) append(ring.lines, line);
  append(line.items, item);
  ring.depth++;
  item.crowd = crowd;
  item.waiting = lane;
}

function leaveLine<K>(queue: WorkQueue<K>, item: WorkItem<K>): void {
  const { crowd, waiting } = item;
  if (waiting === null || crowd === null) return;
  const ring = queue[waiting];
  const line = crowd[waiting];
  remove(line.items, item);
  if (line.items.length === 0) remove(ring.lines, line);
  ring.depth--;
  item.crowd = null;
  item.waiting = null;
  forgetCrowd(queue, crowd);
}

/**
 * The first namespace of a lane that may have a slot now. At most two are looked at: a namespace that has used up its
 * share holds at least half of all slots, so while a slot is free there is at most one such.
 */
function lineWithin<K>(queue: WorkQueue<K>, ring: Ring<K>): Line<K> | null {
  const { first } = ring.lines;
  if (first === null || first.crowd!.processing < queue.slots.namespaceMax) return first;
  return first.next;
}

/**
 * A namespace that is alone in waiting for this slot may have it, whatever its share. The last slot stays free: writes
 * of a namespace may hang, as behind an admission webhook, and nearly always it is alone when it takes the slots.
 */
function lineOfOneAlone<K>({ slots }: WorkQueue<K>, { lines }: Ring<K>): Line<K> | null {
  const line = lines.first!;
  return slots.count > 1 && line.crowd!.processing >= slots.count - 1 ? null : line;
}

function start<K>(queue: WorkQueue<K>, item: WorkItem<K>, choreWaits: boolean, nowMs: number): WorkItem<K> {
  const { waiting: lane, crowd } = item;
  assert(lane !== null && crowd !== null && item.processing === null, 'work queue: a key is taken that does not wait');
  const { slots } = queue;
  if (queue.counts()) {
    observe(queue.queueSeconds, Math.max(0, nowMs - Math.min(item.freshDueMs, item.choreDueMs)) / 1000);
  }
  // Counted before the item leaves its line, so that the namespace is not forgotten in between.
  crowd.processing++;
  item.coveredMs = item.changedMs;
  forgetWork(queue, item);
  const line = crowd[lane];
  if (line.items.length > 0) {
    remove(queue[lane].lines, line);
    append(queue[lane].lines, line);
  }
  noteLane(slots.share, lane, choreWaits);
  assert(slots.held < slots.count, `work queue ${queue.name}: all slots are held`);
  slots.held++;
  if (lane === 'chore') slots.heldByChores++;
  item.processing = lane;
  item.crowd = crowd;
  item.startedMs = nowMs;
  queue.startedSumMs += nowMs;
  append(queue.processing, item);
  return item;
}

function crowdOf<K>(queue: WorkQueue<K>, namespace: string): Crowd<K> {
  const known = queue.crowds.get(namespace);
  if (known !== undefined) return known;
  const crowd: Crowd<K> = { namespace, fresh: createLine(), chore: createLine(), processing: 0 };
  crowd.fresh.crowd = crowd;
  crowd.chore.crowd = crowd;
  queue.crowds.set(namespace, crowd);
  return crowd;
}

function createLine<K>(): Line<K> {
  return { crowd: null, items: createLinkedList(), previous: null, next: null };
}

function forgetCrowd<K>(queue: WorkQueue<K>, crowd: Crowd<K>): void {
  if (crowd.processing > 0 || crowd.fresh.items.length > 0 || crowd.chore.items.length > 0) return;
  queue.crowds.delete(crowd.namespace);
}
