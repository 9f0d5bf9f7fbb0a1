/**
 * How soon the work of other writers on our objects is repaired. A repair comes soon enough to be no outage, but not so
 * soon that two writers chase each other. The first repair comes within a second. Each further one waits twice as long,
 * up to 10 s for what is missing and 30 s for what is wrong, until the service has had a quiet minute. What admission
 * alters is looked at ever more seldom too, down to once an hour: a policy that labels all objects would else cost a write
 * of each of them every few minutes. Repairs are counted for each unit and the uid of its Service. So new objects and new
 * names of slices do not begin the count again.
 */
import type { Now } from '../event.ts';
import {
  keyOf,
  type Controller,
  type Unit,
  type ObjectState,
  type Fight,
  type Rounds,
  type Damage,
  type Taken,
} from '../caches/service-state.ts';
import type { ControllerState } from '../state.ts';
import { addCheck, addWork } from './workqueue.ts';
import { labelsGet } from '../../kube/labels.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../kube/names.ts';
import type { Labels } from '../../kube/types.ts';

/**
 * Within this time the deletion of the Service or namespace is seen that took the object along. A change in several
 * steps is complete by then.
 */
export const REPAIR_MS = 900;
const REPAIR_MS_MAX: Readonly<Record<Damage, number>> = { missing: 10_000, wrong: 30_000, altered: 3_600_000 };
/** A round whose successor waits longer counts only if it was waited for: changes of pods alone make no long wait. */
const COUNTED_MS = 300_000;
const QUIET_MS = 60_000;
/** The most writers that are noted for a unit between two repairs. Damage of further ones is repaired but not told. */
const WRITERS_MAX = 10;
/** From so many repairs of missing slices on the server is asked whether the last one lives on under other labels. */
const ASKED_FROM = 3;
/** From so many slices on that were taken one after the other no slice is made for a time, each time twice as long. */
const HELD_FROM = 3;
const HELD_MS = 60_000;
const HELD_MS_MAX = 300_000;

const DAMAGES: readonly Damage[] = ['missing', 'wrong', 'altered'];

/** A change that another writer made to an object of the unit. */
export interface Deed {
  readonly damage: Damage;
  /** Gives the writer as `writerOf` does. A standby never calls it. */
  readonly writer: () => string;
  /** For the log. */
  readonly message: string;
}

/**
 * How long a controller waits before it looks at an object that another writer has touched, where no fight is counted.
 */
export function firstRepairMs({ objectBatchPeriodMs }: Controller): number {
  return Math.max(REPAIR_MS, objectBatchPeriodMs);
}

/** Queues the repair. */
export function queueRepair(
  state: ControllerState,
  unit: Unit,
  { name, record }: ObjectState,
  { damage, writer: writerOf, message }: Deed,
  now: Now,
): void {
  const { service, controller } = unit;
  if (state.isShadow) {
    // A standby writes nothing back. The unit is planned again, because what is stored has changed.
    addWork(controller.queue, unit.item, laneOf(damage), now.nowMs);
    return;
  }
  const writer = writerOf();
  const fight = fightOf(unit);
  const rounds = fight.rounds[damage];
  if (damage === 'missing' && controller.writes === 'EndpointSlice') fight.lost = name;
  noteWriter((fight.writers ??= new Map()), writer, 1);
  state.outbox.log('info', 2, message, {
    controller: controller.name,
    service: keyOf(service),
    object: name,
    manager: writer,
    resourceVersion: record?.resourceVersion ?? '',
    repairs: rounds.count,
  });
  // Its repair is queued already.
  if (rounds.isQueued) return;
  rounds.isQueued = true;
  if (now.nowMs - rounds.repairedAtMs >= QUIET_MS) rounds.count = 0;
  const add = damage === 'altered' ? addCheck : addWork;
  add(controller.queue, unit.item, laneOf(damage), now.nowMs, repairMs(unit, damage, rounds.count));
}

/** A missing object is an outage. An object that is wrong can wait behind fresh changes. */
function laneOf(damage: Damage): 'fresh' | 'chore' {
  return damage === 'missing' ? 'fresh' : 'chore';
}

function fightOf(unit: Unit): Fight {
  const serviceUid = unit.service.record?.uid ?? '';
  if (unit.fight?.serviceUid === serviceUid) return unit.fight;
  const none = (): Rounds => ({ count: 0, repairedAtMs: -Infinity, isQueued: false });
  const rounds = { missing: none(), wrong: none(), altered: none() };
  return (unit.fight = { serviceUid, rounds, writers: null, repairing: null, lost: '', taken: null });
}

function repairMs({ controller }: Unit, damage: Damage, repairs: number): number {
  const isRecreated = damage === 'missing' && repairs === 0;
  const waitMs = isRecreated ? controller.recreateMs : roundMs(damage, repairs);
  return Math.max(waitMs, controller.objectBatchPeriodMs);
}

function roundMs(damage: Damage, repairs: number): number {
  return Math.min(REPAIR_MS * 2 ** repairs, REPAIR_MS_MAX[damage]);
}

/**
 * Counts the damage that the sync which begins now will repair. It was not counted before, because the Service might
 * have been deleted.
 */
export function beginRepair(unit: Unit, now: Now): void {
  const { fight, service } = unit;
  if (fight === null) return;
  if (service.record?.uid !== fight.serviceUid || service.record.deleting) {
    forgetFight(unit);
    return;
  }
  for (const damage of DAMAGES) {
    const rounds = fight.rounds[damage];
    if (!rounds.isQueued) continue;
    rounds.isQueued = false;
    const isWaitedFor = now.nowMs - rounds.repairedAtMs >= roundMs(damage, rounds.count);
    if (isWaitedFor || roundMs(damage, rounds.count + 1) <= COUNTED_MS) rounds.count++;
    rounds.repairedAtMs = now.nowMs;
  }
  // A repair that failed before is done together with this one.
  fight.repairing = together(fight.repairing, fight.writers);
  fight.writers = null;
}

function together(some: Fight['repairing'], more: Fight['writers']): Fight['repairing'] {
  if (some === null || more === null) return some ?? more;
  for (const [writer, changes] of more) noteWriter(some, writer, changes);
  return some;
}

function noteWriter(writers: Map<string, number>, writer: string, changes: number): void {
  if (writers.has(writer) || writers.size < WRITERS_MAX) writers.set(writer, (writers.get(writer) ?? 0) + changes);
}

/**
 * Tells who has done the damage that was repaired. It was not told before, because the namespace might be ending: that
 * shows when the repair is refused.
 */
export function endRepair(state: ControllerState, unit: Unit, now: Now): void {
  const { fight } = unit;
  for (const [writer, changes] of fight?.repairing ?? []) state.reports.otherWriter(unit, writer, changes, now);
  if (fight !== null) fight.repairing = null;
}

/**
 * The slice of which the server is to be asked what has become of it; '' = none. One that lives on under other labels is
 * missing for its unit, and for nobody else: proxies go on to read it. To make another one each time would fill the
 * cluster with them.
 */
export function sliceToLookFor({ fight }: Unit, now: Now): string {
  if (fight === null) return '';
  const { lost, taken, rounds } = fight;
  return heldBy(taken, now)?.name ?? (taken !== null || rounds.missing.count >= ASKED_FROM ? lost : '');
}

/** Why the unit makes no slices now; '' = it may. */
export function whyHeld({ fight }: Unit, now: Now): string {
  return heldBy(fight?.taken ?? null, now)?.why ?? '';
}

function heldBy(taken: Taken | null, now: Now): Taken | null {
  return taken !== null && now.nowMs < taken.heldUntilMs ? taken : null;
}

/**
 * Notes the labels that a slice of the unit has on the server. Returns whether it was taken: the unit does not find it by
 * them. Several that are taken while the unit is held are one time.
 */
export function noteIfTaken(unit: Unit, name: string, labels: Labels, now: Now): boolean {
  const theirs = otherLabel(unit, labels);
  if (theirs === '') return false;
  const why = `${unit.controller.writes} ${name} lives on ${theirs}, so no other is made for now`;
  const fight = fightOf(unit);
  const { taken } = fight;
  if (fight.lost === name) fight.lost = '';
  const held = heldBy(taken, now);
  const times = taken === null || now.nowMs - taken.heldUntilMs >= HELD_MS_MAX ? 1 : taken.times + 1;
  const heldMs = times < HELD_FROM ? 0 : Math.min(HELD_MS * 2 ** (times - HELD_FROM), HELD_MS_MAX);
  fight.taken = held === null ? { name, why, times, heldUntilMs: now.nowMs + heldMs } : { ...held, name, why };
  return true;
}

/** The label by which the unit does not find a slice that proxies read for its Service; '' = it is no such slice. */
function otherLabel({ controller, service }: Unit, labels: Labels): string {
  const label = SLICE_MANAGED_BY_LABEL;
  const value = labelsGet(labels, label);
  if (labelsGet(labels, SERVICE_NAME_LABEL) !== service.name || value === controller.managedBy) return '';
  return value === undefined ? `without the label ${label}` : `with ${label}=${value}`;
}

/** The slice does not exist any more, or has its labels again. */
export function noteNotTaken({ fight }: Unit, name: string, now: Now): void {
  if (fight === null) return;
  if (fight.lost === name) fight.lost = '';
  const held = heldBy(fight.taken, now);
  if (held?.name === name) fight.taken = { ...held, heldUntilMs: now.nowMs };
}

/**
 * The objects went together with their namespace, their Service, or the Endpoints that they mirror: nobody has fought.
 */
export function forgetFight(unit: Unit): void {
  unit.fight = null;
}
