/**
 * What a planner believes that the server holds of one Endpoints object: what it was told last. It changes only when a
 * write was applied or content was observed. A plan changes nothing. A lower version than the known one is believed
 * too: the main thread decides what is told, and history may have gone back.
 */
import type { Problem } from '../core/problem.ts';
import { splitKey } from '../kube/key.ts';
import type { Endpoints, EndpointSubset } from '../kube/types.ts';
import type { Observed } from './protocol.ts';
import { readObject } from './read-object.ts';

export interface Stored {
  /**
   * The object without managedFields; null = it does not exist, or nothing was told of it. In that case a create fails
   * with 409.
   */
  object: Endpoints | null;
  /** The ack of a write was `unknown`. Nothing can be planned until the object is observed. */
  uncertain: boolean;
  /** The newest content could not be read. Nothing can be planned until it changes. */
  unreadable: Problem | null;
  /** The subsets of `object` are known to be canonical (`EndpointsPlanInput.isCanonical`). */
  isCanonical: boolean;
}

export function createStored(): Stored {
  return { object: null, uncertain: false, unreadable: null, isCanonical: false };
}

/**
 * Takes an applied write. The object is kept by reference: it shares parts with later plans, so a comparison is cheap.
 */
export function storeApplied(stored: Stored, object: Endpoints, uid: string, resourceVersion: string): void {
  stored.object = { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
  stored.isCanonical = true;
}

/** Notes that the ack of a write was `unknown`. */
export function storeUnknown(stored: Stored): void {
  stored.uncertain = true;
}

/**
 * Notes that the object holds `subsets`, perhaps in another order. Keeping the membership's list instead of its own
 * frees the memory of one of them, and makes the next comparison one of identity. Every write replaces the subsets.
 */
export function storeSettled(stored: Stored, subsets: readonly EndpointSubset[]): void {
  if (stored.object === null || stored.object.subsets === subsets) return;
  stored.object = { ...stored.object, subsets };
  stored.isCanonical = true;
}

/**
 * Takes content that was read from the server. Content that is no Endpoints object makes the object unreadable. Fields
 * that this version does not know, and that the next write would lose, are added to the problems.
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
  stored.uncertain = false;
  stored.unreadable = null;
  stored.object = object as unknown as Endpoints;
  stored.isCanonical = false;
  if (problem !== null) problems.push(problem);
}
