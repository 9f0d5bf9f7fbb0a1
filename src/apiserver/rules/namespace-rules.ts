import type { ApiObject } from '../object.ts';
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
    labelWithName(object);
  },
  validateCreate: () => [],
  validateUpdate: () => [],
};

function labelWithName(object: ApiObject): void {
  const { labels, name } = object.metadata;
  if (name !== undefined) object.metadata.labels = { ...labels, [NAMESPACE_NAME_LABEL]: name };
}
