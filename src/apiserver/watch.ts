import type { Status } from '../kube/types.ts';
import { atRevision, type StoredRecord } from './record.ts';
import type { Resource } from './resource.ts';
import { selects, type Selection } from './selectors.ts';
import type { StoreEvent } from './store.ts';
import { createWatchFrames, type WatchEntry, type WatchForm, type WatchFrames } from './watch-frames.ts';

/** One open watch, as its transport sees it. */
export interface Watch {
  /** The next whole frames, about `bytesMax` bytes; [] = there is nothing now. */
  take(bytesMax?: number): Uint8Array[];
  /** Whether the server has ended the stream and everything was taken. */
  readonly ended: boolean;
  /** Called when there is something to take, or the stream has ended. Must not call `apply`. */
  onReady: (() => void) | null;
  /** The client has gone. */
  close(): void;
}

/** One open watch, as the server sees it. */
export interface Watcher extends Watch {
  readonly resource: Resource;
  /** '' = all namespaces. */
  readonly namespace: string;
  readonly selection: Selection | null;
  readonly bookmarks: boolean;
  readonly deadlineMs: number;
  bookmarkAtMs: number;
  /** Appends a change, if this watcher selects it. */
  readonly offer: (event: StoreEvent) => void;
  readonly bookmark: (revision: number) => void;
  /** Ends the stream after the frames that it has. If a status is given, a last ERROR frame follows them. */
  readonly finish: (status?: Status) => void;
}

export interface WatcherOptions extends WatchForm {
  readonly namespace: string;
  readonly selection: Selection | null;
  readonly bookmarks: boolean;
  readonly deadlineMs: number;
  readonly bookmarkAtMs: number;
  /** The client knows the changes up to this revision. */
  readonly fromRevision: number;
  /** Objects that are sent as ADDED before all else. */
  readonly initial: readonly StoredRecord[];
  /** The revision of the bookmark that ends the initial events; null = the client wants none. */
  readonly initialEnd: number | null;
  /** A watcher with more waiting changes than this, or with more bytes, is closed, as the server closes slow ones. */
  readonly outboxEventsMax: number;
  readonly outboxBytesMax: number;
  readonly onClose: (watcher: Watcher) => void;
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
const TAKE_BYTES = 1024 * 1024;

export function createWatcher(options: WatcherOptions): Watcher {
  const frames = createWatchFrames(options);
  const { initial, initialEnd } = options;
  let pending: Pending = { ...nothing(), initial, initialEnd };
  let finished = false;

  const push = (entry: Outgoing): void => {
    if (finished) return;
    const { outboxEventsMax, outboxBytesMax } = options;
    pending.bytes += sizeOf(entry);
    if (pending.outbox.length >= outboxEventsMax || pending.bytes > outboxBytesMax) {
      // The stream is closed without an error. The client begins again from the last version that it has seen.
      pending = nothing();
      watcher.finish();
      return;
    }
    pending.outbox.push(entry);
    watcher.onReady?.();
  };

  const watcher: Watcher = {
    resource: options.resource,
    namespace: options.namespace,
    selection: options.selection,
    bookmarks: options.bookmarks,
    deadlineMs: options.deadlineMs,
    bookmarkAtMs: options.bookmarkAtMs,
    onReady: null,
    get ended() {
      const { initial, initialAt, initialEnd, outbox } = pending;
      return finished && outbox.length === 0 && initialAt >= initial.length && initialEnd === null;
    },
    take: (bytesMax = TAKE_BYTES) => takeFrames(pending, frames, bytesMax),
    close() {
      finished = true;
      pending = nothing();
      options.onClose(watcher);
    },
    offer(event) {
      if (event.revision <= options.fromRevision) return;
      const entry = entryFor(options, event);
      if (entry !== null) push(entry);
    },
    bookmark(revision) {
      // A watch from a future version gets nothing before that version, not even a bookmark.
      if (revision < options.fromRevision) return;
      push(frames.bookmark({ resourceVersion: String(revision) }));
    },
    finish(status) {
      if (finished) return;
      if (status !== undefined) pending.outbox.push(frames.error(status));
      finished = true;
      options.onClose(watcher);
      watcher.onReady?.();
    },
  };
  return watcher;
}

/** The frames and changes that wait for the client. */
interface Pending {
  initial: readonly StoredRecord[];
  initialAt: number;
  initialEnd: number | null;
  outbox: Outgoing[];
  /** Of the changes in `outbox`. */
  bytes: number;
}

function nothing(): Pending {
  return { initial: [], initialAt: 0, initialEnd: null, outbox: [], bytes: 0 };
}

/** A change, or a complete frame. */
type Outgoing = WatchEntry | Uint8Array;

function takeFrames(pending: Pending, frames: WatchFrames, bytesMax: number): Uint8Array[] {
  const { initial, outbox } = pending;
  const taken: Uint8Array[] = [];
  let room = bytesMax;
  for (; room > 0 && pending.initialAt < initial.length; pending.initialAt++) {
    room -= taken[taken.push(frames.added(initial[pending.initialAt]!)) - 1]!.length;
  }
  if (pending.initialAt < initial.length) return taken;
  pending.initial = [];
  pending.initialAt = 0;
  if (pending.initialEnd !== null) {
    const annotations = { [INITIAL_EVENTS_END]: 'true' };
    taken.push(frames.bookmark({ resourceVersion: String(pending.initialEnd), annotations }));
    pending.initialEnd = null;
  }
  let count = 0;
  for (; room > 0 && count < outbox.length; count++) {
    const entry = outbox[count]!;
    pending.bytes -= sizeOf(entry);
    room -= taken[taken.push(entry instanceof Uint8Array ? entry : frames.changed(entry)) - 1]!.length;
  }
  pending.outbox = count === outbox.length ? [] : outbox.slice(count);
  return taken;
}

function sizeOf(entry: Outgoing): number {
  return entry instanceof Uint8Array ? entry.length : entry.record.sizeBytes;
}

type View = Pick<WatcherOptions, 'namespace' | 'selection'>;

/** The change as a client with this view sees it; null = the client does not see it. */
function entryFor(view: View, event: StoreEvent): WatchEntry | null {
  const { type, record, previous, revision } = event;
  if (view.selection === null) return covers(view, record) ? { type, record, event } : null;
  const before = previous !== null && covers(view, previous);
  const after = type !== 'DELETED' && covers(view, record);
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', record, event: null };
  if (!before) return null;
  return { type: 'DELETED', record: type === 'DELETED' ? record : atRevision(previous, revision), event: null };
}

function covers({ namespace, selection }: View, { object }: StoredRecord): boolean {
  return (namespace === '' || object.metadata.namespace === namespace) && selects(selection, object);
}
