import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../kube/types.ts';
import { ApiError, type ApiClient } from '../node/api-client.ts';
import { MERGE_PATCH } from '../workload/request.ts';

/** A DELETE with this policy waits until nobody names the owner any more. */
const ORPHAN = 'orphan';
/** A DELETE with this policy waits for the dependents that block it. */
const FOREGROUND = 'foregroundDeletion';

export const CORE_ROOT = '/api/v1';
export const SLICES_ROOT = '/apis/discovery.k8s.io/v1';

/** Where dependents are looked for. */
const DEPENDENTS: readonly (readonly [root: string, resource: string])[] = [
  [SLICES_ROOT, 'endpointslices'],
  [CORE_ROOT, 'endpoints'],
  [CORE_ROOT, 'services'],
  [CORE_ROOT, 'pods'],
];
const RETRY_MS = 200;

/** An object that waits for the garbage collector. */
interface HeldOwner {
  readonly path: string;
  readonly namespace: string;
  readonly uid: string;
}

export interface OwnerFinalizers {
  /** Looks at a new or changed object. @param root of its group, such as /api/v1 */
  readonly note: (root: string, resource: string, object: KubeObject) => void;
  /** Settles when nothing is under way. */
  readonly idle: () => Promise<void>;
}

/**
 * Does what a DELETE with a propagation policy leaves to the garbage collector, and takes its finalizer away, until the
 * signal.
 */
export function createOwnerFinalizers(client: ApiClient, signal: AbortSignal): OwnerFinalizers {
  const held = new Map<string, HeldOwner>();
  let working = Promise.resolve();
  return {
    note: (root, resource, { metadata }) => {
      const { namespace = '', name = '', uid = '', deletionTimestamp } = metadata;
      if (deletionTimestamp === undefined || finalizerOf(metadata.finalizers) === undefined) return;
      const before = held.size;
      held.set(uid, { path: `${root}/namespaces/${namespace}/${resource}/${name}`, namespace, uid });
      if (before === 0) working = releaseAll(client, held, signal);
    },
    idle: () => working,
  };
}

function finalizerOf(finalizers: readonly string[] = []): string | undefined {
  return finalizers.find((finalizer) => finalizer === ORPHAN || finalizer === FOREGROUND);
}

async function releaseAll(client: ApiClient, held: Map<string, HeldOwner>, signal: AbortSignal): Promise<void> {
  while (held.size > 0) {
    for (const [uid, owner] of held) {
      if (signal.aborted) return;
      // A conflict, or a server that is away for a moment, is no more than a reason to look again.
      if (await released(client, owner).catch(() => false)) held.delete(uid);
    }
    // Those that are blocked are looked at again, all of them after one pause.
    if (held.size > 0) await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** false = something is left to do. @throws ApiError */
async function released(client: ApiClient, { path, namespace, uid }: HeldOwner): Promise<boolean> {
  const owner = (await unlessMissing(client.send({ method: 'GET', path }))) as KubeObject | null;
  if (owner === null || owner.metadata.uid !== uid) return true;
  const { finalizers = [], resourceVersion } = owner.metadata;
  const finalizer = finalizerOf(finalizers);
  if (finalizer === undefined) return true;
  for (const dependent of await dependentsOf(client, namespace, uid)) {
    await letGo(client, dependent, uid, finalizer === ORPHAN);
  }
  if (finalizer === FOREGROUND) {
    const left = await dependentsOf(client, namespace, uid);
    if (left.some(({ object }) => blocks(object, uid))) return false;
  }
  const left = finalizers.filter((other) => other !== finalizer);
  const body = { metadata: { resourceVersion, finalizers: left } };
  await unlessMissing(client.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body }));
  return true;
}

interface DependentObject {
  readonly path: string;
  readonly object: KubeObject;
}

async function dependentsOf(client: ApiClient, namespace: string, uid: string): Promise<DependentObject[]> {
  const found: DependentObject[] = [];
  for (const [root, resource] of DEPENDENTS) {
    const path = `${root}/namespaces/${namespace}/${resource}`;
    for (const object of (await client.list(path)).items) {
      const { name = '', ownerReferences = [] } = object.metadata;
      if (ownerReferences.some((owner) => owner.uid === uid)) found.push({ path: `${path}/${name}`, object });
    }
  }
  return found;
}

/** Deletes the dependent, or only takes its reference to the owner away: then it stays. */
async function letGo(
  client: ApiClient,
  { path, object }: DependentObject,
  owner: string,
  stays: boolean,
): Promise<void> {
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata;
  const others = ownerReferences.filter((reference) => reference.uid !== owner);
  if (stays || others.length > 0) {
    const body = { metadata: { uid, resourceVersion, ownerReferences: others } };
    await unlessMissing(client.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body }));
  } else {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
    await unlessMissing(client.send({ method: 'DELETE', path, body }));
  }
}

function blocks({ metadata }: KubeObject, owner: string): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true,
  );
}

/** null = the object is not there. */
export async function unlessMissing(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}
