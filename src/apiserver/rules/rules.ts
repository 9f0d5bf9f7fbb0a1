import type { ServiceAddresses } from '../service-addresses.ts';
import type { ApiObject } from '../object.ts';
import type { FieldError } from '../field-error.ts';
import type { NameRule } from './name-rules.ts';

/** What a rule may ask beside the objects. */
export interface RuleContext {
  readonly addresses: ServiceAddresses;
  /** True for a request on the `status` subresource. */
  readonly status: boolean;
}

/** Defaulting and validation of one resource. `object` is ours to change; `old` is in the store and is not. */
export interface Rules {
  readonly name: NameRule;
  /**
   * Chooses what the server gives (addresses, ports), before the rest; `old` is null for a create. Errors of this step
   * are answered alone.
   */
  readonly allocate?: (object: ApiObject, old: ApiObject | null, context: RuleContext) => readonly FieldError[];
  /** Fills in what the server fills in, and takes away what a create may not set. */
  readonly prepareCreate: (object: ApiObject, context: RuleContext) => void;
  /** The same for an update: also carries over what an update may not change. */
  readonly prepareUpdate: (object: ApiObject, old: ApiObject, context: RuleContext) => void;
  readonly validateCreate: (object: ApiObject, context: RuleContext) => readonly FieldError[];
  readonly validateUpdate: (object: ApiObject, old: ApiObject, context: RuleContext) => readonly FieldError[];
  /** The object was written; `old` is null after a create, `object` after a delete. */
  readonly changed?: (object: ApiObject | null, old: ApiObject | null, context: RuleContext) => void;
}
