/**
 * The endpoints of a story in one output of a controller: as the controller's cache has them, and as it has published
 * them. A plan takes the difference. Both programs share this, because their plans are the same.
 */
import { createHeap, type Heap, heapFirst, type HeapItem, heapPlace, heapRemove } from '../lib/heap.ts';
import type { DrawFamily, DrawRank } from './draw.ts';
import { type ChangeKind, type Ledger, type Output, UNDONE_MS_MAX } from './ledger.ts';
import {
  createPacking,
  type Packing,
  type PackedWrite,
  type PackingRules,
  type PlaceChanges,
  repack,
} from './packing.ts';
import type { PlaceChange, Story, StoryChange } from './story.ts';
import type { WaitingService } from './world.ts';

/** A change that the next one of its place has undone before any object showed it. A write of it may be under way. */
interface UndoneChange {
  readonly atMs: number;
  readonly kind: ChangeKind;
  readonly undoneAtMs: number;
}

/** What a write shows for a place. */
interface ShownPlace {
  readonly place: number;
  readonly isReady: boolean;
}

export interface Book {
  readonly story: Story;
  readonly output: Output;
  readonly ledger: Ledger;
  /** For each place. */
  readonly serviceOf: Int32Array;
  readonly perSlice: number;
  /** Whether Endpoints with more addresses than they can have are written at every sync. */
  readonly rewritesFull: boolean;
  readonly rankOf: DrawRank;
  readonly recycles: PackingRules['recycles'];
  readonly firstFamilyOf: DrawFamily;
  /** For each place: the last second in which it turned that a sync has read, of Endpoints that are rewritten when full. */
  readonly readSecond: Int32Array;
  /** For each place: its content in the cache. */
  readonly content: Int32Array;
  /** Whether it is ready in the cache, even if there is no room for it. */
  readonly isReady: Uint8Array;
  /** For each place: its content in the last plan whose writes are done or under way. */
  readonly planned: Int32Array;
  /** For each place: whether the object on the server shows it as ready. */
  readonly isShownReady: Uint8Array;
  /** For each place: the time of the newest change that no object shows; NaN = there is none. */
  readonly openAtMs: Float64Array;
  /** For each place: whether that change is an addition. */
  readonly opensAdd: Uint8Array;
  /** For each place: whether it was ready when the pods were read that are planned now. */
  readonly plannedReady: Uint8Array;
  readonly undone: Map<number, UndoneChange>;
  /** How many endpoints of a service the output has at most. */
  readonly room: number;
  readonly services: readonly ServiceBook[];
}

interface ServiceBook {
  /** How many of its places have an endpoint in the cache, without those that wait. */
  held: number;
  /** Places for which there is no room, with the content that they would have. */
  readonly waiting: Map<number, number>;
  /** Whether the object says that it has not all of them, by an annotation. */
  isMarked: boolean;
  /** The order of its places; null = the service never has more than there is room for. */
  readonly ranking: Ranking | null;
  /** Places that have changed since the last plan. */
  readonly dirty: Set<number>;
  /** Of each family. */
  readonly packings: readonly Packing[];
  /** How many plans its slices have had. */
  plans: number;
  /** How many endpoints the service has published. */
  published: number;
  /** For places that have become ready or not since the pods were last read: the second in which they did. */
  readonly turned: Map<number, number>;
  /** The trigger time of the object in whole seconds; Infinity = it has none. */
  shownSecond: number;
  /** Whether its objects are still to be created. */
  isMissing: boolean;
  /** Failed writes, and objects that others have changed. The next plan includes them. */
  due: ModelWrite[];
  /** How many writes are owed beside those. */
  owedLater: number;
}

/** The places of a service that may have more than there is room for. Each is in at most one of the heaps. */
interface Ranking {
  readonly items: ReadonlyMap<number, RankedPlace>;
  /** Those that wait. The one that comes first is its first. */
  readonly waiting: Heap<RankedPlace>;
  /** Those for which there is room. The one that comes last is its first. */
  readonly seated: Heap<RankedPlace>;
}

interface RankedPlace extends HeapItem {
  readonly place: number;
}

/** One write of a plan. */
export interface ModelWrite {
  readonly verb: PackedWrite['verb'];
  /** The number of the object's address family; 0 = it is an Endpoints object. */
  readonly family: number;
  /** How many endpoints the object has afterwards. */
  readonly endpoints: number;
  readonly shows: readonly ShownPlace[];
  /** The server has the object as it is written, so it stores nothing and no watch tells of it; absent = no. */
  readonly isSame?: boolean;
}

/** What a sync has found when it read the pods. */
export interface Listing {
  /** Of each place that has changed three numbers: the place, its content, and 1 if it is ready, else 0. */
  readonly changed: readonly number[];
  /** The trigger time in whole seconds; Infinity = there is none. */
  readonly triggerSecond: number;
  /** Whether there are more than there is room for. */
  readonly isOver: boolean;
}

/** Upstream's limit of an Endpoints object (docs/spec/endpoints.md "Over capacity"). */
const ENDPOINTS_MAX = 1000;

export interface BookOptions {
  /** `--max-endpoints-per-slice`. */
  readonly perSlice: number;
  /** The same, of the slices that are there at the start. A smaller limit splits none of them. */
  readonly perSliceAtStart: number;
  readonly rewritesFull: boolean;
  /** The order in which a sync takes slices. What comes last waits longest for a token. */
  readonly rankOf: DrawRank;
  readonly recycles: PackingRules['recycles'];
  /** The order in which a sync takes families. The one that is taken first is followed by those after it. */
  readonly firstFamilyOf: DrawFamily;
}

/**
 * The places that are published at the start are packed into full slices. Endpoints have room for 1,000 places of a
 * service, of which those that are ready come first. Then addresses decide, which the story does not have: here it is the
 * number of the place.
 */
export function createBook(story: Story, output: Output, ledger: Ledger, options: BookOptions): Book {
  const { perSlice, perSliceAtStart, rewritesFull, rankOf, recycles, firstFamilyOf } = options;
  const room = output === 'endpoints' ? ENDPOINTS_MAX : Infinity;
  const isReady = Uint8Array.from(story.places, ({ start }) => (start.isReady && start[output] !== 0 ? 1 : 0));
  const content = new Int32Array(story.places.length);
  const { members, serviceOf } = belongingOf(story);
  const services = story.services.map(({ families, isNew = false }, i): ServiceBook => ({
    isMissing: isNew,
    held: 0,
    waiting: new Map(),
    isMarked: false,
    ranking: members[i]!.length > room ? createRanking(members[i]!, isReady) : null,
    dirty: new Set(),
    packings: Array.from({ length: families }, createPacking),
    plans: 0,
    published: 0,
    turned: new Map(),
    shownSecond: Infinity,
    due: [],
    owedLater: 0,
  }));
  const initial = members.map((own, i) => {
    const service = services[i]!;
    const { ranking, waiting } = service;
    const there = own.filter((place) => story.places[place]!.start[output] !== 0);
    const ranked =
      there.length > room ? there.toSorted((one, other) => (isBefore(isReady, one, other) ? -1 : 1)) : there;
    for (const place of ranked.slice(room)) wait(service, place, story.places[place]!.start[output]);
    const within = there.filter((place) => !waiting.has(place));
    for (const place of within) {
      content[place] = story.places[place]!.start[output];
      if (ranking !== null) heapPlace(ranking.seated, ranking.items.get(place)!);
    }
    service.held = within.length;
    service.isMarked = waiting.size > 0;
    return within;
  });
  for (const [i, added] of initial.entries()) {
    const service = services[i]!;
    service.published = added.length;
    // A Service that is created later has no slices yet, not even one without endpoints.
    if (output === 'endpoints' || service.isMissing) continue;
    for (const [family, packing] of service.packings.entries()) {
      const rules = { perSlice: perSliceAtStart, rankOf: (founder: number) => rankOf(founder, 0, family), recycles };
      repack(packing, { added, changed: [], removed: [] }, rules);
    }
  }
  return {
    story,
    output,
    ledger,
    serviceOf,
    perSlice,
    rewritesFull,
    rankOf,
    recycles,
    firstFamilyOf,
    readSecond: new Int32Array(rewritesFull && output === 'endpoints' ? story.places.length : 0).fill(-1),
    content,
    isReady,
    isShownReady: isReady.map((ready, place) => (content[place] === 0 ? 0 : ready)),
    planned: content.slice(),
    openAtMs: new Float64Array(story.places.length).fill(Number.NaN),
    opensAdd: new Uint8Array(story.places.length),
    plannedReady: new Uint8Array(story.places.length),
    undone: new Map(),
    room,
    services,
  };
}

/** Which places are of which service. */
interface Belonging {
  /** For each place. */
  readonly serviceOf: Int32Array;
  /** The places of each service. */
  readonly members: readonly (readonly number[])[];
}

const BELONGINGS = new WeakMap<Story, Belonging>();

/** The same for each run of a story. */
function belongingOf(story: Story): Belonging {
  let found = BELONGINGS.get(story);
  if (found === undefined) {
    const members: number[][] = story.services.map(() => []);
    for (const [place, { service }] of story.places.entries()) members[service]!.push(place);
    found = { serviceOf: Int32Array.from(story.places, ({ service }) => service), members };
    BELONGINGS.set(story, found);
  }
  return found;
}

/** Takes an event into the cache. @param atMs when the API server acknowledged the change */
export function takeChange(book: Book, placed: PlaceChange, atMs: number): void {
  const { place, wanted } = placed;
  const own = book.services[book.serviceOf[place]!]!;
  const content = wanted[book.output];
  noteTurn(book, own, placed, atMs);
  const wasReady = book.isReady[place] === 1;
  const hadRoom = !own.waiting.has(place);
  // A pod without an address of the Endpoints' family is ready in slices alone.
  const isReady = wanted.isReady && content !== 0;
  book.isReady[place] = isReady ? 1 : 0;
  seat(book, own, place, content);
  if (wasReady === isReady) return;
  hideUndone(book, place);
  const isShown = (book.isShownReady[place] === 1) === isReady;
  const openAtMs = book.openAtMs[place]!;
  // Of what is open the contrary is shown, so what undoes it is shown already.
  if (!Number.isNaN(openAtMs) && hadRoom) {
    book.undone.set(place, { atMs: openAtMs, kind: openKind(book, place), undoneAtMs: atMs });
  } else if (isShown) book.ledger.overtaken[book.output]++;
  setOpen(book, place, isShown ? Number.NaN : atMs, isReady);
}

function setOpen({ openAtMs, opensAdd }: Book, place: number, atMs: number, isAdd: boolean): void {
  openAtMs[place] = atMs;
  opensAdd[place] = isAdd ? 1 : 0;
}

function openKind({ opensAdd }: Book, place: number): ChangeKind {
  return opensAdd[place] === 1 ? 'add' : 'remove';
}

/** A pod that is in no Endpoints has no trigger time. */
function noteTurn(book: Book, own: ServiceBook, { place, wanted }: PlaceChange, atMs: number): void {
  if (book.readSecond.length === 0 || wanted.endpoints === 0) return;
  const wasThere = own.waiting.has(place) || book.content[place] !== 0;
  const wasReady = book.isReady[place] === 1;
  if (!wasThere || wasReady !== wanted.isReady) own.turned.set(place, Math.floor(atMs / 1000));
}

/** No write has shown the change that was undone, nor what undid it. */
function hideUndone({ ledger, output, undone }: Book, place: number): void {
  if (undone.size === 0) return;
  const change = undone.get(place);
  if (change === undefined) return;
  const { atMs, kind, undoneAtMs } = change;
  undone.delete(place);
  ledger.overtaken[output] += 2;
  ledger.unshown[output].push({ atMs, kind, latencyMs: undoneAtMs - atMs });
}

/** Gives a place its endpoint, or takes it. Where there is too little room, the places come by their rank. */
function seat(book: Book, own: ServiceBook, place: number, content: number): void {
  const { isReady, room } = book;
  const { ranking, waiting } = own;
  const isSeated = book.content[place] !== 0;
  stopWaiting(own, place);
  if (content !== 0 && waiting.size === 0 && (isSeated || own.held < room)) {
    setPlace(book, own, place, content);
    return;
  }
  if (isSeated) setPlace(book, own, place, 0);
  if (content !== 0) wait(own, place, content);
  const first = ranking === null ? undefined : heapFirst(ranking.waiting);
  if (first === undefined) return;
  if (own.held === room) {
    const last = heapFirst(ranking!.seated)!.place;
    if (!isBefore(isReady, first.place, last)) return;
    const displaced = book.content[last]!;
    setPlace(book, own, last, 0);
    wait(own, last, displaced);
  }
  const seated = waiting.get(first.place)!;
  stopWaiting(own, first.place);
  setPlace(book, own, first.place, seated);
}

function wait({ ranking, waiting }: ServiceBook, place: number, content: number): void {
  waiting.set(place, content);
  heapPlace(ranking!.waiting, ranking!.items.get(place)!);
}

function stopWaiting({ ranking, waiting }: ServiceBook, place: number): void {
  if (waiting.delete(place)) heapRemove(ranking!.waiting, ranking!.items.get(place)!);
}

/** A place whose readiness changes is put anew before another one is looked at. */
function createRanking(places: readonly number[], isReady: Uint8Array): Ranking {
  return {
    items: new Map(places.map((place) => [place, { place, heapIndex: -1 }])),
    waiting: createHeap((a, b) => isBefore(isReady, a.place, b.place)),
    seated: createHeap((a, b) => isBefore(isReady, b.place, a.place)),
  };
}

/** Whether a place comes before another one where there is no room for both. */
function isBefore(isReady: Uint8Array, one: number, other: number): boolean {
  return isReady[one] === isReady[other] ? one < other : isReady[one] === 1;
}

function setPlace(book: Book, own: ServiceBook, place: number, content: number): void {
  own.held += (content === 0 ? 0 : 1) - (book.content[place] === 0 ? 0 : 1);
  book.content[place] = content;
  const { ranking } = own;
  if (ranking !== null) {
    const item = ranking.items.get(place)!;
    if (content === 0) heapRemove(ranking.seated, item);
    else heapPlace(ranking.seated, item);
  }
  if (content !== book.planned[place]) own.dirty.add(place);
}

/** Reads the pods of a service. What changes from now on is for the next plan. */
export function listPods({ content, isReady, readSecond, services }: Book, service: number): Listing {
  const { dirty, turned, waiting } = services[service]!;
  let triggerSecond = Infinity;
  if (turned.size > 0) {
    for (const [place, second] of turned) {
      // A pod that turns twice in a second tells nothing new.
      if (second > readSecond[place]!) triggerSecond = Math.min(triggerSecond, second);
      readSecond[place] = second;
    }
    turned.clear();
  }
  const isOver = waiting.size > 0;
  if (dirty.size === 0) return { changed: NOTHING_CHANGED, triggerSecond, isOver };
  const changed: number[] = [];
  for (const place of dirty) {
    const now = content[place]!;
    changed.push(place, now, now === 0 ? 0 : isReady[place]!);
  }
  return { changed, triggerSecond, isOver };
}

/** The service is gone: what it does not show yet, nothing will show. */
export function forgetService(book: Book, service: number, nowMs: number): void {
  const { content, ledger, openAtMs, output, planned, services } = book;
  const own = services[service]!;
  for (const place of own.dirty) {
    planned[place] = content[place]!;
    hideUndone(book, place);
    const atMs = openAtMs[place]!;
    if (Number.isNaN(atMs)) continue;
    openAtMs[place] = Number.NaN;
    ledger.overtaken[output]++;
    ledger.unshown[output].push({ atMs, kind: openKind(book, place), latencyMs: nowMs - atMs });
  }
  own.dirty.clear();
  for (const place of own.waiting.keys()) stopWaiting(own, place);
  own.due = [];
}

/** The writes that publish a service as the pods were read. From then on they count as planned. */
export function planService(book: Book, service: number, listing = listPods(book, service)): readonly ModelWrite[] {
  const own = book.services[service]!;
  const { due, isMissing } = own;
  own.isMissing = false;
  const changes = planChanges(book, service, listing, isMissing);
  // A Service without pods has objects all the same.
  const planned =
    isMissing && changes.length === 0 ? emptyObjects(book, service) : againIfFull(book, own, changes, listing);
  if (planned.length > 0) {
    own.shownSecond = listing.triggerSecond;
    own.isMarked = listing.isOver;
  }
  if (due.length === 0) return planned;
  own.due = [];
  if (own.owedLater > 0) {
    const { owedLater } = own;
    own.owedLater = 0;
    owe(book, service, owedLater);
  }
  const writes = [...due, ...planned];
  return hasOneOfEach(book, service) ? merged(writes) : writes;
}

/** The newest write of each family, which shows what those before would have shown. What was due is no equal object. */
function merged(writes: readonly ModelWrite[]): ModelWrite[] {
  const newest = new Map<number, ModelWrite>();
  for (const write of writes) {
    const { family } = write;
    const before = newest.get(family);
    // The newest writes keep their order.
    newest.delete(family);
    if (before === undefined) newest.set(family, write);
    else newest.set(family, { ...write, isSame: false, shows: newestShown([...before.shows, ...write.shows]) });
  }
  return [...newest.values()];
}

function newestShown(shows: readonly ShownPlace[]): ShownPlace[] {
  return [...new Map(shows.map((shown) => [shown.place, shown])).values()];
}

/** Whether the service has one object of each family. */
function hasOneOfEach(book: Book, service: number): boolean {
  return book.output === 'endpoints' || !isAboveSlice(book, service);
}

/** Whether its endpoints are more than a slice may have, which matters from now on. */
function isAboveSlice({ ledger, perSlice, services }: Book, service: number): boolean {
  const isAbove = services[service]!.published > perSlice;
  if (isAbove) ledger.reached.add('endpointsPerSlice');
  return isAbove;
}

/**
 * An object that has not all places says so, which is a change of its own. One that is written again at each sync differs by its
 * trigger time alone, which has whole seconds.
 */
function againIfFull(
  { output, rewritesFull }: Book,
  { isMarked, published, shownSecond }: ServiceBook,
  changes: readonly ModelWrite[],
  { isOver, triggerSecond }: Listing,
): readonly ModelWrite[] {
  const isNews = output === 'endpoints' && isOver !== isMarked;
  if (changes.length > 0 || !(isNews || (rewritesFull && isOver))) return changes;
  return [
    { verb: 'update', family: 0, endpoints: published, shows: [], isSame: !isNews && triggerSecond === shownSecond },
  ];
}

function emptyObjects({ output, perSlice, recycles, services }: Book, service: number): ModelWrite[] {
  if (output === 'endpoints') return [{ verb: 'create', family: 0, endpoints: 0, shows: [] }];
  const rules = { perSlice, rankOf: () => 0, recycles };
  const writes: ModelWrite[] = [];
  for (const [family, packing] of services[service]!.packings.entries()) {
    for (const { verb, endpoints } of repack(packing, NO_CHANGES, rules))
      writes.push({ verb, family, endpoints, shows: [] });
  }
  return writes;
}

const NO_CHANGES: PlaceChanges = { added: [], changed: [], removed: [] };

/** Takes back writes of a plan that were not done. */
export function giveBack({ services }: Book, service: number, writes: readonly ModelWrite[]): void {
  services[service]!.due = writes.map((write) => ({ ...write, isSame: false }));
}

/**
 * Notes that somebody else has changed one object of the service, which has to be put right. The story does not tell its
 * family.
 */
export function spoil(book: Book, service: number): void {
  if (book.services[service]!.due.length === 0) owe(book, service, 1);
}

/**
 * Notes that the service has writes to make that show none of its changes. The next plan includes them: of each of its objects one
 * if there is one of each family, because no plan writes an object twice. The others are for the plans after it.
 */
export function owe(book: Book, service: number, writes: number): void {
  const own = book.services[service]!;
  const { due, packings, published } = own;
  const families = book.output === 'endpoints' ? 1 : packings.length;
  const isOneOfEach = hasOneOfEach(book, service);
  const endpoints = isOneOfEach ? published : book.perSlice;
  const count = isOneOfEach ? Math.min(writes, families) : writes;
  own.owedLater += writes - count;
  for (let i = 0; i < count; i++) due.push({ verb: 'update', family: i % families, endpoints, shows: [] });
}

/** A service that waits with writes that are planned, and with those that a plan makes now; null = it has none. */
export function waitingOf(book: Book, service: number, unsent: number, dueMs: number): WaitingService | null {
  const writes = unsent + planService(book, service).length;
  return writes === 0 ? null : { service, writes, dueMs };
}

function planChanges(book: Book, service: number, listing: Listing, isMissing: boolean): readonly ModelWrite[] {
  const own = book.services[service]!;
  const listed = listing.changed;
  if (listed.length === 0) return NO_WRITES;
  const added: number[] = [];
  const changed: number[] = [];
  const removed: number[] = [];
  for (let i = 0; i < listed.length; i += 3) {
    const place = listed[i]!;
    const after = listed[i + 1]!;
    const before = book.planned[place]!;
    book.planned[place] = after;
    book.plannedReady[place] = listed[i + 2]!;
    if (book.content[place] === after) own.dirty.delete(place);
    if (before === after) continue;
    if (after === 0) removed.push(place);
    else (before === 0 ? added : changed).push(place);
  }
  if (added.length + changed.length + removed.length === 0) return NO_WRITES;
  own.published += added.length - removed.length;
  // Upstream's order is that of the pods' names, which the story does not have.
  if (added.length > 1) added.sort((a, b) => a - b);
  if (book.output === 'endpoints') {
    const places = [...added, ...changed, ...removed];
    const verb = isMissing ? 'create' : 'update';
    return [{ verb, family: 0, endpoints: own.published, shows: shownBy(book, places) }];
  }
  // What is added goes where there is room.
  if (added.length > 0) isAboveSlice(book, service);
  return sliceWrites(book, service, { added, changed, removed });
}

const NOTHING_CHANGED: readonly number[] = [];
const NO_WRITES: readonly ModelWrite[] = [];

function sliceWrites(book: Book, service: number, changes: PlaceChanges): ModelWrite[] {
  const own = book.services[service]!;
  const { families, primary = 0 } = book.story.services[service]!;
  const plan = ++own.plans;
  const first = families === 1 ? 0 : book.firstFamilyOf(service, plan, families);
  const writes: ModelWrite[] = [];
  for (let i = 0; i < families; i++) {
    const family = (first + i) % families;
    const rankOf = (founder: number): number => book.rankOf(founder, plan, family);
    const rules = { perSlice: book.perSlice, rankOf, recycles: book.recycles };
    for (const { verb, endpoints, places } of repack(own.packings[family]!, changes, rules))
      writes.push({ verb, family, endpoints, shows: family === primary ? shownBy(book, places) : [] });
  }
  return writes;
}

/** The API server has acknowledged a write. */
export function noteShown(book: Book, service: number, write: ModelWrite, nowMs: number): void {
  const { isShownReady, ledger, openAtMs, opensAdd, output } = book;
  ledger.writes[output].push({ atMs: nowMs, endpoints: write.endpoints, service });
  for (const { place, isReady } of write.shows) {
    isShownReady[place] = isReady ? 1 : 0;
    const atMs = openAtMs[place]!;
    if (Number.isNaN(atMs)) noteUndoneShown(book, place, isReady, nowMs);
    else if ((opensAdd[place] === 1) === isReady) {
      openAtMs[place] = Number.NaN;
      ledger.samples[output].push({ atMs, kind: isReady ? 'add' : 'remove', latencyMs: nowMs - atMs });
    }
  }
}

/** A write that was under way shows a change that was undone meanwhile, so what undid it is to be shown too. */
function noteUndoneShown(book: Book, place: number, isReady: boolean, nowMs: number): void {
  const { ledger, output, undone } = book;
  if (undone.size === 0) return;
  const change = undone.get(place);
  if (change === undefined || (change.kind === 'add') !== isReady) return;
  const { atMs, kind, undoneAtMs } = change;
  // As a recording is measured, which knows of no write that is under way.
  if (nowMs - undoneAtMs > UNDONE_MS_MAX) return;
  undone.delete(place);
  ledger.samples[output].push({ atMs, kind, latencyMs: nowMs - atMs });
  setOpen(book, place, undoneAtMs, kind !== 'add');
}

/** The bytes of the written object, in protobuf. */
export function bytesOf({ output, story: { objects } }: Book, { endpoints }: ModelWrite): number {
  const { base, each } = objects[output].protobuf;
  return base + each * endpoints;
}

/** How many endpoints a sync of the service has to go through: those for which there is no room, too. */
export function sizeOf(book: Book, service: number): number {
  const { published, waiting } = book.services[service]!;
  return published + waiting.size;
}

/**
 * Notes how long the changes have waited that were never shown.
 * @param left the changes of the story that the controller has not even taken in when the run ends
 */
export function closeBook(book: Book, left: readonly StoryChange[], nowMs: number): void {
  for (const { atMs, places } of left) for (const placed of places) takeChange(book, placed, atMs);
  for (const place of book.undone.keys()) hideUndone(book, place);
  const { ledger, openAtMs, output, serviceOf, services } = book;
  for (const [place, atMs] of openAtMs.entries()) {
    // For a pod that waits there was no room: flags do not change that.
    if (Number.isNaN(atMs) || services[serviceOf[place]!]!.waiting.has(place)) continue;
    ledger.open[output]++;
    ledger.unshown[output].push({ atMs, kind: openKind(book, place), latencyMs: nowMs - atMs });
  }
}

/** What a plan shows of these places. */
function shownBy({ plannedReady }: Book, places: readonly number[]): ShownPlace[] {
  return places.map((place) => ({ place, isReady: plannedReady[place] === 1 }));
}
