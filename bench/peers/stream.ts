/**
 * What an independent watcher learns from the stream of one kind of objects: how many writes and bytes there are, when
 * a change is shown, whether a ready address was missing that nobody had taken away, and whether one came back that
 * somebody had. It has no clock: the caller tells the time.
 */
import { OVER_CAPACITY_ANNOTATION, TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import { parseMicroTime } from '../../src/kube/time.ts';
import type { Endpoint, EndpointSubset, KubeObject } from '../../src/kube/types.ts';

/** One request to the server. All times are milliseconds of one clock; NaN = not yet, or never. */
export interface TimedChange {
  /** The time at which it was due. */
  readonly dueMs: number;
  /** Whether it is of the quiet side of the story. */
  readonly isolated: boolean;
  /** `<namespace>/<name>` of the services that it concerns. */
  readonly services: readonly string[];
  sentMs: number;
  ackedMs: number;
  /** The version that the server gave the object. */
  resourceVersion: string;
  /** When the watcher saw the Endpoints that follow; null = none are awaited. `slicesMs`: the slices. */
  endpointsMs: number | null;
  slicesMs: number | null;
  /**
   * By stream: when a later change took this one back before the stream had shown it; -Infinity = it wants what was shown
   * all along.
   */
  readonly takenBackMs: { endpoints?: number; slices?: number };
}

export type StreamKind = 'endpoints' | 'slices';

/** The field of a change in which a stream notes the time. */
export const SEEN_FIELDS = { endpoints: 'endpointsMs', slices: 'slicesMs' } as const;

/**
 * Until when a change was wrong in a stream: when it was shown, or was taken back before that; -Infinity = it never was.
 * NaN = neither, or nothing was awaited.
 */
export function endOf(change: TimedChange, kind: StreamKind): number {
  return change[SEEN_FIELDS[kind]] ?? change.takenBackMs[kind] ?? Number.NaN;
}

interface Awaited {
  readonly ready: boolean;
  readonly change: TimedChange;
}

export interface Stream {
  readonly kind: StreamKind;
  readonly serviceOf: (object: KubeObject) => string | null;
  /** From the plan of a write until the watcher has it. A write that waits for a token was planned before. */
  readonly writeMsMax: number;
  /** By the object's key: its service and its ready addresses. */
  readonly objects: Map<string, { readonly service: string; readonly ready: ReadonlySet<string> }>;
  /** In how many objects of the service an address is ready, by service and address. */
  readonly ready: Map<string, number>;
  /** Expectations by service and address, the oldest first. */
  readonly awaited: Map<string, Awaited[]>;
  /** When an object of the echo floor was seen, by the pod's version that it has. */
  readonly echoes: Map<string, number>;
  /** Services with more addresses than an Endpoints object holds. It may hold others later. */
  readonly overCapacity: Set<string>;
  /** How often an address may still vanish, by service and address. */
  readonly allowed: Map<string, number>;
  writes: number;
  bytes: number;
  /** Whether an address is to be ready, by service and address, as the last change made it. */
  readonly wanted: Map<string, boolean>;
  /** Ready addresses that were missing although nothing had taken them away. */
  readonly gaps: string[];
  /** Addresses that came back as ready although the last change, which was seen, had taken them away. */
  readonly returns: string[];
  /** How many changes were taken back before anything was written, so nothing will show them. */
  coalesced: number;
  /** The milliseconds from a write's trigger time until the write was seen, with the time at which it was. */
  readonly trigger: { readonly atMs: number; readonly ms: number }[];
}

/** Of each kind. */
const FAULTS_MAX = 1000;
/** The annotation of the echo floor: the version of the pod's event that made it write. */
export const ECHO_ANNOTATION = 'bench.endpointd.example/event';

const WRITE_MS_MAX = 1000;

export function createStream(kind: StreamKind, serviceOf: Stream['serviceOf'], writeMsMax = WRITE_MS_MAX): Stream {
  return {
    kind,
    serviceOf,
    writeMsMax,
    objects: new Map(),
    ready: new Map(),
    awaited: new Map(),
    echoes: new Map(),
    overCapacity: new Set(),
    allowed: new Map(),
    writes: 0,
    bytes: 0,
    wanted: new Map(),
    gaps: [],
    returns: [],
    coalesced: 0,
    trigger: [],
  };
}

/** Awaits that the stream shows the address as ready, or as not ready. In the latter case it may vanish once. */
export function awaitAddress(
  stream: Stream,
  service: string,
  address: string,
  ready: boolean,
  change: TimedChange | null,
): void {
  const key = `${service} ${address}`;
  if (!ready) stream.allowed.set(key, (stream.allowed.get(key) ?? 0) + 1);
  if (change === null) {
    stream.wanted.delete(key);
    return;
  }
  stream.wanted.set(key, ready);
  change[SEEN_FIELDS[stream.kind]] = Number.NaN;
  const waiting = stream.awaited.get(key);
  if (waiting === undefined) stream.awaited.set(key, [{ ready, change }]);
  else waiting.push({ ready, change });
}

/**
 * What the stream has not shown. `owed`: addresses that are not as the last change made them. `open`: changes whose
 * address is right although nothing has shown them yet. Their writes are to come, or they were taken back before any
 * write.
 */
export function awaitedOf({ awaited, ready }: Stream): { readonly owed: number; readonly open: number } {
  let [owed, open] = [0, 0];
  for (const [key, waiting] of awaited) {
    if (waiting.at(-1)!.ready === ready.has(key)) open += waiting.length;
    else owed++;
  }
  return { owed, open };
}

/** Nothing more will come, so open changes were coalesced. */
export function settleAwaited(stream: Stream): void {
  for (const [key, waiting] of stream.awaited) {
    const isReady = stream.ready.has(key);
    if (waiting.at(-1)!.ready !== isReady) continue;
    takeBack(stream, waiting, isReady, Number.NaN);
    useUp(stream, key, waiting);
    stream.awaited.delete(key);
  }
}

/**
 * Notes changes that the stream will not show. One that wants what was shown all along was never wrong. Any other was
 * wrong until the next one.
 * @param isReady what was shown all along
 * @param nowMs until when the last one was wrong
 */
function takeBack(stream: Stream, coalesced: readonly Awaited[], isReady: boolean, nowMs: number): void {
  stream.coalesced += coalesced.length;
  for (const [i, { ready, change }] of coalesced.entries()) {
    change[SEEN_FIELDS[stream.kind]] = null;
    const next = coalesced[i + 1]?.change;
    const nextMs = next === undefined || Number.isNaN(next.ackedMs) ? nowMs : next.ackedMs;
    change.takenBackMs[stream.kind] = ready === isReady ? -Infinity : nextMs;
  }
}

/**
 * @param type the type of the watch event, or `LISTED` for an object that existed before the watch
 * @param now `wallMs`: since the epoch
 */
export function noteEvent(
  stream: Stream,
  type: string,
  object: KubeObject,
  bytes: number,
  now: { readonly ms: number; readonly wallMs: number },
): void {
  const triggerMs = triggerMsOf(object);
  if (type !== 'LISTED') noteWrite(stream, type, bytes, triggerMs, now);
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

/** The trigger time of a write, milliseconds since the epoch; NaN = it has none. */
function triggerMsOf({ metadata: { annotations } }: KubeObject): number {
  const time = annotations?.[TRIGGER_TIME_ANNOTATION];
  const parsed = time === undefined ? null : parseMicroTime(time);
  return parsed === null ? Number.NaN : parsed.seconds * 1000;
}

function noteWrite(
  stream: Stream,
  type: string,
  bytes: number,
  triggerMs: number,
  now: { readonly ms: number; readonly wallMs: number },
): void {
  stream.writes++;
  stream.bytes += bytes;
  if (type !== 'DELETED' && !Number.isNaN(triggerMs)) stream.trigger.push({ atMs: now.ms, ms: now.wallMs - triggerMs });
}

function count(stream: Stream, key: string, by: 1 | -1, nowMs: number): void {
  const before = stream.ready.get(key) ?? 0;
  const after = before + by;
  if (after === 0) stream.ready.delete(key);
  else stream.ready.set(key, after);
  if (before > 0 === after > 0) return;
  if (after === 0) noteGone(stream, key);
  const waiting = stream.awaited.get(key);
  const isReturn = after > 0 && waiting === undefined && stream.wanted.get(key) === false;
  if (isReturn && stream.returns.length < FAULTS_MAX) stream.returns.push(key);
  // The first expectation that wants what is shown now. Those before it came right together with it.
  const first = waiting?.findIndex(({ ready }) => ready === after > 0) ?? -1;
  if (waiting === undefined || first < 0) return;
  const shown = shownBy(stream, waiting, first, nowMs);
  const seen = waiting.splice(0, shown + 1);
  takeBack(stream, seen.slice(first, shown), before > 0, nowMs);
  for (const { change } of [...seen.slice(0, first), seen[shown]!]) change[SEEN_FIELDS[stream.kind]] = nowMs;
  // The last one has used its own up.
  useUp(stream, key, seen.slice(0, -1));
  if (waiting.length === 0) stream.awaited.delete(key);
}

/**
 * The place of the change that a write shows, among those that want the same as the one at `first`: the first that was not
 * taken back long ago, because a controller plans what is there when it plans. If all were, the write was late.
 */
function shownBy({ writeMsMax }: Stream, waiting: readonly Awaited[], first: number, nowMs: number): number {
  const { ready } = waiting[first]!;
  const isOver = (at: number): boolean => (waiting[at + 1]?.change.ackedMs ?? Infinity) < nowMs - writeMsMax;
  const shown = waiting.findIndex((one, at) => at >= first && one.ready === ready && !isOver(at));
  return shown < 0 ? first : shown;
}

/** Changes that nothing will show any more let no address vanish either. */
function useUp({ allowed }: Stream, key: string, waiting: readonly Awaited[]): void {
  const gone = waiting.filter(({ ready }) => !ready).length;
  if (gone > 0) allowed.set(key, Math.max(0, (allowed.get(key) ?? 0) - gone));
}

function noteGone(stream: Stream, key: string): void {
  const allowed = stream.allowed.get(key) ?? 0;
  if (allowed > 0) stream.allowed.set(key, allowed - 1);
  else if (stream.overCapacity.has(key.slice(0, key.indexOf(' ')))) return;
  else if (stream.gaps.length < FAULTS_MAX) stream.gaps.push(key);
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
