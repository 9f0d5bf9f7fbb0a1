/**
 * The objects that planned writes carry (docs/spec/endpointslice.md "Trigger time", "One port group", "The
 * placeholder", "New slices").
 */
import { recordsEqual, setKey } from '../../kube/labels.ts';
import { TRIGGER_TIME_ANNOTATION } from '../../kube/names.ts';
import { formatTime, TIME_SECONDS_MAX } from '../../kube/time.ts';
import type { EndpointSlice, ObjectMeta, OwnerReference, ServiceRecord } from '../../kube/types.ts';
import type { SliceDraft } from './slice-draft.ts';
import type { SliceName } from './slice-name.ts';

export interface SliceObjectInput {
  readonly spec: ServiceRecord;
  /** The labels of the service's slices. */
  readonly labels: Record<string, string>;
  readonly family: string;
  /** Seconds; 0 = none. */
  readonly triggerTime: number;
}

/** The object of a create. Its namespace is in the metadata. */
export function createdObject(input: SliceObjectInput, draft: SliceDraft, name: SliceName): EndpointSlice {
  const { spec, labels } = input;
  const metadata: ObjectMeta = { ...name, namespace: spec.namespace, labels, ownerReferences: [ownerOf(spec)] };
  annotate(metadata, undefined, input.triggerTime);
  return newObject(input, draft, metadata);
}

/** Keeps annotations and finalizers that somebody else put on the slice (D10). */
export function recycledObject(input: SliceObjectInput, draft: SliceDraft, stored: EndpointSlice): EndpointSlice {
  const metadata = metadataOf(stored, input.triggerTime);
  metadata.labels = input.labels;
  metadata.ownerReferences = [ownerOf(input.spec)];
  return newObject(input, draft, metadata);
}

/** The object of an update. Everything but endpoints, the service's labels and the trigger time stays as stored. */
export function changedObject(input: SliceObjectInput, draft: SliceDraft, stored: EndpointSlice): EndpointSlice {
  const metadata = metadataOf(stored, input.triggerTime);
  if (draft.kind === 'changed') metadata.labels = input.labels;
  return { ...stored, metadata, endpoints: draft.endpoints };
}

/** Whether a slice of the service is the placeholder of a service without endpoints. */
export function isPlaceholder(stored: EndpointSlice, labels: Record<string, string>): boolean {
  return (
    (stored.endpoints?.length ?? 0) === 0 &&
    (stored.ports?.length ?? 0) === 0 &&
    recordsEqual(stored.metadata.labels ?? {}, labels)
  );
}

function newObject({ family }: SliceObjectInput, draft: SliceDraft, metadata: ObjectMeta): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    addressType: family,
    endpoints: draft.endpoints,
    ports: draft.ports.ports,
  };
}

function ownerOf({ name, uid }: ServiceRecord): OwnerReference {
  return { apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true };
}

function metadataOf(stored: EndpointSlice, triggerTime: number): ObjectMeta {
  const metadata: ObjectMeta = { ...stored.metadata };
  annotate(metadata, stored.metadata.annotations, triggerTime);
  return metadata;
}

/** Sets the trigger time. Without a time the annotation goes, because it would tell of an earlier write. */
function annotate(
  metadata: ObjectMeta,
  stored: Readonly<Record<string, string>> | null | undefined,
  triggerTime: number,
): void {
  const annotations: Record<string, string> = {};
  let count = 0;
  for (const [key, value] of Object.entries(stored ?? {})) {
    if (key === TRIGGER_TIME_ANNOTATION) continue;
    setKey(annotations, key, value);
    count++;
  }
  if (triggerTime > 0 && triggerTime <= TIME_SECONDS_MAX) {
    annotations[TRIGGER_TIME_ANNOTATION] = formatTime(triggerTime);
    count++;
  }
  if (count > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
}
