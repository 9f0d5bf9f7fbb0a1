/** The reasons of planning's decisions, in words. Nothing is decided here. */
import { ENDPOINTS_ADDRESSES_MAX, SKIP_MIRROR_LABEL } from '../../kube/names.ts';
import type { MissingLabel } from '../../kube/labels.ts';
import type { PodRecord, ServiceRecord } from '../../kube/types.ts';
import type { LeftOut } from '../mirroring/desired.ts';
import type { Unmirrored } from '../mirroring/mirrored.ts';
import type { Absence } from '../pod-endpoint.ts';
import type { Problem } from '../problem.ts';
import type { Unplanned } from '../selects-pods.ts';

/** Why a pod is not in an object of a Service, or is in it as not ready. */
export type Reason =
  | Absence
  | Unplanned
  | 'not-selected'
  /** The objects list the name of a pod that does not exist. */
  | 'gone'
  | 'unknown-node'
  /** The object is full. */
  | 'truncated'
  /** A Service that is being deleted gets no new slices. */
  | 'service-ending'
  /** Another pod with its uid and address stands for both. */
  | 'same-address'
  | 'not-ready'
  /** In slices a pod that is ending is not ready, but may serve. */
  | 'ending';

/** What the text of a reason may need. */
export interface ReasonContext {
  readonly service: ServiceRecord;
  readonly pod: PodRecord;
  readonly missing: readonly MissingLabel[];
  readonly problem: Problem | null;
  /** A pod that its kubelet ends counts as one that is being deleted (--kubelet-shutdown-is-termination). */
  readonly kubeletEnds: boolean;
}

/** The reason as a clause, such as `its phase is Failed`. */
export function reasonText(reason: Reason, { service, pod, missing, problem, kubeletEnds }: ReasonContext): string {
  const ending = kubeletEnds ? 'it is being deleted, or its kubelet ends it (DisruptionTarget)' : 'it is being deleted';
  switch (reason) {
    case 'not-selected':
      return missingText(missing);
    case 'gone':
      return 'there is no such pod';
    case 'no-selector':
    case 'external-name':
    case 'opted-out':
      return unplannedText(reason);
    case 'ended':
      return `its phase is ${pod.phase}`;
    case 'no-ip':
      return 'it has no IP yet: status.podIP and status.podIPs are empty';
    case 'terminating':
      return `${ending}, and the Service does not set publishNotReadyAddresses`;
    case 'no-address':
      return problem === null ? 'it has no address of a family of the Service' : problemText(problem);
    case 'no-port':
      return `it offers none of the Service's ports: ${portNames(service)}`;
    case 'no-service-port':
      return 'the Service has no ports and is not headless';
    case 'unknown-node':
      return pod.nodeName === '' ? 'it has no node' : `its node does not exist: ${pod.nodeName}`;
    case 'truncated':
      return `an Endpoints object holds ${ENDPOINTS_ADDRESSES_MAX} addresses, those that are ready first`;
    case 'service-ending':
      return 'the Service is being deleted and gets no new slices';
    case 'same-address':
      return 'another pod with the same uid and address is listed';
    case 'not-ready':
      return 'its condition Ready is not True';
    case 'ending':
      return ending;
  }
}

function missingText(missing: readonly MissingLabel[]): string {
  return missing
    .map(({ key, wanted, found }) =>
      found === null
        ? `label ${key} is missing, the selector wants ${key}=${wanted}`
        : `label ${key} is ${JSON.stringify(found)}, the selector wants ${JSON.stringify(wanted)}`,
    )
    .join('; ');
}

export function problemText({ field, message }: Problem): string {
  return `${field}: ${message}`;
}

/** Why a Service is not planned from pods, as a clause. What becomes of its objects is said elsewhere. */
export function unplannedText(why: Unplanned): string {
  switch (why) {
    case 'no-selector':
      return 'the Service has no selector';
    case 'external-name':
      return 'the Service is of type ExternalName';
    case 'opted-out':
      return 'the Service has the label of --opt-out-label: its objects are left alone';
  }
}

/** Why Endpoints are not mirrored, as a clause. */
export function unmirroredText(why: Unmirrored): string {
  switch (why) {
    case 'no-service':
      return 'there is no Service of that name';
    case 'no-endpoints':
      return 'there are no Endpoints of that name';
    case 'selector':
      return 'the Service has a selector';
    case 'opted-out':
      return unplannedText(why);
    case 'left-behind':
      return 'the Endpoints are left from a time when the Service had a selector, and --clean-up-unselected removes them';
    case 'skip-label':
      return `the Endpoints have the label ${SKIP_MIRROR_LABEL}=true`;
    case 'leader-election':
      return 'the Endpoints elect a leader (annotation control-plane.alpha.kubernetes.io/leader)';
  }
}

/** Why a kind of object is not written, as a sentence or the end of one. `name` is that of the controller. */
export function notWrittenText(name: string): string {
  return `not written, --controllers leaves out ${name}`;
}

/** What --clean-up-unselected does with a Service that is not planned from pods. @param kinds what is written for Services */
export function cleanUpText(kinds: readonly string[]): string {
  return `--clean-up-unselected deletes ${kinds.join(' and ')} that were written for it while it selected pods`;
}

/**
 * Why an address is not mirrored.
 * @param limit the most addresses of a subset
 */
export function leftOutText(why: LeftOut, limit: number): string {
  return why === 'invalid'
    ? 'no address that an EndpointSlice may hold'
    : `above the limit of ${limit} addresses of one subset (--mirroring-max-endpoints-per-subset)`;
}

function portNames({ ports }: ServiceRecord): string {
  return ports.map(({ targetPort, protocol }) => `${targetPort}/${protocol}`).join(', ');
}
