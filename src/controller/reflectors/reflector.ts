/**
 * A reflector keeps one cache equal to one resource of the API server. It lists, by WatchList streaming where the
 * server has it and else in pages. Then it watches, and recovers by the rules of docs/spec/wire.md "WatchList", "Errors
 * of lists and watches". Listed objects are applied as they arrive and are marked. At the end of a list the objects are
 * removed that have no mark and are not newer than the list. So there is never a second copy of a cache, and never an
 * empty one. A list is consistent, so it replaces whatever is cached up to its version, even by older objects
 * (`history.ts`).
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

/** Why versions count no more: history went back, or what was told may be damaged. */
export type Distrust = 'restored' | 'damaged';

/** The cache that a reflector fills. */
export interface ReflectorTarget<R extends Versioned> {
  /** @throws DecodeError */
  project(source: ObjectSource): R;
  /** The version that is cached under the record's name; '' = nothing is cached. */
  cachedVersion(record: R): string;
  /** The mark of the object that is cached under that name; undefined = nothing is cached. */
  markOf(namespace: string, name: string): object | undefined;
  /**
   * Takes an object unless the cached one is newer than `upTo`. Returns what the cache holds now. That value serves as
   * the mark.
   */
  upsert(record: R, source: ObjectSource, upTo: string, now: Now): object;
  remove(record: R, now: Now): void;
  /** Removes the objects that have no mark and are not newer than `resourceVersion`. */
  removeUnmarked(marks: ReadonlySet<object>, resourceVersion: string, now: Now): void;
  /** A list was asked for. It will tell everything that was told before. */
  listing(): void;
  /**
   * The own deletes that were applied, and that neither the watch nor a list has shown yet; null = there are none. Says
   * later whether one of these is still not shown.
   */
  awaitedDeletes(): (() => boolean) | null;
  /** Every cached object gives way to the next list. */
  forgetVersions(reason: Distrust, now: Now): void;
}

/** What a reflector needs of the machine around it. */
export interface ReflectorHands {
  readonly outbox: Outbox<ReflectorPurpose>;
  /** Draws the length of pauses, and when streams end. */
  readonly prng: Prng;
  readonly metrics: Pick<Instruments, 'watchRestarts' | 'historyResets' | 'decodeErrors'>;
  readonly outages: Outages;
  /** The first list of a reflector is complete. Its `listEnds` comes next. */
  firstListEnds(now: Now): void;
  /** A list of the reflector was asked for. */
  listBegins(reflector: Reflector): void;
  /**
   * A list of the reflector is complete, and `removal` is to be done (null = nothing is to be removed). Returns whether
   * the watch follows. It does not where everything is listed once more first.
   */
  listEnds(reflector: Reflector, removal: Removal | null, now: Now): boolean;
  /** A list of the reflector was refused (403, 404): it will not end soon. */
  listRefused(reflector: Reflector, now: Now): void;
  /** A list of the reflector has shown that history went back. */
  wentBack(reflector: Reflector, now: Now): void;
}

export interface ReflectorPurpose {
  readonly for: 'reflector';
  readonly reflector: Reflector;
}

/** The objects without a mark that are not newer than `upTo` are to be removed. */
export interface Removal {
  readonly marks: ReadonlySet<object>;
  readonly upTo: string;
}

/** A list under way, in pages or as a WatchList. */
export interface ListUnderWay {
  readonly progress: ListProgress;
  /**
   * The cached values of all objects that it has told so far; null = the cache was empty before, so no object in it can
   * be gone.
   */
  readonly marks: Set<object> | null;
  /** An object could not be read. */
  hasUnreadable: boolean;
  /** Nor could its name, so nothing is removed at the end. */
  isIncomplete: boolean;
  /** The version that was reached when the list was asked for. */
  readonly reachedBefore: string;
}

/** A listed object that waits for the end of its list. */
interface SetAside {
  readonly record: Versioned;
  readonly source: ObjectSource;
  /** The version that was cached then, which is newer. */
  readonly over: string;
}

/** What a reflector is doing, with the data that only this phase needs. */
export type Phase =
  | { readonly name: 'idle' }
  /** A pause until `wakeAtMs`. A watch then begins with a check of the version. */
  | { readonly name: 'waiting'; readonly next: 'list' | 'watch' }
  /** A pause until `wakeAtMs` before a page, which is not the first, is asked for once more. */
  | { readonly name: 'pausing'; readonly list: ListUnderWay; readonly continueToken: string }
  /** A page was asked for. `continueToken` '' = the first one. */
  | {
      readonly name: 'paging';
      readonly request: number;
      readonly list: ListUnderWay;
      readonly continueToken: string;
    }
  /** A stream was asked for. `list`: it is a WatchList, else an ordinary watch. */
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
      /** Listed objects that are older than the cached ones. The list's version decides, and comes at the end. */
      readonly aside: SetAside[];
    }
  | {
      readonly name: 'watching';
      readonly request: number;
      readonly life: StreamLife;
      readonly reader: WatchReader;
    }
  /** A list of one object was asked for, to learn its version before a watch goes on. */
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
   * Monotonic ms when something may be due by time alone: the next request, a log line, or the end of a silent stream.
   */
  wakeAtMs: number;
  /** The version from which a watch goes on; '' = everything has to be listed first. */
  resourceVersion: string;
  /**
   * The newest version of an object that an answer to a write or a read has told, or a WatchList before its end; '' =
   * none. The watch may never tell it.
   */
  answeredVersion: string;
  /** The version that the last check before a watch has found; '' = there was none since the last list. */
  foundVersion: string;
  /** Whether the watch still owes the event of an own delete that was applied before its check; null = it owes none. */
  owesDeletes: (() => boolean) | null;
  /** Monotonic ms when a list, or a check before a watch, was last asked for. */
  askedAtMs: number;
  /** Monotonic ms when a list was last complete. */
  listedAtMs: number;
  /** Whether WatchList may be used at all. */
  readonly watchList: boolean;
  /**
   * A WatchList was refused or given up: pages are used until a list is complete. The next list begins with WatchList
   * again. That costs one refused request, and notices a server that has learned WatchList.
   */
  inPages: boolean;
  /** WatchLists in a row that were answered with a 5xx, before or within the stream, or were cut while they told objects. */
  failedWatchLists: number;
  /** How many items the next page asks for. */
  pageItems: number;
  /** A list was asked for at least once. */
  hasAskedForList: boolean;
  /**
   * The last list had an object that could not be read. A list takes the next watch's place: it may owe removals, and
   * shows whether the object is still so.
   */
  hasUnreadable: boolean;
  /** What was told may be damaged, so the next list replaces the whole cache. */
  damaged: boolean;
  /** A list was complete. */
  synced: boolean;
  /** The last list was answered with 403 or 404. This may last until somebody changes roles or the server. */
  refused: boolean;
  /** Why the last list or watch failed; '' = it did not. */
  failure: string;
  /** Monotonic ms since when the watch has been lost, or since the start of one that has never run; -1 = it runs. */
  downSinceMs: number;
  /** The watch has run. */
  hasRun: boolean;
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
    foundVersion: '',
    owesDeletes: null,
    askedAtMs: -Infinity,
    listedAtMs: -Infinity,
    watchList,
    inPages: false,
    failedWatchLists: 0,
    pageItems: PAGE_ITEMS_MAX,
    hasAskedForList: false,
    hasUnreadable: false,
    damaged: false,
    synced: false,
    refused: false,
    failure: '',
    downSinceMs: 0,
    hasRun: false,
    reconnect: createReconnect(),
  };
}

/** The list under way; null = none is. */
export function listOf({ phase }: Reflector): ListUnderWay | null {
  return 'list' in phase ? phase.list : null;
}

/** Whether the phase is an open stream. */
export function isStream(phase: Phase): phase is PhaseOf<'initial' | 'watching'> {
  return phase.name === 'initial' || phase.name === 'watching';
}
