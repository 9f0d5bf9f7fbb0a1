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

/** The annotations of a Service that a ServiceRecord keeps, ascending. */
export const SERVICE_ANNOTATIONS: readonly string[] = [
  TOLERATE_UNREADY_ANNOTATION,
  TOPOLOGY_HINTS_ANNOTATION,
  TOPOLOGY_MODE_ANNOTATION,
];

/** Most addresses that one Endpoints object may hold (spec/endpoints.md 10). */
export const ENDPOINTS_ADDRESSES_MAX = 1000;
/** On the bookmark that ends the initial events of a WatchList; its value is "true". */
export const INITIAL_EVENTS_END_ANNOTATION = 'k8s.io/initial-events-end';
