/** The sync of a unit that has nothing to plan: its objects, and Endpoints without a Service, go or stay. */
import type { Now } from '../event.ts';
import { forgetFight } from '../queues/fights.ts';
import { stopFollowingEndpoints, stopFollowingSlices } from '../caches/objects.ts';
import { confirmOrphan, readEndpoints } from './reads.ts';
import { forgetFacts } from '../caches/services.ts';
import { keyOf, type ServiceState, type StageOf, type Unit } from '../caches/service-state.ts';
import { forgetService } from './shard-batches.ts';
import { isInPlanner } from './planner-view.ts';
import { openWrite } from './sync-writes.ts';
import { fail, finish } from './sync-end.ts';
import type { ControllerState } from '../state.ts';
import { fateOfObjects, isWanted, needsEndpoints } from '../caches/unit.ts';
import { isOwnEndpoints } from '../../core/mirroring/mirrored.ts';
import { classify } from '../writes/write-outcome.ts';
import { LEADER_ANNOTATION, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../kube/names.ts';
import { isApiAnswer, isNotFound } from '../../kube/status.ts';
import type { OutputRecord } from '../../kube/types.ts';
import { assert, unreachable } from '../../lib/assert.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import { type PlannedWrite, UNPLANNED } from '../../shard/protocol.ts';

const NO_BODY = new Uint8Array(0);

/** The unit has nothing to plan. The objects that it has written are cleaned up or left alone, as upstream does. */
export function startUnwanted(state: ControllerState, unit: Unit, now: Now): void {
  const { controller, service } = unit;
  forgetFacts(state, unit);
  forgetFight(unit);
  if (!service.units.some(isWanted)) forgetService(state, service);
  const fate = fateOfObjects(unit);
  switch (controller.writes) {
    case 'Endpoints':
      if (!service.units.some((other) => other !== unit && needsEndpoints(other))) stopFollowingEndpoints(service);
      if (fate === 'orphaned') startOrphan(state, unit, now);
      else if (fate === 'go') remove(state, unit, ownRecordsOf(service), now);
      else finish(state, unit, now);
      return;
    case 'EndpointSlice':
      // The planner does not know the service, so it needs no news of its slices.
      if (!isInPlanner(service.view)) stopFollowingSlices(state, unit);
      if (fate === 'go' && needsEndpoints(unit) && state.missedEndpoints.has(service.endpoints)) {
        readFirst(state, unit);
        return;
      }
      if (fate === 'go') {
        remove(state, unit, recordsOf(unit), now);
        return;
      }
      assert(fate === 'stay', `slices of ${controller.name} are ${fate}`);
      stopFollowingSlices(state, unit);
      finish(state, unit, now);
      return;
    default:
      unreachable(controller.writes);
  }
}

/** Only the server knows whether the Endpoints object exists. What becomes of the unit's objects is decided then. */
function readFirst(state: ControllerState, unit: Unit): void {
  unit.sync!.stage = { name: 'reading', open: 1 };
  readEndpoints(state, unit);
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
      waits: false,
      family: '',
      body: NO_BODY,
    };
    openWrite(state, unit, stage, write, now);
  }
  if (stage.open === 0) finish(state, unit, now);
}

/** What is deleted already goes when its finalizers are gone. Another delete would do nothing. */
function recordsOf({ slices }: Unit): OutputRecord[] {
  return [...(slices?.values() ?? [])].flatMap(({ record }) => (record === null || record.deleting ? [] : record));
}

/** The Endpoints object, if this controller wrote it and it is not deleted already. Objects of others stay. */
function ownRecordsOf({ endpoints: { record } }: ServiceState): OutputRecord[] {
  return record !== null && !record.deleting && isOwnEndpoints(record) ? [record] : [];
}

/** Takes an Endpoints object without a Service. It is deleted only if it carries upstream's managed-by label. */
function startOrphan(state: ControllerState, unit: Unit, now: Now): void {
  const { service } = unit;
  const { record } = service.endpoints;
  if (record === null) {
    // The object may exist: an answer was lost, and the watch may tell later.
    if (service.view.endpoints === 'uncertain') readFirst(state, unit);
    else finish(state, unit, now);
    return;
  }
  if (!isOwnEndpoints(record)) {
    reportOrphan(state, service, record);
    finish(state, unit, now);
    return;
  }
  unit.sync!.stage = { name: 'confirming' };
  confirmOrphan(state, unit);
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
    const own = service.record === null ? ownRecordsOf(service) : [];
    if (own.length === 0) finish(state, unit, now);
    else remove(state, unit, own, now);
  } else {
    fail(state, unit, classify(event).failure, now);
  }
}
