/**
 * A reflector keeps one cache equal to one resource of the API server. It lists (by WatchList streaming where the
 * server has it, else in pages), then watches, and recovers by the rules of docs/spec/wire.md "WatchList", "Errors of
 * lists and watches".
 *
 * Listed objects are applied as they arrive and marked. At the end of a list the unmarked ones that are not newer than
 * it are removed. So there is never a second copy of a cache, and never an emptied one. A list is consistent, so it
 * replaces what is cached up to its version, even by older objects (`history.ts`).
 */
import { PAGE_ITEMS_MAX } from './page-size.ts';
import type { Outages } from './outages.ts';
import { createReconnect, type Reconnect } from './reconnect.ts';
import type { Now } from '../event.ts';
import type { StreamLife } from './stream-life.ts';
import type { ListProgress } from './list-progress.ts';
import type { Outbox } from '../outbox.ts';
import type { Instruments } from '../reports/instruments.ts';
import type { ObjectSource } from '../../kube/source.ts';
import type { WatchReader } from '../../kube/watch-framing.ts';
import type { Prng } from '../../lib/prng.ts';

export interface Versioned {
  readonly resourceVersion: string;
}

/** What a reflector feeds. */
export interface ReflectorTarget<R extends Versioned> {
  /** @throws DecodeError */
  project(source: ObjectSource): R;
  /** The version that is cached under the record's name; '' = nothing is cached. */
  cachedVersion(record: R): string;
  /**
   * Takes an object unless the cached one is newer than `upTo`. Returns what the cache holds now; it serves as the
   * mark.
   */
  upsert(record: R, source: ObjectSource, upTo: string, now: Now): object;
  remove(record: R, now: Now): void;
  /** Removes what is not marked and not newer than `resourceVersion`. */
  removeUnmarked(marks: ReadonlySet<object>, resourceVersion: string, now: Now): void;
  /** A list is asked for: it will tell of all that has been told before. */
  listing(): void;
  /** Whether an own delete was applied that neither the watch nor a list has told. */
  awaitsDeletions(): boolean;
  /** History went back: whatever is cached gives way to the next list. */
  forgetVersions(now: Now): void;
  /** The first list is complete. */
  synced(now: Now): void;
}

/** What a reflector is given beside its own state. */
export interface ReflectorHands {
  readonly outbox: Outbox<ReflectorPurpose>;
  /** Draws pauses and the ends of streams. */
  readonly prng: Prng;
  readonly metrics: Pick<Instruments, 'watchRestarts' | 'historyResets' | 'decodeErrors'>;
  readonly outages: Outages;
  /** The reflector's list is asked for. */
  listBegins(reflector: Reflector): void;
  /**
   * The reflector's list is complete, and what it misses is to be removed (null = nothing is). Returns whether the
   * watch is to go on: not if everything is listed once more first.
   */
  listEnds(reflector: Reflector, removal: Removal | null, now: Now): boolean;
  /** The reflector's list has shown that history went back. */
  wentBack(reflector: Reflector, now: Now): void;
}

export interface ReflectorPurpose {
  readonly for: 'reflector';
  readonly reflector: Reflector;
}

/** What is not marked and not newer than `upTo` is to be removed. */
export interface Removal {
  readonly marks: ReadonlySet<object>;
  readonly upTo: string;
}

/** A list under way, in pages or as a WatchList. */
export interface ListUnderWay {
  readonly progress: ListProgress;
  /** What it has told so far; null = the cache was empty before, so nothing in it can be gone. */
  readonly marks: Set<object> | null;
  /** An object could not be read, so nothing is removed at its end. */
  isIncomplete: boolean;
  /** The version that had been reached when the list was asked for. */
  readonly reachedBefore: string;
}

/** A listed object that waits for the end of its list. */
interface SetAside {
  readonly record: Versioned;
  readonly source: ObjectSource;
}

/** What a reflector does now, with what it needs for that and for nothing else. */
export type Phase =
  | { readonly name: 'idle' }
  /** It waits until `wakeAtMs`. A watch then begins with a look at the version. */
  | { readonly name: 'waiting'; readonly next: 'list' | 'watch' }
  /** A page was asked for; '' = the first one. */
  | {
      readonly name: 'paging';
      readonly request: number;
      readonly list: ListUnderWay;
      readonly continueToken: string;
    }
  /** A stream was asked for. `list`: a WatchList, else an ordinary watch. */
  | {
      readonly name: 'opening';
      readonly request: number;
      readonly list: ListUnderWay | null;
      readonly life: StreamLife;
    }
  /** A WatchList before its end. */
  | {
      readonly name: 'initial';
      readonly request: number;
      readonly list: ListUnderWay;
      readonly life: StreamLife;
      readonly reader: WatchReader;
      /** Objects that are older than their cached ones. The version that decides is told at the end. */
      readonly aside: SetAside[];
    }
  | {
      readonly name: 'watching';
      readonly request: number;
      readonly life: StreamLife;
      readonly reader: WatchReader;
    }
  /** A list of one object was asked for, because of its version, before a broken watch goes on. */
  | { readonly name: 'checking'; readonly request: number; readonly reachedBefore: string };

export type PhaseOf<Name extends Phase['name']> = Extract<Phase, { readonly name: Name }>;

export interface Reflector<R extends Versioned = Versioned> {
  readonly resource: 'pods' | 'services' | 'nodes' | 'endpoints' | 'endpointslices';
  readonly path: string;
  /** A label selector; '' = all objects. */
  readonly selector: string;
  readonly target: ReflectorTarget<R>;
  phase: Phase;
  /**
   * Monotonic ms when something may be due by time alone: the next request, a line of the log, the end of a stream's
   * life.
   */
  wakeAtMs: number;
  /** Where a watch goes on; '' = nowhere. */
  resourceVersion: string;
  /**
   * The newest version that the answer to a write or a read has told of an object, or a WatchList before its end; '' =
   * none. The watch may never tell it.
   */
  answeredVersion: string;
  /** When a list, or a check before a watch, was asked for last. Monotonic ms. */
  askedAtMs: number;
  /** Whether WatchList may be asked for. */
  readonly watchList: boolean;
  /**
   * A WatchList was refused or given up: pages are asked for until a list is complete. The next list begins with
   * WatchList again, at the price of one refused request, so a server that has learned it is noticed.
   */
  inPages: boolean;
  /** How many items the next page asks for. */
  pageItems: number;
  /** A list has begun at least once. */
  hasListed: boolean;
  /** The last stream ended at an undecodable frame before anything new was read from it. */
  undecodableInARow: number;
  /** A list was complete. */
  synced: boolean;
  /** The last list was answered 403 or 404. This may last until somebody changes roles, or the server. */
  refused: boolean;
  /** Why the last list or watch has failed; '' = it has not. */
  failure: string;
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
    phase: { name: 'idle' },
    wakeAtMs: Infinity,
    resourceVersion: '',
    answeredVersion: '',
    askedAtMs: -Infinity,
    watchList,
    inPages: false,
    pageItems: PAGE_ITEMS_MAX,
    hasListed: false,
    undecodableInARow: 0,
    synced: false,
    refused: false,
    failure: '',
    downSinceMs: 0,
    reconnect: createReconnect(),
  };
}

/** The list under way; null = none is. */
export function listOf({ phase }: Reflector): ListUnderWay | null {
  return 'list' in phase ? phase.list : null;
}

/** A stream runs. */
export function isStream(phase: Phase): phase is PhaseOf<'initial' | 'watching'> {
  return phase.name === 'initial' || phase.name === 'watching';
}
