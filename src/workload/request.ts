/** A request of a workload to the API server, as data. The caller encodes the body and sends it. */
import { JSON_TYPE } from '../kube/media-type.ts';
import type { KubeObject } from '../kube/types.ts';

export interface WorkloadRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** The encoded path from the server's root. */
  readonly path: string;
  /** The type of JSON or of a patch. */
  readonly contentType: string;
  /** The whole object, the patch, or DeleteOptions. It is sent as JSON. */
  readonly body: object;
}

export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

/** The resource of each kind that a workload has. */
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
 * One request, or two for a pod: one with the object, and one with its status, because a create drops its status, as on a
 * real server.
 */
export function createRequests(object: KubeObject): readonly WorkloadRequest[] {
  const { kind, metadata } = object;
  if (kind !== 'Pod') return [create(object)];
  const status = object['status'] as object;
  return [create(withoutStatus(object)), patchStatus(kind, metadata.namespace, metadata.name!, status)];
}

/** The object as a create sends it: a real server would drop the status. */
export function withoutStatus(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  return rest;
}

export function create(object: KubeObject): WorkloadRequest {
  const path = collectionPath(object.kind as Kind, object.metadata.namespace);
  return { method: 'POST', path, contentType: JSON_TYPE, body: object };
}

/** Replaces the fields that `status` has. Conditions are merged by type. */
export function patchStatus(kind: Kind, namespace: string | undefined, name: string, status: object): WorkloadRequest {
  const path = `${collectionPath(kind, namespace)}/${name}/status`;
  return { method: 'PATCH', path, contentType: STRATEGIC_MERGE_PATCH, body: { status } };
}

/** A merge patch: null removes a field, and a list is replaced. */
export function patch(kind: Kind, namespace: string | undefined, name: string, change: object): WorkloadRequest {
  return {
    method: 'PATCH',
    path: `${collectionPath(kind, namespace)}/${name}`,
    contentType: MERGE_PATCH,
    body: change,
  };
}

/** Deletes an object. With `graceSeconds` > 0 a pod stays as terminating until it is deleted again with 0. */
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
