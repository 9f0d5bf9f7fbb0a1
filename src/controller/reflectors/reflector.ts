/**
 * A reflector keeps one cache equal to one resource of the API server: it lists (by WatchList streaming where the
 * server has it, else in pages), then watches, and recovers by the rules of docs/spec/wire.md "WatchList", "Errors of
 * lists and watches".
 *
 * Listed objects are applied as they arrive and marked; at the end of a list the unmarked ones that are not newer than
 * it are removed. So there is never a second copy of a cache, and never an emptied one. A list is consistent, so what
 * it tells replaces what is cached up to its version, be it older than that (`history.ts`).
 */
import { PAGE_ITEMS_MAX } from './page-size.ts';
import { createReconnect, type Reconnect } from './reconnect.ts';
import type { Now } from '../event.ts';
import { createStreamLife, type StreamLife } from './stream-life.ts';
import type { ListProgress } from './list-progress.ts';
import type { ObjectSource } from '../../kube/source.ts';
import type { WatchReader } from '../../kube/watch-framing.ts';

export interface Versioned {
  readonly resourceVersion: string;
}

/** What a reflector feeds. */
export interface ReflectorTarget<R extends Versioned> {
  /** @throws DecodeError */
  project(source: ObjectSource): R;
  /** Of what is cached under the record's name; '' = nothing is. */
  cachedVersion(record: R): string;
  /**
   * Takes an object unless what is cached is newer than `upTo`. Returns what the cache holds now: it serves as the
   * mark.
   */
  upsert(record: R, source: ObjectSource, upTo: string, now: Now): object;
  remove(record: R, now: Now): void;
  /** Removes what is not marked and not newer than `resourceVersion`. */
  removeUnmarked(marks: ReadonlySet<object>, resourceVersion: string, now: Now): void;
  /** A list is asked for: it will know of whatever has been told before. */
  listing(): void;
  /** Whether an own delete was applied of which neither the watch nor a list has told. */
  awaitsDeletions(): boolean;
  /** History went back: whatever is cached gives way to the next list. */
  forgetVersions(now: Now): void;
  /** The first list is complete. */
  synced(now: Now): void;
}

/** A listed object that waits for the end of its list. */
interface SetAside {
  readonly record: Versioned;
  readonly source: ObjectSource;
}

export interface Reflector<R extends Versioned = Versioned> {
  readonly resource: 'pods' | 'services' | 'nodes' | 'endpoints' | 'endpointslices';
  readonly path: string;
  /** Of labels; '' = all objects. */
  readonly selector: string;
  readonly target: ReflectorTarget<R>;
  /**
   * idle: not started; waiting: until `wakeAtMs`, then `next`; paging: a page is under way; opening: a stream was asked
   * for; initial: a WatchList stream before its end bookmark; watching: an ordinary stream; checking: a list of one
   * object is under way, for its version, before a broken watch goes on.
   */
  phase: 'idle' | 'waiting' | 'paging' | 'opening' | 'initial' | 'watching' | 'checking';
  next: 'list' | 'watch';
  /**
   * Monotonic ms when time alone may bring something: the next request, a line of the log, the end of a stream's life.
   */
  wakeAtMs: number;
  request: number;
  /** Where a watch goes on; '' = nowhere. */
  resourceVersion: string;
  /** The newest version that the answer to a write or a read has told of an object; the watch may never do so. '' = none. */
  answeredVersion: string;
  /** The version that had been reached when the last list was asked for. */
  reachedBefore: string;
  continueToken: string;
  /** The stream asked for is a WatchList. */
  streamingList: boolean;
  /** WatchList may be asked for. */
  readonly watchList: boolean;
  /**
   * A WatchList was refused or given up: pages, until a list is complete. The next list begins with WatchList again, at
   * the price of one refused request: so a server that has learned it is noticed.
   */
  inPages: boolean;
  /** Items that the next page asks for. */
  pageItems: number;
  /** Of the list under way; null = none is. */
  progress: ListProgress | null;
  reader: WatchReader | null;
  /** Of the stream asked for last. */
  life: StreamLife;
  marks: Set<object> | null;
  /** Of a WatchList, whose version is told at its end: objects that are older than their cached ones. */
  aside: SetAside[];
  /** When a list, or a check before a watch, was asked for last. Monotonic ms. */
  askedAtMs: number;
  /** An object of the list under way could not be read: nothing is removed at its end. */
  listIncomplete: boolean;
  listsBegun: number;
  /** The last stream ended at an undecodable frame before anything new was read from it. */
  undecodableInARow: number;
  synced: boolean;
  /** The last list was answered 403 or 404: this may take until somebody changes roles, or the server. */
  refused: boolean;
  /** When the watch was lost; -1 = it runs. Starts at 0: never had. */
  downSinceMs: number;
  readonly reconnect: Reconnect;
}

export function createReflector<R extends Versioned>(
  resource: Reflector['resource'],
  path: string,
  target: ReflectorTarget<R>,
  watchList: boolean,
  selector = '',
): Reflector<R> {
  return {
    resource,
    path,
    selector,
    target,
    phase: 'idle',
    next: 'list',
    wakeAtMs: Infinity,
    request: 0,
    resourceVersion: '',
    answeredVersion: '',
    reachedBefore: '',
    continueToken: '',
    streamingList: false,
    watchList,
    inPages: false,
    pageItems: PAGE_ITEMS_MAX,
    progress: null,
    reader: null,
    life: createStreamLife(0),
    marks: null,
    aside: [],
    askedAtMs: -Infinity,
    listIncomplete: false,
    listsBegun: 0,
    undecodableInARow: 0,
    synced: false,
    refused: false,
    downSinceMs: 0,
    reconnect: createReconnect(),
  };
}
