/**
 * The parts of the Kubernetes API that this project reads and writes, as plain data.
 *
 * There are two families. *Records* are projections of inputs (pods, services, nodes): they have only what planning
 * needs, with strings interned. *Objects* are whole and have the JSON shape of the API. Absent, null and empty lists
 * are the same thing.
 */

/**
 * A label set, or a selector: key, value, key, value, ..., keys ascending, no key twice. Interned where possible, so
 * compare identity first and fall back to the content (`labelsEqual`).
 */
export type Labels = readonly string[];

export type IpFamily = 'IPv4' | 'IPv6';

/** A named container port, in the order of upstream's look-up: containers, then restartable init containers. */
export interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
  readonly protocol: string;
}

/** A pod, projected. Empty string = absent, unless said otherwise. */
export interface PodRecord {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Labels;
  /**
   * Whether metadata.deletionTimestamp is set. With `--kubelet-shutdown-is-termination` also true while the kubelet is
   * ending the pod (`KUBELET_END`).
   */
  readonly deleting: boolean;
  readonly nodeName: string;
  readonly hostname: string;
  readonly subdomain: string;
  readonly phase: string;
  /** Whether the first condition of type Ready has status "True". */
  readonly ready: boolean;
  /** lastTransitionTime of that condition in seconds since the epoch; 0 = none. */
  readonly readyTime: number;
  /** status.podIP as sent. */
  readonly podIP: string;
  /**
   * status.podIPs as sent, in order. null = only `podIP`: that is nearly always so, and then no list is kept
   * (`podIPsOf`).
   */
  readonly podIPs: readonly string[] | null;
  /** Only ports with a name: a numeric target port is not looked up in containers. */
  readonly ports: readonly ContainerPort[];
}

export interface ServicePort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  /** A number, or the name of a container port. */
  readonly targetPort: number | string;
  readonly appProtocol: string | undefined;
}

/** A service, projected. */
export interface ServiceRecord {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Labels;
  /** Only the annotations named in SERVICE_ANNOTATIONS (kube/names.ts). */
  readonly annotations: Labels;
  /** metadata.creationTimestamp in seconds since the epoch. */
  readonly creationTime: number;
  readonly deleting: boolean;
  readonly type: string;
  readonly clusterIP: string;
  readonly ipFamilies: readonly string[];
  /** null = no selector (an empty one cannot be told apart on the wire, docs/spec/wire.md "Absent and empty"). */
  readonly selector: Labels | null;
  readonly ports: readonly ServicePort[];
  readonly publishNotReadyAddresses: boolean;
  readonly trafficDistribution: string;
}

/** A node, projected. Input of EndpointSlices only (zones, topology hints). */
export interface NodeRecord {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Labels;
  readonly ready: boolean;
  /** status.allocatable.cpu as sent (a Quantity). */
  readonly allocatableCpu: string;
}

/** What the main thread keeps of an object that a controller writes. The planner keeps the content. */
export interface OutputRecord {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Labels;
  /** Whether the leader-election annotation `control-plane.alpha.kubernetes.io/leader` is present. */
  readonly leaderElection: boolean;
  /** Whether metadata.deletionTimestamp is set: it is deleted, and a finalizer holds it. */
  readonly deleting: boolean;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  /** RFC 3339 in UTC with whole seconds. */
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

/** Any whole API object. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

export interface ObjectReference {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

export interface EndpointAddress {
  readonly ip: string;
  readonly hostname?: string;
  /** Absent and empty differ (docs/spec/endpoints.md "When nothing is written"). */
  readonly nodeName?: string;
  readonly targetRef?: ObjectReference;
}

/** core/v1 EndpointPort. */
export interface EndpointPort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
}

export interface EndpointSubset {
  readonly addresses?: readonly EndpointAddress[];
  readonly notReadyAddresses?: readonly EndpointAddress[];
  readonly ports?: readonly EndpointPort[];
}

export interface Endpoints {
  apiVersion: 'v1';
  kind: 'Endpoints';
  metadata: ObjectMeta;
  subsets?: readonly EndpointSubset[];
}

/** discovery.k8s.io/v1 Endpoint. Absent, null and empty lists are the same; absent and false conditions are not. */
export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: EndpointConditions;
  readonly hostname?: string;
  readonly targetRef?: ObjectReference;
  readonly nodeName?: string;
  readonly zone?: string;
  readonly hints?: EndpointHints;
  readonly deprecatedTopology?: Readonly<Record<string, string>>;
}

export interface EndpointConditions {
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
}

export interface EndpointHints {
  readonly forZones?: readonly { readonly name: string }[];
  readonly forNodes?: readonly { readonly name: string }[];
}

/** discovery.k8s.io/v1 EndpointPort. Absent and empty differ for `name` (always written) and `appProtocol`. */
export interface SlicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
  readonly appProtocol?: string;
}

export interface EndpointSlice {
  apiVersion: 'discovery.k8s.io/v1';
  kind: 'EndpointSlice';
  metadata: ObjectMeta;
  /** `IPv4` or `IPv6`; `FQDN` and the ancient `IP` are only ever read. */
  addressType: string;
  endpoints?: readonly Endpoint[] | null;
  ports?: readonly SlicePort[] | null;
}

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

/** meta/v1 Status. */
export interface Status {
  apiVersion: 'v1';
  kind: 'Status';
  metadata: { continue?: string; resourceVersion?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    causes?: StatusCause[];
    retryAfterSeconds?: number;
  };
  code: number;
}

/** The resources that this project knows by name. */
export type ResourceName =
  | 'pods'
  | 'services'
  | 'endpoints'
  | 'nodes'
  | 'namespaces'
  | 'events'
  | 'endpointslices'
  | 'leases';
