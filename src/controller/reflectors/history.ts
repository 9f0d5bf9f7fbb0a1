/**
 * The history of a resource at the server, which goes back when etcd is restored from a backup: what shows that, and
 * what is done about it.
 *
 * Lists without a version are consistent: on every API server one of version L tells all that happened up to L, with every
 * write that was answered before it was asked for. So a list below the version that was reached before it was asked for
 * shows that history went back, and so does an own write that was given such a version. Nothing else does: with several
 * API servers one watch lags behind another, so neither a version of an object nor an event is a sign.
 */
import type { Now } from '../event.ts';
import type { Reflector, ReflectorHands } from './reflector.ts';
import type { OutputState } from '../caches/service-state.ts';
import { compareResourceVersions } from '../../kube/resource-version.ts';

/** Older than any that a server gives, and in a precondition true of no object. */
export const FORGOTTEN_VERSION = '0';

/**
 * Whether a cached state gives way to one that is told.
 * @param upTo the version up to which the teller speaks: of a watch event its object's, of a list the list's own
 */
export function givesWay(cachedVersion: string, upTo: string): boolean {
  return compareResourceVersions(cachedVersion, upTo) <= 0;
}

/** Whose lists and watch tell of the object. */
export function reflectorOf(reflectors: readonly Reflector[], { unit }: OutputState): Reflector | undefined {
  const of = unit === null ? 'endpoints' : 'endpointslices';
  return reflectors.find(({ resource }) => resource === of);
}

/** To be told of the version of each object that the answer to a write or a read has brought. */
export function noteAnswered(reflectors: readonly Reflector[], output: OutputState, resourceVersion: string): void {
  const reflector = reflectorOf(reflectors, output);
  if (reflector === undefined || givesWay(resourceVersion, reflector.answeredVersion)) return;
  reflector.answeredVersion = resourceVersion;
}

/** The version of the resource that is reached: nothing that is asked for from now on may be below it. '' = none. */
export function reachedVersion({ resourceVersion, answeredVersion }: Reflector): string {
  return givesWay(resourceVersion, answeredVersion) ? answeredVersion : resourceVersion;
}

/**
 * Whether history went back, by the version of a consistent list. If so all versions in the cache are forgotten: it gives
 * way to the next list whatever that tells.
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
