/**
 * One sync of one unit (a service of one controller): read what only the server can tell, plan, write, finish. The sync holds a
 * slot of its controller's work queue from `startSync` to `finish`. Every path ends in `finish` (`sync-end.ts`). What a plan
 * writes is in `sync-writes.ts`, what becomes of objects that no plan has in `clean-up.ts`.
 */
import type { Now } from '../event.ts';
import { takeMustListFirst } from '../leader/leadership.ts';
import { beginRepair, noteIfTaken, noteNotTaken, sliceToLookFor, whyHeld } from '../queues/fights.ts';
import type { WorkLane } from '../queues/lane-share.ts';
import { lookForSlice, readEndpoints, readSlices, takeEndpointsRead, takeFoundSlice, takeSlicesRead } from './reads.ts';
import { keyOf, type ServiceState, type Failure, type StageOf, type Unit } from '../caches/service-state.ts';
import { dismissService, plansLate, queuePlan, unitsOf } from './shard-batches.ts';
import { needsRead, noteUncertain } from './planner-view.ts';
import { openWrite, openLater, ackNotSent } from './sync-writes.ts';
import { fail, finish } from './sync-end.ts';
import { startUnwanted } from './clean-up.ts';
import type { ControllerState } from '../state.ts';
import { endLingering, noteFacts, recheck } from '../caches/replan.ts';
import { isWanted } from '../caches/unit.ts';
import { doneWork, putOffWork } from '../queues/workqueue.ts';
import { shadowOf } from '../writes/shadow.ts';
import { assert } from '../../lib/assert.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import type { OutputKind, Plan, PlannedWrite, ServiceResult } from '../../shard/protocol.ts';

/** A unit whose shard plans late leaves its slot to units of other shards for this time, and looks again. */
const LATE_SHARD_MS = 1000;
const PLANNING: StageOf<'planning'> = { name: 'planning' };

/** Takes a unit that its queue has handed out. The unit is planned or cleaned up, or put off if it must wait. */
export function startSync(state: ControllerState, unit: Unit, lane: WorkLane, now: Now): void {
  const { controller } = unit;
  assert(unit.sync === null, `${controller.name} ${keyOf(unit.service)} is synced twice at once`);
  const isLate = isWanted(unit) && plansLate(state.shards[unit.service.shard]!, now);
  const waitMs = Math.max(unit.notBeforeMs - now.nowMs, isLate ? LATE_SHARD_MS : 0);
  if (waitMs > 0) {
    doneWork(controller.queue, unit.item, now.nowMs);
    putOffWork(controller.queue, unit.item, lane, now.nowMs, waitMs);
    return;
  }
  endLingering(state.replan, unit);
  unit.sync = {
    stage: PLANNING,
    startedAtMs: now.nowMs,
    changedAtMs: unit.changedAtMs,
    lane,
    nodeChanges: state.replan.nodeChanges,
    shares: state.replan.shares,
    failure: null,
    unlooked: null,
    applied: 0,
    namespaceEnds: false,
    isWhole: true,
    shadow: shadowOf(state, unit),
    postedAtMs: -1,
    plannedAtMs: -1,
    throttledMs: -1,
    answeredMs: -1,
    watchInSeconds: unit.changedAtMs < 0 ? -1 : unit.watchInSeconds,
  };
  unit.changedAtMs = -1;
  if (isWanted(unit)) {
    beginRepair(unit, now);
    beginPlan(state, unit, now);
  } else startUnwanted(state, unit, now);
}

/**
 * Plans the unit. Objects are read first where only the server can tell what it holds. A plan that starts over begins
 * here too.
 */
export function beginPlan(state: ControllerState, unit: Unit, now: Now): void {
  const sync = unit.sync!;
  if (!isWanted(unit)) {
    // The change that made it so has queued the unit again.
    finish(state, unit, now);
    return;
  }
  sync.unlooked = null;
  const lost = sliceToLookFor(unit, now);
  if (lost === '') readAndPlan(state, unit);
  else {
    sync.stage = { name: 'confirming' };
    lookForSlice(state, unit, lost);
  }
}

function readAndPlan(state: ControllerState, unit: Unit): void {
  const sync = unit.sync!;
  const kinds = unit.controller.needs.filter((kind) => needsRead(unit.service.view, kind));
  if (kinds.length === 0) {
    sync.stage = PLANNING;
    queuePlan(state, unit);
    return;
  }
  sync.stage = { name: 'reading', open: kinds.length };
  for (const kind of kinds) {
    if (kind === 'endpoints') readEndpoints(state, unit);
    else {
      assert(kind === unit.controller.kind, `a unit of ${unit.controller.kind} reads the slices of ${kind}`);
      readSlices(state, unit);
    }
  }
}

/**
 * Takes the answer whether a slice that is missing lives on. Where it does, no create is sent, nor what waits for one. So
 * it is where there is no answer. What else there is to write goes on.
 */
export function onSliceFound(state: ControllerState, unit: Unit, name: string, event: TransportEvent, now: Now): void {
  const { labels, failure } = takeFoundSlice(state, name, event);
  unit.sync!.unlooked = failure;
  if (failure === null && (labels === null || !noteIfTaken(unit, name, labels, now))) {
    noteNotTaken(unit, name, now);
    // It has its labels again, which the watch has not told, or it names another Service.
    if (labels !== null) noteUncertain(unit.service.view, unit.controller.kind);
  }
  if (isWanted(unit)) readAndPlan(state, unit);
  else startUnwanted(state, unit, now);
}

/** Takes the answer to the GET of the Endpoints object. */
export function onEndpointsRead(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): void {
  onRead(state, unit, takeEndpointsRead(state, unit, event, now), now);
}

/** Takes the answer to the list of the unit's slices. */
export function onSlicesRead(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): void {
  onRead(state, unit, takeSlicesRead(state, unit, event, now), now);
}

function onRead(state: ControllerState, unit: Unit, failure: Failure | null, now: Now): void {
  const sync = unit.sync!;
  const { stage } = sync;
  assert(stage.name === 'reading', `what was read of ${keyOf(unit.service)} comes unasked`);
  stage.open--;
  sync.failure ??= failure;
  if (stage.open > 0) return;
  if (sync.failure !== null) finish(state, unit, now);
  else if (isWanted(unit)) readAndPlan(state, unit);
  else startUnwanted(state, unit, now);
}

/** Takes the answer of the planner for each unit that had asked. */
export function onPlanned(
  state: ControllerState,
  service: ServiceState,
  asked: readonly OutputKind[],
  result: ServiceResult,
  now: Now,
): void {
  const units = unitsOf(service, asked);
  const { error, needFull, plans, failures, problems } = result;
  // The planner has dropped the service, or has another state of it than it was told.
  if (needFull || error !== null) dismissService(state, service);
  if (error === null) state.reports.problems(service, units, problems, now);
  for (const { sync } of units) sync?.shadow?.problems.push(...problems);
  const unitOf = (kind: OutputKind): Unit | undefined => units.find(({ controller }) => controller.kind === kind);
  const waiting = new Set(units);
  // Slices go before the Endpoints object, because most proxies follow slices (docs/protocols.md "Order of
  // writes").
  for (const plan of plans) {
    const { kind } = plan.facts;
    const unit = unitOf(kind);
    assert(unit !== undefined && waiting.delete(unit), `a plan of ${kind} of ${keyOf(service)} comes unasked`);
    onUnitPlanned(state, unit, plan, now);
  }
  for (const { output, message } of failures) {
    const unit = unitOf(output);
    assert(unit !== undefined && waiting.delete(unit), `a failure of ${output} of ${keyOf(service)} comes unasked`);
    fail(state, unit, { class: 'invalid', message, retryAfterMs: -1 }, now);
  }
  for (const unit of waiting) {
    // The planner has planned nothing of the service.
    if (error === null) beginPlan(state, unit, now);
    else fail(state, unit, { class: 'invalid', message: `planning failed: ${error}`, retryAfterMs: -1 }, now);
  }
}

/** Queues the writes of phase 1. The writes of a later phase wait until all before them are answered. */
function onUnitPlanned(state: ControllerState, unit: Unit, plan: Plan, now: Now): void {
  const { controller, service, sync } = unit;
  assert(sync !== null && sync.stage.name === 'planning', `a plan of ${keyOf(service)} comes unasked`);
  const { writes: planned } = plan;
  if (takeMustListFirst(state.leadership, unit, planned, now)) {
    for (const write of planned) ackNotSent(unit, write);
    noteUncertain(service.view, controller.kind);
    beginPlan(state, unit, now);
    return;
  }
  sync.plannedAtMs = now.nowMs;
  sync.isWhole = plan.isWhole;
  const before = unit.facts;
  noteFacts(state.replan, unit, plan.facts);
  recheck(state.replan, unit, sync, now);
  state.reports.planned(unit, before, now);
  if (!isWanted(unit)) {
    for (const write of planned) ackNotSent(unit, write);
    finish(state, unit, now);
    return;
  }
  const held = holdCreates(unit, planned, now);
  const writes = held.length === 0 ? planned : planned.filter((write) => !held.includes(write));
  const later = writes.filter(({ phase }) => phase > 1);
  const blockedFamilies = held.map(({ family }) => family);
  const stage: StageOf<'writing'> = { name: 'writing', open: 0, later, blockedFamilies, endedFamilies: [] };
  if (writes.length > 0) sync.stage = stage;
  for (const write of writes) if (write.phase === 1) openWrite(state, unit, stage, write, now);
  if (stage.open === 0) openLater(state, unit, stage, now);
  if (stage.open === 0) finish(state, unit, now);
}

/**
 * Takes creates back, and fails the sync, while the slices of the unit are taken from it, or may be. Returns them.
 */
function holdCreates(unit: Unit, writes: readonly PlannedWrite[], now: Now): readonly PlannedWrite[] {
  const sync = unit.sync!;
  const why = whyHeld(unit, now);
  const failure: Failure | null = why === '' ? sync.unlooked : { class: 'invalid', message: why, retryAfterMs: -1 };
  if (failure === null) return NONE_HELD;
  const held = writes.filter(({ verb }) => verb === 'create');
  for (const write of held) ackNotSent(unit, write);
  if (held.length > 0) sync.failure = failure;
  return held;
}

const NONE_HELD: readonly PlannedWrite[] = [];
