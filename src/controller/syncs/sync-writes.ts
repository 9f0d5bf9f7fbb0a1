/** The writes of a sync: they are queued phase by phase, and what became of each is settled in an order that matters. */
import { BACKOFFS } from '../queues/backoff.ts';
import type { Now } from '../event.ts';
import { noteIfMayArriveLate } from '../leader/leadership.ts';
import { forgetFight } from '../queues/fights.ts';
import { isWrittenInThePast, reflectorOf } from '../reflectors/history.ts';
import {
  becomeUncertain,
  compareMetadata,
  noteConflict,
  ownWrite,
  takeHeld,
  queueDependents,
  undoneWrite,
} from '../caches/objects.ts';
import { onWrittenInThePast } from '../reflectors/reflector-group.ts';
import { ensureSlice, hasObjects, releaseSlice } from '../caches/services.ts';
import { keyOf, type Failure, type StageOf, type Unit } from '../caches/service-state.ts';
import { noteOutcome, noteRemoved } from './planner-view.ts';
import { finish } from './sync-end.ts';
import type { ControllerState } from '../state.ts';
import { isEndpoints, isWanted } from '../caches/unit.ts';
import { readWriteAnswer, queueWrite, takeBackWrites, type QueuedWrite } from '../writes/writes.ts';
import { NOT_SENT, type WriteOutcome } from '../writes/write-outcome.ts';
import { tellWithdrawn } from '../writes/shadow.ts';
import type { OutputRecord } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import { type Ack, type PlannedWrite, UNPLANNED } from '../../shard/protocol.ts';

/** Queues a write of the sync. */
export function openWrite(
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
  object.open++;
  queueWrite(state.writes, {
    unit,
    object,
    write,
    lane: sync.lane,
    queuedAtMs: now.nowMs,
    tokenWaitBeforeMs: -1,
    sentAtMs: -1,
    reachedBefore: '',
  });
}

/**
 * Queues the writes of the next phase. Of families of which one before was not applied it takes back those that wait. A
 * delete of what no other write adds does not wait: where admission undoes one slice in every plan, the others go on to
 * lose their dead endpoints.
 */
export function openLater(state: ControllerState, unit: Unit, stage: StageOf<'writing'>, now: Now): void {
  const { blockedFamilies, endedFamilies } = stage;
  const goesOn = ({ family, waits }: PlannedWrite): boolean =>
    !endedFamilies.includes(family) && !(waits && blockedFamilies.includes(family));
  for (const write of stage.later) if (!goesOn(write)) ackNotSent(unit, write);
  const left = stage.later.filter(goesOn);
  const next = left.reduce((least, { phase }) => Math.min(least, phase), Infinity);
  stage.later = left.filter(({ phase }) => phase > next);
  for (const write of left) if (write.phase === next) openWrite(state, unit, stage, write, now);
}

/** Tells the planner that a planned write is not sent. */
export function ackNotSent({ service, controller: { kind } }: Unit, { id, name }: PlannedWrite): void {
  const ack: Ack = { write: id, result: 'not-sent', uid: '', resourceVersion: '' };
  noteOutcome(service.view, kind, name, ack, hasObjects(service, kind));
}

/** Takes the answer to a write that was sent. */
export function takeWriteAnswer(state: ControllerState, queued: QueuedWrite, event: TransportEvent, now: Now): void {
  noteIfMayArriveLate(state.leadership, event, now);
  onWriteDone(state, queued, readWriteAnswer(state.writes, state.hands.writes, queued, event, now), now);
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
  object.open--;
  object.sent = null;
  if (queued.sentAtMs >= 0) {
    sync.throttledMs = Math.max(sync.throttledMs, queued.sentAtMs - queued.queuedAtMs);
    sync.answeredMs = Math.max(sync.answeredMs, now.nowMs - queued.sentAtMs);
  }
  const undone = settleWrite(state, queued, outcome, now);
  // A shadow sends nothing, and tells the writes of all phases.
  const blocks = undone || (outcome.result !== 'applied' && sync.shadow === null);
  if (stage.name === 'writing' && blocks) {
    stage.blockedFamilies = [...stage.blockedFamilies, write.family];
    if (!undone && !isRefusal(outcome)) stage.endedFamilies = [...stage.endedFamilies, write.family];
  }
  if (stage.name === 'writing' && stage.open === 0 && stage.later.length > 0) openLater(state, unit, stage, now);
  if (stage.open === 0) finish(state, unit, now);
}

/** The server does not want this write, whenever it comes. It may want others, and answers. */
function isRefusal({ failure }: WriteOutcome): boolean {
  return failure?.class === 'invalid' || failure?.class === 'forbidden';
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
  if (outcome.namespaceEnds) {
    sync.namespaceEnds = true;
    forgetFight(unit);
  }
  if (outcome.mustRead) becomeUncertain(object);
  if (outcome.isConflict) noteConflict(state, object);
  if (outcome.failure !== null) {
    sync.failure = soonest(sync.failure, outcome.failure);
    if (!outcome.withoutEvent) state.reports.failedWrite(unit, write, outcome.failure, now);
  }
  if (object.open === 0) takeHeld(state, object, now);
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

/** Withdraws a write that will not be sent. */
export function withdraw(state: ControllerState, queued: QueuedWrite, now: Now): void {
  tellWithdrawn(queued);
  onWriteDone(state, queued, NOT_SENT, now);
}

/** Withdraws all writes that wait, at the end of a drain. */
export function withdrawAll(state: ControllerState, now: Now): void {
  for (const queued of takeBackWrites(state.writes)) withdraw(state, queued, now);
}
