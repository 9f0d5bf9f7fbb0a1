import type { ServiceAddresses } from '../service-addresses.ts';
import type { ApiObject } from '../object.ts';
import type { FieldError } from '../field-error.ts';
import type { NameRule } from './name-rules.ts';

/** What rules know beside the objects. */
export interface RuleContext {
  readonly addresses: ServiceAddresses;
  /** Whether the request is for the `status` subresource. */
  readonly status: boolean;
}

/** Defaults and validation of one resource. A rule may change `object`; `old` is in the store and must not change. */
export interface Rules {
  readonly name: NameRule;
  /**
   * Chooses the addresses and ports that the server gives, before all other steps. If it has errors, they are the whole
   * answer. `old` is null for a create.
   */
  readonly allocate?: (object: ApiObject, old: ApiObject | null, context: RuleContext) => readonly FieldError[];
  /** Sets the fields that the server sets, and removes the fields that a create may not set. */
  readonly prepareCreate: (object: ApiObject, context: RuleContext) => void;
  /** The same for an update. Also keeps the old values of fields that an update may not change. */
  readonly prepareUpdate: (object: ApiObject, old: ApiObject, context: RuleContext) => void;
  readonly validateCreate: (object: ApiObject, context: RuleContext) => readonly FieldError[];
  readonly validateUpdate: (object: ApiObject, old: ApiObject, context: RuleContext) => readonly FieldError[];
  /** Called after each write. `old` is null after a create, `object` after a delete. */
  readonly changed?: (object: ApiObject | null, old: ApiObject | null, context: RuleContext) => void;
}
