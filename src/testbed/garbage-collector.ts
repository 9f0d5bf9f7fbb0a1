import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, OwnerReference } from '../kube/types.ts';
import { ApiError, type ApiClient } from '../node/api-client.ts';
import { until, type ClusterLife } from './cluster-life.ts';
import { followCollection } from './follow-collection.ts';

const SLICES_ROOT = '/apis/discovery.k8s.io/v1';
/** Kinds of owners that slices have, and where they are. */
const OWNERS: Readonly<Record<string, string>> = { Service: 'services', Endpoints: 'endpoints' };
const RETRY_MS = 200;

interface Dependent {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
}

/**
 * Deletes EndpointSlices whose Service or Endpoints is gone, until `stop`. This is the one part of Kubernetes' garbage
 * collector that the cluster needs: neither its controllers nor upstream's delete slices of a Service that is gone.
 */
// oxlint-disable-next-line max-lines-per-function -- one object: its functions share its state, and each of them is short
export function runGarbageCollector(client: ApiClient): ClusterLife {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Uids of owners, by kind, namespace and name. */
  const uids = new Map<string, string>();
  const dependents = new Map<string, Dependent>();
  const byOwner = new Map<string, Set<string>>();
  const suspects = new Set<string>();
  let collecting = Promise.resolve();

  const suspect = (keys: Iterable<string>): void => {
    const before = suspects.size;
    for (const key of keys) suspects.add(key);
    if (before === 0 && suspects.size > 0) collecting = collect();
  };
  const collect = async (): Promise<void> => {
    for (const key of suspects) {
      if (signal.aborted) return;
      const dependent = dependents.get(key);
      if (dependent !== undefined && !(await settled(client, dependent))) {
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
        // Once more, behind the others.
        suspects.delete(key);
        suspects.add(key);
      } else suspects.delete(key);
    }
  };
  const forget = (key: string): void => {
    const known = dependents.get(key);
    dependents.delete(key);
    for (const owner of known?.owners ?? []) {
      const names = byOwner.get(ownerKey(owner.kind, known!.namespace, owner.name));
      names?.delete(key);
      if (names?.size === 0) byOwner.delete(ownerKey(owner.kind, known!.namespace, owner.name));
    }
  };
  const slices = {
    changed: ({ metadata }: KubeObject): void => {
      const { namespace = '', name = '', uid = '', ownerReferences = [] } = metadata;
      const key = `${namespace}/${name}`;
      forget(key);
      const owners = ownerReferences.filter(
        ({ kind, apiVersion }) => Object.hasOwn(OWNERS, kind) && apiVersion === 'v1',
      );
      // Slices that somebody else owns too are left alone.
      if (owners.length === 0 || owners.length < ownerReferences.length) return;
      dependents.set(key, { namespace, name, uid, owners });
      for (const owner of owners) {
        const of = ownerKey(owner.kind, namespace, owner.name);
        byOwner.set(of, (byOwner.get(of) ?? new Set()).add(key));
      }
      if (owners.every(({ kind, name: owner, uid: id }) => uids.get(ownerKey(kind, namespace, owner)) !== id))
        suspect([key]);
    },
    gone: (namespace: string, name: string): void => forget(`${namespace}/${name}`),
  };
  const ownersOf = (kind: string) => ({
    changed: ({ metadata: { namespace = '', name = '', uid = '' } }: KubeObject): void => {
      const key = ownerKey(kind, namespace, name);
      const before = uids.get(key);
      uids.set(key, uid);
      if (before !== undefined && before !== uid) suspect(byOwner.get(key) ?? []);
    },
    gone: (namespace: string, name: string): void => {
      const key = ownerKey(kind, namespace, name);
      uids.delete(key);
      suspect(byOwner.get(key) ?? []);
    },
  });
  const following = [
    ...Object.entries(OWNERS).map(([kind, resource]) =>
      followCollection(client, `/api/v1/${resource}`, ownersOf(kind), signal),
    ),
    followCollection(client, `${SLICES_ROOT}/endpointslices`, slices, signal),
  ];
  return until(
    stopping,
    Promise.all(following).then(() => collecting),
  );
}

function ownerKey(kind: string, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}

/** Asks the server itself about every owner, and deletes what has none. False = there was no answer. */
async function settled(client: ApiClient, { namespace, name, uid, owners }: Dependent): Promise<boolean> {
  try {
    for (const owner of owners) {
      const path = `/api/v1/namespaces/${namespace}/${OWNERS[owner.kind]!}/${owner.name}`;
      const held = await unlessMissing(client.send({ method: 'GET', path }));
      if ((held as KubeObject | null)?.metadata.uid === owner.uid) return true;
    }
    const path = `${SLICES_ROOT}/namespaces/${namespace}/endpointslices/${name}`;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
    await unlessMissing(client.send({ method: 'DELETE', path, body }));
    return true;
  } catch (error) {
    // 409: another slice has the name by now.
    return error instanceof ApiError && error.status === 409;
  }
}

async function unlessMissing(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}
