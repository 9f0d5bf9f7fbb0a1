/**
 * One sync of one unit (a service of one controller): read what only the server can tell, plan, write, finish. The sync holds a
 * slot of its controller's work queue from `startSync` to `finish`. Every path ends in `finish`.
 */
import { BACKOFFS, nextDelayMs, type FailureClass } from '../queues/backoff.ts';
import type { Now } from '../event.ts';
import { mustListFirst, noteIfMayArriveLate, noteShadowed, standsBy } from '../leader/leadership.ts';
import { beginRepair, endRepair, forgetFight } from '../queues/fights.ts';
import { isWrittenInThePast, reflectorOf } from '../reflectors/history.ts';
import {
  becomeUncertain,
  compareMetadata,
  dropEndpoints,
  forgetSlices,
  noteConflict,
  queueLeftovers,
  ownWrite,
  takeHeld,
  queueDependents,
  undoneWrite,
} from '../caches/objects.ts';
import { confirmOrphan, readEndpoints, readSlices, takeEndpointsRead, takeSlicesRead } from './reads.ts';
import { onWrittenInThePast } from '../reflectors/reflector-group.ts';
import { ensureSlice, forgetFacts, hasObjects, releaseService, releaseSlice } from '../caches/services.ts';
import { keyOf, type ServiceState, type Failure, type StageOf, type Unit } from '../caches/service-state.ts';
import { beginAnew, forgetInPlanner, plansLate, queuePlan, unitsOf } from './shard-batches.ts';
import { isInPlanner, needsRead, noteOutcome, noteRemoved, noteUncertain } from './planner-view.ts';
import type { ControllerState } from '../state.ts';
import { endLingering, isFragmented, noteFacts, recheck } from '../caches/replan.ts';
import { fateOfObjects, isEndpoints, isWanted, needsEndpoints } from '../caches/unit.ts';
import { isOwnEndpoints } from '../../core/mirroring/mirrored.ts';
import { addCheck, addWork, doneWork, putOffWork, retryWork } from '../queues/workqueue.ts';
import { onWriteAnswered, queueWrite, takeBackWrites, type QueuedWrite } from '../writes/writes.ts';
import { classify, NOT_SENT, type WriteOutcome } from '../writes/write-outcome.ts';
import { shadowOf, tellWithdrawn } from '../writes/shadow.ts';
import { LEADER_ANNOTATION, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../kube/names.ts';
import { isApiAnswer, isNotFound } from '../../kube/status.ts';
import type { OutputRecord } from '../../kube/types.ts';
import { assert, unreachable } from '../../lib/assert.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import {
  type Ack,
  type OutputKind,
  type Plan,
  type PlannedWrite,
  type ServiceResult,
  UNPLANNED,
} from '../../shard/protocol.ts';

/** Slices are merged, step by step, in a service that has been quiet for this long. */
const COMPACT_AFTER_MS = 10_000;
/** After so many failures in a row a service is called stuck, unless the class of its error says so at once. */
const STUCK_FAILURES = 6;
/**
 * A service that changes is tried again at once, even while it backs off. Some things are waited for all the same: the
 * server's Retry-After, and this time after a failure that costs others something. Such a failure costs a thread, or a
 * token for a write that will be refused. After a write that hung it is waited for as long as that write hung: so a
 * service whose pods change all the time has a slot for half of the time at most.
 */
const HOLD_MS: Readonly<Partial<Record<FailureClass, number>>> = { poison: 10_000, invalid: 2000, forbidden: 2000 };
/** A unit whose shard plans late leaves its slot to units of other shards for this time, and looks again. */
const LATE_SHARD_MS = 250;
const NO_BODY = new Uint8Array(0);
const PLANNING: StageOf<'planning'> = { name: 'planning' };

/** Takes a unit that its queue has handed out. The unit is planned or cleaned up, or put off if it must wait. */
export function startSync(state: ControllerState, unit: Unit, chore: boolean, now: Now): void {
  const { controller } = unit;
  assert(unit.sync === null, `${controller.name} ${keyOf(unit.service)} is synced twice at once`);
  const isLate = isWanted(unit) && plansLate(state.shards[unit.service.shard]!, now);
  const waitMs = Math.max(unit.notBeforeMs - now.nowMs, isLate ? LATE_SHARD_MS : 0);
  if (waitMs > 0) {
    doneWork(controller.queue, unit.item, now.nowMs);
    putOffWork(controller.queue, unit.item, chore ? 'chore' : 'fresh', now.nowMs, waitMs);
    return;
  }
  endLingering(state.replan, unit);
  unit.sync = {
    stage: PLANNING,
    startedAtMs: now.nowMs,
    changedAtMs: unit.changedAtMs,
    chore,
    nodeChanges: state.replan.nodeChanges,
    shares: state.replan.shares,
    failure: null,
    applied: 0,
    goesOn: false,
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
  const kinds = unit.controller.needs.filter((kind) => needsRead(unit.service.view, kind));
  if (kinds.length === 0) {
    sync.stage = PLANNING;
    queuePlan(state, unit);
    return;
  }
  sync.stage = { name: 'reading', open: kinds.length };
  for (const kind of kinds) {
    if (kind === 'endpoints') readEndpoints(state.hands.reads, unit);
    else {
      assert(kind === unit.controller.kind, `a unit of ${unit.controller.kind} reads the slices of ${kind}`);
      readSlices(state.hands.reads, unit);
    }
  }
}

/** Takes the answer to the GET of the Endpoints object. */
export function onEndpointsRead(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): void {
  const { service } = unit;
  const { endpoints } = service;
  const before = endpoints.record;
  const failure = takeEndpointsRead(state.hands.reads, endpoints, event, now);
  // The watch will tell this version too, but it is known by then: what is made from it is queued now.
  const isNews = endpoints.record?.resourceVersion !== before?.resourceVersion;
  if (isNews) {
    queueDependents(state, service, unit, now);
    queueLeftovers(state, service, now);
  }
  endpoints.inFlight--;
  // Another read may be under way, whose answer may be older still.
  if (endpoints.inFlight === 0) takeHeld(state, endpoints, now);
  onRead(state, unit, failure, now);
}

/** Takes the answer to the list of the unit's slices. */
export function onSlicesRead(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): void {
  onRead(state, unit, takeSlicesRead(state.hands.reads, unit, event, now), now);
}

function onRead(state: ControllerState, unit: Unit, failure: Failure | null, now: Now): void {
  const sync = unit.sync!;
  const { stage } = sync;
  assert(stage.name === 'reading', `what was read of ${keyOf(unit.service)} comes unasked`);
  stage.open--;
  sync.failure ??= failure;
  if (stage.open > 0) return;
  if (sync.failure !== null) finish(state, unit, now);
  else if (isWanted(unit)) beginPlan(state, unit, now);
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
  if (needFull || error !== null) beginAnew(state, service);
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

/** Queues the writes of phase 1. The writes of a later phase wait until all before them are applied. */
function onUnitPlanned(state: ControllerState, unit: Unit, plan: Plan, now: Now): void {
  const { controller, service, sync } = unit;
  assert(sync !== null && sync.stage.name === 'planning', `a plan of ${keyOf(service)} comes unasked`);
  const { writes } = plan;
  if (mustListFirst(state.leadership, unit, writes, now)) {
    for (const write of writes) ackNotSent(unit, write);
    noteUncertain(service.view, controller.kind);
    beginPlan(state, unit, now);
    return;
  }
  sync.plannedAtMs = now.nowMs;
  sync.goesOn = !plan.isWhole;
  const before = unit.facts;
  noteFacts(state.replan, unit, plan.facts);
  recheck(state.replan, unit, sync, now);
  state.reports.planned(unit, before, now);
  if (!isWanted(unit)) {
    for (const write of writes) ackNotSent(unit, write);
    finish(state, unit, now);
    return;
  }
  if (writes.length === 0) {
    finish(state, unit, now);
    return;
  }
  const later = writes.filter(({ phase }) => phase > 1);
  const stage: StageOf<'writing'> = { name: 'writing', open: 0, later, blockedFamilies: [] };
  sync.stage = stage;
  for (const write of writes) if (write.phase === 1) openWrite(state, unit, stage, write, now);
  if (stage.open === 0) openLater(state, unit, stage, now);
}

function openWrite(
  state: ControllerState,
  unit: Unit,
  stage: StageOf<'writing' | 'deleting'>,
  write: PlannedWrite,
  now: Now,
): void {
  const sync = unit.sync!;
  const { controller, service } = unit;
  const object = controller.kind === 'endpoints' ? service.endpoints : ensureSlice(state, unit, write.name);
  stage.open++;
  object.inFlight++;
  const lane = sync.chore ? 'chore' : 'fresh';
  queueWrite(state.writes, {
    unit,
    object,
    write,
    lane,
    queuedAtMs: now.nowMs,
    heldBeforeMs: -1,
    sentAtMs: -1,
    reachedBefore: '',
  });
}

/** Queues the writes of the next phase. It takes back those of families of which one before was not applied. */
function openLater(state: ControllerState, unit: Unit, stage: StageOf<'writing'>, now: Now): void {
  const goesOn = ({ family }: PlannedWrite): boolean => !stage.blockedFamilies.includes(family);
  for (const write of stage.later) if (!goesOn(write)) ackNotSent(unit, write);
  const left = stage.later.filter(goesOn);
  const next = left.reduce((least, { phase }) => Math.min(least, phase), Infinity);
  stage.later = left.filter(({ phase }) => phase > next);
  for (const write of left) if (write.phase === next) openWrite(state, unit, stage, write, now);
}

function ackNotSent({ service, controller: { kind } }: Unit, { id, name }: PlannedWrite): void {
  const ack: Ack = { write: id, result: 'not-sent', uid: '', resourceVersion: '' };
  noteOutcome(service.view, kind, name, ack, hasObjects(service, kind));
}

/** Takes the answer to a write that was sent. */
export function takeWriteAnswer(state: ControllerState, queued: QueuedWrite, event: TransportEvent, now: Now): void {
  noteIfMayArriveLate(state.leadership, event, now);
  onWriteDone(state, queued, onWriteAnswered(state.writes, state.hands.writes, queued, event, now), now);
}

/** Takes the outcome of a write that was answered or withdrawn. */
export function onWriteDone(state: ControllerState, queued: QueuedWrite, outcome: WriteOutcome, now: Now): void {
  const { unit, object, write } = queued;
  const { service, sync } = unit;
  const stage = sync?.stage;
  assert(
    sync !== null && (stage?.name === 'writing' || stage?.name === 'deleting') && stage.open > 0,
    `an answer to no write of ${keyOf(service)}`,
  );
  stage.open--;
  object.inFlight--;
  object.sent = null;
  if (queued.sentAtMs >= 0) {
    sync.throttledMs = Math.max(sync.throttledMs, queued.sentAtMs - queued.queuedAtMs);
    sync.answeredMs = Math.max(sync.answeredMs, now.nowMs - queued.sentAtMs);
  }
  const undone = settleWrite(state, queued, outcome, now);
  // A shadow sends nothing, and tells the writes of all phases.
  const blocks = undone || (outcome.result !== 'applied' && sync.shadow === null);
  if (stage.name === 'writing' && blocks) stage.blockedFamilies = [...stage.blockedFamilies, write.family];
  if (stage.name === 'writing' && stage.open === 0 && stage.later.length > 0) openLater(state, unit, stage, now);
  if (stage.open === 0) finish(state, unit, now);
}

/**
 * Takes what the outcome says of the object. The order matters. The object is settled first, because the ack tells whether
 * it exists. What the answer tells the planner comes before the held event: an ack drops the news that are older than the
 * write, and the event is newer. The event also tells who the other writer was, so the conflict is noted before it. A slice
 * is forgotten only when no event is held for it. History that went back is looked at last: it forgets all versions.
 * @returns whether the update was undone: admission has put everything back
 */
function settleWrite(state: ControllerState, queued: QueuedWrite, outcome: WriteOutcome, now: Now): boolean {
  const { unit, object, write } = queued;
  const { service } = unit;
  const sync = unit.sync!;
  const undone = write.verb === 'update' && outcome.applied?.resourceVersion === write.resourceVersion;
  if (undone) {
    undoneWrite(state, object, now);
  } else if (outcome.result === 'applied') {
    ownWrite(state, object, outcome.applied, write.body, now);
    sync.applied++;
  }
  ack(unit, write, undone ? { ...outcome, result: 'refused' } : outcome);
  // A delete leaves no object to look at.
  if (outcome.metadata !== null && !undone) compareMetadata(state, object, write.body, outcome.metadata, now);
  // The echo of an own write tells nobody anything. So what is made from the Endpoints is queued here: its Service has no
  // selector, and it did not know of the object.
  if (isEndpoints(object) && outcome.result === 'applied' && !isWanted(unit))
    queueDependents(state, service, null, now);
  // The namespace is being deleted, and takes the objects with it.
  if (outcome.result === 'refused' && outcome.failure === null) forgetFight(unit);
  if (outcome.mustRead) becomeUncertain(object);
  if (outcome.isConflict) noteConflict(state, object);
  if (outcome.failure !== null) {
    sync.failure = soonest(sync.failure, outcome.failure);
    state.reports.failedWrite(unit, write, outcome.failure, outcome.silent, now);
  }
  if (object.inFlight === 0) takeHeld(state, object, now);
  releaseSlice(state, object);
  if (outcome.applied !== null && !undone) noteApplied(state, queued, outcome.applied, now);
  return undone;
}

/**
 * Notes the version of an applied write. If it is below one that was reached before, history went back, and only a list
 * tells what else has changed.
 */
function noteApplied(
  state: ControllerState,
  { object, reachedBefore, sentAtMs }: QueuedWrite,
  { resourceVersion }: OutputRecord,
  now: Now,
): void {
  if (!isWrittenInThePast(resourceVersion, reachedBefore)) return;
  const reflector = reflectorOf(state.reflectors, object)!;
  state.outbox.log('warning', 0, 'An own write shows that history went back: all is listed again', {
    resource: reflector.resource,
    object: `${object.service.namespace}/${object.name}`,
    resourceVersion,
    reached: reachedBefore,
  });
  onWrittenInThePast(state.hands.reflectors, state.reflectors, reflector, sentAtMs, now);
}

function soonest(a: Failure | null, b: Failure): Failure {
  if (a === null) return b;
  const sooner = BACKOFFS[b.class].firstMs < BACKOFFS[a.class].firstMs ? b : a;
  return { ...sooner, retryAfterMs: Math.max(a.retryAfterMs, b.retryAfterMs) };
}

/** Tells the planner what became of the write, even if a planner before it had planned it. */
function ack(unit: Unit, { id, name }: PlannedWrite, { result, applied }: WriteOutcome): void {
  const { service, controller } = unit;
  const { kind } = controller;
  if (id !== UNPLANNED) {
    const { uid, resourceVersion } = applied ?? NOTHING_APPLIED;
    noteOutcome(service.view, kind, name, { write: id, result, uid, resourceVersion }, hasObjects(service, kind));
  } else if (result === 'applied') noteRemoved(service.view, kind, name);
}

const NOTHING_APPLIED = { uid: '', resourceVersion: '' };

/** Ends a sync that cannot go on. */
export function fail(state: ControllerState, unit: Unit, failure: Failure, now: Now): void {
  unit.sync!.failure = failure;
  finish(state, unit, now);
}

/**
 * Ends a sync and gives its slot back. A failed unit is tried again after the back-off of its class. It is never
 * dropped.
 */
function finish(state: ControllerState, unit: Unit, now: Now): void {
  const { controller, service } = unit;
  const sync = unit.sync!;
  assert(!('open' in sync.stage) || sync.stage.open === 0, `${keyOf(service)} is finished with open requests`);
  unit.sync = null;
  doneWork(controller.queue, unit.item, now.nowMs);
  if (sync.failure === null) endRepair(state, unit, now);
  state.reports.synced(unit, sync, now);
  const { failure, shadow } = sync;
  if (shadow !== null) {
    noteShadowed(state.leadership, state.isShadow, unit, sync, now);
    state.outbox.effects.push({ type: 'shadow', plan: { ...shadow, failure: failure?.message ?? null } });
  }
  if (failure === null) {
    unit.failures = 0;
    unit.failuresReached = 0;
    unit.notBeforeMs = -Infinity;
    if (controller.stuck.delete(unit)) {
      state.outbox.log('info', 0, 'Service is no longer stuck', {
        controller: controller.name,
        service: keyOf(service),
      });
    }
    // Where nothing was applied, admission has put everything back: the next plan would be the same.
    if (sync.goesOn && sync.applied > 0)
      addWork(controller.queue, unit.item, sync.chore ? 'chore' : 'fresh', now.nowMs);
    if (isFragmented(unit)) addCheck(controller.queue, unit.item, 'chore', now.nowMs, COMPACT_AFTER_MS);
    releaseService(state, service);
    return;
  }
  if (sync.changedAtMs >= 0) {
    unit.changedAtMs = sync.changedAtMs;
    unit.watchInSeconds = sync.watchInSeconds;
  }
  const hungMs = failure.class === 'server' ? sync.answeredMs : 0;
  unit.notBeforeMs = now.nowMs + Math.max(HOLD_MS[failure.class] ?? 0, failure.retryAfterMs, hungMs);
  const isUnreached = failure.class === 'unreachable';
  const before = isUnreached ? unit.failures : unit.failuresReached;
  const delayMs = nextDelayMs(failure.class, before, state.prng, Math.max(0, failure.retryAfterMs));
  unit.failures++;
  if (!isUnreached) unit.failuresReached++;
  const isSilent = standsBy(state);
  const expected = isSilent || failure.class === 'conflict';
  // Warnings are written at any verbosity. What lasts is told once, as a stuck service.
  state.outbox.log('info', expected ? 3 : 1, 'Sync failed, retrying', {
    controller: controller.name,
    service: keyOf(service),
    class: failure.class,
    err: failure.message,
    failures: unit.failures,
    retryMs: Math.round(delayMs),
  });
  const hopeless = failure.class === 'invalid' || failure.class === 'poison';
  if (!isSilent && (hopeless || unit.failures >= STUCK_FAILURES)) {
    const announced = controller.stuck.has(unit);
    controller.stuck.set(unit, failure);
    if (!announced) state.reports.stuck(unit, failure, now);
  }
  retryWork(controller.queue, unit.item, sync.chore ? 'chore' : 'fresh', now.nowMs, delayMs);
}

/** The unit has nothing to plan. The objects that it has written are cleaned up or left alone, as upstream does. */
function startUnwanted(state: ControllerState, unit: Unit, now: Now): void {
  const { controller, service } = unit;
  forgetFacts(state, unit);
  forgetFight(unit);
  if (!service.units.some(isWanted)) forgetInPlanner(state, service);
  // The planner does not know the service, so it needs no news of its slices.
  if (!isInPlanner(service.view)) forgetSlices(state, unit);
  const fate = fateOfObjects(unit);
  switch (controller.writes) {
    case 'Endpoints':
      if (!service.units.some((other) => other !== unit && needsEndpoints(other))) dropEndpoints(service);
      if (fate === 'orphaned') startOrphan(state, unit, now);
      else if (fate === 'go') remove(state, unit, ownRecordOf(service), now);
      else finish(state, unit, now);
      return;
    case 'EndpointSlice':
      if (fate === 'go' && needsEndpoints(unit) && state.missed.has(service.endpoints)) {
        unit.sync!.stage = { name: 'reading', open: 1 };
        readEndpoints(state.hands.reads, unit);
        return;
      }
      if (fate === 'go') {
        remove(state, unit, recordsOf(unit), now);
        return;
      }
      assert(fate === 'stay', `slices of ${controller.name} are ${fate}`);
      forgetSlices(state, unit);
      finish(state, unit, now);
      return;
    default:
      unreachable(controller.writes);
  }
}

/** Deletes objects that no unit plans any more. No planner waits for an ack of these deletes. */
function remove(state: ControllerState, unit: Unit, records: readonly OutputRecord[], now: Now): void {
  const stage: StageOf<'deleting'> = { name: 'deleting', open: 0 };
  unit.sync!.stage = stage;
  for (const { name, uid, resourceVersion } of records) {
    const write: PlannedWrite = {
      id: UNPLANNED,
      verb: 'delete',
      name,
      uid,
      resourceVersion,
      phase: 1,
      family: '',
      body: NO_BODY,
    };
    openWrite(state, unit, stage, write, now);
  }
  if (stage.open === 0) finish(state, unit, now);
}

function recordsOf({ slices }: Unit): OutputRecord[] {
  return [...(slices?.values() ?? [])].flatMap(({ record }) => record ?? []);
}

/** The record of the Endpoints object, if this controller wrote it; else null: objects of others stay. */
function ownRecordOf({ endpoints: { record } }: ServiceState): OutputRecord[] {
  return record !== null && isOwnEndpoints(record) ? [record] : [];
}

/** Takes an Endpoints object without a Service. It is deleted only if it carries upstream's managed-by label. */
function startOrphan(state: ControllerState, unit: Unit, now: Now): void {
  const { service } = unit;
  const { record } = service.endpoints;
  if (record === null) {
    finish(state, unit, now);
    return;
  }
  if (!isOwnEndpoints(record)) {
    reportOrphan(state, service, record);
    finish(state, unit, now);
    return;
  }
  unit.sync!.stage = { name: 'confirming' };
  confirmOrphan(state.hands.reads, unit);
}

function reportOrphan(state: ControllerState, service: ServiceState, record: OutputRecord): void {
  if (service.orphanReported === record.uid) return;
  service.orphanReported = record.uid;
  state.instruments.orphansKept.inc();
  state.outbox.log('info', record.leaderElection ? 3 : 1, 'Endpoints without a Service are left alone', {
    endpoints: keyOf(service),
    reason: record.leaderElection
      ? `annotation ${LEADER_ANNOTATION}`
      : `no label ${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE}`,
  });
}

/** Takes the server's answer whether the Service of an orphan exists. The orphan is deleted only if it does not. */
export function onOrphanConfirmed(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): void {
  const { service } = unit;
  const isAnswer = event.type === 'response' && isApiAnswer(event.contentType, event.body);
  if (isAnswer && event.status === 200) {
    // The Service exists. The cache will show it and queue the unit.
    finish(state, unit, now);
  } else if (isAnswer && isNotFound(event.contentType, event.status, event.body)) {
    // Somebody may have made the object theirs meanwhile.
    const own = service.record === null ? ownRecordOf(service) : [];
    if (own.length === 0) finish(state, unit, now);
    else remove(state, unit, own, now);
  } else {
    fail(state, unit, classify(event).failure!, now);
  }
}

/** Withdraws a write that will not be sent. */
export function withdraw(state: ControllerState, queued: QueuedWrite, now: Now): void {
  tellWithdrawn(queued);
  onWriteDone(state, queued, NOT_SENT, now);
}

/** Withdraws all writes that wait, at the end of a drain. */
export function withdrawAll(state: ControllerState, now: Now): void {
  for (const queued of takeBackWrites(state.writes)) withdraw(state, queued, now);
}
