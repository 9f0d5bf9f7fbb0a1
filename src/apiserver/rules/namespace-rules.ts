import { invalid } from '../field-error.ts';
import { child, items, text, type ApiObject } from '../object.ts';
import { labelName } from './name-rules.ts';
import type { Rules } from './rules.ts';

const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';

/** core/v1 Namespace. */
export const NAMESPACE_RULES: Rules = {
  name: labelName,
  prepareCreate: (object) => {
    object['spec'] = { finalizers: ['kubernetes'] };
    object['status'] = { phase: 'Active' };
    labelWithName(object);
  },
  prepareUpdate: (object, old, context) => {
    object['spec'] = old['spec'];
    if (!context.status) object['status'] = old['status'];
    for (const condition of items(child(object, 'status'), 'conditions')) condition['lastTransitionTime'] ??= null;
    labelWithName(object);
  },
  validateCreate: () => [],
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

function labelWithName(object: ApiObject): void {
  const { labels, name } = object.metadata;
  if (name !== undefined) object.metadata.labels = { ...labels, [NAMESPACE_NAME_LABEL]: name };
}
