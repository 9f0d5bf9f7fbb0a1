import type { ResourceName } from '../kube/types.ts';

/** The server's knowledge of one resource, as data. */
export interface Resource {
  readonly name: ResourceName;
  readonly group: string;
  readonly version: string;
  /** `v1` or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  /** Categories whose `kubectl get CATEGORY` includes the resource. */
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly namespaced: boolean;
  readonly subresources: readonly string[];
  /** Whether a PUT on a missing name creates the object. */
  readonly createOnUpdate: boolean;
  /** Whether a PUT without a resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** Whether DELETE answers with the object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** Whether DELETE gives the object time to end (pods). */
  readonly graceful: boolean;
  /** Whether objects have metadata.generation. */
  readonly generation: boolean;
  /** The prefix of its keys in the real server's storage; some messages name it. */
  readonly storagePrefix: string;
  /** Fields that a field selector may name, besides metadata.name and metadata.namespace. */
  readonly selectableFields: readonly string[];
  /** A warning that every reply about this resource has; '' = none. */
  readonly warning: string;
}

const VERBS: readonly string[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The answer of a subresource, and the kind of its bodies if it is not the resource's. */
interface Subresource {
  readonly verbs: readonly string[];
  readonly kind?: string;
}

/** Subresources that differ from `status`. */
const SUBRESOURCES: Readonly<Record<string, Subresource>> = {
  binding: { verbs: ['create'], kind: 'Binding' },
  finalize: { verbs: ['update'] },
};
const STATUS: Subresource = { verbs: ['get', 'patch', 'update'] };

export function subresourceOf(name: string): Subresource {
  return SUBRESOURCES[name] ?? STATUS;
}

type Fields = Pick<Resource, 'name' | 'kind' | 'singular'> & Partial<Resource>;

function resource(fields: Fields): Resource {
  const group = fields.group ?? '';
  const version = fields.version ?? 'v1';
  return {
    group,
    version,
    apiVersion: group === '' ? version : `${group}/${version}`,
    shortNames: [],
    categories: [],
    verbs: VERBS,
    namespaced: true,
    subresources: [],
    createOnUpdate: false,
    unconditionalUpdate: true,
    returnsDeleted: false,
    graceful: false,
    generation: false,
    storagePrefix: fields.name,
    selectableFields: [],
    warning: '',
    ...fields,
  };
}

export const NAMESPACES = resource({
  name: 'namespaces',
  kind: 'Namespace',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  verbs: VERBS.filter((verb) => verb !== 'deletecollection'),
  subresources: ['finalize', 'status'],
  returnsDeleted: true,
  selectableFields: ['status.phase'],
});

export const PODS = resource({
  name: 'pods',
  kind: 'Pod',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  subresources: ['binding', 'status'],
  returnsDeleted: true,
  graceful: true,
  generation: true,
  selectableFields: [
    'spec.hostNetwork',
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'status.nominatedNodeName',
    'status.phase',
    'status.podIP',
    'status.podIPs',
  ],
});

export const SERVICES = resource({
  name: 'services',
  kind: 'Service',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  subresources: ['status'],
  createOnUpdate: true,
  returnsDeleted: true,
  storagePrefix: 'services/specs',
  selectableFields: ['spec.clusterIP', 'spec.type'],
});

export const ENDPOINTS = resource({
  name: 'endpoints',
  kind: 'Endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  createOnUpdate: true,
  storagePrefix: 'services/endpoints',
  warning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
});

const NODES = resource({
  name: 'nodes',
  kind: 'Node',
  singular: 'node',
  shortNames: ['no'],
  namespaced: false,
  subresources: ['status'],
  storagePrefix: 'minions',
  selectableFields: ['spec.unschedulable'],
});

const EVENTS = resource({
  name: 'events',
  kind: 'Event',
  singular: 'event',
  shortNames: ['ev'],
  createOnUpdate: true,
  selectableFields: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reportingComponent',
    'reason',
    'type',
  ],
});

export const ENDPOINT_SLICES = resource({
  name: 'endpointslices',
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  singular: 'endpointslice',
  generation: true,
});

const LEASES = resource({
  name: 'leases',
  group: 'coordination.k8s.io',
  kind: 'Lease',
  singular: 'lease',
  createOnUpdate: true,
  unconditionalUpdate: false,
});

export const RESOURCES: readonly Resource[] = [
  NAMESPACES,
  PODS,
  SERVICES,
  ENDPOINTS,
  NODES,
  EVENTS,
  ENDPOINT_SLICES,
  LEASES,
];

/** Resources by `apiVersion/resource`. */
export const RESOURCE_BY_PATH: ReadonlyMap<string, Resource> = new Map(
  RESOURCES.map((resource) => [`${resource.apiVersion}/${resource.name}`, resource]),
);
