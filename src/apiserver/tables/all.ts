import type { ResourceName } from '../../kube/types.ts';
import { child, text } from '../object.ts';
import { age } from './age.ts';
import { ENDPOINTS_TABLE, ENDPOINTSLICE_TABLE } from './endpoints-table.ts';
import { EVENT_TABLE } from './event-table.ts';
import { NODE_TABLE } from './node-table.ts';
import { POD_TABLE } from './pod-table.ts';
import { SERVICE_TABLE } from './service-table.ts';
import { column, NAME, type TableRules } from './table-rules.ts';

/** core/v1 Namespace. */
const NAMESPACE_TABLE: TableRules = {
  columns: [NAME, column('Status'), column('Age')],
  cells: (object, nowMs) => [
    object.metadata.name ?? '',
    text(child(object, 'status'), 'phase'),
    age(object.metadata.creationTimestamp, nowMs),
  ],
};

/** coordination.k8s.io/v1 Lease. */
const LEASE_TABLE: TableRules = {
  columns: [NAME, column('Holder'), column('Age')],
  cells: (object, nowMs) => [
    object.metadata.name ?? '',
    text(child(object, 'spec'), 'holderIdentity'),
    age(object.metadata.creationTimestamp, nowMs),
  ],
};

export const TABLES: Readonly<Record<ResourceName, TableRules>> = {
  namespaces: NAMESPACE_TABLE,
  pods: POD_TABLE,
  services: SERVICE_TABLE,
  endpoints: ENDPOINTS_TABLE,
  nodes: NODE_TABLE,
  events: EVENT_TABLE,
  endpointslices: ENDPOINTSLICE_TABLE,
  leases: LEASE_TABLE,
};
