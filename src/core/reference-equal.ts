import type { ObjectReference } from '../kube/types.ts';

/** The resourceVersion does not count. */
export function referenceEqual(a: ObjectReference, b: ObjectReference): boolean {
  return (
    (a.uid ?? '') === (b.uid ?? '') &&
    (a.name ?? '') === (b.name ?? '') &&
    (a.namespace ?? '') === (b.namespace ?? '') &&
    (a.kind ?? '') === (b.kind ?? '') &&
    (a.apiVersion ?? '') === (b.apiVersion ?? '') &&
    (a.fieldPath ?? '') === (b.fieldPath ?? '')
  );
}
