import { invalid, required, tooLong } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import type { ApiObject } from '../object.ts';
import { labelValue, qualifiedName } from './name-rules.ts';
import type { NameRule } from './name-rules.ts';

const ANNOTATIONS_BYTES_MAX = 256 * 1024;

/** The rules that hold for the metadata of every object. */
export function validateMetadata(object: ApiObject, nameRule: NameRule): FieldError[] {
  const errors: FieldError[] = [];
  const { name = '', generateName = '', labels, annotations } = object.metadata;
  if (name === '') {
    errors.push(required('metadata.name', 'name or generateName is required'));
  } else {
    for (const problem of nameRule(name)) errors.push(invalid('metadata.name', name, problem));
  }
  // A trailing dash is fine here: random characters follow.
  if (generateName !== '') {
    for (const problem of nameRule(generateName.replace(/-$/, 'a'))) {
      errors.push(invalid('metadata.generateName', generateName, problem));
    }
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
    annotationBytes += key.length + annotations![key]!.length;
  }
  if (annotationBytes > ANNOTATIONS_BYTES_MAX) errors.push(tooLong('metadata.annotations', ANNOTATIONS_BYTES_MAX));
  const finalizers = object.metadata.finalizers;
  if (finalizers !== undefined) {
    for (const finalizer of finalizers) {
      for (const problem of qualifiedName(finalizer)) {
        errors.push(invalid('metadata.finalizers', finalizer, problem));
      }
    }
  }
  const owners = object.metadata.ownerReferences;
  if (owners !== undefined) {
    for (const [at, owner] of owners.entries()) {
      const field = `metadata.ownerReferences[${at}]`;
      if ((owner.apiVersion ?? '') === '') errors.push(invalid(`${field}.apiVersion`, '', 'version must not be empty'));
      if ((owner.kind ?? '') === '') errors.push(invalid(`${field}.kind`, '', 'must not be empty'));
      if ((owner.name ?? '') === '') errors.push(invalid(`${field}.name`, '', 'must not be empty'));
      if ((owner.uid ?? '') === '') errors.push(invalid(`${field}.uid`, '', 'must not be empty'));
    }
  }
  return errors;
}

function sortedKeys(map: Record<string, string> | undefined): readonly string[] {
  return map === undefined ? [] : Object.keys(map).sort();
}
