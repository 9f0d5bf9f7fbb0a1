/**
 * The objects that the controllers write, as the server holds them. This file decides whether an event is the echo of
 * an own write or another writer's doing, and what the view of the planner (`syncs/planner-view.ts`) has to note. While
 * a write of an object is queued or unanswered, or the object is read, its watch events are held. When the reply comes,
 * a held event up to the reply's version is our own, and a later one is foreign (docs/protocols.md "Whose event is
 * it?"). A deletion that only a list shows is held too: the list may be older than the reply.
 */
import type { Now } from '../event.ts';
import { firstRepairMs, forgetFight, noteIfTaken, queueRepair, type Deed } from '../queues/fights.ts';
import { FORGOTTEN_VERSION, givesWay, noteAnsweredVersion } from '../reflectors/history.ts';
import type { Distrust, ReflectorTarget } from '../reflectors/reflector.ts';
import { isBehind } from '../leader/leadership.ts';
import { awaitsTakeOver, noteObjectWritten } from '../leader/take-over.ts';
import { ADMISSION, writerOf } from './writer-name.ts';
import {
  allServices,
  allSlices,
  claimSlice,
  dropExpected,
  endpointsController,
  ensureService,
  ensureUnit,
  getService,
  getSlice,
  getUnit,
  hasObjects,
  releaseService,
  releaseSlice,
} from './services.ts';
import {
  type ServiceState,
  type Unit,
  AS_SENT,
  type ExpectedEcho,
  type SeenState,
  type ObjectState,
} from './service-state.ts';
import type { ControllerState } from '../state.ts';
import { fateOfObjects, isEndpoints, isWanted, kindOf, needsEndpoints, wantsService } from './unit.ts';
import { addCheck, addWork } from '../queues/workqueue.ts';
import { dropNews, noteObserved, noteUncertain, noteUnkept } from '../syncs/planner-view.ts';
import { projectOutput } from '../../kube/project.ts';
import { sameBeyondMetadata } from '../../kube/beyond-metadata.ts';
import { labelsEqual, labelsGet } from '../../kube/labels.ts';
import { PROTOBUF } from '../../kube/media-type.ts';
import { objectSourceOf } from '../../kube/object.ts';
import { projectMeta, type MetaRecord } from '../../kube/object-meta.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../kube/names.ts';
import { compareResourceVersions, laterVersion } from '../../kube/resource-version.ts';
import type { ObjectSource } from '../../kube/source.ts';
import type { OutputRecord } from '../../kube/types.ts';
import { sameTexts } from '../../lib/same-list.ts';
import type { ObjectBytes } from '../../shard/protocol.ts';

/** The most bodies that are kept for the comparison with their echo. */
const ECHOES_EXPECTED_MAX = 256;
/** Of so many slices without the name of a Service the log tells. A program that makes more makes the same mistake. */
const NAMELESS_TOLD_MAX = 100;
/** A restore makes the Endpoints of a namespace before its Services. Leftovers harm nobody, so they can wait. */
const LEFTOVER_MS = 60_000;

export function endpointsTarget(state: ControllerState): ReflectorTarget<OutputRecord> {
  return {
    project: (source) => projectOutput(source, state.interner),
    cachedVersion: ({ namespace, name }) => versionTold(getService(state, namespace, name)?.endpoints),
    markOf: (namespace, name) => getService(state, namespace, name)?.endpoints,
    upsert(record, source, upTo, now) {
      const { endpoints } = ensureService(state, record.namespace, record.name);
      takeOrHold(state, endpoints, appeared(endpoints, record, source, upTo), now);
      // The `ObjectState` is returned and not its record: a reply may replace the record before the list ends.
      return endpoints;
    },
    remove(record, now) {
      const service = getService(state, record.namespace, record.name);
      if (service !== undefined) takeOrHold(state, service.endpoints, vanished(record.resourceVersion), now);
    },
    removeUnmarked(marks, resourceVersion, now) {
      for (const { endpoints } of allServices(state)) {
        if (!marks.has(endpoints)) missObject(state, endpoints, resourceVersion, now);
      }
    },
    listing() {
      for (const service of allServices(state)) {
        if (service.endpoints.deletedUid === '') continue;
        service.endpoints.deletedUid = '';
        releaseService(state, service);
      }
    },
    awaitedDeletes() {
      const awaited: ObjectState[] = [];
      for (const { endpoints } of allServices(state)) if (endpoints.deletedUid !== '') awaited.push(endpoints);
      return awaitedOf(awaited);
    },
    forgetVersions(reason, now) {
      for (const { endpoints } of allServices(state)) forgetVersion(state, endpoints, reason, now);
    },
  };
}

/**
 * The EndpointSlices. Only those with one of our labels are watched, so a slice that loses the label comes as deleted.
 */
export function sliceTarget(state: ControllerState): ReflectorTarget<OutputRecord> {
  return {
    project: (source) => projectOutput(source, state.interner),
    cachedVersion: ({ namespace, name }) => versionTold(getSlice(state, namespace, name)),
    markOf: (namespace, name) => getSlice(state, namespace, name),
    upsert(record, source, upTo, now) {
      const unit = ensureOwner(state, record);
      if (unit === null) {
        vanishForOthers(state, null, record, upTo, now);
        return record;
      }
      const slice = claimFromOthers(state, unit, record, upTo, now);
      takeOrHold(state, slice, appeared(slice, record, source, upTo), now);
      return slice;
    },
    remove(record, now) {
      state.namelessTold.delete(record.uid);
      const slice = getSlice(state, record.namespace, record.name);
      if (slice !== undefined) takeOrHold(state, slice, vanished(record.resourceVersion), now);
    },
    removeUnmarked(marks, resourceVersion, now) {
      for (const slice of allSlices(state)) {
        if (!marks.has(slice)) missObject(state, slice, resourceVersion, now);
      }
    },
    listing() {
      // Those that went unseen would keep the room of others.
      state.namelessTold.clear();
      for (const slice of allSlices(state)) {
        slice.deletedUid = '';
        releaseSlice(state, slice);
        releaseService(state, slice.service);
      }
    },
    awaitedDeletes() {
      const awaited: ObjectState[] = [];
      for (const slice of allSlices(state)) if (slice.deletedUid !== '') awaited.push(slice);
      return awaitedOf(awaited);
    },
    forgetVersions(reason, now) {
      for (const slice of allSlices(state)) forgetVersion(state, slice, reason, now);
    },
  };
}

/** Whether the deletion of one of these objects, which is awaited now, still is later; null = there are none. */
function awaitedOf(objects: readonly ObjectState[]): (() => boolean) | null {
  if (objects.length === 0) return null;
  const uids = objects.map(({ deletedUid }) => deletedUid);
  return () => objects.some(({ deletedUid }, i) => deletedUid === uids[i]);
}

/** The newest version of the object that was told, even if the event is held. */
function versionTold(object: ObjectState | undefined): string {
  const known = object?.record?.resourceVersion ?? '';
  const held = object?.held?.upTo ?? '';
  return laterVersion(known, held);
}

/**
 * No echo and no answer from before says anything about the object now. Where history went back, no fight goes on.
 */
function forgetVersion(state: ControllerState, object: ObjectState, reason: Distrust, now: Now): void {
  const unit = writerOfObject(object);
  dropExpected(state, object);
  object.held = null;
  object.deletedUid = '';
  if (object.record !== null) object.record = { ...object.record, resourceVersion: FORGOTTEN_VERSION };
  if (unit === undefined) return;
  if (reason === 'restored') forgetFight(unit);
  if (object.open === 0) return;
  becomeUncertain(object);
  if (unit.controller.running) lookLater(unit, now);
}

/**
 * Finds or makes the state of a slice that a watch or a list tells of. If the slice belonged to another service or
 * controller before, it is gone for those (D4).
 */
export function claimFromOthers(
  state: ControllerState,
  unit: Unit,
  record: OutputRecord,
  upTo: string,
  now: Now,
): ObjectState {
  vanishForOthers(state, unit, record, upTo, now);
  return claimSlice(state, unit, record.name);
}

function vanishForOthers(
  state: ControllerState,
  unit: Unit | null,
  { namespace, name }: OutputRecord,
  upTo: string,
  now: Now,
): void {
  const known = getSlice(state, namespace, name);
  if (known !== undefined && known.unit !== unit) takeOrHold(state, known, vanished(upTo), now);
}

/** Finds or makes the unit that a slice belongs to by its labels; null = no unit of this process. */
function ensureOwner(state: ControllerState, record: OutputRecord): Unit | null {
  const managedBy = labelsGet(record.labels, SLICE_MANAGED_BY_LABEL) ?? '';
  const controller = state.controllers.find((one) => one.managedBy !== '' && one.managedBy === managedBy);
  if (controller === undefined) return null;
  const serviceName = labelsGet(record.labels, SERVICE_NAME_LABEL) ?? '';
  if (serviceName === '') {
    logNameless(state, record);
    return null;
  }
  state.namelessTold.delete(record.uid);
  return ensureUnit(ensureService(state, record.namespace, serviceName), controller);
}

/** Once for each object between two lists, because a watch tells of each of its changes. */
function logNameless({ namelessTold, outbox }: ControllerState, { namespace, name, uid }: OutputRecord): void {
  if (namelessTold.has(uid) || namelessTold.size >= NAMELESS_TOLD_MAX) return;
  namelessTold.add(uid);
  outbox.log('warning', 0, 'An EndpointSlice without the name of a Service is left alone', { namespace, slice: name });
}

function appeared(object: ObjectState, record: OutputRecord, source: ObjectSource, upTo: string): SeenState {
  const sent = object.sent ?? object.expected?.body;
  const isEcho = sent !== undefined && source.encoding === 'protobuf' && sameBeyondMetadata(sent, source.bytes);
  const { resourceVersion } = record;
  return { resourceVersion, upTo, record, content: isEcho ? AS_SENT : contentOf(source) };
}

function vanished(resourceVersion: string): SeenState {
  return { resourceVersion, upTo: resourceVersion, record: null, content: null };
}

/**
 * A list lacks the object. A broken proxy may have cut the list, and no later event would correct a wrong conclusion: a
 * slice would be created twice, or mirrored slices would be deleted. So the unit asks the server first. Endpoints that are
 * written need no such care, because a second object of that name cannot be made.
 */
function missObject(state: ControllerState, object: ObjectState, listVersion: string, now: Now): void {
  const { record, service, unit, open } = object;
  const isGone = record !== null && givesWay(record.resourceVersion, listVersion) && open === 0;
  if (isGone && unit !== null && !unit.listingSlices && isWanted(unit)) becomeUncertain(object);
  const isMadeFrom = (one: Unit): boolean => needsEndpoints(one) && one.slices !== null;
  if (isGone && isEndpoints(object) && service.units.some(isMadeFrom)) state.missedEndpoints.add(object);
  takeOrHold(state, object, vanished(listVersion), now);
}

function contentOf(source: ObjectSource): ObjectBytes {
  if (source.encoding === 'protobuf') {
    // A copy, because a view would keep the whole page or chunk alive. `slice` of a Buffer is a view.
    return { encoding: 'protobuf', bytes: new Uint8Array(source.bytes) };
  }
  return { encoding: 'json', bytes: Buffer.from(JSON.stringify(source.value), 'utf8') };
}

function takeOrHold(state: ControllerState, object: ObjectState, seen: SeenState, now: Now): void {
  const { open, held, unit } = object;
  if (open === 0 && unit?.listingSlices !== true) takeObject(state, object, seen, now);
  else if (held === null || compareResourceVersions(seen.upTo, held.upTo) > 0) object.held = seen;
}

/**
 * Takes the state that was held while writes or reads were open. Their replies have moved `object.record` forward.
 * @param readVersion of a list that told everything: a state that is not newer says nothing new
 */
export function takeHeld(state: ControllerState, object: ObjectState, now: Now, readVersion = ''): void {
  const { held } = object;
  object.held = null;
  // The watch has told of the deletion. It counts even where a list was faster and the event itself is dropped here.
  if (held?.record === null) object.deletedUid = '';
  if (held === null || givesWay(held.upTo, readVersion)) return;
  takeObject(state, object, held, now);
}

/**
 * Notes that an own write was applied. `record` is the object as it is now (null = deleted). `body` is what its echo is
 * compared with.
 */
export function ownWrite(
  state: ControllerState,
  object: ObjectState,
  record: OutputRecord | null,
  body: Uint8Array,
  now: Now,
): void {
  object.wroteAtSeconds = Math.floor(now.wallMs / 1000);
  const deletedUid = record === null ? (object.record?.uid ?? '') : '';
  settle(state, object, record);
  object.deletedUid = deletedUid;
  setExpected(state, object, record === null ? null : { resourceVersion: record.resourceVersion, body });
}

/** Takes the state of the object from an answer. */
function settle(state: ControllerState, object: ObjectState, record: OutputRecord | null): void {
  object.record = record;
  state.missedEndpoints.delete(object);
  if (record === null) return;
  object.deletedUid = '';
  noteAnsweredVersion(state.reflectors, object, record.resourceVersion);
}

function setExpected(state: ControllerState, object: ObjectState, expected: ExpectedEcho | null): void {
  dropExpected(state, object);
  // While the watch is down no echo comes, so the number of kept bodies has a bound.
  if (expected === null || state.echoesExpected >= ECHOES_EXPECTED_MAX) return;
  // The body that a thread has sent is a part of its whole reply.
  const { body } = expected;
  object.expected = body.byteLength < body.buffer.byteLength ? { ...expected, body: new Uint8Array(body) } : expected;
  state.echoesExpected++;
}

/**
 * Compares an echo with the body that was sent. Only admission can make a difference. The planner is told, and the
 * repair waits longer each time, so that the two never chase each other.
 */
function compareEcho(state: ControllerState, object: ObjectState, seen: SeenState, now: Now): void {
  const { expected } = object;
  if (expected === null) return;
  if (!givesWay(expected.resourceVersion, seen.upTo)) return;
  dropExpected(state, object);
  const { content } = seen;
  if (seen.resourceVersion !== expected.resourceVersion || content === AS_SENT) return;
  if (content?.encoding !== 'protobuf' || sameBeyondMetadata(expected.body, content.bytes)) return;
  noteObserved(object.service.view, kindOf(object), object.name, content);
  noteAltered(state, object, 'What was written came back changed', now);
}

/** Takes the server's answer to a read; null = the object does not exist. Returns its content. */
export function settleRead(
  state: ControllerState,
  object: ObjectState,
  record: OutputRecord | null,
  source: ObjectSource | null,
  now: Now,
): ObjectBytes | null {
  const content = source === null ? null : contentOf(source);
  if (record?.resourceVersion !== object.record?.resourceVersion) noteForTakeOver(state, object, content, now);
  dropExpected(state, object);
  settle(state, object, record);
  noteConflictWriter(state, object, content, now);
  return content;
}

/** Takes one state of the object: the echo of an own write, an older state, or another writer's doing. */
function takeObject(state: ControllerState, object: ObjectState, seen: SeenState, now: Now): void {
  const known = object.record;
  const deleted = seen.record === null;
  compareEcho(state, object, seen, now);
  if (known !== null) {
    if (!givesWay(known.resourceVersion, seen.upTo)) return;
    // After a restore from a backup another object may have the same version.
    const sameObject = seen.record === null || seen.record.uid === known.uid;
    if (sameObject && known.resourceVersion === seen.resourceVersion) return;
  }
  if (known === null && object.deletedUid !== '' && seen.record?.uid === object.deletedUid) return;
  object.deletedUid = '';
  if (known === null && deleted) {
    releaseSlice(state, object);
    releaseService(state, object.service);
    return;
  }
  object.record = seen.record;
  if (deleted) noteCleanedUp(state, object, now);
  else state.missedEndpoints.delete(object);
  if (seen.content !== AS_SENT) {
    noteObserved(object.service.view, kindOf(object), object.name, seen.content);
    // Whether somebody has written an object since its version was forgotten is not known.
    if (known?.resourceVersion !== FORGOTTEN_VERSION) noteForTakeOver(state, object, seen.content, now);
    noteConflictWriter(state, object, seen.content, now);
  }
  if (isEndpoints(object)) takeEndpoints(state, object.service, known, seen, now);
  else takeSlice(state, object, object.unit!, known, seen, now);
  // Somebody else has changed the metadata since, and only the server knows how.
  if (seen.content === AS_SENT) noteUnkept(object.service.view, kindOf(object));
  releaseSlice(state, object);
  // The service may have been kept for this object alone.
  if (deleted) releaseService(state, object.service);
}

/** The leader has cleaned up the object. A standby whose last plan was to do that looks at it again. */
function noteCleanedUp({ leadership }: ControllerState, object: ObjectState, now: Now): void {
  const unit = writerOfObject(object);
  if (unit?.controller.running === true && !isWanted(unit) && isBehind(leadership, unit)) lookLater(unit, now);
}

/**
 * Tells a process that awaits a take-over that somebody has written the object. An object that no unit plans does not
 * count.
 */
function noteForTakeOver(state: ControllerState, object: ObjectState, content: ObjectBytes | null, now: Now): void {
  const { leadership } = state;
  if (content === null || leadership === null || !awaitsTakeOver(leadership)) return;
  const unit = writerOfObject(object);
  if (unit !== undefined && isWanted(unit)) noteObjectWritten(leadership, unit, content, now);
}

/** A write was refused with 409: somebody else was faster. The object's next state will tell who. */
export function noteConflict(state: ControllerState, object: ObjectState): void {
  state.conflicted.set(object, object.record?.resourceVersion ?? '');
}

function noteConflictWriter(state: ControllerState, object: ObjectState, content: ObjectBytes | null, now: Now): void {
  const version = state.conflicted.get(object);
  if (version === undefined) return;
  state.conflicted.delete(object);
  const unit = writerOfObject(object);
  // The same version was told, and counted, before the write was sent.
  if (object.record === null || object.record.resourceVersion === version || unit === undefined || !isWanted(unit))
    return;
  state.reports.otherWriter(unit, writerOf(content, object.wroteAtSeconds, now.wallMs), 1, now);
}

/** The server may hold what it has not told. The next plan reads the object first. */
export function becomeUncertain(object: ObjectState): void {
  noteUncertain(object.service.view, kindOf(object));
}

function takeEndpoints(
  state: ControllerState,
  service: ServiceState,
  known: OutputRecord | null,
  seen: SeenState,
  now: Now,
): void {
  const { endpoints: object } = service;
  const deleted = seen.record === null;
  const isMirrored = queueDependents(state, service, null, now);
  const controller = endpointsController(state);
  const isWritten = controller !== undefined && wantsService(controller, service);
  if (controller?.running === true && isWritten) {
    const unit = ensureUnit(service, controller);
    // The server may hold what it has not told, and the deletion may be our own doing. The next plan reads the object first.
    const isUncertain = service.view.endpoints === 'uncertain';
    if (isUncertain || isOfThePast(known, object)) {
      if (deleted) addWork(controller.queue, unit.item, 'fresh', now.nowMs);
      else if (!isUncertain) lookLater(unit, now);
    } else {
      // Somebody removed the object, or the API server did when the Service was made anew (upstream PR #93030). It is
      // created again.
      queueRepair(state, unit, object, deedOf(unit, object, seen, now), now);
    }
  } else if (!isWritten) {
    queueLeftovers(state, service, now);
  }
  // No unit plans from the object now, so it is read again when one does. A controller that starts looks at all of
  // them.
  const haveAllStarted = state.controllers.every(({ needs, running }) => running || !needs.includes('endpoints'));
  if (!isMirrored && !isWritten && haveAllStarted) stopFollowingEndpoints(service);
}

/** Queues the look at leftovers, such as Endpoints without a Service. It is a chore. */
export function queueLeftovers(state: ControllerState, service: ServiceState, now: Now): void {
  const controller = endpointsController(state);
  if (controller?.running !== true || !controller.hasLeftovers(service, controller.options)) return;
  const unit = ensureUnit(service, controller);
  if (service.record === null) addCheck(controller.queue, unit.item, 'chore', now.nowMs, LEFTOVER_MS);
  else lookLater(unit, now);
}

/** The unit that keeps the object right; undefined = no unit does, or ever did. */
function writerOfObject({ unit, service }: ObjectState): Unit | undefined {
  return unit ?? getUnit(service, 'endpoints');
}

/** The state is not newer than the known one, or the known version was forgotten: nobody is known to have written. */
function isOfThePast(known: OutputRecord | null, { record }: ObjectState): boolean {
  if (known === null) return false;
  if (known.resourceVersion === FORGOTTEN_VERSION) return true;
  return record !== null && givesWay(record.resourceVersion, known.resourceVersion);
}

/**
 * The Endpoints have changed. An output that is made from another writer's objects follows every change at once
 * (docs/spec/endpointslice.md "Mirroring: events").
 * @param by the unit that has read them and plans from them now; null = none
 * @returns whether any such output is wanted
 */
export function queueDependents(state: ControllerState, service: ServiceState, by: Unit | null, now: Now): boolean {
  let isMade = false;
  for (const controller of state.controllers) {
    if (controller.kind === 'endpoints' || !controller.needs.includes('endpoints')) continue;
    const isDependent = wantsService(controller, service);
    isMade ||= isDependent;
    const unit = isDependent ? ensureUnit(service, controller) : getUnit(service, controller.kind);
    if (unit === undefined || !controller.running || (isDependent && unit === by)) continue;
    addWork(controller.queue, unit.item, 'fresh', now.nowMs);
  }
  return isMade;
}

/** The planner is not told of the Endpoints object any more. A unit that needs it again reads it from the server. */
export function stopFollowingEndpoints(service: ServiceState): void {
  dropNews(service.view, 'endpoints', hasObjects(service, 'endpoints'));
}

function takeSlice(
  state: ControllerState,
  object: ObjectState,
  unit: Unit,
  known: OutputRecord | null,
  seen: SeenState,
  now: Now,
): void {
  const { controller } = unit;
  const deleted = seen.record === null;
  if (!controller.running) return;
  if (!isWanted(unit)) {
    if (unit.sync === null) stopFollowingSlices(state, unit);
    if (fateOfObjects(unit) === 'go' && !deleted) lookLater(unit, now);
  } else if (unit.service.view[controller.kind] === 'uncertain' || isOfThePast(known, object)) {
    // The server may hold what it has not told, and the change may be our own doing. The next plan reads the slices first.
    if (deleted) addWork(controller.queue, unit.item, 'fresh', now.nowMs, firstRepairMs(controller));
    else lookLater(unit, now);
  } else queueRepair(state, unit, object, deedOf(unit, object, seen, now), now);
}

/** What somebody has done to the object, as the event shows. */
function deedOf({ controller }: Unit, { wroteAtSeconds }: ObjectState, { record, content }: SeenState, now: Now): Deed {
  const writer = (): string => writerOf(content === AS_SENT ? null : content, wroteAtSeconds, now.wallMs);
  return record === null
    ? { damage: 'missing', writer, message: `${controller.writes} deleted by another writer` }
    : { damage: 'wrong', writer, message: `${controller.writes} changed by another writer` };
}

/** The planner is not told of the unit's slices any more. If the unit is planned again, they are listed first. */
export function stopFollowingSlices(state: ControllerState, unit: Unit): void {
  const { service, controller } = unit;
  for (const slice of unit.slices?.values() ?? []) releaseSlice(state, slice);
  dropNews(service.view, controller.kind, hasObjects(service, controller.kind));
}

/** The answer to an update has the version from before the update: admission has put everything back. */
export function undoneWrite(state: ControllerState, object: ObjectState, now: Now): void {
  noteAltered(state, object, 'An update changed nothing on the server', now);
}

/**
 * Admission may have changed the metadata of what was written. The comparison of the echo does not look at them, so the
 * reply is compared here. If they differ, the next plan reads the object first, and keeps what is not the controller's.
 * Labels are the controller's, so they are repaired.
 */
export function compareMetadata(
  state: ControllerState,
  object: ObjectState,
  body: Uint8Array,
  applied: MetaRecord,
  now: Now,
): void {
  const sent = projectMeta(objectSourceOf(PROTOBUF, body));
  const sameLabels = labelsEqual(sent.labels, applied.labels);
  const sameOthers =
    labelsEqual(sent.annotations, applied.annotations) &&
    sameTexts(sent.owners, applied.owners) &&
    sameTexts(sent.finalizers, applied.finalizers);
  if (!sameLabels || !sameOthers) noteUnkept(object.service.view, kindOf(object));
  if (sameLabels) return;
  noteAltered(state, object, 'What was written was given other labels', now);
  if (object.unit !== null) noteIfTaken(object.unit, object.name, applied.labels, now);
}

function noteAltered(state: ControllerState, object: ObjectState, message: string, now: Now): void {
  const unit = writerOfObject(object);
  if (unit !== undefined)
    queueRepair(state, unit, object, { damage: 'altered', writer: () => ADMISSION, message }, now);
}

/** Queues a look at an object that somebody else made, or nobody knows who. It is not repaired before. */
function lookLater({ controller, item }: Unit, now: Now): void {
  addWork(controller.queue, item, 'chore', now.nowMs, firstRepairMs(controller));
}
