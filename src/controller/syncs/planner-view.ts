/**
 * What a planner has been told of one service, and what it has still to be told. Only this file assigns these fields.
 * The view never overstates what a planner knows. If the server may hold what it has not told, or content is
 * not kept, an output becomes `uncertain` or `not-kept`, and its plan waits for a read (docs/protocols.md "What a planner
 * knows"). The callers tell what has happened. This file decides what follows from it.
 */
import type { CpuShares } from '../../core/slices/cpu-shares.ts';
import { assert } from '../../lib/assert.ts';
import {
  OUTPUT_KINDS,
  type Ack,
  type Batch,
  type BatchEntry,
  type NodeZone,
  type ObjectBytes,
  type Observed,
  type OutputKind,
} from '../../shard/protocol.ts';

export interface PlannerView extends Readonly<Record<OutputKind, ObjectsTold>> {
  readonly inputs: InputsTold;
  /** The outcomes of planned writes that the next entry tells; null = none. */
  readonly acks: readonly Ack[] | null;
  /** Outputs that the next entry is to plan. None of them is in `planning`. */
  readonly asked: readonly OutputKind[];
  /** Outputs that entries without an answer are to plan. */
  readonly planning: readonly OutputKind[];
}

/**
 * What the planner has of the Service and its pods.
 * - `none`: it does not know the service, or will forget it before it reads the next entry.
 * - `outdated`: it knows the service with other pods, so the next entry is a full snapshot.
 */
export type InputsTold = 'none' | 'outdated' | InputsVersion;

/** The planner has this version, and not what has changed since. */
export interface InputsVersion {
  /** Begins at 1 and grows by one with each entry. */
  readonly version: number;
  readonly specChanged: boolean;
  /** Pods that have changed since, by name; null = none. */
  readonly changedPods: ReadonlySet<string> | null;
}

/**
 * What the planner knows of the objects of one output.
 * - `told`: everything that is known of the server.
 * - `News`: the same, as soon as it is told them.
 * - `not-kept`: less than is known of the server, because content was not kept.
 * - `uncertain`: the server may hold what it has not told (docs/protocols.md "What a planner knows" has the causes).
 * A read ends the last two. `not-kept` also ends with the content of an object that is the only one of its output.
 */
export type ObjectsTold = 'told' | 'not-kept' | 'uncertain' | News;

/** What the planner has still to be told of the objects. */
export interface News {
  /** These are all slices that exist, so the planner forgets those that it knew. */
  readonly listed: boolean;
  /** The newest state of each object. A map only for none or several: most services have one slice. */
  readonly objects: Observed | ReadonlyMap<string, Observed>;
}

/** What a planner has been told that concerns all services of its shard. */
export interface ShardView {
  /**
   * Keys of services that the planner is to forget before it is told anything else of them. Bounded by the services.
   */
  readonly toForget: ReadonlySet<string>;
  /** The CPU shares that the planner has (null = it was told that there are none); undefined = it was told nothing. */
  readonly shares: CpuShares | null | undefined;
  /** Nodes whose zone the planner does not have, or not the present one. Empty unless mirrored endpoints have zones. */
  readonly nodesToTell: ReadonlySet<string>;
}

/** The parts of a batch entry that the view decides. The caller adds spec and pods. */
export interface EntryParts extends Pick<BatchEntry, 'outputs' | 'base' | 'acks' | 'relisted' | 'observed'> {
  /** Whether the spec is part of the entry. It always is in a full snapshot. */
  readonly specChanged: boolean;
  /** 'all' = a full snapshot. */
  readonly changedPods: ReadonlySet<string> | 'all';
}

/** The same fields, writable in this module. For all others they are read-only. */
type Own<T> = { -readonly [K in keyof T]: T[K] };

const NO_OUTPUTS: readonly OutputKind[] = [];
const NO_PODS: ReadonlySet<string> = new Set();
const NO_ACKS: readonly Ack[] = [];

/** The view of a service that no planner knows and that has no objects. */
export function createPlannerView(): PlannerView {
  return {
    inputs: 'none',
    endpoints: 'told',
    slices: 'told',
    mirror: 'told',
    acks: null,
    asked: NO_OUTPUTS,
    planning: NO_OUTPUTS,
  };
}

/** Whether the planner knows the service, so that it must be told to forget it. */
export function isInPlanner({ inputs }: PlannerView): boolean {
  return inputs !== 'none';
}

/** Whether the next entry is a full snapshot. Then changed pods need not be noted. */
export function isSnapshotDue({ inputs }: PlannerView): boolean {
  return typeof inputs === 'string';
}

/** Whether the planner lacks objects of the output that only the server can tell. */
export function needsRead(view: PlannerView, kind: OutputKind): boolean {
  const told = view[kind];
  return told === 'not-kept' || told === 'uncertain';
}

/** Beyond so many changed pods since the last entry the next one is a full snapshot: it has no names of pods that are gone. */
const CHANGED_PODS_MAX = 1000;

/** Notes a changed pod that the service selects or selected. */
export function noteChangedPod(view: PlannerView, name: string): void {
  const { inputs } = view;
  if (typeof inputs === 'string') return;
  const own: Own<InputsVersion> = inputs;
  const names = (own.changedPods as Set<string> | null) ?? new Set();
  own.changedPods = names.add(name);
  if (names.size > CHANGED_PODS_MAX) outdateInputs(view);
}

/** Notes that the Service has changed but selects the same pods. */
export function noteChangedSpec({ inputs }: PlannerView): void {
  if (typeof inputs === 'string') return;
  const own: Own<InputsVersion> = inputs;
  own.specChanged = true;
}

/** Notes that the Service selects other pods, or is gone. */
export function outdateInputs(view: PlannerView): void {
  const own: Own<PlannerView> = view;
  if (isInPlanner(view)) own.inputs = 'outdated';
}

/** Notes a state of an object that no planner has planned; `content` null = the object does not exist. */
export function noteObserved(view: PlannerView, kind: OutputKind, name: string, content: ObjectBytes | null): void {
  const told = view[kind];
  // A read is due, and will tell everything.
  if (told === 'uncertain' || (told === 'not-kept' && !isSingle(kind))) return;
  const observed: Observed = { output: kind, name, content };
  if (typeof told === 'string') setTold(view, kind, { listed: false, objects: observed });
  else setTold(view, kind, { ...told, objects: withObject(told.objects, observed) });
}

/** Notes the answer of the server: these are all of its objects. Nothing is uncertain or not kept any more. */
export function noteRead(view: PlannerView, kind: OutputKind, objects: readonly Omit<Observed, 'output'>[]): void {
  assert(!isSingle(kind) || objects.length === 1, 'what was read of Endpoints is the object, or that there is none');
  const [first] = objects;
  if (first !== undefined && objects.length === 1) {
    const { name, content } = first;
    setTold(view, kind, { listed: !isSingle(kind), objects: { output: kind, name, content } });
    return;
  }
  const byName = new Map(objects.map(({ name, content }) => [name, { output: kind, name, content }]));
  setTold(view, kind, { listed: true, objects: byName });
}

/** Notes that the server may hold what it has not told. The next plan begins with a read. */
export function noteUncertain(view: PlannerView, kind: OutputKind): void {
  setTold(view, kind, 'uncertain');
}

/** Notes that a state of the server was told whose content was not kept. The next plan begins with a read. */
export function noteUnkept(view: PlannerView, kind: OutputKind): void {
  giveUp(view, kind, true);
}

/**
 * Notes the outcome of a planned write. The planner is told with the next entry. If that planner is lost meanwhile, its
 * successor learns of the objects by a read.
 * @param exists whether the output has objects now
 */
export function noteOutcome(view: PlannerView, kind: OutputKind, name: string, ack: Ack, exists: boolean): void {
  const told = view[kind];
  if (ack.result === 'applied' && typeof told === 'object') dropOlderNews(view, kind, told, name);
  // A planner plans nothing from an object while the outcome of a write to it is unknown.
  if (ack.result === 'unknown') noteUncertain(view, kind);
  if (!isInPlanner(view)) {
    loseObjects(view, kind, exists);
    return;
  }
  const own: Own<PlannerView> = view;
  if (own.acks === null) own.acks = [ack];
  else (own.acks as Ack[]).push(ack);
}

/** Notes that a write which no planner has planned removed an object. */
export function noteRemoved(view: PlannerView, kind: OutputKind, name: string): void {
  const told = view[kind];
  if (isInPlanner(view)) noteObserved(view, kind, name, null);
  else if (typeof told === 'object') dropOlderNews(view, kind, told, name);
  else if (isSingle(kind)) giveUp(view, kind, false);
}

/**
 * Drops the content of objects that no unit plans from. If a unit plans from them again, they are read first.
 * @param exists whether the output has objects
 */
export function dropNews(view: PlannerView, kind: OutputKind, exists: boolean): void {
  // A planner that knows the service keeps what it was told of them.
  if (view[kind] !== 'told') giveUp(view, kind, exists || isInPlanner(view));
}

/** Asks for a plan of the output. Its objects have been read where that was needed. */
export function askFor(view: PlannerView, kind: OutputKind): void {
  const { asked, planning } = view;
  assert(!asked.includes(kind) && !planning.includes(kind), `${kind} are asked for twice`);
  const own: Own<PlannerView> = view;
  own.asked = [...asked, kind];
}

/** Takes back what was asked for: the plans are not wanted any more, or not yet. */
export function takeBack(view: PlannerView, kinds: readonly OutputKind[]): void {
  const own: Own<PlannerView> = view;
  own.asked = without(view.asked, kinds);
}

/**
 * The parts of the next entry.
 * @param waiting outputs whose objects the planner is not told of now, because it waits for acks of writes to them
 */
export function nextEntryParts(view: PlannerView, waiting: readonly OutputKind[]): EntryParts {
  const { inputs, asked, acks } = view;
  const observed: Observed[] = [];
  const relisted: OutputKind[] = [];
  for (const kind of OUTPUT_KINDS) {
    const news = view[kind];
    if (typeof news === 'string' || waiting.includes(kind)) continue;
    if (news.listed) relisted.push(kind);
    for (const object of objectsOf(news)) observed.push(object);
  }
  const objects = { outputs: asked, acks: acks ?? NO_ACKS, relisted, observed };
  if (typeof inputs === 'string') return { ...objects, base: 0, specChanged: true, changedPods: 'all' };
  const { version, specChanged, changedPods } = inputs;
  return { ...objects, base: version, specChanged, changedPods: changedPods ?? NO_PODS };
}

/**
 * Notes that the entry with these parts leaves. From now on the planner counts as told.
 * @param waiting as given to `nextEntryParts`
 */
export function noteSent(view: PlannerView, { base, outputs }: EntryParts, waiting: readonly OutputKind[]): void {
  assert(outputs === view.asked, `an entry for ${outputs.join()} leaves, asked for are ${view.asked.join()}`);
  assert(base > 0 || view.planning.length === 0, 'a full snapshot leaves before the last entry was answered');
  const own: Own<PlannerView> = view;
  own.inputs = { version: base + 1, specChanged: false, changedPods: null };
  own.acks = null;
  own.asked = NO_OUTPUTS;
  own.planning = [...view.planning, ...outputs];
  for (const kind of OUTPUT_KINDS) {
    assert(!outputs.includes(kind) || !needsRead(view, kind), `${kind} are to be planned before they were read`);
    if (typeof view[kind] === 'object' && !waiting.includes(kind)) setTold(view, kind, 'told');
  }
}

/** Notes that an entry which was to plan these outputs was answered or lost. */
export function noteEntryAnswered(view: PlannerView, kinds: readonly OutputKind[]): void {
  const own: Own<PlannerView> = view;
  own.planning = without(view.planning, kinds);
}

/**
 * Notes that the planner has lost the service. The next entry is a full snapshot. News that name all objects stay.
 * @param exists whether an output has objects
 */
export function noteLost(view: PlannerView, exists: (kind: OutputKind) => boolean): void {
  const own: Own<PlannerView> = view;
  own.inputs = 'none';
  own.acks = null;
  for (const kind of OUTPUT_KINDS) loseObjects(view, kind, exists(kind));
}

/** The planner has lost the objects of the output. */
function loseObjects(view: PlannerView, kind: OutputKind, exists: boolean): void {
  const told = view[kind];
  const isWhole = typeof told === 'object' && (told.listed || isSingle(kind));
  if (!isWhole) giveUp(view, kind, exists);
}

/** The content of the objects is not at hand. If there may be objects, only a read can tell it. */
function giveUp(view: PlannerView, kind: OutputKind, exists: boolean): void {
  if (view[kind] !== 'uncertain') setTold(view, kind, exists ? 'not-kept' : 'told');
}

/** Drops news that are older than a write of the planner's own which was answered. */
function dropOlderNews(view: PlannerView, kind: OutputKind, { listed, objects }: News, name: string): void {
  assert(!listed || !isInPlanner(view), `${name} was written before the planner was told of the list`);
  if (objects instanceof Map) {
    objects.delete(name);
    if (objects.size === 0) setTold(view, kind, 'told');
  } else if ((objects as Observed).name === name) setTold(view, kind, 'told');
}

function withObject(objects: News['objects'], observed: Observed): News['objects'] {
  if (objects instanceof Map) return objects.set(observed.name, observed);
  const only = objects as Observed;
  if (only.name === observed.name) return observed;
  return new Map([only, observed].map((object) => [object.name, object]));
}

function objectsOf({ objects }: News): Iterable<Observed> {
  return objects instanceof Map ? objects.values() : [objects as Observed];
}

/** The view of a planner that was told nothing. */
export function createShardView(): ShardView {
  return { toForget: new Set(), shares: undefined, nodesToTell: new Set() };
}

/**
 * The service is not planned any more. Its planner is told to forget it. If it is planned again, its objects are read
 * first.
 * @param exists whether an output has objects
 */
export function noteForgotten(
  shard: ShardView,
  key: string,
  view: PlannerView,
  exists: (kind: OutputKind) => boolean,
): void {
  for (const kind of OUTPUT_KINDS) giveUp(view, kind, exists(kind));
  noteDismissed(shard, key, view, exists);
}

/**
 * What the planner has of the service is wrong or unknown. It is told to forget it and gets a full snapshot. News that
 * name all objects stay.
 * @param exists whether an output has objects
 */
export function noteDismissed(
  shard: ShardView,
  key: string,
  view: PlannerView,
  exists: (kind: OutputKind) => boolean,
): void {
  if (isInPlanner(view)) (shard.toForget as Set<string>).add(key);
  noteLost(view, exists);
}

/** Notes a node that is new, gone, or in another zone. */
export function noteMovedNode({ nodesToTell }: ShardView, node: string): void {
  (nodesToTell as Set<string>).add(node);
}

/** Takes up to `max` keys for a batch that tells the planner what to forget. */
export function takeForgotten({ toForget }: ShardView, max: number): string[] {
  const keys: string[] = [];
  for (const key of toForget) {
    if (keys.length === max) break;
    keys.push(key);
    (toForget as Set<string>).delete(key);
  }
  return keys;
}

/**
 * What the batch that leaves now tells of all services; undefined = what the planner has already. `zone` gives the zone
 * of a node; '' = none.
 */
export function takeShared(
  shard: ShardView,
  shares: CpuShares | null,
  zone: (node: string) => string,
): Pick<Batch, 'shares' | 'zones'> {
  const { nodesToTell } = shard;
  const own: Own<ShardView> = shard;
  const areTold = shard.shares !== undefined && shard.shares?.version === shares?.version;
  own.shares = shares;
  const zones: NodeZone[] = [...nodesToTell].map((node) => ({ node, zone: zone(node) }));
  (nodesToTell as Set<string>).clear();
  return { shares: areTold ? undefined : shares, zones: zones.length === 0 ? undefined : zones };
}

/**
 * Notes that the planner is lost. `noteLost` does the same for each service.
 * @param nodes all nodes whose zones it has to be told
 */
export function noteShardLost(shard: ShardView, nodes: Iterable<string>): void {
  const own: Own<ShardView> = shard;
  own.toForget = new Set();
  own.shares = undefined;
  own.nodesToTell = new Set(nodes);
}

/** Whether the output is a single object. All others are any number of slices. */
function isSingle(kind: OutputKind): boolean {
  return kind === 'endpoints';
}

function setTold(view: PlannerView, kind: OutputKind, told: ObjectsTold): void {
  const own: Own<PlannerView> = view;
  own[kind] = told;
}

function without(kinds: readonly OutputKind[], gone: readonly OutputKind[]): readonly OutputKind[] {
  const left = kinds.filter((kind) => !gone.includes(kind));
  assert(left.length === kinds.length - gone.length, `${gone.join()} are not among ${kinds.join() || 'none'}`);
  return left.length === 0 ? NO_OUTPUTS : left;
}
