/**
 * The history of a resource goes back when etcd is restored from a backup. This file says what shows that, and what is
 * done then. A list without a version is consistent on every API server: a list of version L tells everything up to L,
 * and every write that was answered before the list was asked for. So two things show that history went back: a list
 * below the version that was reached before it was asked for, and an own write that is given such a version. Nothing
 * else shows it. One of several API servers may lag behind another, so neither an object's version nor an event is a
 * sign.
 */
import type { Now } from '../event.ts';
import type { Reflector, ReflectorHands } from './reflector.ts';
import type { ObjectState } from '../caches/service-state.ts';
import { isEndpoints } from '../caches/unit.ts';
import { compareResourceVersions, laterVersion } from '../../kube/resource-version.ts';

/** A version older than any that a server gives. No object has it, so a precondition with it always fails. */
export const FORGOTTEN_VERSION = '0';

/**
 * Whether a cached state gives way to a state that is told.
 * @param upTo the version up to which the source speaks: the object's for a watch event, the list's own for a list
 */
export function givesWay(cachedVersion: string, upTo: string): boolean {
  return compareResourceVersions(cachedVersion, upTo) <= 0;
}

/** The reflector of the resource that the object belongs to. */
export function reflectorOf(reflectors: readonly Reflector[], object: ObjectState): Reflector | undefined {
  const written = isEndpoints(object) ? 'endpoints' : 'endpointslices';
  return reflectors.find(({ resource }) => resource === written);
}

/** Notes the version of an object from the answer to a write or a read. */
export function noteAnsweredVersion(
  reflectors: readonly Reflector[],
  object: ObjectState,
  resourceVersion: string,
): void {
  const reflector = reflectorOf(reflectors, object);
  if (reflector !== undefined) noteTold(reflector, resourceVersion);
}

/** Notes the version of an object that neither a watch nor a complete list has told. */
export function noteTold(reflector: Reflector, resourceVersion: string): void {
  reflector.answeredVersion = laterVersion(reflector.answeredVersion, resourceVersion);
}

/** The versions that a reflector has reached. */
export type Reached = Pick<Reflector, 'resourceVersion' | 'answeredVersion' | 'askedAtMs'>;

/** The version that the resource has reached. Whatever is asked for from now on must not be below it. '' = none. */
export function reachedVersion({ resourceVersion, answeredVersion }: Reached): string {
  return laterVersion(resourceVersion, answeredVersion);
}

/**
 * Forgets all versions in the cache if the version of a consistent list shows that history went back, so that the cache
 * gives way to the next list. Returns whether it did.
 * @param reached the version that was reached when the list was asked for
 */
export function forgetIfWentBack(
  { metrics, outbox }: ReflectorHands,
  reflector: Reflector,
  reached: string,
  listVersion: string,
  now: Now,
): boolean {
  const { resource, target } = reflector;
  if (compareResourceVersions(listVersion, reached) >= 0) return false;
  metrics.historyResets(resource).inc();
  outbox.log('warning', 0, 'History went back, as etcd does when it is restored: the cache is replaced', {
    resource,
    reached,
    resourceVersion: listVersion,
  });
  reflector.resourceVersion = '';
  reflector.answeredVersion = '';
  target.forgetVersions('restored', now);
  return true;
}

/** Whether an own write shows that history went back: the version that it was given is below the one reached before. */
export function isWrittenInThePast(appliedVersion: string, reachedBefore: string): boolean {
  return compareResourceVersions(appliedVersion, reachedBefore) < 0;
}
