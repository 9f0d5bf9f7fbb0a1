import type { Labels } from './types.ts';
import { sameTexts } from '../lib/same-list.ts';

export const EMPTY_LABELS: Labels = [];

/**
 * Labels sorted by key (UTF-16 code units: for the ASCII that the API allows in keys, the order of the bytes). The last
 * value of a repeated key wins, as in a protobuf map.
 */
export function labelsFromPairs(pairs: readonly (readonly [string, string])[]): Labels {
  if (pairs.length === 0) return EMPTY_LABELS;
  const sorted = pairs.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  const labels: string[] = [];
  for (const [key, value] of sorted) {
    if (labels.length > 0 && labels[labels.length - 2] === key) labels[labels.length - 1] = value;
    else labels.push(key, value);
  }
  return labels;
}

export function labelsEqual(a: Labels, b: Labels): boolean {
  return sameTexts(a, b);
}

/** undefined = there is no such label. */
export function labelsGet(labels: Labels, key: string): string | undefined {
  for (let i = 0; i < labels.length; i += 2) if (labels[i] === key) return labels[i + 1];
  return undefined;
}

/** Whether every pair of `selector` is in `labels`; an empty selector is in everything. One walk over both. */
export function labelsInclude(labels: Labels, selector: Labels): boolean {
  let at = 0;
  for (let i = 0; i < selector.length; i += 2) {
    const key = selector[i]!;
    while (at < labels.length && labels[at]! < key) at += 2;
    if (at >= labels.length || labels[at] !== key || labels[at + 1] !== selector[i + 1]) return false;
    at += 2;
  }
  return true;
}

export interface MissingLabel {
  readonly key: string;
  readonly wanted: string;
  /** null = there is no such label. */
  readonly found: string | null;
}

/** The pairs of `selector` that are not in `labels`. The list is empty exactly if `labelsInclude` holds. */
export function labelsMissing(labels: Labels, selector: Labels): MissingLabel[] {
  const missing: MissingLabel[] = [];
  for (let i = 0; i < selector.length; i += 2) {
    const key = selector[i]!;
    const wanted = selector[i + 1]!;
    const found = labelsGet(labels, key) ?? null;
    if (found !== wanted) missing.push({ key, wanted, found });
  }
  return missing;
}

/** A selector as kubectl takes it: `key=value,key=value`. */
export function selectorText(selector: Labels): string {
  const pairs: string[] = [];
  for (let i = 0; i < selector.length; i += 2) pairs.push(`${selector[i]}=${selector[i + 1]}`);
  return pairs.join();
}

/** Whether both have exactly the same keys and values. An absent record is empty. */
export function recordsEqual(
  a: Readonly<Record<string, string>> = {},
  b: Readonly<Record<string, string>> = {},
): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

/** Sets an own property of a record. For the key `__proto__`, `record[key] = value` would set the prototype instead. */
export function setKey<T>(record: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__') {
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    record[key] = value;
  }
}
