/**
 * Other writers of our objects: how soon what they do is repaired, so that neither an outage nor a chase comes of it.
 *
 * The first repair comes within a second, each further one after twice the wait, up to 10 s for what is missing and 30 s
 * for what is wrong, until the service has had a quiet minute. Counted for each unit (a service of one controller) by the
 * uid of its Service, so that neither new objects nor new names of slices begin from the start.
 */
import type { Now } from '../event.ts';
import {
  keyOf,
  type Controller,
  type Unit,
  type OutputState,
  type Fight,
  type Rounds,
  type Damage,
} from '../caches/service-state.ts';
import { log, type ControllerState } from '../state.ts';
import { addWork } from './workqueue.ts';
import { OUTPUT_ENDPOINTS } from '../../shard/protocol.ts';

/** Time for a Service or namespace that goes with its objects to be seen, and for changes in several steps. */
const REPAIR_MS = 900;
/** The API server deletes Endpoints with their Service: time for the event of the Service, which comes by another watch. */
const ENDPOINTS_GONE_MS = 50;
const REPAIR_MS_MAX: Readonly<Record<Damage, number>> = { missing: 10_000, wrong: 30_000, altered: 300_000 };
const QUIET_MS = 60_000;
/** Repairs in a row that are worth a warning. */
const WARN_REPAIRS = 3;
const WARN_EVERY_MS = 3_600_000;

const DAMAGES: readonly Damage[] = ['missing', 'wrong', 'altered'];
const DAMAGE_TEXTS: Readonly<Record<Damage, string>> = {
  missing: 'deleted',
  wrong: 'changed',
  altered: 'changed by admission',
};

/** Until a controller looks at what somebody else has done to one of its objects, where nothing is counted. */
export function firstRepairMs({ objectBatchPeriodMs }: Controller): number {
  return Math.max(REPAIR_MS, objectBatchPeriodMs);
}

/** Somebody else has damaged an object that the unit is to keep: its repair is queued. `message` says it in the log. */
export function noteDamage(
  state: ControllerState,
  unit: Unit,
  { name, record }: OutputState,
  damage: Damage,
  message: string,
  now: Now,
): void {
  const { service, controller } = unit;
  const rounds = fightOf(unit).rounds[damage];
  log(state, 'info', 2, message, {
    service: keyOf(service),
    object: name,
    resourceVersion: record?.resourceVersion ?? '',
    repairs: rounds.count,
  });
  // Its repair is queued already.
  if (rounds.open++ > 0) return;
  if (now.nowMs - rounds.repairedAtMs >= QUIET_MS) rounds.count = 0;
  addWork(controller.queue, unit.item, laneOf(damage), now.nowMs, repairMs(unit, damage, rounds.count));
}

/** What is missing is an outage; what is wrong can wait behind fresh changes. */
function laneOf(damage: Damage): 'fresh' | 'chore' {
  return damage === 'missing' ? 'fresh' : 'chore';
}

function fightOf(unit: Unit): Fight {
  const serviceUid = unit.service.record?.uid ?? '';
  if (unit.fight?.serviceUid === serviceUid) return unit.fight;
  const none = (): Rounds => ({ count: 0, repairedAtMs: -Infinity, open: 0 });
  const rounds = { missing: none(), wrong: none(), altered: none() };
  return (unit.fight = { serviceUid, rounds, warnedAtMs: -Infinity });
}

function repairMs({ controller }: Unit, damage: Damage, repairs: number): number {
  // Nothing but this object says where the service is, and it has no batch period: at once, nearly, as upstream.
  if (damage === 'missing' && repairs === 0 && controller.output === OUTPUT_ENDPOINTS) return ENDPOINTS_GONE_MS;
  return Math.max(Math.min(REPAIR_MS * 2 ** repairs, REPAIR_MS_MAX[damage]), controller.objectBatchPeriodMs);
}

/** A sync of the unit begins: it repairs all that has happened so far. Only now it counts: the Service is still there. */
export function beginRepair(state: ControllerState, unit: Unit, now: Now): void {
  const { fight, service } = unit;
  if (fight === null) return;
  if (service.record?.uid !== fight.serviceUid || service.record.deleting) {
    forgetFight(unit);
    return;
  }
  for (const damage of DAMAGES) {
    const rounds = fight.rounds[damage];
    if (rounds.open === 0) continue;
    state.instruments.foreignEdits.inc(rounds.open);
    rounds.open = 0;
    rounds.count++;
    rounds.repairedAtMs = now.nowMs;
    if (rounds.count < WARN_REPAIRS || now.nowMs - fight.warnedAtMs < WARN_EVERY_MS) continue;
    fight.warnedAtMs = now.nowMs;
    log(state, 'warning', 0, 'another writer keeps undoing what is written for a service', {
      service: keyOf(service),
      controller: unit.controller.name,
      kind: unit.controller.output === OUTPUT_ENDPOINTS ? 'Endpoints' : 'EndpointSlice',
      objects: DAMAGE_TEXTS[damage],
      repairs: rounds.count,
      nextRepairMs: repairMs(unit, damage, rounds.count),
    });
  }
}

/** The objects have gone with their namespace, their Service or what they mirror: nobody has fought. */
export function forgetFight(unit: Unit): void {
  unit.fight = null;
}
