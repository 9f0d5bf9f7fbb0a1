/**
 * How soon the work of other writers on our objects is repaired. A repair comes soon enough to be no outage, but not so
 * soon that two writers chase each other. The first repair comes within a second. Each further one waits twice as long,
 * up to 10 s for what is missing and 30 s for what is wrong, until the service has had a quiet minute. Repairs are
 * counted for each unit and the uid of its Service. So new objects and new names of slices do not begin the count
 * again.
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
} from '../caches/service-state.ts';
import type { ControllerState } from '../state.ts';
import { addCheck, addWork } from './workqueue.ts';

/**
 * Within this time the deletion of the Service or namespace is seen that took the object along. A change in several
 * steps is complete by then.
 */
export const REPAIR_MS = 900;
const REPAIR_MS_MAX: Readonly<Record<Damage, number>> = { missing: 10_000, wrong: 30_000, altered: 300_000 };
const QUIET_MS = 60_000;
/** The most writers that are noted for a unit between two repairs. Damage of further ones is repaired but not told. */
const WRITERS_MAX = 10;

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
  if (rounds.open) return;
  rounds.open = true;
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
  const none = (): Rounds => ({ count: 0, repairedAtMs: -Infinity, open: false });
  const rounds = { missing: none(), wrong: none(), altered: none() };
  return (unit.fight = { serviceUid, rounds, writers: null, repairing: null });
}

function repairMs({ controller }: Unit, damage: Damage, repairs: number): number {
  const isRecreated = damage === 'missing' && repairs === 0;
  const waitMs = isRecreated ? controller.recreateMs : Math.min(REPAIR_MS * 2 ** repairs, REPAIR_MS_MAX[damage]);
  return Math.max(waitMs, controller.objectBatchPeriodMs);
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
    if (!rounds.open) continue;
    rounds.open = false;
    rounds.count++;
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
 * The objects went together with their namespace, their Service, or the Endpoints that they mirror: nobody has fought.
 */
export function forgetFight(unit: Unit): void {
  unit.fight = null;
}
