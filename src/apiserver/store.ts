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
  /** The key of every object, and of some that are gone. Keys added since the last list are not sorted yet. */
  keys: string[];
  keysSorted: boolean;
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
    keysSorted: true,
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
  if (previous === null) {
    const { keys } = store;
    if (keys.length > 0 && keys.at(-1)! >= record.key) store.keysSorted = false;
    keys.push(record.key);
  }
  const type = previous === null ? 'ADDED' : 'MODIFIED';
  return { type, revision: record.revision, record, previous, frames: [] };
}

export function removeRecord(store: Store, record: StoredRecord, revision: number): StoreEvent {
  store.records.delete(record.key);
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

/** All objects of one namespace ('' = of all namespaces), sorted by key. */
export function recordsOf(store: Store, namespace: string): readonly StoredRecord[] {
  if (!store.keysSorted || store.keys.length > 2 * store.records.size + 16) {
    store.keys = [...store.records.keys()].sort();
    store.keysSorted = true;
  }
  const { keys, records } = store;
  const prefix = namespace === '' ? '' : `${namespace}/`;
  const found: StoredRecord[] = [];
  for (let at = lowerBound(keys, prefix); at < keys.length; at++) {
    const key = keys[at]!;
    if (!key.startsWith(prefix)) break;
    const record = records.get(key);
    if (record !== undefined) found.push(record);
  }
  return found;
}

/** The objects as they were at an earlier revision, which must not be before `droppedRevision`. */
export function recordsAt(store: Store, namespace: string, revision: number): readonly StoredRecord[] {
  const undone = new Map<string, StoredRecord | null>();
  const later = eventsAfter(store, revision);
  for (let at = later.length - 1; at >= 0; at--) undone.set(later[at]!.record.key, later[at]!.previous);
  const now = recordsOf(store, namespace);
  if (undone.size === 0) return now;
  const then = now.filter((record) => !undone.has(record.key));
  const prefix = namespace === '' ? '' : `${namespace}/`;
  for (const [key, record] of undone) if (record !== null && key.startsWith(prefix)) then.push(record);
  return then.sort((a, b) => (a.key < b.key ? -1 : 1));
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
