import { invalid, type FieldError } from '../field-error.ts';
import { child, items, text, type ApiObject } from '../object.ts';
import { finalizerErrors } from './metadata-rules.ts';
import { labelName } from './name-rules.ts';
import type { Rules } from './rules.ts';

const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';
/** The finalizer of the namespace controller, which every new namespace gets. */
const KUBERNETES = 'kubernetes';

/** core/v1 Namespace. */
export const NAMESPACE_RULES: Rules = {
  name: labelName,
  prepareCreate: (object) => {
    const finalizers = finalizersOf(object);
    object['spec'] = { finalizers: finalizers.includes(KUBERNETES) ? finalizers : [...finalizers, KUBERNETES] };
    object['status'] = { phase: 'Active' };
    labelWithName(object);
  },
  prepareUpdate: (object, old, context) => {
    object['spec'] = old['spec'];
    if (!context.status) object['status'] = old['status'];
    for (const condition of items(child(object, 'status'), 'conditions')) condition['lastTransitionTime'] ??= null;
    labelWithName(object);
  },
  validateCreate: (object) => validateFinalizers(object, () => ''),
  validateUpdate: (object) => {
    const phase = text(child(object, 'status'), 'phase');
    const deleting = object.metadata.deletionTimestamp !== undefined;
    if (deleting ? phase === 'Terminating' : phase === 'Active') return [];
    const why = deleting
      ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
      : "may only be 'Active' if `deletionTimestamp` is empty";
    return [invalid('status.Phase', phase, why)];
  },
};

/** Its subresource `finalize`. A PUT of it changes all but the status. */
export const FINALIZE_RULES: Rules = {
  ...NAMESPACE_RULES,
  prepareUpdate: (object, old) => {
    const finalizers = finalizersOf(object);
    object['spec'] = finalizers.length === 0 ? {} : { finalizers };
    object['status'] = old['status'];
    labelWithName(object);
  },
  validateUpdate: (object) => validateFinalizers(object, (at) => `[${at}]`),
};

function finalizersOf(object: ApiObject): readonly string[] {
  return items<string>(child(object, 'spec'), 'finalizers');
}

/** @param indexOf how an error shows the index of a finalizer */
function validateFinalizers(object: ApiObject, indexOf: (at: number) => string): readonly FieldError[] {
  return finalizersOf(object).flatMap((finalizer, at) => finalizerErrors(`spec.finalizers${indexOf(at)}`, finalizer));
}

function labelWithName(object: ApiObject): void {
  const { labels, name } = object.metadata;
  if (name !== undefined) object.metadata.labels = { ...labels, [NAMESPACE_NAME_LABEL]: name };
}
