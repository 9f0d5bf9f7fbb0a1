/**
 * A trace of a span of time in the format of Chrome's tracing, which Perfetto reads. It has the steps of the main
 * thread, the events of each watch, the batches at the shards, the requests, and the changes of the journal. It only
 * looks at what goes into and out of the machine.
 */
import type { JournalEntry } from './journal.ts';
import type { Effect } from '../effect.ts';
import type { Event } from '../event.ts';
import { unreachable } from '../../lib/assert.ts';
import { opensStream, type HttpRequest } from '../../ports/transport.ts';

export interface Trace {
  readonly eventsMax: number;
  /** Monotonic, as all times that are passed in. */
  readonly fromMs: number;
  readonly events: TraceEvent[];
  /** Requests without an answer, and streams that are open, by id. */
  readonly requests: Map<number, { readonly request: HttpRequest; readonly sentAtMs: number }>;
  /** Batches without an answer, by shard and number. */
  readonly batches: Map<string, number>;
  /** Events that were dropped, because the trace was full. */
  dropped: number;
}

/** In Chrome's format: microseconds since the start of the trace. */
export interface TraceEvent {
  readonly name: string;
  readonly cat: string;
  /** X: a slice of a track; b, e: a span that others may overlap; i: a moment; M: the name of a track. */
  readonly ph: 'X' | 'b' | 'e' | 'i' | 'M';
  readonly ts: number;
  readonly pid: 1;
  readonly tid: number;
  readonly dur?: number;
  readonly id?: string;
  readonly s?: 't';
  readonly args?: Readonly<Record<string, string | number>>;
}

const TRACKS = ['main thread', 'reflectors', 'queues', 'shards', 'requests'] as const;
type Track = (typeof TRACKS)[number];

export function createTrace(eventsMax: number, fromMs: number): Trace {
  return { eventsMax, fromMs, events: [], requests: new Map(), batches: new Map(), dropped: 0 };
}

/** Takes one step: the events that came in, and the effects that came out. */
export function noteStep(
  trace: Trace,
  events: readonly Event[],
  effects: readonly Effect[],
  fromMs: number,
  toMs: number,
): void {
  const name = events.length === 1 ? events[0]!.type : `${events.length} events`;
  add(trace, 'main thread', { name, cat: 'step', ph: 'X', ts: fromMs, dur: toMs - fromMs });
  for (const event of events) noteEvent(trace, event, fromMs);
  for (const effect of effects) noteEffect(trace, effect, toMs);
}

function noteEvent(trace: Trace, event: Event, atMs: number): void {
  switch (event.type) {
    case 'chunk': {
      const asked = trace.requests.get(event.id);
      const name = asked === undefined ? 'chunk' : resourceOf(asked.request);
      add(trace, 'reflectors', {
        name,
        cat: 'reflector',
        ph: 'i',
        s: 't',
        ts: atMs,
        args: { bytes: event.bytes.byteLength },
      });
      return;
    }
    case 'response':
    case 'failure':
    case 'ended': {
      const asked = trace.requests.get(event.id);
      if (asked === undefined) return;
      // The headers of a stream that goes on.
      if (event.type === 'response' && opensStream(asked.request.stream, event.status)) return;
      trace.requests.delete(event.id);
      const result = event.type === 'response' ? event.status : event.type;
      span(trace, 'requests', trackOf(asked.request), `request ${event.id}`, asked.sentAtMs, atMs, {
        name: `${asked.request.method} ${resourceOf(asked.request)}`,
        args: { path: asked.request.path, result },
      });
      return;
    }
    case 'shard.planned': {
      const key = `shard ${event.shard} batch ${event.batchId}`;
      const postedAtMs = trace.batches.get(key);
      trace.batches.delete(key);
      if (postedAtMs === undefined) return;
      const args = { services: event.reply.results.length };
      span(trace, 'shards', 'shard', key, postedAtMs, atMs, { name: `shard ${event.shard}`, args });
      return;
    }
    case 'start':
    case 'stop':
    case 'wake':
    case 'shard.lost':
      return;
    default:
      unreachable(event);
  }
}

function noteEffect(trace: Trace, effect: Effect, atMs: number): void {
  if (effect.type === 'http') trace.requests.set(effect.request.id, { request: effect.request, sentAtMs: atMs });
  else if (effect.type === 'cancel') trace.requests.delete(effect.id);
  else if (effect.type === 'shard.post') trace.batches.set(`shard ${effect.shard} batch ${effect.batchId}`, atMs);
}

/** The resource of a path, such as `endpoints`, or `watch endpoints` for a stream. */
function resourceOf({ path, stream }: HttpRequest): string {
  const parts = path.split('?')[0]!.split('/');
  const namespaced = parts.indexOf('namespaces');
  const resource = (namespaced >= 0 && parts[namespaced + 2]) || parts.at(-1) || path;
  return stream ? `watch ${resource}` : resource;
}

function trackOf({ pool }: HttpRequest): string {
  return pool === 'write' ? 'write' : `request ${pool}`;
}

/**
 * The whole trace as JSON.
 * @param changes from the journal. Those that ended before the trace began are left out.
 */
export function traceJson(trace: Trace, changes: readonly JournalEntry[]): string {
  const whole: Trace = { ...trace, events: [...trace.events] };
  for (const change of changes) noteChange(whole, change);
  TRACKS.forEach((name, tid) => {
    whole.events.push({ name: 'thread_name', cat: '', ph: 'M', ts: 0, pid: 1, tid, args: { name } });
  });
  const events = whole.events.sort((a, b) => a.ts - b.ts);
  const otherData = { dropped: whole.dropped };
  return `${JSON.stringify({ traceEvents: events, displayTimeUnit: 'ms', otherData })}\n`;
}

/** Draws one sync with those of its stages that follow each other. */
function noteChange(trace: Trace, change: JournalEntry): void {
  const { id, namespace, name, controller, result, writes, startedAtMs } = change;
  const seenAtMs = startedAtMs - Math.max(0, change.queueMs);
  const endedAtMs = seenAtMs + change.totalMs;
  if (seenAtMs < trace.fromMs) return;
  const key = `change ${id}`;
  const args = { controller, result, writes, throttleMs: change.throttleMs, writeMs: change.writeMs };
  span(trace, 'queues', 'change', key, seenAtMs, endedAtMs, { name: `${namespace}/${name}`, args });
  let atMs = seenAtMs;
  for (const [stage, ms] of [
    ['queue', change.queueMs],
    ['batch_wait', change.batchWaitMs],
    ['plan', change.planMs],
  ] as const) {
    if (ms < 0) continue;
    span(trace, 'queues', 'change', key, atMs, atMs + ms, { name: stage });
    atMs += ms;
  }
  if (writes > 0 && endedAtMs > atMs) span(trace, 'queues', 'change', key, atMs, endedAtMs, { name: 'writes' });
}

function span(
  trace: Trace,
  track: Track,
  cat: string,
  id: string,
  fromMs: number,
  toMs: number,
  rest: Pick<TraceEvent, 'name' | 'args'>,
): void {
  // Both ends of a span are drawn, or neither.
  if (trace.events.length + 2 > trace.eventsMax) {
    trace.dropped += 2;
    return;
  }
  add(trace, track, { ...rest, cat, ph: 'b', id, ts: fromMs });
  add(trace, track, { name: rest.name, cat, ph: 'e', id, ts: toMs });
}

function add(trace: Trace, track: Track, event: Omit<TraceEvent, 'pid' | 'tid'>): void {
  if (trace.events.length >= trace.eventsMax) {
    trace.dropped++;
    return;
  }
  const micros = (ms: number): number => Math.round(ms * 1000);
  const dur = event.dur === undefined ? {} : { dur: micros(event.dur) };
  const ts = micros(event.ts - trace.fromMs);
  trace.events.push({ ...event, ...dur, ts, pid: 1, tid: TRACKS.indexOf(track) });
}
