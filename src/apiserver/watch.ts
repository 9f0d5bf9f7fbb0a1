import type { Status } from '../kube/types.ts';
import { atRevision, type StoredRecord } from './record.ts';
import type { Resource } from './resource.ts';
import { selects, type Selection } from './selectors.ts';
import type { StoreEvent } from './store.ts';
import { createWatchFrames, type WatchEntry, type WatchForm, type WatchFrames } from './watch-frames.ts';

/** One open watch, seen by its transport. */
export interface Watch {
  /** The next whole frames, about `bytesMax` bytes of them; empty when there is nothing now. */
  take(bytesMax?: number): Uint8Array[];
  /** Nothing more will come: everything was taken and the server has ended the stream. */
  readonly ended: boolean;
  /** Called when there is something to take, or the stream has ended. Must not call `apply`. */
  onReady: (() => void) | null;
  /** The client has gone. */
  close(): void;
}

/** The server's side of it. */
export interface Watcher extends Watch {
  readonly resource: Resource;
  /** '' = all. */
  readonly namespace: string;
  readonly selection: Selection | null;
  readonly bookmarks: boolean;
  readonly deadlineMs: number;
  bookmarkAtMs: number;
  /** Appends a change, if this watcher selects it. */
  readonly offer: (event: StoreEvent) => void;
  readonly bookmark: (revision: number) => void;
  /** Ends the stream after what is in it, with a last ERROR frame if a status is given. */
  readonly finish: (status?: Status) => void;
}

export interface WatcherOptions extends WatchForm {
  readonly namespace: string;
  readonly selection: Selection | null;
  readonly bookmarks: boolean;
  readonly deadlineMs: number;
  readonly bookmarkAtMs: number;
  /** Changes up to this revision are known to the client. */
  readonly fromRevision: number;
  /** Sent as ADDED before anything else. */
  readonly initial: readonly StoredRecord[];
  /** Revision of the bookmark that ends the initial events; null = none is wanted. */
  readonly initialEnd: number | null;
  /** A watcher that leaves more changes than this lying is closed, as the server does with slow ones. */
  readonly outboxEventsMax: number;
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
    if (pending.outbox.length >= options.outboxEventsMax) {
      // Closed without a word: the client starts again from what it has seen last.
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
      // A watch from a version that is still to come hears nothing before it, not even how far the server is.
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

/** What waits for the client. */
interface Pending {
  initial: readonly StoredRecord[];
  initialAt: number;
  initialEnd: number | null;
  outbox: Outgoing[];
}

function nothing(): Pending {
  return { initial: [], initialAt: 0, initialEnd: null, outbox: [] };
}

/** A change, or a frame that is whole. */
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
    room -= taken[taken.push(entry instanceof Uint8Array ? entry : frames.changed(entry)) - 1]!.length;
  }
  pending.outbox = count === outbox.length ? [] : outbox.slice(count);
  return taken;
}

type View = Pick<WatcherOptions, 'namespace' | 'selection'>;

/** What the change is to a client with this view; null = nothing. */
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
