/**
 * The history of a resource at the server goes back when etcd is restored from a backup. This file says what shows
 * that, and what is done about it.
 *
 * Lists without a version are consistent: on every API server a list of version L tells all that happened up to L, with
 * every write that was answered before the list was asked for. So history went back if a list is below the version that
 * was reached before it was asked for, or if an own write is given such a version. Nothing else is a sign: with several
 * API servers one watch lags behind another, so neither a version of an object nor an event shows it.
 */
import type { Now } from '../event.ts';
import type { Reflector, ReflectorHands } from './reflector.ts';
import type { ObjectState } from '../caches/service-state.ts';
import { compareResourceVersions } from '../../kube/resource-version.ts';

/** A version older than any that a server gives, and true of no object in a precondition. */
export const FORGOTTEN_VERSION = '0';

/**
 * Whether a cached state gives way to one that is told.
 * @param upTo the version up to which the teller speaks: a watch event's is its object's, a list's its own
 */
export function givesWay(cachedVersion: string, upTo: string): boolean {
  return compareResourceVersions(cachedVersion, upTo) <= 0;
}

/** The resource whose lists and watch tell of the object. */
export function reflectorOf(reflectors: readonly Reflector[], { unit }: ObjectState): Reflector | undefined {
  const of = unit === null ? 'endpoints' : 'endpointslices';
  return reflectors.find(({ resource }) => resource === of);
}

/** Takes the version of each object that the answer to a write or a read has brought. */
export function noteAnswered(reflectors: readonly Reflector[], object: ObjectState, resourceVersion: string): void {
  const reflector = reflectorOf(reflectors, object);
  if (reflector !== undefined) noteTold(reflector, resourceVersion);
}

/** Takes the version of an object of which neither a watch nor a complete list has told. */
export function noteTold(reflector: Reflector, resourceVersion: string): void {
  if (!givesWay(resourceVersion, reflector.answeredVersion)) reflector.answeredVersion = resourceVersion;
}

/** What a reflector has reached of its resource. */
export type Reached = Pick<Reflector, 'resourceVersion' | 'answeredVersion' | 'askedAtMs'>;

/** The version that the resource has reached: nothing that is asked for from now on may be below it. '' = none. */
export function reachedVersion({ resourceVersion, answeredVersion }: Reached): string {
  return givesWay(resourceVersion, answeredVersion) ? answeredVersion : resourceVersion;
}

/**
 * Whether history went back, by the version of a consistent list. If so, all versions in the cache are forgotten, so
 * the cache gives way to whatever the next list tells.
 * @param reached when the list was asked for
 */
export function noteListVersion(
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
  target.forgetVersions(now);
  return true;
}

/** Whether the version that an own write was given shows that history went back since it was sent. */
export function isWrittenInThePast(appliedVersion: string, reachedBefore: string): boolean {
  return compareResourceVersions(appliedVersion, reachedBefore) < 0;
}
