import { atRevision, type StoredRecord } from './record.ts';
import type { Resource } from './resource.ts';
import { assert } from '../lib/assert.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One change of one resource. */
export interface StoreEvent {
  readonly type: EventType;
  readonly revision: number;
  /** The record that the event shows. For DELETED it is the last state, at the revision of the delete. */
  readonly record: StoredRecord;
  /** null for ADDED. */
  readonly previous: StoredRecord | null;
  /** The frames for watchers, by encoding and view. Only recent events have them. */
  frames: (Uint8Array | undefined)[];
}

/** The objects of one resource and the recent changes to them. */
export interface Store {
  readonly resource: Resource;
  readonly records: Map<string, StoredRecord>;
  /** Sorted keys of objects. */
  keys: string[];
  /** Keys of objects that are not among the sorted ones yet. */
  added: string[];
  /** Keys of `keys` and `added` whose objects are gone. */
  readonly gone: Set<string>;
  /** Oldest first, from the index `historyStart` on. Those before it are dropped: null, so that nothing holds them. */
  history: (StoreEvent | null)[];
  historyStart: number;
  historyBytes: number;
  /** The revision of the newest dropped change. A watch may begin there, and not before. */
  droppedRevision: number;
}

/** Events so far behind the newest one drop their frames: watchers that keep up need them no more. */
const FRAMES_KEPT = 64;

export function createStore(resource: Resource): Store {
  return {
    resource,
    records: new Map(),
    keys: [],
    added: [],
    gone: new Set(),
    history: [],
    historyStart: 0,
    historyBytes: 0,
    droppedRevision: 0,
  };
}

/** Puts a new version of an object. */
export function putRecord(store: Store, record: StoredRecord): StoreEvent {
  const previous = store.records.get(record.key) ?? null;
  store.records.set(record.key, record);
  if (previous === null && !store.gone.delete(record.key)) {
    const { keys, added } = store;
    const isLast = added.length === 0 && (keys.length === 0 || keys.at(-1)! < record.key);
    (isLast ? keys : added).push(record.key);
  }
  const type = previous === null ? 'ADDED' : 'MODIFIED';
  return { type, revision: record.revision, record, previous, frames: [] };
}

export function removeRecord(store: Store, record: StoredRecord, revision: number): StoreEvent {
  store.records.delete(record.key);
  store.gone.add(record.key);
  if (store.gone.size > store.records.size + GONE_KEPT) dropGone(store);
  return { type: 'DELETED', revision, record: atRevision(record, revision), previous: record, frames: [] };
}

/** Appends to the history, and drops changes beyond its bounds. */
export function remember(store: Store, event: StoreEvent, eventsMax: number, bytesMax: number): void {
  const newest = store.history.at(-1)?.revision ?? store.droppedRevision;
  assert(event.revision > newest, `store: a change at ${event.revision} comes after one at ${newest}`);
  store.history.push(event);
  store.historyBytes += event.record.sizeBytes;
  const stale = store.history[store.history.length - 1 - FRAMES_KEPT] ?? null;
  if (stale !== null) stale.frames = [];
  while (store.history.length - store.historyStart > eventsMax || store.historyBytes > bytesMax) {
    if (store.history.length - store.historyStart <= 1) break;
    const oldest = store.history[store.historyStart]!;
    store.droppedRevision = oldest.revision;
    store.historyBytes -= oldest.record.sizeBytes;
    store.history[store.historyStart++] = null;
  }
  // The front is cut off now and then, which keeps the cost of each change constant on average.
  if (store.historyStart > 1024 && store.historyStart * 2 > store.history.length) {
    store.history = store.history.slice(store.historyStart);
    store.historyStart = 0;
  }
}

export function dropHistory(store: Store, revision: number): void {
  store.history = [];
  store.historyStart = 0;
  store.historyBytes = 0;
  store.droppedRevision = revision;
}

/** The changes after `revision`, which must not be before `droppedRevision`. */
export function eventsAfter(store: Store, revision: number): readonly StoreEvent[] {
  assert(revision >= store.droppedRevision, `store: the changes after ${revision} are dropped`);
  let low = store.historyStart;
  let high = store.history.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (store.history[middle]!.revision > revision) high = middle;
    else low = middle + 1;
  }
  return store.history.slice(low) as StoreEvent[];
}

/** What of the objects is to be read. */
export interface RangeQuery {
  /** '' = all namespaces. */
  readonly namespace: string;
  /** The first key, without the namespace if there is one. */
  readonly start: string;
  /** Which state of the objects. It must not be before `droppedRevision`. */
  readonly revision: number;
  /** The most records. */
  readonly most: number;
  readonly fits: (record: StoredRecord) => boolean;
}

export interface Range {
  /** Those that fit, in the order of their keys. */
  readonly records: readonly StoredRecord[];
  /** How many objects there are from `start` on, whether they fit or not. */
  readonly total: number;
}

/** Reads on from a key until there are enough objects that fit, and looks at no object behind them. */
export function readRange(store: Store, { namespace, start, revision, most, fits }: RangeQuery): Range {
  sortKeys(store);
  const { keys, records, gone } = store;
  const first = namespace === '' ? start : `${namespace}/${start}`;
  // All keys of a namespace are before this one: the digit comes next after the slash.
  const end = namespace === '' ? null : `${namespace}0`;
  const isWithin = (key: string): boolean => key >= first && (end === null || key < end);
  const undone = undoneSince(store, revision);
  const before = Array.from(undone.keys()).filter(isWithin).sort();
  const endAt = end === null ? keys.length : lowerBound(keys, end);
  let at = lowerBound(keys, first);
  let total = endAt - at;
  for (const key of gone) if (isWithin(key)) total--;
  for (const key of before) total += (undone.get(key) === null ? 0 : 1) - (records.has(key) ? 1 : 0);
  const found: StoredRecord[] = [];
  for (let beforeAt = 0; found.length < most && (at < endAt || beforeAt < before.length);) {
    const now = at < endAt ? keys[at]! : null;
    const then = before[beforeAt] ?? null;
    const isThen = then !== null && (now === null || then <= now);
    if (isThen) beforeAt++;
    if (!isThen || then === now) at++;
    const record = isThen ? undone.get(then) : records.get(now!);
    if (record !== undefined && record !== null && fits(record)) found.push(record);
  }
  return { records: found, total };
}

/** The earlier states of the objects that have changed since a revision; null = there was none. */
function undoneSince(store: Store, revision: number): ReadonlyMap<string, StoredRecord | null> {
  const undone = new Map<string, StoredRecord | null>();
  const later = eventsAfter(store, revision);
  for (let at = later.length - 1; at >= 0; at--) undone.set(later[at]!.record.key, later[at]!.previous);
  return undone;
}

/** So few keys are put in their places one by one, which costs less than a walk through all. */
const ADDED_FEW = 64;
/** Each page counts the keys of what is gone, so they must not become many. */
const GONE_FEW = 64;
/** So many more than there are objects are dropped even if nobody lists, so that they do not grow without a bound. */
const GONE_KEPT = 1024;

function sortKeys(store: Store): void {
  if (store.gone.size > GONE_FEW) dropGone(store);
  const { keys, added } = store;
  if (added.length === 0) return;
  if (added.length <= ADDED_FEW) for (const key of added) keys.splice(lowerBound(keys, key), 0, key);
  else store.keys = keys.concat(added.sort()).sort();
  store.added = [];
}

function dropGone(store: Store): void {
  const isThere = (key: string): boolean => !store.gone.has(key);
  store.keys = store.keys.filter(isThere);
  store.added = store.added.filter(isThere);
  store.gone.clear();
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
