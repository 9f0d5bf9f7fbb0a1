/**
 * What an independent watcher makes of the stream of one kind of object: how many writes and bytes there were, when it shows a
 * change, and whether a ready address was missing that nobody had taken away. No clock: the caller says when.
 */
import { OVER_CAPACITY_ANNOTATION, TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import { parseMicroTime } from '../../src/kube/time.ts';
import type { Endpoint, EndpointSubset, KubeObject } from '../../src/kube/types.ts';

/** One request to the server. All times are milliseconds of one clock; NaN = not yet, or never. */
export interface TimedChange {
  /** When it was due. */
  readonly dueMs: number;
  /** Of the quiet side of the story. */
  readonly isolated: boolean;
  /** `<namespace>/<name>` of those that it concerns. */
  readonly services: readonly string[];
  sentMs: number;
  ackedMs: number;
  /** The version that the server gave the object. */
  resourceVersion: string;
  /** When the watcher saw what follows from it; null = nothing of the kind was awaited. */
  endpointsMs: number | null;
  slicesMs: number | null;
}

export type StreamKind = 'endpoints' | 'slices';

/** The change's field in which a stream notes when it has shown it. */
export const SEEN_FIELDS = { endpoints: 'endpointsMs', slices: 'slicesMs' } as const;

interface Awaited {
  readonly ready: boolean;
  readonly change: TimedChange;
}

export interface Stream {
  readonly kind: StreamKind;
  readonly serviceOf: (object: KubeObject) => string | null;
  /** Of an object, by its key: its service and its ready addresses. */
  readonly objects: Map<string, { readonly service: string; readonly ready: ReadonlySet<string> }>;
  /** In how many objects of the service an address is ready, by service and address. */
  readonly ready: Map<string, number>;
  /** Oldest first, by service and address. */
  readonly awaited: Map<string, Awaited[]>;
  /** When an object of the echo floor was seen, by the version of the pod that it names. */
  readonly echoes: Map<string, number>;
  /** Services of more addresses than an Endpoints object holds: which of them it holds may change. */
  readonly overCapacity: Set<string>;
  /** How often an address may still vanish, by service and address. */
  readonly allowed: Map<string, number>;
  writes: number;
  bytes: number;
  /** Ready addresses that were missing although nothing had taken them away. */
  readonly gaps: string[];
  /** Changes that were taken back before anything was written: nothing will ever show them. */
  coalesced: number;
  /** From the trigger time that a write tells until it was seen, with the moment it was seen. */
  readonly trigger: { readonly atMs: number; readonly ms: number }[];
}

const GAPS_MAX = 1000;
/** What the echo floor writes into its objects: the version of the pod's event that made it write. */
export const ECHO_ANNOTATION = 'bench.endpointd.example/event';

export function createStream(kind: StreamKind, serviceOf: Stream['serviceOf']): Stream {
  return {
    kind,
    serviceOf,
    objects: new Map(),
    ready: new Map(),
    awaited: new Map(),
    echoes: new Map(),
    overCapacity: new Set(),
    allowed: new Map(),
    writes: 0,
    bytes: 0,
    gaps: [],
    coalesced: 0,
    trigger: [],
  };
}

/** The stream is to show the address as ready, or as not ready; in the latter case it may vanish once. */
export function awaitAddress(
  stream: Stream,
  service: string,
  address: string,
  ready: boolean,
  change: TimedChange | null,
): void {
  const key = `${service} ${address}`;
  if (!ready) stream.allowed.set(key, (stream.allowed.get(key) ?? 0) + 1);
  if (change === null) return;
  change[SEEN_FIELDS[stream.kind]] = Number.NaN;
  const waiting = stream.awaited.get(key);
  if (waiting === undefined) stream.awaited.set(key, [{ ready, change }]);
  else waiting.push({ ready, change });
}

/**
 * What the stream has not shown: `owed` addresses are not as the last change made them, `open` changes are, though nothing has
 * shown them yet, so that either their writes are to come or they were taken back before there were any.
 */
export function awaitedOf({ awaited, ready }: Stream): { readonly owed: number; readonly open: number } {
  let [owed, open] = [0, 0];
  for (const [key, waiting] of awaited) {
    if (waiting.at(-1)!.ready === ready.has(key)) open += waiting.length;
    else owed++;
  }
  return { owed, open };
}

/** Nothing is to come any more: what is open was coalesced. */
export function settleAwaited(stream: Stream): void {
  for (const [key, waiting] of stream.awaited) {
    if (waiting.at(-1)!.ready !== stream.ready.has(key)) continue;
    for (const { change } of waiting) change[SEEN_FIELDS[stream.kind]] = null;
    stream.coalesced += waiting.length;
    stream.awaited.delete(key);
  }
}

/** @param type of the watch event, or `LISTED` for what was there before it; `wallMs` since the epoch */
export function noteEvent(
  stream: Stream,
  type: string,
  object: KubeObject,
  bytes: number,
  now: { readonly ms: number; readonly wallMs: number },
): void {
  if (type !== 'LISTED') noteWrite(stream, object, type, bytes, now);
  const { namespace, name, annotations } = object.metadata;
  const version = annotations?.[ECHO_ANNOTATION];
  if (version !== undefined) stream.echoes.set(String(Number(version)), now.ms);
  const key = `${namespace}/${name}`;
  const before = stream.objects.get(key);
  const service = type === 'DELETED' ? null : stream.serviceOf(object);
  const ready = service === null ? new Set<string>() : readyAddresses(stream.kind, object);
  if (service === null) stream.objects.delete(key);
  else stream.objects.set(key, { service, ready });
  if (service !== null && annotations?.[OVER_CAPACITY_ANNOTATION] !== undefined) stream.overCapacity.add(service);
  for (const address of ready) {
    if (before?.service === service && before.ready.has(address)) continue;
    count(stream, `${service} ${address}`, 1, now.ms);
  }
  for (const address of before?.ready ?? []) {
    if (before!.service === service && ready.has(address)) continue;
    count(stream, `${before!.service} ${address}`, -1, now.ms);
  }
}

function noteWrite(
  stream: Stream,
  object: KubeObject,
  type: string,
  bytes: number,
  now: { readonly ms: number; readonly wallMs: number },
): void {
  stream.writes++;
  stream.bytes += bytes;
  const time = object.metadata.annotations?.[TRIGGER_TIME_ANNOTATION];
  if (time === undefined || type === 'DELETED') return;
  const parsed = parseMicroTime(time);
  if (parsed !== null) stream.trigger.push({ atMs: now.ms, ms: now.wallMs - parsed.seconds * 1000 });
}

function count(stream: Stream, key: string, by: 1 | -1, ms: number): void {
  const before = stream.ready.get(key) ?? 0;
  const after = before + by;
  if (after === 0) stream.ready.delete(key);
  else stream.ready.set(key, after);
  if (before > 0 === after > 0) return;
  if (after === 0) noteGone(stream, key);
  const waiting = stream.awaited.get(key);
  // The first that wants what is shown now; those before it were made good together with it.
  const shown = waiting?.findIndex(({ ready }) => ready === after > 0) ?? -1;
  if (waiting === undefined || shown < 0) return;
  for (const { change } of waiting.splice(0, shown + 1)) change[SEEN_FIELDS[stream.kind]] = ms;
  if (waiting.length === 0) stream.awaited.delete(key);
}

function noteGone(stream: Stream, key: string): void {
  const allowed = stream.allowed.get(key) ?? 0;
  if (allowed > 0) stream.allowed.set(key, allowed - 1);
  else if (stream.overCapacity.has(key.slice(0, key.indexOf(' ')))) return;
  else if (stream.gaps.length < GAPS_MAX) stream.gaps.push(key);
}

function readyAddresses(kind: StreamKind, object: KubeObject): Set<string> {
  const ready = new Set<string>();
  if (kind === 'endpoints') {
    for (const { addresses = [] } of (object['subsets'] ?? []) as readonly EndpointSubset[]) {
      for (const { ip } of addresses) ready.add(ip);
    }
  } else {
    for (const { addresses, conditions } of (object['endpoints'] ?? []) as readonly Endpoint[]) {
      if (conditions?.ready === true) for (const address of addresses) ready.add(address);
    }
  }
  return ready;
}
