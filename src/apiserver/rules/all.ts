import type { ResourceName } from '../../kube/types.ts';
import { ENDPOINTS_RULES } from './endpoints-rules.ts';
import { ENDPOINT_SLICE_RULES } from './endpointslice-rules.ts';
import { POD_RULES } from './pod-rules.ts';
import type { Rules } from './rules.ts';
import { SERVICE_RULES } from './service-rules.ts';
import { EVENT_RULES, LEASE_RULES, NAMESPACE_RULES, NODE_RULES } from './small-rules.ts';

export const RULES: Readonly<Record<ResourceName, Rules>> = {
  namespaces: NAMESPACE_RULES,
  pods: POD_RULES,
  services: SERVICE_RULES,
  endpoints: ENDPOINTS_RULES,
  nodes: NODE_RULES,
  events: EVENT_RULES,
  endpointslices: ENDPOINT_SLICE_RULES,
  leases: LEASE_RULES,
};
