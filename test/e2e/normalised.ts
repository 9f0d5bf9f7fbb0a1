import type { KubeObject, ObjectMeta } from '../../src/kube/types.ts';

/** An object as text without what differs from server to server and from run to run: uids, versions, times, drawn names. */
export function normalised({ kind, metadata, ...rest }: KubeObject): string {
  const content =
    kind === 'EndpointSlice' ? withSortedEndpoints(rest) : kind === 'Endpoints' ? withSortedSubsets(rest) : rest;
  // A mirrored slice that is recycled loses its generateName, and what is recycled is a matter of the moment.
  const { name, ...plain } = plainMetadata(metadata);
  const told = kind === 'EndpointSlice' ? plain : { name, ...plain };
  return JSON.stringify(sorted({ kind, metadata: told, ...content }), withoutUid, 1);
}

const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

function plainMetadata({ name, namespace, labels, annotations, ownerReferences }: ObjectMeta) {
  const { [TRIGGER_TIME]: _, ...others } = annotations ?? {};
  return { name, namespace, labels, annotations: others, ownerReferences };
}

/** The order within a slice tells only in which order the pods were seen. */
function withSortedEndpoints(slice: Record<string, unknown>): Record<string, unknown> {
  const endpoints = (slice['endpoints'] ?? []) as { addresses: string[] }[];
  return { ...slice, endpoints: endpoints.toSorted((a, b) => (a.addresses[0]! < b.addresses[0]! ? -1 : 1)) };
}

/** Upstream orders them by a hash that takes in the uids of the pods. */
function withSortedSubsets(endpoints: Record<string, unknown>): Record<string, unknown> {
  const subsets = (endpoints['subsets'] ?? []) as { ports?: object }[];
  const portsOf = ({ ports }: { ports?: object }): string => JSON.stringify(ports ?? null);
  return { ...endpoints, subsets: subsets.toSorted((a, b) => (portsOf(a) < portsOf(b) ? -1 : 1)) };
}

function withoutUid(key: string, value: unknown): unknown {
  return key === 'uid' || key === 'resourceVersion' ? undefined : value;
}

/** Keys in order of the alphabet, all the way down. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
