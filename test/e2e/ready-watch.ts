/**
 * What proxies see of one namespace: each state of Endpoints and of all slices of a service, as the watches tell it. An
 * address that is kept must be ready in every one of them.
 */
import { SERVICE_NAME_LABEL } from '../../src/kube/names.ts';
import type { Endpoint, EndpointSubset, KubeObject } from '../../src/kube/types.ts';
import type { ApiClient, ApiWatch } from '../../src/node/api-client.ts';

export type Written = 'endpoints' | 'endpointslices';

export interface ReadyWatch {
  /** From now on the addresses have to be ready. */
  keep(service: string, addresses: readonly string[]): void;
  /** A line for each state that lacked a kept address. */
  readonly lost: readonly string[];
  /** Creates, updates and deletions told so far. */
  readonly changes: Readonly<Record<Written, number>>;
  stop(): Promise<void>;
}

export const OUTPUT_PATHS: Readonly<Record<Written, (namespace: string) => string>> = {
  endpoints: (namespace) => `/api/v1/namespaces/${namespace}/endpoints`,
  endpointslices: (namespace) => `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
};

export async function watchReady(client: ApiClient, namespace: string): Promise<ReadyWatch> {
  const kept = new Map<string, ReadonlySet<string>>();
  const lost: string[] = [];
  const changes = { endpoints: 0, endpointslices: 0 };
  const objects = { endpoints: new Map<string, KubeObject>(), endpointslices: new Map<string, KubeObject>() };

  const take = (kind: Written, type: string, object: KubeObject): void => {
    const name = object.metadata.name!;
    if (type === 'DELETED') objects[kind].delete(name);
    else objects[kind].set(name, object);
    changes[kind]++;
    const service = serviceOf(object);
    const ready = new Set([...objects[kind].values()].filter((one) => serviceOf(one) === service).flatMap(readyIn));
    const missing = [...(kept.get(service) ?? [])].filter((address) => !ready.has(address));
    if (missing.length > 0) lost.push(`${type} ${kind} ${name} leaves ${service} without ${missing.join(' ')}`);
  };

  const watches: ApiWatch[] = [];
  for (const kind of Object.keys(OUTPUT_PATHS) as Written[]) {
    const path = OUTPUT_PATHS[kind](namespace);
    const { resourceVersion, items } = await client.list(path);
    for (const object of items) objects[kind].set(object.metadata.name!, object);
    watches.push(client.watch(path, resourceVersion, (type, object) => take(kind, type, object)));
  }
  return {
    keep: (service, addresses) => void kept.set(service, new Set(addresses)),
    lost,
    changes,
    async stop() {
      for (const watch of watches) watch.stop();
      await Promise.all(watches.map(({ ended }) => ended));
    },
  };
}

function serviceOf({ metadata }: KubeObject): string {
  return metadata.labels?.[SERVICE_NAME_LABEL] ?? metadata.name!;
}

/** The ready addresses of Endpoints or of a slice. */
export function readyIn(object: KubeObject): string[] {
  const subsets = (object['subsets'] ?? []) as readonly EndpointSubset[];
  const endpoints = (object['endpoints'] ?? []) as readonly Endpoint[];
  return [
    ...subsets.flatMap(({ addresses }) => (addresses ?? []).map(({ ip }) => ip)),
    ...endpoints.filter(({ conditions }) => conditions?.ready === true).flatMap(({ addresses }) => addresses),
  ];
}
