/**
 * The recorder. It lists and watches with the controllers' own reflectors what the endpoints controllers read and
 * write, and tells it as the lines of a recording. It only sends GET. Outputs are listed after inputs, so that the pod
 * of an endpoint is known first.
 */
import { createInstruments } from '../controller/reports/instruments.ts';
import { createOutages } from '../controller/reflectors/outages.ts';
import { onReflectorEvent, wakeReflector } from '../controller/reflectors/reflector-answers.ts';
import { listAgain, startReflector, stopReflector } from '../controller/reflectors/reflector-requests.ts';
import {
  createReflector,
  listOf,
  type Reflector,
  type ReflectorHands,
  type ReflectorPurpose,
} from '../controller/reflectors/reflector.ts';
import { createOutbox, type StepOutbox } from '../controller/outbox.ts';
import type { LogEffect } from '../controller/effect.ts';
import type { Now } from '../controller/event.ts';
import { MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_LABEL, SLICE_MANAGED_BY_VALUE } from '../kube/names.ts';
import { createInterner } from '../lib/interner.ts';
import { createPrng } from '../lib/prng.ts';
import { createMetricStore } from '../metrics/store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Transport, TransportEvent } from '../ports/transport.ts';
import { neededOf } from './begun.ts';
import { createEncoder, type Encoder } from './encode.ts';
import { createFrameWriter, type Compression, type FrameWriter } from './frames.ts';
import { PLAIN_NAMES } from './names.ts';
import { createPseudonyms, type Pseudonyms } from './pseudonyms.ts';
import type { RecordedResource, RecordingHeader } from './recording.ts';
import { createFrameSizer, grownSizes, NO_SIZES, type OutputSizes } from './sizes.ts';
import { createWatched, type Watched } from './watched.ts';

export interface RecorderConfig {
  readonly header: RecordingHeader;
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: (deliver: (events: readonly TransportEvent[]) => void) => Transport;
  readonly compression: Compression;
  /** Appends to the file. */
  readonly write: (bytes: Uint8Array) => void;
  readonly log: (line: LogEffect) => void;
}

export interface Recorder {
  readonly start: () => void;
  /** Ends the recording in good order. Nothing is written afterwards. */
  readonly stop: () => void;
  readonly status: () => RecorderStatus;
}

export interface RecorderStatus {
  readonly seconds: number;
  /** What the recorder waits for; '' = everything that may be read is listed. */
  readonly waitsFor: string;
  /** How many objects exist, or have come in the first list so far, by resource. */
  readonly objects: Readonly<Record<RecordedResource, number>>;
  /** How many changes of objects were told since everything was listed. */
  readonly changes: number;
  readonly bytes: number;
  /** How many lists came after the first ones, and how many watches are lost now. */
  readonly gaps: number;
  /** How often a watch was lost and went on where it was, so that events were late. */
  readonly rewatched: number;
  /** Resources that the server has never let the recorder read. */
  readonly refused: readonly RecordedResource[];
  /** Resources that it has let the recorder read, and answers with 401 or 403 now. */
  readonly turnedAway: readonly RecordedResource[];
  /** How many texts have remembered pseudonyms. */
  readonly texts: number;
}

interface Watch {
  readonly resource: RecordedResource;
  readonly watched: Watched;
  readonly reflector: Reflector;
  refusalTold: boolean;
  /** When the last event, bookmark or end of a list of it came, in monotonic ms. */
  heardAtMs: number;
  /** When the stream ended that does not go on yet, or was left for a list, in monotonic ms; -1 = it runs. */
  endedAtMs: number;
  /** That stream goes on at once: it ended in good order, or was cut while nothing happened. */
  goesOn: boolean;
  /** It was cut, so what the next stream tells first may be late. */
  wasCut: boolean;
  /** It was told that the watch is lost. */
  isLost: boolean;
}

interface State {
  readonly config: RecorderConfig;
  readonly outbox: StepOutbox<ReflectorPurpose>;
  readonly pseudonyms: Pseudonyms | null;
  readonly frames: FrameWriter;
  readonly encoder: Encoder;
  readonly beganMs: number;
  watches: readonly Watch[];
  /** How many states and ends of objects were told. */
  objectsTold: number;
  /** How many of them when everything was listed; -1 = it is not listed yet. */
  objectsListed: number;
  gaps: number;
  rewatched: number;
  bytes: number;
  flushAtMs: number;
  /** When the watches were looked at last. */
  lookedAt: Now;
  /** When the recorder went on after it had stood still, in monotonic ms. */
  resumedAtMs: number;
  /** How many texts were in use after the last sweep. */
  textsKept: number;
  sizesTold: OutputSizes;
  stopped: boolean;
}

const INPUTS = ['nodes', 'services', 'pods'] as const;
const OUTPUTS = ['endpoints', 'endpointslices'] as const;
/** The longest time that a crash can lose. */
const FLUSH_EVERY_MS = 2000;
/** A recorder that looks so much later than it should has stood still. A busy machine alone lets it wait for less. */
const LATE_MS_MAX = 3000;
/** The wall clock of a machine that has slept is so much further ahead. */
const ASLEEP_MS_MAX = 1000;
/** If so many new texts are remembered, or as many as were in use, texts that nothing has any more are forgotten. */
const NEW_TEXTS_MAX = 100_000;

export function createRecorder(config: RecorderConfig): Recorder {
  const { clock, random, header } = config;
  const outbox = createOutbox<ReflectorPurpose>();
  const pseudonyms = header.names === 'plain' ? null : createPseudonyms(() => random.uint32());
  const frames = createFrameWriter(config.compression, (bytes) => {
    state.bytes += bytes.length;
    config.write(bytes);
  });
  const lines = createEncoder(pseudonyms?.names ?? PLAIN_NAMES, Math.floor(clock.wallMs() / 1000), frames.add);
  const counted = (isTold: boolean): boolean => {
    if (isTold) state.objectsTold++;
    return isTold;
  };
  const encoder: Encoder = {
    ...lines,
    put: (...told) => counted(lines.put(...told)),
    remove: (...told) => counted(lines.remove(...told)),
  };
  const state: State = {
    config,
    outbox,
    pseudonyms,
    frames,
    encoder,
    beganMs: clock.nowMs(),
    watches: [],
    objectsTold: 0,
    objectsListed: -1,
    gaps: 0,
    rewatched: 0,
    bytes: 0,
    flushAtMs: Infinity,
    lookedAt: nowOf(clock),
    resumedAtMs: -Infinity,
    textsKept: 0,
    sizesTold: { endpoints: NO_SIZES, endpointslices: NO_SIZES },
    stopped: false,
  };
  const hands = handsOf(state);
  state.watches = watchesOf(state);
  const transport = config.transport((events) => {
    step(state, hands, transport, events);
  });
  return {
    start() {
      encoder.header(header);
      frames.flush();
      state.flushAtMs = clock.nowMs() + FLUSH_EVERY_MS;
      const now = nowOf(clock);
      for (const { resource, reflector } of state.watches) {
        if (isInput(resource)) startReflector(hands, reflector, now);
      }
      step(state, hands, transport, []);
    },
    stop() {
      tellStandstill(state, nowOf(clock));
      tellWatches(state, nowOf(clock));
      for (const { reflector } of state.watches) stopReflector(hands, reflector);
      perform(state, transport);
      tellIrrelevant(state);
      tellSizes(state, 1);
      encoder.tell(clock.nowMs() - state.beganMs, { end: true });
      frames.flush();
      state.stopped = true;
    },
    status: () => statusOf(state),
  };
}

function nowOf(clock: Clock): Now {
  return { nowMs: clock.nowMs(), wallMs: clock.wallMs() };
}

function isInput(resource: RecordedResource): boolean {
  return INPUTS.some((input) => input === resource);
}

function watchesOf(state: State): Watch[] {
  const { encoder, config, beganMs, pseudonyms } = state;
  const watching = {
    encoder,
    interner: createInterner(),
    names: pseudonyms?.names ?? PLAIN_NAMES,
    frames: createFrameSizer(),
    uint32: () => config.random.uint32(),
    atMs: (nowMs: number) => nowMs - beganMs,
    listing(resource: RecordedResource) {
      const watch = state.watches.find((one) => one.resource === resource)!;
      if (watch.reflector.synced && watch.endedAtMs < 0) watch.endedAtMs = config.clock.nowMs();
    },
    beforeNews: (resource: RecordedResource, now: Now) => beforeNews(state, resource, now),
  };
  return [...INPUTS, ...OUTPUTS].map((resource) => {
    const watched = createWatched(resource, watching);
    const selector = resource === 'endpointslices' ? SLICES_OF_CONTROLLERS : '';
    const reflector = createReflector(resource, watched.path, watched.target, true, selector);
    return {
      resource,
      watched,
      reflector,
      refusalTold: false,
      heardAtMs: -1,
      endedAtMs: -1,
      goesOn: false,
      wasCut: false,
      isLost: false,
    };
  });
}

/** A watch of which nothing is missing. */
const RUNNING = { endedAtMs: -1, goesOn: false, wasCut: false, isLost: false } as const;

const SLICES_OF_CONTROLLERS = `${SLICE_MANAGED_BY_LABEL} in (${SLICE_MANAGED_BY_VALUE},${MIRROR_MANAGED_BY_VALUE})`;

function handsOf(state: State): ReflectorHands {
  const { outbox, config, beganMs } = state;
  const instruments = createInstruments(createMetricStore(), '');
  const hands: ReflectorHands = {
    outbox: {
      ...outbox,
      log: (level, v, message, fields) => tellLog(state, { type: 'log', level, v, message, fields }),
    },
    prng: createPrng(config.random.uint32()),
    outages: createOutages(),
    metrics: {
      ...instruments,
      watchRestarts(resource) {
        const watch = state.watches.find((one) => one.resource === resource);
        if (watch?.reflector.synced === true && watch.endedAtMs < 0) watch.endedAtMs = config.clock.nowMs();
        return instruments.watchRestarts(resource);
      },
    },
    firstListEnds: () => undefined,
    listBegins: () => undefined,
    listRefused: () => undefined,
    listEnds(reflector, removal, now) {
      const watch = state.watches.find((one) => one.reflector === reflector)!;
      const atMs = now.nowMs - beganMs;
      // A list after a gap is a frame of its own.
      const isGap = watch.endedAtMs >= 0;
      if (isGap) {
        state.gaps++;
        state.frames.flush();
      }
      const sinceMs = isGap ? now.nowMs - watch.heardAtMs : 0;
      const toldBefore = state.objectsTold;
      watch.watched.tellList(removal, { version: reflector.resourceVersion, sinceMs, atMs });
      // The first list of a resource that was refused brings no changes.
      if (!isGap && state.objectsListed >= 0) state.objectsListed += state.objectsTold - toldBefore;
      Object.assign(watch, { heardAtMs: now.nowMs, ...RUNNING });
      if (isGap) state.frames.flush();
      return true;
    },
    wentBack(reflector, now) {
      for (const { reflector: other } of state.watches) {
        if (other !== reflector) listAgain(hands, other, -Infinity, now);
      }
    },
  };
  return hands;
}

/** A watch that ended at its time limit, or was cut while nothing happened, goes on sooner than this. */
const GOES_ON_MS_MAX = 1000;
/** So long after a watch runs again, it has told what is late. */
const SETTLES_MS = 1000;

/**
 * All watches are lost while this process stands still, as its machine or its disk may let it. What they tell next has
 * the time at which it goes on.
 */
function tellStandstill(state: State, { nowMs, wallMs }: Now): void {
  const { lookedAt, watches } = state;
  const awayMs = nowMs - lookedAt.nowMs;
  // Linux stops the monotonic clock of a machine that sleeps. A clock that is set ahead looks like that.
  const asleepMs = wallMs - lookedAt.wallMs - awayMs;
  if (awayMs <= FLUSH_EVERY_MS + LATE_MS_MAX && asleepMs <= ASLEEP_MS_MAX) return;
  state.resumedAtMs = nowMs;
  for (const watch of watches) {
    if (!watch.reflector.synced || watch.isLost) continue;
    if (watch.endedAtMs < 0) watch.endedAtMs = nowMs;
    tellLost(state, watch, lookedAt.nowMs, nowMs);
  }
}

function tellLost({ encoder, beganMs }: State, watch: Watch, sinceMs: number, nowMs: number): void {
  watch.isLost = true;
  encoder.tell(nowMs - beganMs, { lost: watch.resource, since: Math.round((nowMs - sinceMs) * 10) });
}

/** Tells of watches that are lost, and of lost ones that go on where they were: what they bring first is late. */
function tellWatches(state: State, { nowMs }: Now): void {
  const { watches, encoder, beganMs, resumedAtMs } = state;
  for (const watch of watches) {
    const { phase } = watch.reflector;
    if (watch.endedAtMs < 0) continue;
    if (!watch.isLost && isAway(watch, nowMs)) tellLost(state, watch, watch.heardAtMs, nowMs);
    if (phase.name !== 'watching') continue;
    const runsSinceMs = Math.max(phase.life.openedAtMs, resumedAtMs);
    if ((watch.isLost || watch.wasCut) && nowMs - runsSinceMs < SETTLES_MS) continue;
    if (watch.isLost) {
      state.rewatched++;
      encoder.tell(nowMs - beganMs, { rewatched: watch.resource });
    }
    Object.assign(watch, RUNNING);
  }
}

/** Whether a stream that has ended does not go on as one does that has reached its time limit. */
function isAway({ reflector: { phase }, endedAtMs, goesOn }: Watch, nowMs: number): boolean {
  if (phase.name === 'watching') return phase.life.openedAtMs - endedAtMs > GOES_ON_MS_MAX;
  const isUnderWay = (phase.name === 'opening' && phase.list === null) || (phase.name === 'checking' && goesOn);
  return !isUnderWay || nowMs - endedAtMs > GOES_ON_MS_MAX;
}

/** Called before news of a watch. If it was cut a moment ago, the cut may be older than its end. */
function beforeNews(state: State, resource: RecordedResource, { nowMs }: Now): void {
  const watch = state.watches.find((one) => one.resource === resource)!;
  if (watch.wasCut && !watch.isLost && watch.reflector.phase.name === 'watching') {
    tellLost(state, watch, watch.heardAtMs, nowMs);
  }
}

function step(state: State, hands: ReflectorHands, transport: Transport, events: readonly TransportEvent[]): void {
  if (state.stopped) return;
  const { clock } = state.config;
  const now = nowOf(clock);
  const isListing = state.objectsListed < 0;
  tellStandstill(state, now);
  tellWatches(state, now);
  for (const event of events) {
    takeEvent(state, hands, event, now);
    tellWatches(state, now);
  }
  let wakeAtMs = state.flushAtMs;
  startOutputs(state, hands, now);
  for (const { reflector } of state.watches) {
    wakeReflector(hands, reflector, now);
    wakeAtMs = Math.min(wakeAtMs, reflector.wakeAtMs);
  }
  tellWatches(state, now);
  tellRefusals(state, now);
  if (state.objectsListed < 0 && state.watches.every(isSettled) && neededOf(refusedOf(state)).length === 0) {
    state.objectsListed = state.objectsTold;
    // Whether the disk has room for the lists is known before they are called recorded.
    state.frames.flush();
  }
  if (now.nowMs >= state.flushAtMs) {
    flush(state, now);
    wakeAtMs = Math.min(wakeAtMs, state.flushAtMs);
  }
  perform(state, transport);
  // To tell the first lists of a large cluster takes seconds. The recording begins behind them.
  state.lookedAt = isListing ? nowOf(clock) : now;
  clock.wakeAt(wakeAtMs, () => step(state, hands, transport, []));
}

function takeEvent({ outbox, watches }: State, hands: ReflectorHands, event: TransportEvent, now: Now): void {
  const purpose = outbox.takeEvent(event);
  if (purpose === undefined) return;
  const { reflector } = purpose;
  const { phase } = reflector;
  const life = phase.name === 'watching' ? phase.life : null;
  const framesBefore = life?.frames;
  const watch = watches.find((one) => one.reflector === reflector)!;
  onReflectorEvent(hands, reflector, event, now);
  if (event.type === 'ended') {
    watch.goesOn = reflector.phase.name === 'checking';
    watch.wasCut = event.error !== null;
  }
  if (life?.frames !== framesBefore) watch.heardAtMs = now.nowMs;
}

function perform({ outbox }: State, transport: Transport): void {
  const { effects } = outbox;
  outbox.effects = [];
  for (const effect of effects) {
    if (effect.type === 'http') transport.send(effect.request);
    else if (effect.type === 'cancel') transport.cancel(effect.id);
  }
}

function isSettled(watch: Watch): boolean {
  return watch.reflector.synced || isRefused(watch);
}

/** A refusal later on is a gap. A list that is being answered has been granted, and may take minutes. */
function isRefused({ reflector }: Watch): boolean {
  return reflector.refused && !reflector.synced && listOf(reflector)?.progress.isAnswered !== true;
}

function isTurnedAway({ reflector }: Watch): boolean {
  const { synced, failure } = reflector;
  // Pages that are answered tell no success before the last.
  return synced && /^40[13]\b/.test(failure) && listOf(reflector)?.progress.isAnswered !== true;
}

function refusedOf({ watches }: State): RecordedResource[] {
  return watches.filter(isRefused).map(({ resource }) => resource);
}

/** Does nothing the second time. */
function startOutputs({ watches }: State, hands: ReflectorHands, now: Now): void {
  if (!watches.every((watch) => !isInput(watch.resource) || isSettled(watch))) return;
  for (const { resource, reflector } of watches) if (!isInput(resource)) startReflector(hands, reflector, now);
}

function tellRefusals({ watches, encoder, beganMs }: State, { nowMs }: Now): void {
  for (const watch of watches) {
    if (!isRefused(watch) || watch.refusalTold) continue;
    watch.refusalTold = true;
    encoder.tell(nowMs - beganMs, { refused: watch.resource });
  }
}

function flush(state: State, { nowMs }: Now): void {
  const { pseudonyms, encoder } = state;
  state.flushAtMs = nowMs + FLUSH_EVERY_MS;
  tellIrrelevant(state);
  tellSizes(state, SIZES_GROWTH);
  state.frames.flush();
  if (pseudonyms === null || pseudonyms.size() < 2 * state.textsKept + NEW_TEXTS_MAX) return;
  pseudonyms.sweep(encoder.touch);
  state.textsKept = pseudonyms.size();
}

function tellIrrelevant({ watches, encoder, config, beganMs }: State): void {
  const counts = watches
    .map((watch) => [watch.resource, watch.watched.takeIrrelevant()] as const)
    .filter(([, count]) => count > 0);
  if (counts.length > 0) encoder.tell(config.clock.nowMs() - beganMs, { irrelevant: Object.fromEntries(counts) });
}

/** Sizes are told again when there are so many times as many, so that a crash leaves most of them, and at the end. */
const SIZES_GROWTH = 2;

function tellSizes(state: State, growth: number): void {
  const { watches, encoder, config, beganMs } = state;
  const of = (resource: keyof OutputSizes): OutputSizes['endpoints'] => {
    const seen = watches.find((watch) => watch.resource === resource)!.watched.sizes();
    return grownSizes(state.sizesTold[resource], seen, growth);
  };
  const sizes: OutputSizes = { endpoints: of('endpoints'), endpointslices: of('endpointslices') };
  if (JSON.stringify(sizes) === JSON.stringify(state.sizesTold)) return;
  state.sizesTold = sizes;
  encoder.tell(config.clock.nowMs() - beganMs, { sizes });
}

/** Fields of log lines that never have a text of the server or of an object. */
const SAFE_FIELDS: ReadonlySet<string> = new Set([
  'resource',
  'objects',
  'seconds',
  'items',
  'itemsNow',
  'afterMs',
  'outage',
  'watches',
]);
/** The status of an answer, or the outcome of a request. */
const CODE = /^(?:\d{3}|refused|timeout|reset|too-big|late|other)\b/;

/** What `readOutput` says: it has pseudonyms and names of the API's fields. */
const UNREADABLE = /^(?:endpoints|slice) n\d+\/[se]\d+: [A-Za-z.]+ cannot be read$/;

/** What a log line says under pseudonyms in place of a text of the server. */
export const NOT_SHOWN = 'not shown without --plain';

/** Writes a line of the log. With pseudonyms it leaves out the server's texts, except for the status. */
function tellLog({ config, pseudonyms }: State, line: LogEffect): void {
  if (pseudonyms === null) {
    config.log(line);
    return;
  }
  const fields = Object.entries(line.fields).map(([name, value]) => {
    if (SAFE_FIELDS.has(name)) return [name, value] as const;
    const text = String(value);
    return [name, (CODE.exec(text) ?? UNREADABLE.exec(text))?.[0] ?? NOT_SHOWN] as const;
  });
  config.log({ ...line, fields: Object.fromEntries(fields) });
}

function statusOf(state: State): RecorderStatus {
  const { watches, encoder, config, beganMs, objectsTold, objectsListed, bytes, gaps, rewatched, pseudonyms } = state;
  const objects = Object.fromEntries(
    watches.map(({ resource, reflector }) => [
      resource,
      // A first list is told at its end.
      reflector.synced ? encoder.count(resource) : (listOf(reflector)?.progress.objects ?? 0),
    ]),
  );
  return {
    seconds: (config.clock.nowMs() - beganMs) / 1000,
    waitsFor: watches.find((watch) => !isSettled(watch))?.resource ?? '',
    objects: objects as Record<RecordedResource, number>,
    changes: objectsListed < 0 ? 0 : objectsTold - objectsListed,
    bytes,
    gaps: gaps + watches.filter(({ isLost }) => isLost).length,
    rewatched,
    refused: refusedOf(state),
    turnedAway: watches.filter(isTurnedAway).map(({ resource }) => resource),
    texts: pseudonyms?.size() ?? 0,
  };
}
