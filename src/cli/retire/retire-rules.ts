/** Which Endpoints have been made by the endpoints controller, and which by somebody else. */
import { labelsGet } from '../../kube/labels.ts';
import { LEADER_ANNOTATION, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../kube/names.ts';
import type { MetaRecord } from '../../kube/object-meta.ts';
import type { ServiceRecord } from '../../kube/types.ts';

export interface Fate {
  readonly goes: boolean;
  readonly why: string;
}

type Marks = Pick<MetaRecord, 'labels' | 'annotations'>;

/** @param service of the same namespace and name; null = there is none */
export function fateOf({ labels, annotations }: Marks, service: Pick<ServiceRecord, 'type' | 'selector'> | null): Fate {
  const manager = labelsGet(labels, MANAGED_BY_LABEL);
  if (labelsGet(annotations, LEADER_ANNOTATION) !== undefined) return stays('the lock of a leader election');
  if (manager !== undefined && manager !== MANAGED_BY_VALUE) return stays('managed by another program');
  if (service !== null && (service.selector === null || service.type === 'ExternalName')) {
    return stays('its Service has no selector');
  }
  if (manager === MANAGED_BY_VALUE) return goes('labelled as made by the endpoints controller');
  if (service === null) return stays('no label says who made it, and it has no Service');
  return goes('its Service has a selector; made before Kubernetes 1.33');
}

/** Whether the write that has just been seen is one of an endpoints controller. */
export function isControllerWrite({ labels, annotations }: Marks, writtenByController: boolean): boolean {
  if (labelsGet(annotations, LEADER_ANNOTATION) !== undefined) return false;
  return labelsGet(labels, MANAGED_BY_LABEL) === MANAGED_BY_VALUE || writtenByController;
}

function goes(why: string): Fate {
  return { goes: true, why };
}

function stays(why: string): Fate {
  return { goes: false, why };
}
