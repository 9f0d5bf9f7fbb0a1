import { badRequest, expired, failure, internalError, tooLargeResourceVersion } from './api-error.ts';
import { goKind, JsonSyntaxError, parseGoJson } from './go-json.ts';
import type { ListOptions } from './list-options.ts';
import type { Negotiated } from './negotiate.ts';
import type { ListMeta, StoredRecord } from './record.ts';
import type { Target } from './request.ts';
import { parseSelection, selects, type Selection } from './selectors.ts';
import { addWatcher, removeWatcher, storeOf, type ApiServer } from './state.ts';
import { eventsAfter, readRange, type Store } from './store.ts';
import type { TableView } from './table.ts';
import { createWatcher, type Watch } from './watch.ts';

export interface Page {
  readonly records: readonly StoredRecord[];
  readonly metadata: ListMeta;
}

/** @throws ApiError */
export function listObjects(server: ApiServer, target: Target, options: ListOptions): Page {
  const store = storeOf(server, target.resource);
  const selection = parseSelection(target.resource, options.labelSelector, options.fieldSelector);
  if (options.continueToken !== '') return continueList(server, store, target.namespace, selection, options);
  const wanted = parseRevision(options.resourceVersion, (why) => badRequest(`invalid resource version: ${why}`));
  if (wanted > server.revision) throw tooLargeResourceVersion(wanted, server.revision);
  const { resourceVersionMatch: match, limit } = options;
  // A limit with a version and no match means exactly that version (docs/spec/wire.md "Lists").
  const exact = wanted > 0 && (match === 'Exact' || (match === '' && limit > 0));
  if (exact && wanted < store.droppedRevision) {
    throw expired('The resourceVersion for the provided list is too old.');
  }
  const revision = exact ? wanted : server.revision;
  return page(store, target.namespace, selection, revision, '', options.resourceVersion === '0' ? 0 : limit);
}

const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
  'deleted between the time the first chunk was returned and now may show up in the list.';

function continueList(
  server: ApiServer,
  store: Store,
  namespace: string,
  selection: Selection | null,
  options: ListOptions,
): Page {
  const { revision, start } = parseContinue(options.continueToken);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  if (revision >= 0 && revision < store.droppedRevision) throw expired(CONTINUE_EXPIRED, formatContinue(-1, start));
  return page(store, namespace, selection, revision < 0 ? server.revision : revision, start, options.limit);
}

function page(
  store: Store,
  namespace: string,
  selection: Selection | null,
  revision: number,
  start: string,
  limit: number,
): Page {
  const fits = fitsIn(selection);
  // One more than the page may have tells whether there is another page.
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit + 1;
  const { records, total } = readRange(store, { namespace, start, revision, most, fits });
  const resourceVersion = String(revision);
  if (records.length < most) return { records, metadata: { resourceVersion } };
  const { key } = records[limit - 1]!;
  // The key after the last one of this page. No object need have it.
  const next = `${namespace === '' ? key : key.slice(namespace.length + 1)}\0`;
  const token = formatContinue(revision, next);
  const remaining = selection === null ? { remainingItemCount: total - limit } : {};
  return { records: records.slice(0, limit), metadata: { resourceVersion, continue: token, ...remaining } };
}

function fitsIn(selection: Selection | null): (record: StoredRecord) => boolean {
  return selection === null ? () => true : ({ object }) => selects(selection, object);
}

/**
 * @param revision -1 = the current one
 * @param start the first key of the next page, without its namespace
 */
function formatContinue(revision: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: CONTINUE_VERSION, rv: revision, start: `/${start}` })).toString('base64url');
}

function parseContinue(token: string): { revision: number; start: string } {
  const unreadable = (why: string): Error => badRequest(`invalid continue token: continue key is not valid: ${why}`);
  const wrong = token.search(/[^A-Za-z0-9_-]/);
  const odd = token.length % 4 === 1 ? token.length - 1 : -1;
  if (wrong >= 0 || odd >= 0) throw unreadable(`illegal base64 data at input byte ${wrong >= 0 ? wrong : odd}`);
  let value: unknown;
  try {
    value = parseGoJson(Buffer.from(token, 'base64url'));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw unreadable(error.message);
    throw error;
  }
  const unfit = (given: unknown, where: string): Error =>
    unreadable(`json: cannot unmarshal ${goKind(given)} into Go ${where}`);
  if (typeof (value ?? {}) !== 'object' || Array.isArray(value))
    throw unfit(value, 'value of type storage.continueToken');
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>;
  for (const [name, type] of CONTINUE_FIELDS) {
    const given = fields[name] ?? null;
    const fits = type === 'int64' ? Number.isInteger(given) : typeof given === 'string';
    if (given !== null && !fits) throw unfit(given, `struct field continueToken.${name} of type ${type}`);
  }
  const { v, rv, start } = fields as { v?: string | null; rv?: number | null; start?: string | null };
  if (v !== CONTINUE_VERSION) throw unreadable(`server does not recognize this encoded version ${v ?? ''}`);
  if ((rv ?? 0) === 0) throw unreadable(`incorrect encoded start resourceVersion (version ${CONTINUE_VERSION})`);
  if ((start ?? '') === '') throw unreadable(`encoded start key empty (version ${CONTINUE_VERSION})`);
  if (/(^|\/)\.{0,2}(?=\/)/.test(start!.replace(/^\//, ''))) throw unreadable(start!);
  return { revision: rv!, start: start!.replace(/^\//, '') };
}

const CONTINUE_VERSION = 'meta.k8s.io/v1';
const CONTINUE_FIELDS: readonly (readonly [name: string, type: string])[] = [
  ['v', 'string'],
  ['rv', 'int64'],
  ['start', 'string'],
];

function parseRevision(text: string, failed: (why: string) => Error): number {
  if (text === '') return 0;
  const isNumber = /^[0-9]+$/.test(text);
  const fits = text.replace(/^0+/, '').length <= 20 && isNumber && BigInt(text) < 2n ** 64n;
  if (fits) return Number(text);
  const shown = JSON.stringify(text);
  const why = isNumber ? 'value out of range' : 'invalid syntax';
  throw failed(`resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: ${why}`);
}

/** A GET may ask that its state is no older than this version. @throws ApiError 500 if the text is no version, 504 */
export function checkReached(server: ApiServer, resourceVersion: string): void {
  const wanted = parseRevision(resourceVersion, internalError);
  if (wanted > server.revision) throw tooLargeResourceVersion(wanted, server.revision);
}

const WATCH_SECONDS_MIN = 1800;
/** The last bookmark comes this long before the deadline. A shorter watch gets none. */
const LAST_BOOKMARK_MS = 2000;

function nextBookmarkMs(nowMs: number, deadlineMs: number, periodMs: number): number {
  const nextMs = Math.min(nowMs + periodMs, deadlineMs - LAST_BOOKMARK_MS);
  return nextMs < nowMs ? Number.POSITIVE_INFINITY : nextMs;
}

/** @throws ApiError */
export function openWatch(
  server: ApiServer,
  target: Target,
  options: ListOptions,
  negotiated: Negotiated,
  table: TableView | null,
): Watch {
  const { resource, namespace } = target;
  const store = storeOf(server, resource);
  const { config, nowMs } = server;
  const selection = parseSelection(resource, options.labelSelector, options.fieldSelector);
  const wanted = parseRevision(options.resourceVersion, internalError);
  const fromNow = wanted === 0;
  const seconds = options.timeoutSeconds || Math.floor(WATCH_SECONDS_MIN * (1 + config.random()));
  const deadlineMs = nowMs + seconds * 1000;
  // A watch without a version begins with the stored objects. A server with WatchList treats it as a WatchList.
  const initial = options.sendInitialEvents ?? fromNow;
  const tooNew = options.sendInitialEvents === true && wanted > server.revision;
  const tooOld = !initial && !fromNow && wanted < store.droppedRevision;
  const sendsInitial = initial && !tooNew;
  const watcher = createWatcher({
    resource,
    namespace,
    selection,
    encoding: negotiated.encoding,
    metadataOnly: negotiated.as === 'metadata' || negotiated.as === 'metadataList',
    table,
    bookmarks: options.allowWatchBookmarks,
    deadlineMs,
    bookmarkAtMs: nextBookmarkMs(nowMs, deadlineMs, config.bookmarkPeriodMs),
    fromRevision: initial || fromNow ? server.revision : wanted,
    initial: sendsInitial ? page(store, namespace, selection, server.revision, '', 0).records : [],
    initialEnd: sendsInitial && options.allowWatchBookmarks && config.watchList ? server.revision : null,
    outboxEventsMax: config.watchOutboxEventsMax,
    outboxBytesMax: config.watchOutboxBytesMax,
    onClose: (closed) => removeWatcher(server, closed),
  });
  addWatcher(server, watcher);
  if (tooNew) watcher.finish(tooLargeResourceVersion(wanted, server.revision).status);
  else if (tooOld) {
    const message = `too old resource version: ${wanted} (${store.droppedRevision})`;
    watcher.finish(failure(410, 'Expired', message));
  } else if (!initial && !fromNow) {
    for (const event of eventsAfter(store, wanted)) watcher.offer(event);
  }
  return watcher;
}

/**
 * Ends the watches and sends the bookmarks that are due. @returns the time of the next call; Infinity = there is no
 * watch
 */
export function tickWatches(server: ApiServer): number {
  const { nowMs } = server;
  let next = Number.POSITIVE_INFINITY;
  for (const watchers of server.watchers.values()) {
    for (const watcher of watchers) {
      if (nowMs >= watcher.deadlineMs) {
        watcher.finish();
        continue;
      }
      if (watcher.bookmarks && nowMs >= watcher.bookmarkAtMs) {
        watcher.bookmark(server.revision);
        const last = watcher.deadlineMs - LAST_BOOKMARK_MS;
        const regular = nowMs + server.config.bookmarkPeriodMs;
        watcher.bookmarkAtMs = nowMs < last ? Math.min(regular, last) : Number.POSITIVE_INFINITY;
      }
      const due = watcher.bookmarks ? Math.min(watcher.deadlineMs, watcher.bookmarkAtMs) : watcher.deadlineMs;
      next = Math.min(next, due);
    }
  }
  return next;
}
