/**
 * What a planner has been told of one service, and what it has still to be told. Nothing else assigns these fields.
 *
 * The view never believes that the planner knows what it does not. A loss, a lost reply and content that nobody keeps
 * leave an output `unknown` or `uncertain`, and its plan waits for a read (docs/spec/protocols.md "What a planner
 * knows"). This file decides what follows from a state; those who see what happens tell it.
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
  /** What became of planned writes, for the next entry; null = nothing. */
  readonly acks: readonly Ack[] | null;
  /** Outputs that wait to be planned with the next entry. Never one of `planning`. */
  readonly asked: readonly OutputKind[];
  /** Outputs of entries without an answer. */
  readonly planning: readonly OutputKind[];
}

/**
 * What the planner has of the Service and its pods.
 *
 * - `none`: it does not know the service, or will have forgotten it before it reads the next entry.
 * - `outdated`: it knows the service, but by other pods: the next entry is a full snapshot.
 */
export type InputsTold = 'none' | 'outdated' | InputsVersion;

/** It has this version, and not what has changed since. */
export interface InputsVersion {
  /** At least 1, and one more with each entry. */
  readonly version: number;
  readonly specChanged: boolean;
  /** By name; null = none. */
  readonly changedPods: ReadonlySet<string> | null;
}

/**
 * What the planner knows of the objects of one output.
 *
 * - `told`: what the server is known to hold.
 * - `News`: the same, once the planner is told the news.
 * - `unknown`: less than what the server is known to hold, because content was not kept.
 * - `uncertain`: the server may hold what nobody has told, because a reply was lost.
 *
 * A read leads out of the last two. The content of an object that is the only one of its output leads out of `unknown`
 * too.
 */
export type ObjectsTold = 'told' | 'unknown' | 'uncertain' | News;

/** Not told yet. */
export interface News {
  /** These are all slices that there are, so the planner forgets what it held. */
  readonly listed: boolean;
  /** The newest of each object. It is a map only for several or none: most services have one slice. */
  readonly objects: Observed | ReadonlyMap<string, Observed>;
}

/** What a planner has been told that concerns all of its services. */
export interface ShardView {
  /** Keys of services that the planner shall forget, before anything else is told of them. Bounded by the services. */
  readonly toForget: ReadonlySet<string>;
  /** The CPU shares that the planner has; undefined = it was told neither shares nor that there are none. */
  readonly shares: CpuShares | null | undefined;
  /** Nodes whose zone the planner has not been told, or not as it is now; none unless mirrored endpoints have zones. */
  readonly nodesToTell: ReadonlySet<string>;
}

/** The part of a batch entry that comes from here. Who builds the entry looks up spec and pods. */
export interface EntryNews extends Pick<BatchEntry, 'outputs' | 'base' | 'version' | 'acks' | 'relisted' | 'observed'> {
  /** The spec goes with it. It always does with a full snapshot. */
  readonly specChanged: boolean;
  /** 'all' = a full snapshot. */
  readonly changedPods: ReadonlySet<string> | 'all';
}

/** The same fields, to be changed inside this module. To others they are read-only. */
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

/** Whether the planner knows the service at all, so that it must be told when to forget it. */
export function isInPlanner({ inputs }: PlannerView): boolean {
  return inputs !== 'none';
}

/** Whether the next entry is a full snapshot. Then no pod has to be noted as changed. */
export function isSnapshotDue({ inputs }: PlannerView): boolean {
  return typeof inputs === 'string';
}

/** Whether only the server can tell what the planner has to know of the output's objects. */
export function needsRead(view: PlannerView, kind: OutputKind): boolean {
  const told = view[kind];
  return told === 'unknown' || told === 'uncertain';
}

/** A pod that the service selects, or did, has changed. */
export function noteChangedPod({ inputs }: PlannerView, name: string): void {
  if (typeof inputs === 'string') return;
  const own: Own<InputsVersion> = inputs;
  own.changedPods = ((own.changedPods as Set<string> | null) ?? new Set()).add(name);
}

/** The Service has changed, and selects the same pods. */
export function noteChangedSpec({ inputs }: PlannerView): void {
  if (typeof inputs === 'string') return;
  const own: Own<InputsVersion> = inputs;
  own.specChanged = true;
}

/** The Service selects other pods, or is gone. */
export function outdateInputs(view: PlannerView): void {
  const own: Own<PlannerView> = view;
  if (isInPlanner(view)) own.inputs = 'outdated';
}

/** The server holds another object, or none (`content` null), which is no planner's doing. */
export function noteObserved(view: PlannerView, kind: OutputKind, name: string, content: ObjectBytes | null): void {
  const told = view[kind];
  // A read will tell all there is.
  if (told === 'uncertain' || (told === 'unknown' && !isSingle(kind))) return;
  const observed: Observed = { output: kind, name, content };
  if (typeof told === 'string') setTold(view, kind, { listed: false, objects: observed });
  else setTold(view, kind, { ...told, objects: withObject(told.objects, observed) });
}

/** The server was asked, and this is all that it holds. Nothing is unknown or uncertain any more. */
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

/** The server may hold something that nobody has told: the next plan begins with a read. */
export function noteUncertain(view: PlannerView, kind: OutputKind): void {
  setTold(view, kind, 'uncertain');
}

/** What the server holds was told, but its content was not kept: the next plan begins with a read. */
export function noteUnkept(view: PlannerView, kind: OutputKind): void {
  giveUp(view, kind, true);
}

/**
 * A planned write has its outcome. Its planner is told with the next entry. If that planner is gone, its successor
 * learns of the objects by a read.
 * @param exists whether the output has objects now
 */
export function noteOutcome(view: PlannerView, kind: OutputKind, name: string, ack: Ack, exists: boolean): void {
  const told = view[kind];
  if (ack.result === 'applied' && typeof told === 'object') forgetNews(view, kind, told, name);
  // A planner plans nothing from an object of whose write it knows no outcome.
  if (ack.result === 'unknown') noteUncertain(view, kind);
  if (!isInPlanner(view)) {
    loseObjects(view, kind, exists);
    return;
  }
  const own: Own<PlannerView> = view;
  if (own.acks === null) own.acks = [ack];
  else (own.acks as Ack[]).push(ack);
}

/** An object was removed by a write that no planner has planned. */
export function noteRemoved(view: PlannerView, kind: OutputKind, name: string): void {
  const told = view[kind];
  if (isInPlanner(view)) noteObserved(view, kind, name, null);
  else if (typeof told === 'object') forgetNews(view, kind, told, name);
  else if (isSingle(kind)) giveUp(view, kind, false);
}

/**
 * Nobody plans from these objects now. Their content is not kept, and is read should that change.
 * @param exists whether the output has objects
 */
export function dropNews(view: PlannerView, kind: OutputKind, exists: boolean): void {
  // A planner that knows the service believes in what it held of them.
  if (view[kind] !== 'told') giveUp(view, kind, exists || isInPlanner(view));
}

/** The unit of the output wants its plan. What the planner has to know of its objects was read where needed. */
export function askFor(view: PlannerView, kind: OutputKind): void {
  const { asked, planning } = view;
  assert(!asked.includes(kind) && !planning.includes(kind), `${kind} are asked for twice`);
  const own: Own<PlannerView> = view;
  own.asked = [...asked, kind];
}

/** The plans are not wanted any more, or not yet. */
export function takeBack(view: PlannerView, kinds: readonly OutputKind[]): void {
  const own: Own<PlannerView> = view;
  own.asked = without(view.asked, kinds);
}

/**
 * What the next entry has to tell.
 * @param silent outputs whose objects the planner is not told of now, because it waits for acks of writes to them
 */
export function nextNews(view: PlannerView, silent: readonly OutputKind[]): EntryNews {
  const { inputs, asked, acks } = view;
  const observed: Observed[] = [];
  const relisted: OutputKind[] = [];
  for (const kind of OUTPUT_KINDS) {
    const news = view[kind];
    if (typeof news === 'string' || silent.includes(kind)) continue;
    if (news.listed) relisted.push(kind);
    for (const object of objectsOf(news)) observed.push(object);
  }
  const objects = { outputs: asked, acks: acks ?? NO_ACKS, relisted, observed };
  if (typeof inputs === 'string') return { ...objects, base: 0, version: 1, specChanged: true, changedPods: 'all' };
  const { version, specChanged, changedPods } = inputs;
  return { ...objects, base: version, version: version + 1, specChanged, changedPods: changedPods ?? NO_PODS };
}

/**
 * The entry with these news leaves: the planner has what it carries.
 * @param silent as it was for the news
 */
export function noteSent(
  view: PlannerView,
  { base, version, outputs }: EntryNews,
  silent: readonly OutputKind[],
): void {
  assert(outputs === view.asked, `an entry for ${outputs.join()} leaves, asked for are ${view.asked.join()}`);
  assert(base > 0 || view.planning.length === 0, 'a full snapshot leaves before the last entry was answered');
  const own: Own<PlannerView> = view;
  own.inputs = { version, specChanged: false, changedPods: null };
  own.acks = null;
  own.asked = NO_OUTPUTS;
  own.planning = [...view.planning, ...outputs];
  for (const kind of OUTPUT_KINDS) {
    assert(!outputs.includes(kind) || !needsRead(view, kind), `${kind} are to be planned before they were read`);
    if (typeof view[kind] === 'object' && !silent.includes(kind)) setTold(view, kind, 'told');
  }
}

/** The entry that was to plan these outputs was answered, or is lost. */
export function noteAnswered(view: PlannerView, kinds: readonly OutputKind[]): void {
  const own: Own<PlannerView> = view;
  own.planning = without(view.planning, kinds);
}

/**
 * The planner's state of the service is lost: a full snapshot is next. News that are all there is outlive it.
 * @param exists whether an output has objects
 */
export function noteLost(view: PlannerView, exists: (kind: OutputKind) => boolean): void {
  const own: Own<PlannerView> = view;
  own.inputs = 'none';
  own.acks = null;
  for (const kind of OUTPUT_KINDS) loseObjects(view, kind, exists(kind));
}

/** The planner has nothing of the output's objects. */
function loseObjects(view: PlannerView, kind: OutputKind, exists: boolean): void {
  const told = view[kind];
  const isWhole = typeof told === 'object' && (told.listed || isSingle(kind));
  if (!isWhole) giveUp(view, kind, exists);
}

/** The objects' content is not at hand. Where there may be objects, only a read tells. */
function giveUp(view: PlannerView, kind: OutputKind, exists: boolean): void {
  if (view[kind] !== 'uncertain') setTold(view, kind, exists ? 'unknown' : 'told');
}

/** An answer has told the planner's own write, which is newer than what was observed. */
function forgetNews(view: PlannerView, kind: OutputKind, { listed, objects }: News, name: string): void {
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
 * Nothing is planned of the service any more. Its planner is told to forget it, and its objects are read should that
 * change.
 * @param exists whether an output has objects
 */
export function forgetService(
  shard: ShardView,
  key: string,
  view: PlannerView,
  exists: (kind: OutputKind) => boolean,
): void {
  for (const kind of OUTPUT_KINDS) giveUp(view, kind, exists(kind));
  dismissService(shard, key, view, exists);
}

/**
 * What the planner has of the service is not what it was told, or is not known: it begins anew with a full snapshot.
 * News that are all there is outlive it.
 * @param exists whether an output has objects
 */
export function dismissService(
  shard: ShardView,
  key: string,
  view: PlannerView,
  exists: (kind: OutputKind) => boolean,
): void {
  if (isInPlanner(view)) (shard.toForget as Set<string>).add(key);
  noteLost(view, exists);
}

/** The node is new, gone, or elsewhere. */
export function noteMovedNode({ nodesToTell }: ShardView, node: string): void {
  (nodesToTell as Set<string>).add(node);
}

/** Takes the keys of up to `max` services for a batch that tells what to forget. */
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
 * What the batch that leaves now tells of all services; undefined = what the planner has. `zone` gives the zone of a
 * node; '' = none.
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
 * The planner is lost with all that it had; what it had of each service is for `noteLost`.
 * @param nodes all whose zones it has to know
 */
export function noteShardLost(shard: ShardView, nodes: Iterable<string>): void {
  const own: Own<ShardView> = shard;
  own.toForget = new Set();
  own.shares = undefined;
  own.nodesToTell = new Set(nodes);
}

/** Whether the output is one object. All others are any number of slices. */
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
