import { invalid, type FieldError } from '../field-error.ts';
import { child, type ApiObject } from '../object.ts';
import { subdomainName } from './name-rules.ts';
import type { Rules } from './rules.ts';

/** coordination.k8s.io/v1 Lease. */
export const LEASE_RULES: Rules = {
  name: subdomainName,
  prepareCreate: prepareLease,
  prepareUpdate: prepareLease,
  validateCreate: validateLease,
  validateUpdate: validateLease,
};

/** Drops the fields of coordinated leader election, which is off by default. */
function prepareLease(object: ApiObject): void {
  const { strategy: _, preferredHolder: __, ...spec } = child(object, 'spec');
  object['spec'] = spec;
}

function validateLease(object: ApiObject): readonly FieldError[] {
  const errors: FieldError[] = [];
  const spec = child(object, 'spec');
  const duration = spec['leaseDurationSeconds'] as number | undefined;
  if (duration !== undefined && duration <= 0) {
    errors.push(invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  const transitions = spec['leaseTransitions'] as number | undefined;
  if (transitions !== undefined && transitions < 0) {
    errors.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
}
