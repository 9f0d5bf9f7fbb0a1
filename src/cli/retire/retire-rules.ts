/** Which Endpoints the endpoints controller has made, and which somebody else has made. */
import { whyUnplanned } from '../../core/selects-pods.ts';
import { labelsGet } from '../../kube/labels.ts';
import { LEADER_ANNOTATION, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../kube/names.ts';
import type { MetaRecord } from '../../kube/object-meta.ts';
import type { ServiceRecord } from '../../kube/types.ts';
import { CONTROLLER_MANAGERS } from '../../core/last-writer.ts';
import type { WrittenMeta } from './retire-lists.ts';

export interface Fate {
  readonly goes: boolean;
  readonly why: string;
}

type Marks = Pick<MetaRecord, 'labels' | 'annotations'>;

/**
 * @param service the Service of the same namespace and name; null = there is none
 * @param optOutLabel '' = there is no such label
 */
export function fateOf(
  { labels, annotations, managers }: Marks & Pick<WrittenMeta, 'managers'>,
  service: Pick<ServiceRecord, 'type' | 'selector' | 'labels'> | null,
  optOutLabel: string,
): Fate {
  const manager = labelsGet(labels, MANAGED_BY_LABEL);
  if (labelsGet(annotations, LEADER_ANNOTATION) !== undefined) return stays('the lock of a leader election');
  if (manager !== undefined && manager !== MANAGED_BY_VALUE) return stays('managed by another program');
  const unplanned = service === null ? null : whyUnplanned(service, optOutLabel);
  if (unplanned !== null) return stays(unplanned === 'opted-out' ? 'opted out' : 'its Service has no selector');
  if (manager === MANAGED_BY_VALUE) return goes('labelled as made by the endpoints controller');
  if (service === null) return stays('no label says who made it, and it has no Service');
  if (managers.length > 0 && !managers.some((name) => CONTROLLER_MANAGERS.has(name))) {
    return stays('another program wrote it');
  }
  return goes('its Service has a selector; made before Kubernetes 1.33');
}

/** Whether the write that was just seen is one of an endpoints controller. */
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
