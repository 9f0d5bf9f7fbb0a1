/** Reads the objects of a controller where only the server can tell what it holds. */
import type { Now } from '../event.ts';
import { givesWay } from '../reflectors/history.ts';
import { noteRead } from './planner-view.ts';
import { classify } from '../writes/write-outcome.ts';
import { claimFromOthers, queueDependents, queueLeftovers, settleRead, takeHeld } from '../caches/objects.ts';
import { getSlice, releaseSlice } from '../caches/services.ts';
import type { Failure, Unit, ObjectState } from '../caches/service-state.ts';
import type { ControllerState, ReadPurpose } from '../state.ts';
import { endpointsPath, servicePath, slicesPath } from '../../kube/key.ts';
import { readList, type ListPage } from '../../kube/list.ts';
import { ACCEPT, ACCEPT_METADATA, ACCEPT_METADATA_LIST } from '../../kube/media-type.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../kube/names.ts';
import { objectSourceOf } from '../../kube/object.ts';
import { projectMeta } from '../../kube/object-meta.ts';
import { projectOutput } from '../../kube/project.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { isResourceVersion } from '../../kube/resource-version.ts';
import { isNotFound } from '../../kube/status.ts';
import type { ObjectSource } from '../../kube/source.ts';
import type { Labels, OutputRecord } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import type { TransportEvent } from '../../ports/transport.ts';

const READ_TIMEOUT_MS = 10_000;

/** Reads the whole Endpoints object. Its watch events are held meanwhile. */
export function readEndpoints(state: ControllerState, unit: Unit): void {
  const { service } = unit;
  service.endpoints.open++;
  read(state, { for: 'read-endpoints', unit }, endpointsPath(service.namespace, service.name));
}

/** Takes the answer. Returns why it cannot be used; null = it can. */
export function takeEndpointsRead(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): Failure | null {
  const { service } = unit;
  const { endpoints } = service;
  assert(endpoints.open > 0, `an answer to no read of endpoints ${endpoints.name}`);
  const before = endpoints.record;
  const failure = takeEndpointsAnswer(state, endpoints, event, now);
  // The watch will tell this version too, but it is known by then: what is made from it is queued now.
  if (endpoints.record?.resourceVersion !== before?.resourceVersion) {
    queueDependents(state, service, unit, now);
    queueLeftovers(state, service, now);
  }
  endpoints.open--;
  // Another read may be under way, whose answer may be older still.
  if (endpoints.open === 0) takeHeld(state, endpoints, now);
  return failure;
}

function takeEndpointsAnswer(
  state: ControllerState,
  endpoints: ObjectState,
  event: TransportEvent,
  now: Now,
): Failure | null {
  if (event.type !== 'response') return classify(event).failure;
  if (isNotFound(event.contentType, event.status, event.body)) {
    takeEndpointsObject(state, endpoints, null, null, now);
    return null;
  }
  if (event.status !== 200) return classify(event).failure;
  try {
    const source = objectSourceOf(event.contentType, event.body);
    takeEndpointsObject(state, endpoints, endpointsOf(state, endpoints, source), source, now);
    return null;
  } catch (error) {
    return undecodable(state, 'endpoints', error);
  }
}

/**
 * A proxy may answer 200 with JSON of its own. Taken for the object, it would stand for what the server holds, and no
 * later try would read again.
 * @throws DecodeError
 */
function endpointsOf(state: ControllerState, { name, service }: ObjectState, source: ObjectSource): OutputRecord {
  checkKind(source, 'Endpoints');
  const record = projectOutput(source, state.interner);
  if (record.name !== name || record.namespace !== service.namespace) {
    throw new DecodeError(`it is of ${JSON.stringify(`${record.namespace}/${record.name}`)}`);
  }
  checkIsVersion(record);
  return record;
}

/** @throws DecodeError */
function checkSliceList(list: ListPage): void {
  checkKind(list, 'EndpointSliceList');
  checkIsVersion(list);
}

/** @throws DecodeError */
function checkKind({ kind }: { readonly kind: string }, expected: string): void {
  if (kind !== expected) throw new DecodeError(`expected ${expected}, got kind ${JSON.stringify(kind.slice(0, 100))}`);
}

/** @throws DecodeError */
function checkIsVersion({ resourceVersion }: { readonly resourceVersion: string }): void {
  if (!isResourceVersion(resourceVersion)) throw new DecodeError('metadata.resourceVersion: missing or not decimal');
}

function takeEndpointsObject(
  state: ControllerState,
  endpoints: ObjectState,
  record: OutputRecord | null,
  source: ObjectSource | null,
  now: Now,
): void {
  const content = settleRead(state, endpoints, record, source, now);
  noteRead(endpoints.service.view, 'endpoints', [{ name: endpoints.name, content }]);
}

/** Lists all slices of the unit by their labels. Their watch events are held meanwhile. */
export function readSlices(state: ControllerState, unit: Unit): void {
  const { service, controller } = unit;
  assert(!unit.listingSlices, `slices of ${service.name} are listed twice at once`);
  unit.listingSlices = true;
  const selector = `${SERVICE_NAME_LABEL}=${service.name},${SLICE_MANAGED_BY_LABEL}=${controller.managedBy}`;
  const path = `${slicesPath(service.namespace)}?labelSelector=${encodeURIComponent(selector)}`;
  read(state, { for: 'read-slices', unit }, path);
}

/** Takes the answer. Slices that it does not name do not exist. Returns why it cannot be used; null = it can. */
export function takeSlicesRead(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): Failure | null {
  assert(unit.listingSlices, `an answer to no list of slices of ${unit.service.name}`);
  let failure: Failure | null = null;
  let version = '';
  if (event.type !== 'response' || event.status !== 200) {
    failure = classify(event).failure;
  } else {
    try {
      version = takeList(state, unit, readList(event.contentType, event.body), now);
    } catch (error) {
      failure = undecodable(state, 'endpointslices', error);
    }
  }
  unit.listingSlices = false;
  for (const slice of unit.slices?.values() ?? []) {
    takeHeld(state, slice, now, version);
    releaseSlice(state, slice);
  }
  return failure;
}

/** @throws DecodeError */
function takeList(state: ControllerState, unit: Unit, list: ListPage, now: Now): string {
  checkSliceList(list);
  // All slices are read before the first is taken: if one cannot be read, everything stays as it was.
  const items = list.items
    .map((source) => ({ source, record: projectOutput(source, state.interner) }))
    .filter(({ record }) => !hasMovedSince(state, unit, record, list.resourceVersion));
  const listed = new Set(items.map(({ record }) => record.name));
  for (const slice of unit.slices?.values() ?? []) {
    if (!listed.has(slice.name)) settleRead(state, slice, null, null, now);
  }
  const objects = items.map(({ record, source }) => {
    const slice = claimFromOthers(state, unit, record, list.resourceVersion, now);
    return { name: slice.name, content: settleRead(state, slice, record, source, now) };
  });
  noteRead(unit.service.view, unit.controller.kind, objects);
  return list.resourceVersion;
}

/** Whether the watch was faster and has shown the slice as another unit's. */
function hasMovedSince(
  state: ControllerState,
  unit: Unit,
  { namespace, name }: OutputRecord,
  listVersion: string,
): boolean {
  const found = getSlice(state, namespace, name);
  if (found === undefined || found.unit === unit || found.record === null) return false;
  return !givesWay(found.record.resourceVersion, listVersion);
}

/** Asks for a slice by its name, whatever its labels are. It is a list, because that is the right that is there. */
export function lookForSlice(state: ControllerState, unit: Unit, name: string): void {
  const path = `${slicesPath(unit.service.namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  read(state, { for: 'look-for-slice', unit, name }, path, ACCEPT_METADATA_LIST);
}

/** Takes the answer. `labels`: those of the slice; null = it does not exist. `failure`: why the answer cannot be used. */
export function takeFoundSlice(
  state: ControllerState,
  name: string,
  event: TransportEvent,
): { readonly labels: Labels | null; readonly failure: Failure | null } {
  if (event.type !== 'response' || event.status !== 200) return { labels: null, failure: classify(event).failure };
  try {
    const list = readList(event.contentType, event.body);
    if (list.kind !== 'PartialObjectMetadataList') checkKind(list, 'EndpointSliceList');
    checkIsVersion(list);
    const found = list.items.map(projectMeta).find((meta) => meta.name === name);
    return { labels: found?.labels ?? null, failure: null };
  } catch (error) {
    return { labels: null, failure: undecodable(state, 'endpointslices', error) };
  }
}

function undecodable(state: ControllerState, resource: string, error: unknown): Failure {
  if (!(error instanceof DecodeError)) throw error;
  state.instruments.decodeErrors(resource).inc();
  return { class: 'server', message: error.message, retryAfterMs: -1 };
}

/** Asks whether the Service of an orphan exists: the cache of Services may be behind (upstream PR #104062). */
export function confirmOrphan(state: ControllerState, unit: Unit): void {
  const { service } = unit;
  read(state, { for: 'confirm-orphan', unit }, servicePath(service.namespace, service.name), ACCEPT_METADATA);
}

function read({ outbox }: ControllerState, purpose: ReadPurpose, path: string, accept = ACCEPT): void {
  outbox.send(purpose, {
    pool: 'read',
    method: 'GET',
    path,
    accept,
    contentType: '',
    body: null,
    stream: false,
    timeoutMs: READ_TIMEOUT_MS,
  });
}
