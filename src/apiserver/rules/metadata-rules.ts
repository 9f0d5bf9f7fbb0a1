import type { ObjectMeta, OwnerReference } from '../../kube/types.ts';
import { forbidden, invalid, required, tooLong, type FieldError } from '../field-error.ts';
import { equal, type ApiObject } from '../object.ts';
import { labelValue, qualifiedName, type NameRule } from './name-rules.ts';

const ANNOTATIONS_BYTES_MAX = 256 * 1024;
const STANDARD_FINALIZERS: readonly string[] = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** The rules that hold for the metadata of every object. */
export function validateMetadata(object: ApiObject, nameRule: NameRule): FieldError[] {
  const errors: FieldError[] = [];
  const { name = '', generateName = '', labels, annotations } = object.metadata;
  // The server appends random characters, so the prefix may end with a dash.
  if (generateName !== '') {
    const base = generateName.length > 1 && generateName.endsWith('-') ? `${generateName.slice(0, -2)}a` : generateName;
    for (const problem of nameRule(base)) errors.push(invalid('metadata.generateName', generateName, problem));
  }
  if (name === '') {
    if (generateName === '') errors.push(required('metadata.name', 'name or generateName is required'));
  } else {
    for (const problem of nameRule(name)) errors.push(invalid('metadata.name', name, problem));
  }
  for (const key of sortedKeys(labels)) {
    for (const problem of qualifiedName(key)) errors.push(invalid('metadata.labels', key, problem));
    const value = labels![key]!;
    for (const problem of labelValue(value)) errors.push(invalid('metadata.labels', value, problem));
  }
  let annotationBytes = 0;
  for (const key of sortedKeys(annotations)) {
    for (const problem of qualifiedName(key.toLowerCase())) {
      errors.push(invalid('metadata.annotations', key, problem));
    }
    annotationBytes += Buffer.byteLength(key) + Buffer.byteLength(annotations![key]!);
  }
  if (annotationBytes > ANNOTATIONS_BYTES_MAX) errors.push(tooLong('metadata.annotations', ANNOTATIONS_BYTES_MAX));
  if (object.metadata.ownerReferences !== undefined) validateOwners(errors, object.metadata.ownerReferences);
  if (object.metadata.finalizers !== undefined) validateFinalizers(errors, object.metadata.finalizers);
  return errors;
}

function validateOwners(errors: FieldError[], owners: readonly OwnerReference[]): void {
  const field = 'metadata.ownerReferences';
  let controller = '';
  for (const owner of owners) {
    const { apiVersion = '', kind = '', name = '', uid = '' } = owner as Partial<OwnerReference>;
    const parts = apiVersion.split('/');
    const empty = apiVersion === '' || parts.length > 2 || parts.at(-1) === '';
    if (empty) errors.push(invalid(`${field}.apiVersion`, apiVersion, 'version must not be empty'));
    if (kind === '') errors.push(invalid(`${field}.kind`, '', 'must not be empty'));
    if (name === '') errors.push(invalid(`${field}.name`, '', 'must not be empty'));
    if (uid === '') errors.push(invalid(`${field}.uid`, '', 'must not be empty'));
    if (kind === 'Event' && apiVersion === 'v1') {
      errors.push(invalid(field, shownOwner(owner), '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (owner.controller !== true) continue;
    const here = `${kind}/${name}`;
    if (controller !== '') {
      const why = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${here}`;
      errors.push(invalid(field, owners.map(shownOwner), why));
    }
    controller = here;
  }
}

/** The reference with its fields in the order in which the server shows them. */
function shownOwner({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): object {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion };
}

function validateFinalizers(errors: FieldError[], finalizers: readonly string[]): void {
  for (const [at, finalizer] of finalizers.entries()) {
    for (const problem of qualifiedName(finalizer)) errors.push(invalid('metadata.finalizers', finalizer, problem));
    errors.push(...unqualifiedFinalizer(`metadata.finalizers[${at}]`, finalizer));
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    const why = 'finalizer orphan and foregroundDeletion cannot be both set';
    errors.push(invalid('metadata.finalizers', finalizers, why));
  }
}

/** The errors of a finalizer that is no field of metadata. */
export function finalizerErrors(field: string, finalizer: string): readonly FieldError[] {
  const unreadable = qualifiedName(finalizer).map((problem) => invalid(field, finalizer, problem));
  return [...unreadable, ...unqualifiedFinalizer(field, finalizer)];
}

/** Refuses a finalizer without a prefix: these names are reserved. */
function unqualifiedFinalizer(field: string, finalizer: string): readonly FieldError[] {
  if (finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer)) return [];
  return [invalid(field, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')];
}

/** The errors of an update that changes immutable metadata. @param given the metadata as it was sent */
export function validateMetadataUpdate(given: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (given[field] === undefined || given[field] === '' || given[field] === old[field]) continue;
    // Once it is set it stays as it is, whatever a client sends.
    if (field === 'deletionTimestamp' && old[field] !== undefined) continue;
    errors.push(invalid(`metadata.${field}`, given[field], 'field is immutable'));
  }
  if (old.deletionTimestamp !== undefined) {
    const added = (given.finalizers ?? []).filter((finalizer) => old.finalizers?.includes(finalizer) !== true);
    if (added.length > 0) {
      const list = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
      errors.push(forbidden('metadata.finalizers', why));
    }
  }
  return errors;
}

/** Keeps one of several references to the same owner. */
export function dropRepeatedOwners(metadata: ObjectMeta): void {
  const owners = metadata.ownerReferences;
  if (owners === undefined || owners.length < 2) return;
  metadata.ownerReferences = owners.filter((owner, at) => owners.findIndex((other) => equal(other, owner)) === at);
}

function sortedKeys(map: Record<string, string> | undefined): readonly string[] {
  return map === undefined ? [] : Object.keys(map).sort();
}
