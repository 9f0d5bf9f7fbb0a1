/** Reads the objects that a controller writes, where only the server knows what it holds. */
import type { Now } from '../event.ts';
import { givesWay } from '../reflectors/history.ts';
import { releaseHeld, settleRead, sliceOf } from '../caches/outputs.ts';
import { getSlice, releaseSlice } from '../caches/services.ts';
import { noteRead } from './planner-view.ts';
import { send, type ControllerState, type Purpose } from '../state.ts';
import { classify } from '../writes/write-outcome.ts';
import type { Failure, Unit, OutputState } from '../caches/service-state.ts';
import { endpointsPath, servicePath, slicesPath } from '../../kube/key.ts';
import { readList, type ListPage } from '../../kube/list.ts';
import { ACCEPT, ACCEPT_METADATA } from '../../kube/media-type.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../kube/names.ts';
import { readObject } from '../../kube/object.ts';
import { projectOutput } from '../../kube/project.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { isNotFound } from '../../kube/status.ts';
import type { ObjectSource } from '../../kube/source.ts';
import type { OutputRecord } from '../../kube/types.ts';
import type { TransportEvent } from '../../ports/transport.ts';

const READ_TIMEOUT_MS = 10_000;

/** Asks for the whole Endpoints object. Its watch events are held meanwhile. */
export function readEndpoints(state: ControllerState, unit: Unit): void {
  const { service } = unit;
  service.endpoints.inFlight++;
  read(state, { for: 'read-endpoints', unit }, endpointsPath(service.namespace, service.name));
}

/** Takes the answer. Returns why it is no answer. */
export function takeEndpointsRead(
  state: ControllerState,
  output: OutputState,
  event: TransportEvent,
  now: Now,
): Failure | null {
  if (event.type !== 'response') return classify(event).failure;
  if (isNotFound(event.contentType, event.status, event.body)) {
    takeEndpointsObject(state, output, null, null, now);
    return null;
  }
  if (event.status !== 200) return classify(event).failure;
  try {
    const source = readObject(event.contentType, event.body);
    takeEndpointsObject(state, output, projectOutput(source, state.interner), source, now);
    return null;
  } catch (error) {
    return undecodable(state, 'endpoints', error);
  }
}

function takeEndpointsObject(
  state: ControllerState,
  output: OutputState,
  record: OutputRecord | null,
  source: ObjectSource | null,
  now: Now,
): void {
  const content = settleRead(state, output, record, source, now);
  noteRead(output.service.view, 'endpoints', [{ name: output.name, content }]);
}

/** Asks for all slices of the unit by their labels. Their watch events are held meanwhile. */
export function readSlices(state: ControllerState, unit: Unit): void {
  const { service, controller } = unit;
  unit.reading = true;
  const selector = `${SERVICE_NAME_LABEL}=${service.name},${SLICE_MANAGED_BY_LABEL}=${controller.managedBy}`;
  const path = `${slicesPath(service.namespace)}?labelSelector=${encodeURIComponent(selector)}`;
  read(state, { for: 'read-slices', unit }, path);
}

/** Takes the answer. Slices that it does not name do not exist. Returns why it is no answer. */
export function takeSlicesRead(state: ControllerState, unit: Unit, event: TransportEvent, now: Now): Failure | null {
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
  unit.reading = false;
  for (const slice of unit.slices?.values() ?? []) {
    releaseHeld(state, slice, now, version);
    releaseSlice(state, slice);
  }
  return failure;
}

function takeList(state: ControllerState, unit: Unit, list: ListPage, now: Now): string {
  // All of it is read before any is taken: if one slice cannot be read, everything stays as it was.
  const items = list.items
    .map((source) => ({ source, record: projectOutput(source, state.interner) }))
    .filter(({ record }) => !hasMovedSince(state, unit, record, list.resourceVersion));
  const listed = new Set(items.map(({ record }) => record.name));
  for (const slice of unit.slices?.values() ?? []) {
    if (!listed.has(slice.name)) settleRead(state, slice, null, null, now);
  }
  const objects = items.map(({ record, source }) => {
    const slice = sliceOf(state, unit, record, list.resourceVersion, now);
    return { name: slice.name, content: settleRead(state, slice, record, source, now) };
  });
  noteRead(unit.service.view, unit.controller.kind, objects);
  return list.resourceVersion;
}

/** The watch was faster and has shown the slice as another unit's. */
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

function read(state: ControllerState, purpose: Purpose, path: string, accept = ACCEPT): void {
  send(state, purpose, {
    lane: 'read',
    method: 'GET',
    path,
    accept,
    contentType: '',
    body: null,
    stream: false,
    timeoutMs: READ_TIMEOUT_MS,
  });
}
