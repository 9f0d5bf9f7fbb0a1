import { recordsEqual, setKey } from '../../kube/labels.ts';
import {
  LAST_APPLIED_ANNOTATION,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  TRIGGER_TIME_ANNOTATION,
} from '../../kube/names.ts';
import type { Endpoints, EndpointSlice, ObjectMeta, OwnerReference } from '../../kube/types.ts';

/** The metadata that all slices of one Endpoints object share (docs/spec/endpointslice.md "Mirroring: one group"). */
export interface MirroredMetadata {
  /** The labels of the Endpoints, without the two that only this controller sets. */
  readonly foreignLabels: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: OwnerReference;
}

const RESERVED_LABELS: readonly string[] = [SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL];
const UNMIRRORED_ANNOTATIONS: readonly string[] = [TRIGGER_TIME_ANNOTATION, LAST_APPLIED_ANNOTATION];

/** The metadata that the slices of these Endpoints should have. */
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
 * Whether a slice has this metadata. The two reserved labels are not compared, because the slice was found by them. A
 * slice without an owner is right too (docs/spec/endpointslice.md "Mirroring: one group").
 */
export function hasMetadata(slice: EndpointSlice, wanted: MirroredMetadata): boolean {
  const { labels, annotations, ownerReferences } = slice.metadata;
  if (!recordsEqual(without(labels, RESERVED_LABELS), wanted.foreignLabels)) return false;
  if (!recordsEqual(annotations, wanted.annotations)) return false;
  const { name: ownName, uid: ownUid } = wanted.owner;
  return !(ownerReferences ?? []).some(
    ({ kind, name, uid }) => kind === 'Endpoints' && name === ownName && uid !== ownUid,
  );
}

/** A copy of `base` with this metadata. What else `base` has stays, above all finalizers. */
export function withMetadata(base: ObjectMeta, wanted: MirroredMetadata): ObjectMeta {
  const metadata: ObjectMeta = {
    ...base,
    labels: wanted.labels,
    annotations: wanted.annotations,
    ownerReferences: [wanted.owner],
  };
  if (Object.keys(wanted.annotations).length === 0) delete metadata.annotations;
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
