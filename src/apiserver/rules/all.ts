import type { ResourceName } from '../../kube/types.ts';
import { ENDPOINTS_RULES } from './endpoints-rules.ts';
import { ENDPOINT_SLICE_RULES } from './endpointslice-rules.ts';
import { EVENT_RULES } from './event-rules.ts';
import { LEASE_RULES } from './lease-rules.ts';
import { NAMESPACE_RULES } from './namespace-rules.ts';
import { NODE_RULES } from './node-rules.ts';
import { POD_RULES } from './pod-rules.ts';
import type { Rules } from './rules.ts';
import { SERVICE_RULES } from './service-rules.ts';

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
