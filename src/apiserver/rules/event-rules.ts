import { invalid, required, type FieldError } from '../field-error.ts';
import { child, text, type ApiObject } from '../object.ts';
import { qualifiedName, subdomainName } from './name-rules.ts';
import type { Rules } from './rules.ts';

/** core/v1 Event. */
export const EVENT_RULES: Rules = {
  name: subdomainName,
  prepareCreate: eventDefaults,
  prepareUpdate: eventDefaults,
  validateCreate: validateEvent,
  validateUpdate: validateEvent,
};

/** Fills in fields that the server shows even when they are empty. */
function eventDefaults(object: ApiObject): void {
  object['involvedObject'] ??= {};
  object['source'] ??= {};
  object['firstTimestamp'] ??= null;
  object['lastTimestamp'] ??= null;
  object['eventTime'] ??= null;
  object['reportingComponent'] ??= '';
  object['reportingInstance'] ??= '';
}

function validateEvent(object: ApiObject): readonly FieldError[] {
  // An Event of the newer kind has an eventTime.
  return [...validateInvolved(object), ...(object['eventTime'] === null ? [] : validateReport(object))];
}

function validateReport(object: ApiObject): readonly FieldError[] {
  const errors: FieldError[] = [];
  const component = text(object, 'reportingComponent');
  if (component === '') errors.push(required('reportingComponent'));
  for (const problem of qualifiedName(component)) errors.push(invalid('reportingComponent', component, problem));
  for (const field of ['reportingInstance', 'action', 'reason']) {
    if (text(object, field) === '') errors.push(required(field));
  }
  return errors;
}

function validateInvolved(object: ApiObject): readonly FieldError[] {
  const namespace = object.metadata.namespace ?? '';
  const involved = text(child(object, 'involvedObject'), 'namespace');
  if (involved === '' ? namespace === 'default' || namespace === 'kube-system' : involved === namespace) return [];
  return [invalid('involvedObject.namespace', involved, 'does not match event.namespace')];
}
