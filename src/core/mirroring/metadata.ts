import { setKey } from '../../kube/labels.ts';
import {
  LAST_APPLIED_ANNOTATION,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  TRIGGER_TIME_ANNOTATION,
} from '../../kube/names.ts';
import type { Endpoints, EndpointSlice, ObjectMeta, OwnerReference } from '../../kube/types.ts';
import { recordsEqual } from '../endpoints/labels.ts';

/** What all slices of one Endpoints object have in common (docs/spec/endpointslice.md "Mirroring: one group"). */
export interface MirroredMetadata {
  /** The Endpoints' labels but for the two that are ours to set, whatever the Endpoints say. */
  readonly foreignLabels: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: OwnerReference;
}

const RESERVED_LABELS: readonly string[] = [SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL];
const UNMIRRORED_ANNOTATIONS: readonly string[] = [TRIGGER_TIME_ANNOTATION, LAST_APPLIED_ANNOTATION];

export function mirroredMetadata(endpoints: Endpoints): MirroredMetadata {
  const { labels, annotations, name = '', uid = '' } = endpoints.metadata;
  const foreignLabels = without(labels, RESERVED_LABELS);
  return {
    foreignLabels,
    labels: { ...foreignLabels, [SERVICE_NAME_LABEL]: name, [SLICE_MANAGED_BY_LABEL]: MIRROR_MANAGED_BY_VALUE },
    annotations: without(annotations, UNMIRRORED_ANNOTATIONS),
    owner: { apiVersion: 'v1', kind: 'Endpoints', name, uid, controller: true, blockOwnerDeletion: true },
  };
}

/**
 * Whether a slice carries all of it. The two reserved labels are how the slice was found. A slice without any owner
 * will do (docs/spec/endpointslice.md "Mirroring: one group").
 */
export function hasMetadata(slice: EndpointSlice, wanted: MirroredMetadata): boolean {
  const { labels, annotations, ownerReferences } = slice.metadata;
  if (!recordsEqual(without(labels, RESERVED_LABELS), wanted.foreignLabels)) return false;
  if (!recordsEqual(annotations, wanted.annotations)) return false;
  return !(ownerReferences ?? []).some(({ kind, uid }) => kind === 'Endpoints' && uid !== wanted.owner.uid);
}

/** `base` with all of it. What else it has stays, finalizers above all. */
export function withMetadata(base: ObjectMeta, wanted: MirroredMetadata): ObjectMeta {
  const metadata: ObjectMeta & { managedFields?: unknown } = {
    ...base,
    labels: wanted.labels,
    annotations: wanted.annotations,
    ownerReferences: [wanted.owner],
  };
  if (Object.keys(wanted.annotations).length === 0) delete metadata.annotations;
  // An empty list of these would reset the server's.
  delete metadata.managedFields;
  return metadata;
}

function without(
  record: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(record ?? {})) if (!keys.includes(key)) setKey(kept, key, value);
  return kept;
}
