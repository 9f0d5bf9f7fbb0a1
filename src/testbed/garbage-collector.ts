import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, OwnerReference } from '../kube/types.ts';
import { ApiError, type ApiClient } from '../node/api-client.ts';
import { until, type ClusterLife } from './cluster-life.ts';
import { followCollection } from './follow-collection.ts';
import { CORE_ROOT, createOwnerFinalizers, SLICES_ROOT, unlessMissing } from './owner-finalizers.ts';

/** The kinds of the slices' owners, and their resources. */
const OWNERS: Readonly<Record<string, string>> = { Service: 'services', Endpoints: 'endpoints' };
const RETRY_MS = 200;

interface Dependent {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
}

/**
 * Deletes EndpointSlices whose Service or Endpoints is gone, and ends a Service, Endpoints or EndpointSlice that is
 * deleted in the foreground or with orphans, until `stop`. The cluster needs these parts of Kubernetes' garbage
 * collector: neither its controllers nor upstream's delete the slices of a deleted Service.
 */
export function runGarbageCollector(client: ApiClient): ClusterLife {
  const stopping = new AbortController();
  const { signal } = stopping;
  const ownership: Ownership = { uids: new Map(), dependents: new Map(), byOwner: new Map() };
  const suspects = new Set<string>();
  const finalizers = createOwnerFinalizers(client, signal);
  let collecting = Promise.resolve();

  const suspect = (keys: Iterable<string>): void => {
    const before = suspects.size;
    for (const key of keys) suspects.add(key);
    if (before === 0 && suspects.size > 0) collecting = collect(client, ownership, suspects, signal);
  };
  const slices = {
    changed: (slice: KubeObject): void => {
      suspect(noteSlice(ownership, slice));
      finalizers.note(SLICES_ROOT, 'endpointslices', slice);
    },
    gone: (namespace: string, name: string): void => forget(ownership, `${namespace}/${name}`),
  };
  const ownersOf = (kind: string, resource: string) => ({
    changed: (owner: KubeObject): void => {
      const { namespace = '', name = '', uid = '' } = owner.metadata;
      suspect(noteOwner(ownership, ownerKey(kind, namespace, name), uid));
      finalizers.note(CORE_ROOT, resource, owner);
    },
    gone: (namespace: string, name: string): void =>
      suspect(noteOwner(ownership, ownerKey(kind, namespace, name), null)),
  });
  const following = [
    ...Object.entries(OWNERS).map(([kind, resource]) =>
      followCollection(client, `${CORE_ROOT}/${resource}`, ownersOf(kind, resource), signal),
    ),
    followCollection(client, `${SLICES_ROOT}/endpointslices`, slices, signal),
  ];
  return until(
    stopping,
    Promise.all(following)
      .then(() => collecting)
      .then(() => finalizers.idle()),
  );
}

/** The existing owners, and the slices that name them. */
interface Ownership {
  /** Uids by kind, namespace and name of the owner. */
  readonly uids: Map<string, string>;
  /** Slices by namespace and name. */
  readonly dependents: Map<string, Dependent>;
  /** Keys of slices by kind, namespace and name of the owner. */
  readonly byOwner: Map<string, Set<string>>;
}

/** Returns the keys of slices that may have no owner now. */
function noteSlice(ownership: Ownership, { metadata }: KubeObject): Iterable<string> {
  const { namespace = '', name = '', uid = '', ownerReferences = [] } = metadata;
  const { uids, dependents, byOwner } = ownership;
  const key = `${namespace}/${name}`;
  forget(ownership, key);
  const owners = ownerReferences.filter(({ kind, apiVersion }) => Object.hasOwn(OWNERS, kind) && apiVersion === 'v1');
  // A slice with other owners is left alone.
  if (owners.length === 0 || owners.length < ownerReferences.length) return [];
  dependents.set(key, { namespace, name, uid, owners });
  for (const owner of owners) {
    const of = ownerKey(owner.kind, namespace, owner.name);
    byOwner.set(of, (byOwner.get(of) ?? new Set()).add(key));
  }
  return owners.every(({ kind, name: owner, uid: id }) => uids.get(ownerKey(kind, namespace, owner)) !== id)
    ? [key]
    : [];
}

/** Returns the keys of slices that may have no owner now. @param uid null = the owner is gone */
function noteOwner({ uids, byOwner }: Ownership, key: string, uid: string | null): Iterable<string> {
  const before = uids.get(key);
  if (uid === null) uids.delete(key);
  else uids.set(key, uid);
  return uid !== null && (before === undefined || before === uid) ? [] : (byOwner.get(key) ?? []);
}

function forget({ dependents, byOwner }: Ownership, key: string): void {
  const known = dependents.get(key);
  dependents.delete(key);
  for (const owner of known?.owners ?? []) {
    const of = ownerKey(owner.kind, known!.namespace, owner.name);
    const keys = byOwner.get(of);
    keys?.delete(key);
    if (keys?.size === 0) byOwner.delete(of);
  }
}

/** Goes through the suspects until there are none. */
async function collect(
  client: ApiClient,
  { dependents }: Ownership,
  suspects: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  for (const key of suspects) {
    if (signal.aborted) return;
    const dependent = dependents.get(key);
    if (dependent !== undefined && !(await settled(client, dependent))) {
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      // It is tried again after the others.
      suspects.delete(key);
      suspects.add(key);
    } else suspects.delete(key);
  }
}

function ownerKey(kind: string, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}

/** Asks the server about every owner, and deletes a slice without owners. false = there was no answer. */
async function settled(client: ApiClient, { namespace, name, uid, owners }: Dependent): Promise<boolean> {
  try {
    for (const owner of owners) {
      const path = `${CORE_ROOT}/namespaces/${namespace}/${OWNERS[owner.kind]!}/${owner.name}`;
      const held = await unlessMissing(client.send({ method: 'GET', path }));
      if ((held as KubeObject | null)?.metadata.uid === owner.uid) return true;
    }
    const path = `${SLICES_ROOT}/namespaces/${namespace}/endpointslices/${name}`;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
    await unlessMissing(client.send({ method: 'DELETE', path, body }));
    return true;
  } catch (error) {
    // 409: another slice has this name now.
    return error instanceof ApiError && error.status === 409;
  }
}
