/** Labels, annotations and values that are part of the API's contract. */

export const MANAGED_BY_LABEL = 'endpoints.kubernetes.io/managed-by';
export const MANAGED_BY_VALUE = 'endpoint-controller';
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';
export const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';
export const OVER_CAPACITY_ANNOTATION = 'endpoints.kubernetes.io/over-capacity';
export const OVER_CAPACITY_VALUE = 'truncated';
export const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
export const TOLERATE_UNREADY_ANNOTATION = 'service.alpha.kubernetes.io/tolerate-unready-endpoints';
export const TOPOLOGY_MODE_ANNOTATION = 'service.kubernetes.io/topology-mode';
export const TOPOLOGY_HINTS_ANNOTATION = 'service.kubernetes.io/topology-aware-hints';

/** On an EndpointSlice: the Service, and which controller owns the content (docs/spec/endpointslice.md "Names"). */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const SLICE_MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const SLICE_MANAGED_BY_VALUE = 'endpointslice-controller.k8s.io';
export const MIRROR_MANAGED_BY_VALUE = 'endpointslicemirroring-controller.k8s.io';
/** On Endpoints, with the exact value "true": not mirrored. */
export const SKIP_MIRROR_LABEL = 'endpointslice.kubernetes.io/skip-mirror';
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
/** On a Node: the only source of an endpoint's zone. */
export const ZONE_LABEL = 'topology.kubernetes.io/zone';
/** On a Node, with any value: it is left out of the CPU shares. */
export const CONTROL_PLANE_LABELS: readonly string[] = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
];

/** The annotations of a Service that a ServiceRecord keeps, ascending. */
export const SERVICE_ANNOTATIONS: readonly string[] = [
  TOLERATE_UNREADY_ANNOTATION,
  TOPOLOGY_HINTS_ANNOTATION,
  TOPOLOGY_MODE_ANNOTATION,
];

/** Most addresses that one Endpoints object may hold (docs/spec/endpoints.md "Over capacity"). */
export const ENDPOINTS_ADDRESSES_MAX = 1000;
/** On the bookmark that ends the initial events of a WatchList; its value is "true". */
export const INITIAL_EVENTS_END_ANNOTATION = 'k8s.io/initial-events-end';

/**
 * The condition of a pod that its kubelet ends: the node shuts down or is short of a resource, or a critical pod needs
 * the room.
 */
export const KUBELET_END = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' } as const;
