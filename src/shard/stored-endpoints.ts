/**
 * What a planner knows of one Endpoints object on the server. It changes only when a write was applied, or when newer
 * content was observed; a plan changes nothing (design: stored is what the server holds, not what we wish).
 */
import type { Problem } from '../core/problem.ts';
import { splitKey } from '../kube/key.ts';
import { compareResourceVersions } from '../kube/resource-version.ts';
import type { Endpoints, EndpointSubset } from '../kube/types.ts';
import type { Observed } from './protocol.ts';
import { readObject } from './read-object.ts';

export interface Stored {
  /** Without managedFields; null = it does not exist, or nothing was ever told of it: a create then fails with 409. */
  object: Endpoints | null;
  /** `object` is what we wrote, not what was read: the server may have made something else of it. */
  written: boolean;
  /** The outcome of a write is not known: nothing can be planned until the object is observed. */
  uncertain: boolean;
  /** The newest content could not be read: nothing can be planned until it changes. */
  unreadable: Problem | null;
  /** Subsets known to be canonical (`EndpointsPlanInput.planned`). */
  planned: readonly EndpointSubset[] | null;
}

export function createStored(): Stored {
  return { object: null, written: false, uncertain: false, unreadable: null, planned: null };
}

/** A write was applied. By reference: that `object` shares its parts with later plans makes them cheap to compare. */
export function storeApplied(stored: Stored, object: Endpoints, uid: string, resourceVersion: string): void {
  // A foreign write may have been observed after ours.
  if (compareResourceVersions(resourceVersion, versionOf(stored)) < 0) return;
  stored.object = { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
  stored.written = true;
  stored.planned = object.subsets ?? null;
}

/** The reply to a write was lost. */
export function storeUnknown(stored: Stored): void {
  stored.uncertain = true;
}

/**
 * The object holds `subsets`, perhaps in another order. To hold the list of the membership instead of one's own frees
 * the memory of the other and makes the next comparison one of identity; whatever is written replaces the subsets.
 */
export function storeSettled(stored: Stored, subsets: readonly EndpointSubset[]): void {
  if (stored.object === null || stored.object.subsets === subsets) return;
  stored.object = { ...stored.object, subsets };
  stored.planned = subsets;
}

/**
 * Takes what was read from the server, if it is not older than what is known. Content that is no Endpoints object makes
 * it unreadable; fields that this version does not know, which the next write would lose, are added to the problems.
 */
export function storeObserved(stored: Stored, key: string, observed: Observed, problems: Problem[]): void {
  if (observed.content === null) {
    Object.assign(stored, createStored());
    return;
  }
  const { object, problem } = readObject('v1', 'Endpoints', `endpoints ${key}`, splitKey(key).name, observed.content);
  if (object === null) {
    stored.unreadable = problem;
    return;
  }
  const age = compareResourceVersions(object.metadata.resourceVersion ?? '', versionOf(stored));
  if (age < 0) return;
  stored.uncertain = false;
  stored.unreadable = null;
  if (age === 0 && !stored.written) return;
  stored.object = object as unknown as Endpoints;
  stored.written = false;
  stored.planned = null;
  if (problem !== null) problems.push(problem);
}

function versionOf(stored: Stored): string {
  return stored.object?.metadata.resourceVersion ?? '';
}
