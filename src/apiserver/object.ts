import { setKey } from '../kube/labels.ts';
import type { ObjectMeta } from '../kube/types.ts';

/** A whole object without apiVersion and kind, which its resource has. Objects in the store never change. */
export interface ApiObject {
  metadata: ObjectMeta;
  [field: string]: unknown;
}

type Json = Record<string, unknown>;

/** The message at `field`, or an empty one. */
export function child(object: object | undefined, field: string): Json {
  const value = (object as Json | undefined)?.[field];
  return value === undefined || value === null ? {} : (value as Json);
}

/** The list at `field`, or an empty one. The caller says of which type its items are. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the type of the items
export function items<T = Json>(object: object | undefined, field: string): readonly T[] {
  return ((object as Json | undefined)?.[field] as T[] | undefined) ?? [];
}

/** The string at `field`, or an empty one. */
export function text(object: object | undefined, field: string): string {
  return ((object as Json | undefined)?.[field] as string | undefined) ?? '';
}

/** The scalar at a path such as `spec.nodeName` as text, or an empty text. */
export function textAt(object: object, path: string): string {
  let value: unknown = object;
  for (const step of path.split('.')) value = (value as Json | undefined)?.[step];
  return typeof value === 'string' ? value : typeof value === 'boolean' ? String(value) : '';
}

/** Whether both have the same content. The order of keys does not count, and an undefined value counts as absent. */
export function equal(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    for (let at = 0; at < left.length; at++) if (!equal(left[at], right[at])) return false;
    return true;
  }
  if (Array.isArray(right)) return false;
  const a = left as Json;
  const b = right as Json;
  for (const key in a) if (!equal(a[key], b[key])) return false;
  for (const key in b) if (b[key] !== undefined && a[key] === undefined) return false;
  return true;
}

/** The same value, with the keys of all its objects in alphabetical order. */
export function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  const object: Json = {};
  for (const key of Object.keys(value).sort()) setKey(object, key, sortedKeys((value as Json)[key]));
  return object;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
