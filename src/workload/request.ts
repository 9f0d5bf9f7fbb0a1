/** What a workload asks of the API server, as data: the caller encodes the body and sends it. */
import { JSON_TYPE } from '../kube/media-type.ts';
import type { KubeObject } from '../kube/types.ts';
import type { Cluster } from './cluster.ts';
import { clusterObjects } from './objects.ts';

export interface WorkloadRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** From the server's root, already encoded. */
  readonly path: string;
  /** JSON or one of the patch types. */
  readonly contentType: string;
  /** To be sent as JSON: the whole object, the patch, or DeleteOptions. */
  readonly body: object;
}

export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

/** Of the objects a workload has: kind to resource. */
const RESOURCES = {
  Namespace: 'namespaces',
  Node: 'nodes',
  Service: 'services',
  Pod: 'pods',
  Endpoints: 'endpoints',
  EndpointSlice: 'endpointslices',
} as const;

type Kind = keyof typeof RESOURCES;

/**
 * Everything a fresh server must be sent to hold the cluster, in order, drawn one at a time. A pod takes two requests: like
 * a real server, a create drops its status.
 */
export function* clusterRequests(cluster: Cluster): Generator<WorkloadRequest, void, void> {
  for (const object of clusterObjects(cluster)) yield* createRequests(object);
}

/** One request, or two for a pod: the object, then its status. */
export function createRequests(object: KubeObject): readonly WorkloadRequest[] {
  const { kind, metadata } = object;
  if (kind !== 'Pod') return [create(object)];
  const status = object['status'] as object;
  return [create(withoutStatus(object)), patchStatus(kind, metadata.namespace, metadata.name!, status)];
}

/** As a create sends it: a real server would drop the status anyway. */
export function withoutStatus(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  return rest;
}

export function create(object: KubeObject): WorkloadRequest {
  const path = collectionPath(object.kind as Kind, object.metadata.namespace);
  return { method: 'POST', path, contentType: JSON_TYPE, body: object };
}

/** Replaces what `status` names; conditions are merged by type. */
export function patchStatus(kind: Kind, namespace: string | undefined, name: string, status: object): WorkloadRequest {
  const path = `${collectionPath(kind, namespace)}/${name}/status`;
  return { method: 'PATCH', path, contentType: STRATEGIC_MERGE_PATCH, body: { status } };
}

/** A merge patch: null removes a field, a list is replaced. */
export function patch(kind: Kind, namespace: string | undefined, name: string, change: object): WorkloadRequest {
  return {
    method: 'PATCH',
    path: `${collectionPath(kind, namespace)}/${name}`,
    contentType: MERGE_PATCH,
    body: change,
  };
}

/** A pod stays for `graceSeconds` > 0 as terminating, until it is deleted again with 0. */
export function remove(kind: Kind, namespace: string | undefined, name: string, graceSeconds: number): WorkloadRequest {
  return {
    method: 'DELETE',
    path: `${collectionPath(kind, namespace)}/${name}`,
    contentType: JSON_TYPE,
    body: { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: graceSeconds },
  };
}

function collectionPath(kind: Kind, namespace: string | undefined): string {
  const resource = RESOURCES[kind];
  const root = kind === 'EndpointSlice' ? '/apis/discovery.k8s.io/v1' : '/api/v1';
  return namespace === undefined ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`;
}
