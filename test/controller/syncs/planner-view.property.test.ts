/**
 * The view of a planner beside the planner itself: after any sequence of changes, plans, answers and losses the view
 * never believes that the planner knows what it does not, and what is told last brings it to the server's content.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  askFor,
  createPlannerView,
  createShardView,
  noteDismissed,
  dropNews,
  noteForgotten,
  isSnapshotDue,
  needsRead,
  nextEntryParts,
  noteEntryAnswered,
  noteChangedPod,
  noteChangedSpec,
  noteLost,
  noteObserved,
  noteOutcome,
  noteRead,
  noteRemoved,
  noteSent,
  noteShardLost,
  noteUncertain,
  outdateInputs,
  takeBack,
  takeForgotten,
  type PlannerView,
  type ShardView,
} from '../../../src/controller/syncs/planner-view.ts';
import type { Member } from '../../../src/core/member.ts';
import { decodeObject, encodeBare } from '../../../src/kube/codec.ts';
import type { KubeObject, ServiceRecord } from '../../../src/kube/types.ts';
import { decodeReply, encodeBatch } from '../../../src/shard/codec.ts';
import { planBytes } from '../../../src/shard/plan-bytes.ts';
import { createPlanner, type Planner } from '../../../src/shard/planner.ts';
import {
  OUTPUT_KINDS,
  type Ack,
  type BatchEntry,
  type ObjectBytes,
  type OutputKind,
  type PlannedWrite,
} from '../../../src/shard/protocol.ts';
import { batchEntry, batchOf, member, serviceRecord } from '../../support/batches.ts';
import { ALL_OUTPUTS } from '../../support/planner-config.ts';
import { propertyRuns } from '../../support/runs.ts';

const KEY = 'shop/web';
const CONFIG = { ...ALL_OUTPUTS, maxEndpointsPerSlice: 2 };
const ENDPOINTS = 'endpoints/web';

/** One service, its planner, the server, and the main thread between them. */
interface World {
  planner: Planner;
  readonly view: PlannerView;
  readonly shard: ShardView;
  readonly pods: Map<string, Member>;
  spec: ServiceRecord;
  /** What the server holds, by `<output>/<name>`. */
  readonly server: Map<string, KubeObject>;
  revision: number;
  /** What the watch has still to tell, oldest first. */
  readonly events: { readonly key: string; readonly revision: number; readonly object: KubeObject | null }[];
  /** What the main thread knows of each object: its revision, and whether it exists. */
  readonly records: Map<string, { readonly revision: number; readonly exists: boolean }>;
  /** Entries on their way to the planner, oldest first. */
  posted: { readonly bytes: Uint8Array; readonly kinds: readonly OutputKind[] }[];
  /** Planned writes that have no answer yet. */
  readonly writes: Map<OutputKind, PlannedWrite[]>;
  batches: number;
}

type Outcome = 'applied' | 'refused' | 'not-sent' | 'unknown but applied' | 'unknown and lost';

function createWorld(): World {
  return {
    planner: createPlanner(CONFIG),
    view: createPlannerView(),
    shard: createShardView(),
    pods: new Map(),
    spec: serviceRecord(),
    server: new Map(),
    revision: 8,
    events: [],
    records: new Map(),
    posted: [],
    writes: new Map(),
    batches: 0,
  };
}

/** What happens, by name; a number chooses among what there is. */
const HAPPENINGS: Readonly<Record<string, (world: World, choice: number) => void>> = {
  'a pod changes'(world, choice) {
    const name = `web-${choice % 5}`;
    if (choice % 3 === 0) world.pods.delete(name);
    else world.pods.set(name, member(choice % 5, { ready: choice % 3 === 1 }));
    noteChangedPod(world.view, name);
  },
  'the Service gets other labels'(world, choice) {
    world.spec = { ...world.spec, labels: ['app', `v${choice % 4}`] };
    noteChangedSpec(world.view);
  },
  'the Service gains or loses its selector'(world) {
    world.spec = { ...world.spec, selector: world.spec.selector === null ? ['app', 'web'] : null };
    outdateInputs(world.view);
  },
  'somebody writes the Endpoints'(world, choice) {
    const before = world.server.get(ENDPOINTS);
    const metadata = { ...before?.metadata, name: 'web' };
    const subsets = [{ addresses: [{ ip: `10.9.0.${choice % 4}` }], ports: [{ port: 80, protocol: 'TCP' }] }];
    store(world, ENDPOINTS, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
  },
  'somebody changes an object'(world, choice) {
    const key = choose([...world.server.keys()], choice);
    if (key === undefined) return;
    const object = world.server.get(key)!;
    store(world, key, {
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, by: `${choice}` } },
    });
  },
  'somebody copies a slice'(world, choice) {
    const key = choose(keysOf(world.server, ['slices', 'mirror']), choice);
    if (key === undefined || world.server.has(`${key}-copy`)) return;
    const { metadata, ...object } = world.server.get(key)!;
    const { uid: _uid, ...kept } = metadata;
    store(world, `${key}-copy`, { ...object, metadata: { ...kept, name: `${metadata.name}-copy` } });
  },
  'somebody deletes an object'(world, choice) {
    const key = choose([...world.server.keys()], choice);
    if (key !== undefined) store(world, key, null);
  },
  'the watch tells the next'(world) {
    deliver(world, 1);
  },
  'the watch tells all'(world) {
    deliver(world, Infinity);
  },
  'an output is planned'(world, choice) {
    sync(world, [OUTPUT_KINDS[choice % 3]!]);
  },
  'all outputs are planned'(world) {
    sync(world, OUTPUT_KINDS);
  },
  'the planner works'(world) {
    work(world);
  },
  'a write is applied'(world, choice) {
    answer(world, choice, 'applied');
  },
  'all writes are applied'(world) {
    while (isWriting(world)) answer(world, 0, 'applied');
  },
  'a write is refused'(world, choice) {
    answer(world, choice, choice % 2 === 0 ? 'refused' : 'not-sent');
  },
  'the reply to a write is lost'(world, choice) {
    answer(world, choice, choice % 2 === 0 ? 'unknown but applied' : 'unknown and lost');
  },
  'the planner is lost'(world) {
    for (const { kinds } of world.posted) noteEntryAnswered(world.view, kinds);
    world.posted = [];
    world.planner = createPlanner(CONFIG);
    noteShardLost(world.shard, []);
    noteLost(world.view, (kind) => hasObjects(world, kind));
  },
  'planning will throw'({ planner }) {
    const service = planner.services.get(KEY);
    if (service !== undefined) service.endpoints.uncertain = true;
  },
  'it cannot be told what an output holds'(world, choice) {
    noteUncertain(world.view, OUTPUT_KINDS[choice % 3]!);
  },
  'nobody plans from an output'(world, choice) {
    const kind = OUTPUT_KINDS[choice % 3]!;
    if (!isBusy(world, kind)) dropNews(world.view, kind, hasObjects(world, kind));
  },
  'nothing is planned any more'(world) {
    if (OUTPUT_KINDS.some((kind) => isBusy(world, kind))) return;
    noteForgotten(world.shard, KEY, world.view, (kind) => hasObjects(world, kind));
  },
  'the main thread removes an object'(world, choice) {
    const key = choose(
      [...world.server.keys()].filter((one) => isKnown(world, one) && !isBusy(world, kindOf(one))),
      choice,
    );
    if (key === undefined) return;
    store(world, key, null);
    world.records.set(key, { revision: world.revision, exists: false });
    noteRemoved(world.view, kindOf(key), nameOf(key));
  },
};

class Happening implements fc.Command<World, World> {
  readonly name: string;
  readonly choice: number;

  constructor(name: string, choice: number) {
    this.name = name;
    this.choice = choice;
  }

  check(): boolean {
    return true;
  }

  run(world: World): void {
    HAPPENINGS[this.name]!(world, this.choice);
    checkBelief(world);
  }

  toString(): string {
    return `${this.name} (${this.choice})`;
  }
}

const OFTEN = new Set([
  'all outputs are planned',
  'the planner works',
  'a write is applied',
  'all writes are applied',
  'the watch tells all',
]);

const happenings = Object.keys(HAPPENINGS).flatMap((name) =>
  Array<fc.Arbitrary<Happening>>(OFTEN.has(name) ? 4 : 1).fill(fc.nat(99).map((choice) => new Happening(name, choice))),
);

test('the view only believes what the planner knows, which in the end is everything', () => {
  fc.assert(
    fc.property(fc.commands(happenings, { maxCommands: 80, size: 'max' }), (story) => {
      const world = createWorld();
      fc.modelRun(() => ({ model: world, real: world }), story);
      settle(world);
    }),
    propertyRuns(200),
  );
});

/** What the view holds for told, or will have told with the next entry, is what the main thread knows of the server. */
function checkBelief(world: World): void {
  const { view, shard } = world;
  const busy = OUTPUT_KINDS.filter((kind) => isBusy(world, kind));
  assert.ok(view.asked.every((kind) => !view.planning.includes(kind)));
  // The planner as it will be, on a copy: what is under way, then the news.
  const planner = structuredClone(world.planner);
  const answers = world.posted.flatMap(({ bytes }) => decodeReply(planBytes(planner, bytes)).results);
  // It has dropped the service, and its answer is on the way.
  if (answers.some(({ needFull, error }) => needFull || error !== null)) return;
  if (isSnapshotDue(view) && busy.length > 0) return;
  for (const service of shard.toForget) planBytes(planner, encodeBatch(batchOf(batchEntry({ service, spec: null }))));
  const entry = entryOf(world, busy);
  const [result] = decodeReply(planBytes(planner, encodeBatch(batchOf({ ...entry, outputs: [] })))).results;
  assert.deepEqual([result!.needFull, result!.error], [false, null]);
  for (const kind of OUTPUT_KINDS) {
    if (needsRead(view, kind) || (busy.includes(kind) && typeof view[kind] === 'object')) continue;
    assert.deepEqual(storedIn(planner, kind), recordsOf(world, kind), `${kind} are ${JSON.stringify(view[kind])}`);
  }
  // And it can plan from that. Of Endpoints it cannot where the story says so.
  const isToldOf = (kind: OutputKind): boolean => !busy.includes(kind) && !needsRead(view, kind);
  const outputs = wanted(world).filter((kind) => kind !== 'endpoints' && sourcesOf([kind]).every(isToldOf));
  const asked = batchEntry({ base: entry.base + 1, outputs });
  const [planned] = decodeReply(planBytes(planner, encodeBatch(batchOf(asked)))).results;
  assert.deepEqual([planned!.failures, planned!.error], [[], null]);
}

/** All that is under way ends, and what is to be planned is, until nothing is left to do. */
function settle(world: World): void {
  const { view, server } = world;
  let sources: readonly OutputKind[] = [];
  let isSettled = false;
  for (let round = 0; round < 12 && !isSettled; round++) {
    work(world);
    while (isWriting(world)) answer(world, 0, 'applied');
    deliver(world, Infinity);
    sync(world, OUTPUT_KINDS);
    work(world);
    sources = sourcesOf(wanted(world));
    isSettled = !isWriting(world) && sources.every((kind) => view[kind] === 'told');
  }
  assert.ok(isSettled, `still ${sources.map((kind) => JSON.stringify(view[kind])).join()} after twelve rounds`);
  const { planner } = world;
  for (const kind of sources) {
    const held = keysOf(server, [kind]).map((key) => [key, revisionOf(server.get(key)!)]);
    assert.deepEqual(storedIn(planner, kind), new Map(held as [string, number][]));
  }
  // A planner that is told everything at once has nothing to add.
  const observed = [...server].map(([key, object]) => ({
    output: kindOf(key),
    name: nameOf(key),
    content: bytesOf(object),
  }));
  const fresh = {
    ...batchEntry({ outputs: wanted(world), spec: world.spec, upserts: membersOf(world), observed }),
  };
  const [result] = decodeReply(planBytes(createPlanner(CONFIG), encodeBatch(batchOf(fresh)))).results;
  assert.deepEqual(
    result!.plans.flatMap(({ writes }) => writes.map(({ verb, name }) => `${verb} ${name}`)),
    [],
  );
}

/** As a sync does it: what must be read is read, then the plans are asked for, and an entry leaves if it may. */
function sync(world: World, kinds: readonly OutputKind[]): void {
  const { view, shard } = world;
  const free = wanted(world).filter((kind) => kinds.includes(kind) && !isBusy(world, kind));
  for (const kind of sourcesOf(free)) {
    if (!needsRead(view, kind)) continue;
    // The writer of what another output reads may still be writing it.
    if (isBusy(world, kind)) return;
    read(world, kind);
  }
  // A read may tell that there are no Endpoints to mirror.
  const due = free.filter((kind) => wanted(world).includes(kind));
  for (const kind of due) askFor(view, kind);
  const mustWait = isSnapshotDue(view) && (view.planning.length > 0 || isWriting(world));
  if (due.length === 0 || mustWait) {
    takeBack(view, due);
    return;
  }
  for (const service of takeForgotten(shard, 10)) post(world, batchEntry({ service, spec: null }), []);
  const busy = OUTPUT_KINDS.filter((kind) => isBusy(world, kind) && !due.includes(kind));
  const waiting = due.includes('mirror') ? busy.filter((kind) => kind !== 'endpoints') : busy;
  const parts = nextEntryParts(view, waiting);
  const entry = entryOf(world, waiting);
  noteSent(view, parts, waiting);
  post(world, entry, due);
}

function post(world: World, entry: BatchEntry, kinds: readonly OutputKind[]): void {
  world.posted.push({ bytes: encodeBatch({ ...batchOf(entry), seed: ++world.batches }), kinds });
}

/** The next entry, with pods and spec. */
function entryOf(world: World, waiting: readonly OutputKind[]): BatchEntry {
  const { specChanged, changedPods, ...parts } = nextEntryParts(world.view, waiting);
  const members = new Map(membersOf(world).map((one) => [one.pod.name, one]));
  const names = changedPods === 'all' ? [...members.keys()] : [...changedPods];
  return {
    ...parts,
    service: KEY,
    spec: specChanged ? world.spec : undefined,
    upserts: names.flatMap((name) => members.get(name) ?? []),
    removals: names.filter((name) => !members.has(name)),
  };
}

/** The planner takes all that is under way, and its answers come. */
function work(world: World): void {
  const { view, shard, planner } = world;
  for (const { bytes, kinds } of world.posted.splice(0)) {
    const { error, results } = decodeReply(planBytes(planner, bytes));
    assert.equal(error, null);
    const { needFull, error: failed, plans } = results[0]!;
    noteEntryAnswered(view, kinds);
    if (kinds.length > 0 && (needFull || failed !== null)) {
      noteDismissed(shard, KEY, view, (kind) => hasObjects(world, kind));
    }
    for (const { facts, writes } of plans) {
      const output = facts.kind;
      world.writes.set(output, [...writes]);
      // While it was planned the Service has changed so that the output is not wanted any more.
      if (!wanted(world).includes(output)) while (isWritingOf(world, output)) answerOne(world, output, 0, 'not-sent');
    }
  }
}

function answer(world: World, choice: number, outcome: Outcome): void {
  const kind = choose(
    [...world.writes.keys()].filter((one) => isWritingOf(world, one)),
    choice,
  );
  if (kind !== undefined) answerOne(world, kind, choice, outcome);
}

function answerOne(world: World, kind: OutputKind, choice: number, outcome: Outcome): void {
  const { view, records } = world;
  const writes = world.writes.get(kind)!;
  const [write] = writes.splice(choice % writes.length, 1) as [PlannedWrite];
  const key = `${kind}/${write.name}`;
  const mayApply = outcome === 'applied' || outcome === 'unknown but applied';
  const isApplied = mayApply && apply(world, key, write);
  let ack: Ack = { write: write.id, result: 'refused', uid: '', resourceVersion: '' };
  if (outcome === 'applied' && isApplied) {
    const { uid = '', resourceVersion = '' } = world.server.get(key)?.metadata ?? {};
    ack = { write: write.id, result: 'applied', uid, resourceVersion };
    records.set(key, { revision: world.revision, exists: write.verb !== 'delete' });
  } else if (outcome.startsWith('unknown')) ack = { ...ack, result: 'unknown' };
  else if (outcome === 'not-sent') ack = { ...ack, result: 'not-sent' };
  noteOutcome(view, kind, write.name, ack, hasObjects(world, kind));
  // A conflict: only the server knows what it holds.
  if (outcome === 'applied' && !isApplied) noteUncertain(view, kind);
}

/** Returns whether the server lets the write happen. */
function apply(world: World, key: string, { verb, uid, resourceVersion, body }: PlannedWrite): boolean {
  const before = world.server.get(key);
  if (verb === 'create' ? before !== undefined : before?.metadata.uid !== uid) return false;
  if (verb !== 'create' && before?.metadata.resourceVersion !== resourceVersion) return false;
  store(world, key, verb === 'delete' ? null : decodeObject(body));
  return true;
}

/** The server takes a state of the object, and its watch will tell of it. */
function store(world: World, key: string, object: KubeObject | null): void {
  const revision = ++world.revision;
  if (object === null) world.server.delete(key);
  else {
    const metadata = { uid: `uid-${revision}`, ...object.metadata, namespace: 'shop', resourceVersion: `${revision}` };
    world.server.set(key, { ...object, metadata });
  }
  world.events.push({ key, revision, object: world.server.get(key) ?? null });
}

/** Events of an object wait while it is written; what is not newer than what is known is no news. */
function deliver(world: World, count: number): void {
  const { events, records, view } = world;
  for (let i = 0; i < count && events.length > 0; i++) {
    const { key, revision, object } = events[0]!;
    if (world.writes.get(kindOf(key))?.some(({ name }) => name === nameOf(key)) === true) return;
    events.shift();
    if (revision <= (records.get(key)?.revision ?? 0)) continue;
    records.set(key, { revision, exists: object !== null });
    noteObserved(view, kindOf(key), nameOf(key), object === null ? null : bytesOf(object));
  }
}

function read(world: World, kind: OutputKind): void {
  const { server, records, view, revision } = world;
  const keys = keysOf(server, [kind]);
  for (const key of keysOf(records, [kind])) if (!server.has(key)) records.set(key, { revision, exists: false });
  for (const key of keys) records.set(key, { revision: revisionOf(server.get(key)!), exists: true });
  const objects = keys.map((key) => ({ name: nameOf(key), content: bytesOf(server.get(key)!) }));
  noteRead(view, kind, kind === 'endpoints' && keys.length === 0 ? [{ name: 'web', content: null }] : objects);
}

function wanted(world: World): readonly OutputKind[] {
  if (world.spec.selector !== null) return ['slices', 'endpoints'];
  return hasObjects(world, 'endpoints') ? ['mirror'] : [];
}

function sourcesOf(kinds: readonly OutputKind[]): readonly OutputKind[] {
  return kinds.includes('mirror') ? [...new Set<OutputKind>(['endpoints', ...kinds])] : kinds;
}

/** An entry or writes of the output are under way. */
function isBusy(world: World, kind: OutputKind): boolean {
  return world.view.planning.includes(kind) || isWritingOf(world, kind);
}

function isWritingOf({ writes }: World, kind: OutputKind): boolean {
  return (writes.get(kind)?.length ?? 0) > 0;
}

function isWriting(world: World): boolean {
  return OUTPUT_KINDS.some((kind) => isWritingOf(world, kind));
}

function isKnown({ records, server }: World, key: string): boolean {
  return records.get(key)?.revision === revisionOf(server.get(key)!);
}

function hasObjects(world: World, kind: OutputKind): boolean {
  return recordsOf(world, kind).size > 0 || (kind !== 'endpoints' && isWritingOf(world, kind));
}

/** Revisions of what the main thread knows to exist. */
function recordsOf({ records }: World, kind: OutputKind): Map<string, number> {
  const keys = keysOf(records, [kind]).filter((key) => records.get(key)!.exists);
  return new Map(keys.map((key) => [key, records.get(key)!.revision]));
}

/** Revisions of what the planner believes that the server holds. */
function storedIn({ services }: Planner, kind: OutputKind): Map<string, number> {
  const service = services.get(KEY);
  const objects: (readonly [string, object])[] = [];
  if (kind === 'endpoints' && service?.endpoints.object != null) objects.push(['web', service.endpoints.object]);
  if (kind === 'slices') {
    for (const [name, { stored }] of service?.outputs.slices?.slices.stored ?? []) objects.push([name, stored.object]);
  }
  if (kind === 'mirror') objects.push(...(service?.outputs.mirror?.stored ?? []));
  const sorted = objects.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([name, object]) => [`${kind}/${name}`, revisionOf(object as KubeObject)]));
}

/** A service without a selector has none. */
function membersOf({ spec, pods }: World): Member[] {
  return spec.selector === null ? [] : [...pods.values()];
}

function keysOf(map: ReadonlyMap<string, unknown>, kinds: readonly OutputKind[]): string[] {
  return [...map.keys()].filter((key) => kinds.includes(kindOf(key))).toSorted();
}

function kindOf(key: string): OutputKind {
  return key.slice(0, key.indexOf('/')) as OutputKind;
}

function nameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}

function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}

function bytesOf(object: KubeObject): ObjectBytes {
  return { encoding: 'protobuf', bytes: encodeBare(object) };
}

function choose<T>(items: readonly T[], choice: number): T | undefined {
  return items[choice % items.length];
}
