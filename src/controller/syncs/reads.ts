/** Reads the objects of a controller where only the server can tell what it holds. */
import type { Now } from '../event.ts';
import { givesWay } from '../reflectors/history.ts';
import { noteRead } from './planner-view.ts';
import { classify } from '../writes/write-outcome.ts';
import type { Failure, Unit, ObjectState } from '../caches/service-state.ts';
import type { Outbox } from '../outbox.ts';
import type { Instruments } from '../reports/instruments.ts';
import { endpointsPath, servicePath, slicesPath } from '../../kube/key.ts';
import { readList, type ListPage } from '../../kube/list.ts';
import { ACCEPT, ACCEPT_METADATA } from '../../kube/media-type.ts';
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
import type { Interner } from '../../lib/interner.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import type { ObjectBytes } from '../../shard/protocol.ts';

const READ_TIMEOUT_MS = 10_000;

export type ReadPurpose =
  | { readonly for: 'read-endpoints' | 'read-slices' | 'confirm-orphan'; readonly unit: Unit }
  | { readonly for: 'look-for-slice'; readonly unit: Unit; readonly name: string };

/** What reads need of the machine around them. */
export interface ReadHands {
  readonly outbox: Outbox<ReadPurpose>;
  readonly interner: Interner;
  readonly metrics: Pick<Instruments, 'decodeErrors'>;
  readonly objects: ReadObjects;
}

/** The cache of written objects, as far as a read needs it. */
export interface ReadObjects {
  /** Takes what the server holds of the object; null = it does not exist. Returns its content. */
  settle(object: ObjectState, record: OutputRecord | null, source: ObjectSource | null, now: Now): ObjectBytes | null;
  /** The slice of that name, whichever unit it belongs to. */
  find(namespace: string, name: string): ObjectState | undefined;
  /** Gives the slice to the unit, because a list of that version shows it as the unit's. */
  claim(unit: Unit, record: OutputRecord, listVersion: string, now: Now): ObjectState;
  /**
   * Ends the holding of the slice's watch events, because the list is answered.
   * @param listVersion an event that is not newer says nothing new; '' = the list could not be read
   */
  endHolding(slice: ObjectState, listVersion: string, now: Now): void;
}

/** Reads the whole Endpoints object. Its watch events are held meanwhile. */
export function readEndpoints(hands: ReadHands, unit: Unit): void {
  const { service } = unit;
  service.endpoints.inFlight++;
  read(hands, { for: 'read-endpoints', unit }, endpointsPath(service.namespace, service.name));
}

/** Takes the answer. Returns why it cannot be used; null = it can. */
export function takeEndpointsRead(
  hands: ReadHands,
  object: ObjectState,
  event: TransportEvent,
  now: Now,
): Failure | null {
  assert(object.inFlight > 0, `an answer to no read of endpoints ${object.name}`);
  if (event.type !== 'response') return classify(event).failure;
  if (isNotFound(event.contentType, event.status, event.body)) {
    takeEndpointsObject(hands, object, null, null, now);
    return null;
  }
  if (event.status !== 200) return classify(event).failure;
  try {
    const source = objectSourceOf(event.contentType, event.body);
    takeEndpointsObject(hands, object, endpointsOf(hands, object, source), source, now);
    return null;
  } catch (error) {
    return undecodable(hands, 'endpoints', error);
  }
}

/**
 * A proxy may answer 200 with JSON of its own. Taken for the object, it would stand for what the server holds, and no
 * later try would read again.
 * @throws DecodeError
 */
function endpointsOf(hands: ReadHands, { name, service }: ObjectState, source: ObjectSource): OutputRecord {
  checkKind(source, 'Endpoints');
  const record = projectOutput(source, hands.interner);
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
  hands: ReadHands,
  object: ObjectState,
  record: OutputRecord | null,
  source: ObjectSource | null,
  now: Now,
): void {
  const content = hands.objects.settle(object, record, source, now);
  noteRead(object.service.view, 'endpoints', [{ name: object.name, content }]);
}

/** Lists all slices of the unit by their labels. Their watch events are held meanwhile. */
export function readSlices(hands: ReadHands, unit: Unit): void {
  const { service, controller } = unit;
  assert(!unit.reading, `slices of ${service.name} are listed twice at once`);
  unit.reading = true;
  const selector = `${SERVICE_NAME_LABEL}=${service.name},${SLICE_MANAGED_BY_LABEL}=${controller.managedBy}`;
  const path = `${slicesPath(service.namespace)}?labelSelector=${encodeURIComponent(selector)}`;
  read(hands, { for: 'read-slices', unit }, path);
}

/** Takes the answer. Slices that it does not name do not exist. Returns why it cannot be used; null = it can. */
export function takeSlicesRead(hands: ReadHands, unit: Unit, event: TransportEvent, now: Now): Failure | null {
  assert(unit.reading, `an answer to no list of slices of ${unit.service.name}`);
  let failure: Failure | null = null;
  let version = '';
  if (event.type !== 'response' || event.status !== 200) {
    failure = classify(event).failure;
  } else {
    try {
      version = takeList(hands, unit, readList(event.contentType, event.body), now);
    } catch (error) {
      failure = undecodable(hands, 'endpointslices', error);
    }
  }
  unit.reading = false;
  for (const slice of unit.slices?.values() ?? []) {
    hands.objects.endHolding(slice, version, now);
  }
  return failure;
}

/** @throws DecodeError */
function takeList(hands: ReadHands, unit: Unit, list: ListPage, now: Now): string {
  checkSliceList(list);
  // All slices are read before the first is taken: if one cannot be read, everything stays as it was.
  const items = list.items
    .map((source) => ({ source, record: projectOutput(source, hands.interner) }))
    .filter(({ record }) => !hasMovedSince(hands, unit, record, list.resourceVersion));
  const listed = new Set(items.map(({ record }) => record.name));
  for (const slice of unit.slices?.values() ?? []) {
    if (!listed.has(slice.name)) hands.objects.settle(slice, null, null, now);
  }
  const objects = items.map(({ record, source }) => {
    const slice = hands.objects.claim(unit, record, list.resourceVersion, now);
    return { name: slice.name, content: hands.objects.settle(slice, record, source, now) };
  });
  noteRead(unit.service.view, unit.controller.kind, objects);
  return list.resourceVersion;
}

/** Whether the watch was faster and has shown the slice as another unit's. */
function hasMovedSince(hands: ReadHands, unit: Unit, { namespace, name }: OutputRecord, listVersion: string): boolean {
  const found = hands.objects.find(namespace, name);
  if (found === undefined || found.unit === unit || found.record === null) return false;
  return !givesWay(found.record.resourceVersion, listVersion);
}

/** Asks for a slice by its name, whatever its labels are. It is a list, because that is the right that is there. */
export function lookForSlice(hands: ReadHands, unit: Unit, name: string): void {
  const path = `${slicesPath(unit.service.namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  read(hands, { for: 'look-for-slice', unit, name }, path);
}

/** Takes the answer. `labels`: those of the slice; null = it does not exist. `failure`: why the answer cannot be used. */
export function takeFoundSlice(
  hands: ReadHands,
  name: string,
  event: TransportEvent,
): { readonly labels: Labels | null; readonly failure: Failure | null } {
  if (event.type !== 'response' || event.status !== 200) return { labels: null, failure: classify(event).failure };
  try {
    const list = readList(event.contentType, event.body);
    checkSliceList(list);
    const found = list.items.map(projectMeta).find((meta) => meta.name === name);
    return { labels: found?.labels ?? null, failure: null };
  } catch (error) {
    return { labels: null, failure: undecodable(hands, 'endpointslices', error) };
  }
}

function undecodable(hands: ReadHands, resource: string, error: unknown): Failure {
  if (!(error instanceof DecodeError)) throw error;
  hands.metrics.decodeErrors(resource).inc();
  return { class: 'server', message: error.message, retryAfterMs: -1 };
}

/** Asks whether the Service of an orphan exists: the cache of Services may be behind (upstream PR #104062). */
export function confirmOrphan(hands: ReadHands, unit: Unit): void {
  const { service } = unit;
  read(hands, { for: 'confirm-orphan', unit }, servicePath(service.namespace, service.name), ACCEPT_METADATA);
}

function read({ outbox }: ReadHands, purpose: ReadPurpose, path: string, accept = ACCEPT): void {
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
