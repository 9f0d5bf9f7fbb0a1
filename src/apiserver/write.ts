import { formatTime, parseTime } from '../kube/time.ts';
import type { ObjectMeta } from '../kube/types.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  deleteConflict,
  forbiddenRequest,
  internalError,
  invalidKind,
  invalidObject,
  MODIFIED,
  namespaceTerminating,
  notFound,
} from './api-error.ts';
import { invalid, notSupported, type FieldError } from './field-error.ts';
import { child, equal, items, text, type ApiObject } from './object.ts';
import { createRecord, type StoredRecord } from './record.ts';
import type { Target } from './request.ts';
import { ENDPOINTS, NAMESPACES, type Resource } from './resource.ts';
import { RULES } from './rules/all.ts';
import { dropRepeatedOwners, validateMetadata, validateMetadataUpdate } from './rules/metadata-rules.ts';
import { FINALIZE_RULES } from './rules/namespace-rules.ts';
import { keyOf, remove, storeOf, write, type ApiServer } from './state.ts';

/** The outcome of a write: the record to answer with, and whether the object is new or gone. */
export interface WriteResult {
  readonly record: StoredRecord;
  readonly created: boolean;
}

const NAME_CHARACTERS = 'bcdfghjklmnpqrstvwxz2456789';
const GENERATED_BASE_MAX = 58;
const GENERATE_TRIES = 8;

/** POST. @throws ApiError */
export function createObject(server: ApiServer, target: Target, object: ApiObject, sizeBytes: number): WriteResult {
  if (isVersion(object.metadata.resourceVersion ?? '')) {
    throw internalError('resourceVersion should not be set on objects to be created');
  }
  return { record: insert(server, target, object, sizeBytes), created: true };
}

/** Whether the text is a number of 64 bits other than 0. Any other text is dropped from a new object. */
function isVersion(text: string): boolean {
  return /^[0-9]{1,20}$/.test(text) && BigInt(text) !== 0n && BigInt(text) < 2n ** 64n;
}

function insert(
  server: ApiServer,
  { resource, namespace, subresource }: Target,
  object: ApiObject,
  sizeBytes: number,
): StoredRecord {
  const { metadata } = object;
  fillNamespace(resource, namespace, object);
  const generated = (metadata.name ?? '') === '' && (metadata.generateName ?? '') !== '';
  if (generated) metadata.name = generateName(server, resource, namespace, metadata.generateName!);
  if (resource.namespaced) admitToNamespace(server, resource, metadata.name ?? '', namespace);
  metadata.uid = newUid(server.config.random);
  metadata.creationTimestamp = formatTime(secondsOf(server.nowMs));
  delete metadata.resourceVersion;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  dropSelfLink(metadata);
  dropRepeatedOwners(metadata);
  const rules = RULES[resource.name];
  const context = { addresses: server.addresses, status: subresource === 'status' };
  const unallocated = rules.allocate?.(object, null, context) ?? [];
  if (unallocated.length > 0) throw invalidObject(resource, metadata.name ?? '', unallocated);
  rules.prepareCreate(object, context);
  const errors = [...validateMetadata(object, rules.name), ...rules.validateCreate(object, context)];
  if (errors.length > 0) throw invalidObject(resource, metadata.name ?? '', errors);
  const existing = storeOf(server, resource).records.get(keyOf(resource, namespace, metadata.name!));
  if (existing !== undefined) {
    const ending = existing.object.metadata.deletionTimestamp !== undefined;
    throw alreadyExists(resource, metadata.name!, ending);
  }
  return write(server, resource, object, sizeBytes);
}

function fillNamespace(resource: Resource, namespace: string, object: ApiObject): void {
  if (!resource.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if ((object.metadata.namespace ?? '') !== '' && object.metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  object.metadata.namespace = namespace;
}

function generateName(server: ApiServer, resource: Resource, namespace: string, base: string): string {
  const { records } = storeOf(server, resource);
  let name = '';
  for (let attempt = 0; attempt < GENERATE_TRIES; attempt++) {
    name = base.slice(0, GENERATED_BASE_MAX);
    for (let at = 0; at < 5; at++) {
      name += NAME_CHARACTERS[Math.floor(server.config.random() * NAME_CHARACTERS.length)]!;
    }
    if (!records.has(keyOf(resource, namespace, name))) break;
  }
  return name;
}

/** Admission plugin NamespaceLifecycle. */
function admitToNamespace(server: ApiServer, resource: Resource, name: string, namespace: string): void {
  const record = storeOf(server, NAMESPACES).records.get(namespace);
  if (record === undefined) throw notFound(NAMESPACES, namespace);
  if (record.object.metadata.deletionTimestamp !== undefined) throw namespaceTerminating(resource, name, namespace);
}

function newUid(random: () => number): string {
  let hex = '';
  for (let word = 0; word < 4; word++)
    hex += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const variant = '89ab'[Math.floor(random() * 4)]!;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/**
 * Carries out a PUT or PATCH, also of a subresource.
 * @param patched whether the request is a patch: another uid makes a patch invalid, and a PUT a conflict
 * @throws ApiError
 */
export function updateObject(
  server: ApiServer,
  target: Target,
  object: ApiObject,
  sizeBytes: number,
  patched: boolean = false,
): WriteResult {
  const { resource, namespace, name } = target;
  const { metadata } = object;
  if ((metadata.name ?? '') !== name && (metadata.name ?? '') !== '') {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
  if ((metadata.name ?? '') === '') {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  fillNamespace(resource, namespace, object);
  const key = keyOf(resource, namespace, name);
  const existing = storeOf(server, resource).records.get(key);
  const uid = metadata.uid ?? '';
  if (existing === undefined) {
    if (!resource.createOnUpdate) throw notFound(resource, name);
    if (uid !== '') throw preconditionConflict(resource, key, 'UID', uid, '');
    return { record: insert(server, target, object, sizeBytes), created: true };
  }
  const old = existing.object;
  if (uid !== '' && uid !== old.metadata.uid && !patched)
    throw preconditionConflict(resource, key, 'UID', uid, old.metadata.uid!);
  const resourceVersion = metadata.resourceVersion === '0' ? '' : (metadata.resourceVersion ?? '');
  if (!/^[0-9]*$/.test(resourceVersion)) {
    throw internalError(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  if (resourceVersion === '' && !resource.unconditionalUpdate) {
    const problem = invalid('metadata.resourceVersion', 0, 'must be specified for an update');
    throw invalidKind(resource.name, resource.group, name, [problem]);
  }
  if (resourceVersion !== '' && resourceVersion !== old.metadata.resourceVersion) {
    throw conflict(resource, name, MODIFIED);
  }
  return { record: replace(server, target, object, existing, sizeBytes), created: false };
}

/** The storage of the real server refuses a write that names another uid or version of the object. */
export function preconditionConflict(
  resource: Resource,
  key: string,
  field: 'UID' | 'ResourceVersion',
  given: string,
  stored: string,
): Error {
  const path = `/registry/${resource.storagePrefix}/${key}`;
  return conflict(
    resource,
    key.slice(key.lastIndexOf('/') + 1),
    `StorageError: invalid object, Code: 4, Key: ${path}, ResourceVersion: 0, AdditionalErrorMsg: ` +
      `Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${stored}`,
  );
}

/** Carries out an update that may go ahead. Sets the fields that a client cannot change, validates, and writes. */
function replace(
  server: ApiServer,
  { resource, name, subresource }: Target,
  object: ApiObject,
  existing: StoredRecord,
  sizeBytes: number,
): StoredRecord {
  const old = existing.object;
  const fixed = validateMetadataUpdate(object.metadata, old.metadata);
  if (fixed.length > 0) throw invalidObject(resource, name, fixed);
  keepMetadata(object, old);
  dropRepeatedOwners(object.metadata);
  const rules = subresource === 'finalize' ? FINALIZE_RULES : RULES[resource.name];
  const context = { addresses: server.addresses, status: subresource === 'status' };
  const unallocated = rules.allocate?.(object, old, context) ?? [];
  if (unallocated.length > 0) throw invalidObject(resource, name, unallocated);
  rules.prepareUpdate(object, old, context);
  const errors = [...validateMetadata(object, rules.name), ...rules.validateUpdate(object, old, context)];
  if (errors.length > 0) throw invalidObject(resource, name, errors);
  object.metadata.resourceVersion = old.metadata.resourceVersion!;
  if (mayGo(resource, object)) {
    // Removing the last finalizer deletes the object. The answer shows the object as it would have been.
    remove(server, existing);
    removeEndpointsOf(server, existing);
    return createRecord(server.bodies, resource, existing.key, existing.revision, object, sizeBytes);
  }
  // A write that changes nothing keeps the version, and wakes no watcher.
  if (equal(object, old)) return existing;
  return write(server, resource, object, sizeBytes);
}

/** A field of older servers. Nobody sets it any more, and what a client sends of it is not kept. */
function dropSelfLink(metadata: ObjectMeta & { selfLink?: string }): void {
  delete metadata.selfLink;
}

function keepMetadata(object: ApiObject, old: ApiObject): void {
  const { metadata } = object;
  dropSelfLink(metadata);
  metadata.uid = old.metadata.uid!;
  metadata.creationTimestamp = old.metadata.creationTimestamp!;
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) {
    if (old.metadata[field] === undefined) delete metadata[field];
    else Object.assign(metadata, { [field]: old.metadata[field] });
  }
}

/** Whether the object is being deleted and nothing holds it. */
function mayGo(resource: Resource, object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0 || finalizers.length > 0) return false;
  return resource !== NAMESPACES || items(child(object, 'spec'), 'finalizers').length === 0;
}

/** The options of a DELETE, from its body or its query. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: string;
}

export interface DeleteResult {
  readonly record: StoredRecord;
  /** false = the object is only marked, and somebody has to end it. */
  readonly gone: boolean;
}

const KEPT_NAMESPACES: readonly string[] = ['default', 'kube-system', 'kube-public'];

/** @throws ApiError */
export function deleteObject(
  server: ApiServer,
  { resource, namespace, name }: Target,
  options: DeleteOptions,
): DeleteResult {
  const wrong = propagationErrors(options);
  if (wrong.length > 0) throw invalidKind('DeleteOptions', 'meta.k8s.io', '', wrong);
  if (resource === NAMESPACES && KEPT_NAMESPACES.includes(name)) {
    throw forbiddenRequest(resource, name, 'this namespace may not be deleted');
  }
  const record = storeOf(server, resource).records.get(keyOf(resource, namespace, name));
  if (record === undefined) throw notFound(resource, name);
  checkPreconditions(record, name, options);
  if (resource === NAMESPACES) return deleteNamespace(server, record);
  const result = resource.graceful ? endPod(server, record, options) : endNow(server, record, options);
  if (result.gone) removeEndpointsOf(server, record);
  return result;
}

/** The server's Service storage deletes the Endpoints itself, whether or not a controller runs. */
function removeEndpointsOf(server: ApiServer, { resource, key }: StoredRecord): void {
  const endpoints = resource.name === 'services' ? storeOf(server, ENDPOINTS).records.get(key) : undefined;
  if (endpoints !== undefined) endNow(server, endpoints, {});
}

/** The values in the order of the server's message. */
const PROPAGATION: readonly string[] = ['Foreground', 'Background', 'Orphan', 'nil'];

function propagationErrors({ propagationPolicy, orphanDependents }: DeleteOptions): readonly FieldError[] {
  if (propagationPolicy === undefined) return [];
  const errors: FieldError[] = [];
  if (orphanDependents !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalid('propagationPolicy', propagationPolicy, why));
  }
  if (!PROPAGATION.slice(0, 3).includes(propagationPolicy)) {
    errors.push(notSupported('propagationPolicy', propagationPolicy, PROPAGATION, false));
  }
  return errors;
}

/** The object's finalizers after the delete. Some of them ask the garbage collector for work. */
function finalizersAfter({ object }: StoredRecord, options: DeleteOptions): readonly string[] {
  const { finalizers = [] } = object.metadata;
  const orphan = options.orphanDependents === undefined ? '' : options.orphanDependents ? 'Orphan' : 'Background';
  const policy = options.propagationPolicy ?? orphan;
  if (policy === '') return finalizers;
  const wanted = policy === 'Orphan' ? 'orphan' : policy === 'Foreground' ? 'foregroundDeletion' : '';
  const kept = finalizers.filter((item) => item === wanted || (item !== 'orphan' && item !== 'foregroundDeletion'));
  return wanted === '' || kept.includes(wanted) ? kept : [...kept, wanted];
}

function checkPreconditions(record: StoredRecord, name: string, { preconditions = {} }: DeleteOptions): void {
  const { uid, resourceVersion } = record.object.metadata;
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    const why =
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). ` +
      'The object might have been deleted and then recreated';
    throw deleteConflict(record.resource, name, why);
  }
  if (preconditions.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    const why =
      `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ` +
      `ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw deleteConflict(record.resource, name, why);
  }
}

function deleteNamespace(server: ApiServer, record: StoredRecord): DeleteResult {
  const { metadata } = record.object;
  if (metadata.deletionTimestamp !== undefined) return { record, gone: false };
  const object: ApiObject = {
    ...record.object,
    metadata: { ...metadata, deletionTimestamp: formatTime(secondsOf(server.nowMs)) },
    status: { ...child(record.object, 'status'), phase: 'Terminating' },
  };
  const marked = write(server, NAMESPACES, object, record.sizeBytes);
  return mayGo(NAMESPACES, object) ? { record: remove(server, marked), gone: true } : { record: marked, gone: false };
}

/** Deletes without a grace period: at once, or only marked while finalizers hold the object. */
function endNow(server: ApiServer, record: StoredRecord, options: DeleteOptions): DeleteResult {
  const { finalizers = [], deletionTimestamp } = record.object.metadata;
  const left = finalizersAfter(record, options);
  if (left.length === 0) return { record: remove(server, record), gone: true };
  if (deletionTimestamp !== undefined && equal(left, finalizers)) return { record, gone: false };
  // A second delete, with another policy, keeps the time of the first.
  const first = deletionTimestamp === undefined ? Number.POSITIVE_INFINITY : parseTime(deletionTimestamp);
  const seconds = Math.min(first, secondsOf(server.nowMs));
  return { record: mark(server, record, { seconds, graceSeconds: 0 }, left), gone: false };
}

/** A longer period would exceed the range of timestamps. */
const GRACE_SECONDS_MAX = 2 ** 31;

/** A pod on a node gets time to end. The kubelet's second DELETE, without a grace period, ends it. */
function endPod(server: ApiServer, record: StoredRecord, options: DeleteOptions): DeleteResult {
  const { metadata } = record.object;
  const spec = child(record.object, 'spec');
  const phase = text(child(record.object, 'status'), 'phase');
  let graceSeconds = options.gracePeriodSeconds ?? (spec['terminationGracePeriodSeconds'] as number | undefined) ?? 0;
  if (text(spec, 'nodeName') === '' || phase === 'Succeeded' || phase === 'Failed') graceSeconds = 0;
  graceSeconds = graceSeconds < 0 ? 1 : Math.min(graceSeconds, GRACE_SECONDS_MAX);
  const finalizers = finalizersAfter(record, options);
  const nowSeconds = secondsOf(server.nowMs);
  let current = record;
  if (metadata.deletionTimestamp === undefined) {
    current = mark(server, record, { seconds: nowSeconds + graceSeconds, graceSeconds }, finalizers);
  } else {
    const seconds = parseTime(metadata.deletionTimestamp);
    const before = metadata.deletionGracePeriodSeconds ?? 0;
    if (before > 0 && (options.gracePeriodSeconds === undefined || graceSeconds >= before)) {
      return { record, gone: false };
    }
    if (before > 0) current = mark(server, record, shortened(seconds - before, graceSeconds, nowSeconds), finalizers);
    else if (!equal(finalizers, metadata.finalizers ?? []))
      current = mark(server, record, { seconds, graceSeconds: 0 }, finalizers);
  }
  if (!mayGo(current.resource, current.object)) return { record: current, gone: false };
  return { record: remove(server, current), gone: true };
}

/** When an object is to end, in seconds since the epoch, and how long after its delete. */
interface End {
  readonly seconds: number;
  readonly graceSeconds: number;
}

/** A shorter period counts from the first delete. One that is over leaves the kubelet a second. */
function shortened(deletedSeconds: number, graceSeconds: number, nowSeconds: number): End {
  const seconds = deletedSeconds + graceSeconds;
  if (seconds >= nowSeconds) return { seconds, graceSeconds };
  return { seconds: nowSeconds, graceSeconds: Math.min(graceSeconds, 1) };
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}

function mark(
  server: ApiServer,
  record: StoredRecord,
  { seconds, graceSeconds }: End,
  left: readonly string[],
): StoredRecord {
  const { finalizers: _, ...metadata } = record.object.metadata;
  const again = metadata.deletionTimestamp !== undefined;
  const generation = metadata.generation === undefined || again ? metadata.generation : metadata.generation + 1;
  const object: ApiObject = {
    ...record.object,
    metadata: {
      ...metadata,
      deletionTimestamp: formatTime(seconds),
      deletionGracePeriodSeconds: graceSeconds,
      ...(generation === undefined ? {} : { generation }),
      ...(left.length === 0 ? {} : { finalizers: [...left] }),
    },
  };
  return write(server, record.resource, object, record.sizeBytes);
}
