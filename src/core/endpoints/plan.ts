import { recordsEqual, setKey } from '../../kube/labels.ts';
import {
  ENDPOINTS_ADDRESSES_MAX,
  OVER_CAPACITY_ANNOTATION,
  OVER_CAPACITY_VALUE,
  TRIGGER_TIME_ANNOTATION,
} from '../../kube/names.ts';
import { formatTime, TIME_SECONDS_MAX } from '../../kube/time.ts';
import type { Endpoints, EndpointSubset, ObjectMeta, ServiceRecord } from '../../kube/types.ts';
import type { Problem } from '../problem.ts';
import { selectsPods } from '../selects-pods.ts';
import { subsetsEqual } from './equality.ts';
import { endpointsLabels } from './labels.ts';
import { TooManyAddresses } from './layout-size.ts';
import { capAddresses, type Capped } from './over-capacity.ts';
import { repackStored, repackSubsets } from './repack.ts';

export interface EndpointsPlanInput {
  readonly service: ServiceRecord;
  /** The canonical subsets, not truncated: `subsetsOf` the service's membership. */
  readonly subsets: readonly EndpointSubset[];
  /** What the server holds, without managedFields; null = nothing. */
  readonly stored: Endpoints | null;
  /** The subsets of `stored` are known to be canonical, whole or truncated. They are not repacked. */
  readonly isCanonical: boolean;
  /** Seconds since the epoch for the annotation, should there be a write; 0 = none. */
  readonly triggerTime: number;
}

export interface EndpointsPlan {
  /** The whole object to write; null = nothing is written. It shares parts with the input and must not be changed. */
  readonly object: Endpoints | null;
  /** How many addresses the object has after truncation, whether it is written or not. */
  readonly ready: number;
  readonly notReady: number;
  readonly truncated: number;
  readonly problems: readonly Problem[];
}

/**
 * Plans the write after which the server holds the right Endpoints for the service. Addresses are compared after
 * truncation. Labels and the over-capacity annotation are compared exactly. A trigger time alone is no reason to write.
 * An object with the right content is left alone, whatever the order of its subsets, ports and addresses.
 */
export function planEndpoints(input: EndpointsPlanInput): EndpointsPlan {
  const { service, stored } = input;
  if (!selectsPods(service)) {
    return { object: null, ready: 0, notReady: 0, truncated: 0, problems: [] };
  }
  const capped = capAddresses(input.subsets);
  const labels = endpointsLabels(service);
  const facts = { ready: capped.ready, notReady: capped.notReady, truncated: capped.truncated };
  if (stored !== null && storedIsRight(stored, input.isCanonical, capped, labels)) {
    return { object: null, ...facts, problems: [] };
  }

  const annotations = desiredAnnotations(stored?.metadata.annotations, capped, input.triggerTime);
  const metadata = storedMetadata(stored, service.name);
  metadata.labels = labels;
  if (annotations === undefined) delete metadata.annotations;
  else metadata.annotations = annotations;
  const object: Endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata };
  if (capped.subsets.length > 0) object.subsets = capped.subsets;
  const problems = truncationProblems(service, stored, capped);
  return { object, ...facts, problems };
}

function storedIsRight(
  stored: Endpoints,
  isCanonical: boolean,
  capped: Capped,
  labels: Record<string, string>,
): boolean {
  const over = stored.metadata.annotations?.[OVER_CAPACITY_ANNOTATION];
  if (over !== (capped.truncated > 0 ? OVER_CAPACITY_VALUE : undefined)) return false;
  if (!recordsEqual(stored.metadata.labels, labels)) return false;
  const subsets = stored.subsets ?? [];
  if (subsetsEqual(subsets, capped.subsets)) return true;
  if (isCanonical || countAddresses(subsets) > ENDPOINTS_ADDRESSES_MAX) return false;
  try {
    // Several subsets need not be canonical any more after truncation.
    return subsetsEqual(repackStored(subsets), capped.truncated > 0 ? repackSubsets(capped.subsets) : capped.subsets);
  } catch (error) {
    if (error instanceof TooManyAddresses) return false;
    throw error;
  }
}

/**
 * Everything that the server keeps in the metadata stays. A new object has only a name: its namespace is in the path.
 */
function storedMetadata(stored: Endpoints | null, name: string): ObjectMeta {
  return stored === null ? { name } : { ...stored.metadata };
}

/** The stored annotations, with the two that only this controller sets as they should be. */
function desiredAnnotations(
  stored: Readonly<Record<string, string>> | undefined,
  capped: Capped,
  triggerTime: number,
): Record<string, string> | undefined {
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(stored ?? {})) {
    if (key !== TRIGGER_TIME_ANNOTATION && key !== OVER_CAPACITY_ANNOTATION) setKey(annotations, key, value);
  }
  if (triggerTime > 0 && triggerTime <= TIME_SECONDS_MAX)
    annotations[TRIGGER_TIME_ANNOTATION] = formatTime(triggerTime);
  if (capped.truncated > 0) annotations[OVER_CAPACITY_ANNOTATION] = OVER_CAPACITY_VALUE;
  return Object.keys(annotations).length === 0 ? undefined : annotations;
}

/** Told once: by the plan that marks the object. */
function truncationProblems(service: ServiceRecord, stored: Endpoints | null, capped: Capped): Problem[] {
  if (capped.truncated === 0) return [];
  if (stored?.metadata.annotations?.[OVER_CAPACITY_ANNOTATION] === OVER_CAPACITY_VALUE) return [];
  const all = capped.ready + capped.notReady + capped.truncated;
  return [
    {
      kind: 'truncated',
      object: `service ${service.namespace}/${service.name}`,
      field: 'subsets',
      message: `${all} addresses, cut to ${capped.ready + capped.notReady}: an Endpoints object holds ${ENDPOINTS_ADDRESSES_MAX}`,
    },
  ];
}

function countAddresses(subsets: readonly EndpointSubset[]): number {
  let count = 0;
  for (const subset of subsets) count += (subset.addresses?.length ?? 0) + (subset.notReadyAddresses?.length ?? 0);
  return count;
}
