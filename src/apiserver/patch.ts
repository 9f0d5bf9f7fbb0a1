import { setKey } from '../kube/labels.ts';
import { messageOf, type Message } from '../kube/schema.ts';
import {
  ApiError,
  badRequest,
  failure,
  internalError,
  invalidKind,
  noServerSideApply,
  tooLarge,
  unsupportedMediaType,
} from './api-error.ts';
import { invalid } from './field-error.ts';
import { fromMap, goKindOf } from './from-map.ts';
import { goKind, JsonSyntaxError, parseGoJson } from './go-json.ts';
import { JsonTypeError } from './json-body.ts';
import { MERGE_LISTS, type MergeList } from './merge-lists.ts';
import { equal, isRecord } from './object.ts';
import type { Resource } from './resource.ts';

type Json = Record<string, unknown>;

export type PatchType = 'json' | 'merge' | 'strategic';

/** @throws ApiError 415 */
export function patchTypeOf(mediaType: string): PatchType {
  switch (mediaType) {
    case 'application/json-patch+json':
      return 'json';
    case 'application/merge-patch+json':
      return 'merge';
    case 'application/strategic-merge-patch+json':
      return 'strategic';
    case 'application/apply-patch+yaml':
      throw noServerSideApply();
    default:
      throw unsupportedMediaType();
  }
}

/** Reads the body of a patch. @throws ApiError 400 or 413 */
export function readPatch(type: PatchType, bytes: Uint8Array): unknown {
  const prefix = type === 'strategic' ? '' : 'error decoding patch: ';
  let patch: unknown;
  try {
    patch = parseGoJson(bytes);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badRequest(`${prefix}${error.message}`);
    throw error;
  }
  if (patch === null && type === 'merge') throw badRequest('Invalid JSON Patch');
  const problem = type === 'json' ? operationsProblem(patch ?? []) : mapProblem(patch ?? {});
  if (problem !== null) throw badRequest(`${prefix}json: cannot unmarshal ${problem}`);
  if (type !== 'json') return patch ?? {};
  const operations = (patch ?? []) as readonly unknown[];
  if (operations.length > OPERATIONS_MAX) {
    throw tooLarge(`The allowed maximum operations in a JSON patch is ${OPERATIONS_MAX}, got ${operations.length}`);
  }
  return operations.map((operation) => operation ?? {});
}

function mapProblem(patch: unknown): string | null {
  return isRecord(patch) ? null : `${goKind(patch)} into Go value of type map[string]interface {}`;
}

/** null counts as nothing everywhere. */
function operationsProblem(patch: unknown): string | null {
  if (!Array.isArray(patch)) return `${goKind(patch)} into Go value of type []handlers.jsonPatchOp`;
  for (const operation of patch as unknown[]) {
    if (operation === null) continue;
    if (!isRecord(operation)) return `${goKind(operation)} into Go value of type handlers.jsonPatchOp`;
    for (const field of ['op', 'path', 'from']) {
      const value = operation[field] ?? '';
      if (typeof value !== 'string') return `${goKind(value)} into Go struct field jsonPatchOp.${field} of type string`;
    }
  }
  return null;
}

/** 422 for a patch whose outcome is no valid object. */
export function invalidPatch(shown: string, why: string): ApiError {
  return invalidKind('', '', '', [invalid('patch', shown, why)]);
}

/** A JSON value as Go prints maps: `map[a:1 b:map[c:[d e]]]`. */
export function goMap(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goMap).join(' ')}]`;
  if (value === null) return '<nil>';
  if (!isRecord(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  const entries = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goMap(value[key])}`);
  return `map[${entries.join(' ')}]`;
}

/**
 * Applies a patch that `readPatch` has returned. `target` stays as it is.
 * @throws ApiError 422 or 500
 */
export function applyPatch(resource: Resource, target: Json, type: PatchType, patch: unknown): Json {
  if (type === 'json') return jsonPatch(target, patch as readonly Operation[]);
  if (type === 'merge') return mergePatch(target, patch) as Json;
  const message = messageOf(resource.apiVersion, resource.kind)!;
  const merged = strategicPatch(target, patch, message) as Json;
  try {
    return fromMap(message, merged, target);
  } catch (error) {
    if (error instanceof JsonTypeError) throw invalidPatch(goMap(patch), error.message);
    throw error;
  }
}

/** RFC 7386. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Json = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setKey(merged, key, mergePatch(ownValue(merged, key), value));
  }
  return merged;
}

/**
 * A strategic merge patch. It works as a merge patch, but lists of objects merge by a key, and directives (keys with a
 * dollar) ask for more. @param message the type of target and patch; undefined = the tables do not know the type
 */
function strategicPatch(target: unknown, patch: unknown, message: Message | undefined): unknown {
  if (!isRecord(patch)) return patch;
  const { $patch: directive = 'merge', ...rest } = patch;
  if (directive === 'delete') return {};
  if (directive === 'replace') return rest;
  if (directive !== 'merge') throw unknownDirective(patch);
  const merged: Json = isRecord(target) ? { ...target } : {};
  const retained = patch['$retainKeys'];
  if (Array.isArray(retained)) {
    for (const key of Object.keys(merged)) if (!retained.includes(key)) delete merged[key];
  }
  sortLists(merged, patch, message);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) {
      if (key.startsWith(DELETE_VALUES)) removeValues(merged, key.slice(DELETE_VALUES.length), value);
      continue;
    }
    if (value === null) {
      delete merged[key];
      continue;
    }
    const field = message?.fields.find(({ name }) => name === key);
    const list = mergeListOf(message, key);
    if (list === undefined || !Array.isArray(value)) {
      const inner = field?.shape === 'one' ? field.message : undefined;
      setKey(merged, key, strategicPatch(ownValue(merged, key), value, inner));
      continue;
    }
    if (ownValue(merged, key) === undefined) {
      merged[key] = withoutDirectives(value, field?.message);
      continue;
    }
    const mergeKey = list['x-kubernetes-patch-merge-key'];
    const before = listAt(merged, key);
    checkSameTypes(before, value);
    merged[key] =
      mergeKey === undefined
        ? inOrder([...new Set([...before, ...value])], orderOf(patch, key, value), before, (item) => item)
        : mergeList(records(before), records(value), mergeKey, field?.message, orderOf(patch, key, value));
  }
  return merged;
}

function mergeListOf(message: Message | undefined, key: string): MergeList | undefined {
  return message === undefined ? undefined : MERGE_LISTS[message.name]?.[key];
}

/** Sorts the lists of which the patch has an order and no items. Their items stay as they are. */
function sortLists(merged: Json, patch: Json, message: Message | undefined): void {
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(ORDER) || !Array.isArray(order)) continue;
    const key = directive.slice(ORDER.length);
    const list = mergeListOf(message, key);
    const before = listAt(merged, key);
    if (list === undefined || before.length === 0 || Object.hasOwn(patch, key)) continue;
    const mergeKey = list['x-kubernetes-patch-merge-key'];
    merged[key] =
      mergeKey === undefined
        ? inOrder(before, order, before, (item) => item)
        : inOrder(records(before), records(order), records(before), (item) => item[mergeKey]);
  }
}

/** A list that the target does not have. It is taken as it is, and keys are not looked at. */
function withoutDirectives(list: readonly unknown[], message: Message | undefined): unknown[] {
  return list
    .filter((item) => !isRecord(item) || (item['$patch'] !== 'delete' && item['$patch'] !== 'replace'))
    .map((item) => strategicPatch({}, item, message));
}

function unknownDirective(patch: Json): Error {
  return internalError(`unknown patch type: ${goMap(patch['$patch'])} in map: ${goMap(patch)}`);
}

const ORDER = '$setElementOrder/';
const DELETE_VALUES = '$deleteFromPrimitiveList/';

function removeValues(merged: Json, key: string, values: unknown): void {
  if (Array.isArray(values)) merged[key] = listAt(merged, key).filter((value) => !values.includes(value));
}

/** The own property of that name: `__proto__` is a name as any other here. */
function ownValue(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function listAt(object: Json, key: string): readonly unknown[] {
  const value = ownValue(object, key);
  return Array.isArray(value) ? value : [];
}

/** Lists whose items have different types do not merge. @throws ApiError 500 */
function checkSameTypes(...lists: readonly (readonly unknown[])[]): void {
  if (new Set(lists.flat().map(goKindOf)).size > 1) {
    throw internalError(`list element types are not identical: ${goMap(lists)}`);
  }
}

function records(list: readonly unknown[]): readonly Json[] {
  if (list.every(isRecord)) return list;
  throw badRequest('unable to read a list whose items are no objects');
}

function mergeList(
  target: readonly Json[],
  patch: readonly Json[],
  mergeKey: string,
  message: Message | undefined,
  order: readonly unknown[],
): Json[] {
  if (patch.some((item) => item['$patch'] === 'replace')) return patch.filter((item) => item['$patch'] === undefined);
  const keyOf = (item: Json): unknown => item[mergeKey];
  const keyless = patch.find((item) => keyOf(item) === undefined);
  if (keyless !== undefined) {
    throw internalError(`map: ${goMap(keyless)} does not contain declared merge key: ${mergeKey}`);
  }
  const isDelete = (item: Json): boolean => item['$patch'] === 'delete';
  const deleted = new Set(patch.filter(isDelete).map(keyOf));
  // Several items may have the same key, such as ports of two protocols. All of them go, before others come.
  const kept = target.filter((item) => !deleted.has(keyOf(item)));
  const merged = [...kept];
  for (const item of patch) {
    if (isDelete(item)) continue;
    const at = merged.findIndex((other) => keyOf(other) === keyOf(item));
    if (at >= 0) merged[at] = strategicPatch(merged[at], item, message) as Json;
    else merged.push(strategicPatch({}, item, message) as Json);
  }
  return inOrder(merged, records(order), kept, keyOf);
}

/** The order that a patch asks for: the order of its directive, else the order of its own items. */
function orderOf(patch: Json, key: string, items: readonly unknown[]): readonly unknown[] {
  const order = patch[`${ORDER}${key}`];
  return Array.isArray(order) ? order : items;
}

/**
 * Sorts a merged list. Items that the patch names come in its order. The other items stay before those that they
 * preceded in the target. So new items come first, as in the server's merge.
 */
function inOrder<T>(merged: readonly T[], order: readonly T[], target: readonly T[], keyOf: (item: T) => unknown): T[] {
  const wanted = firstPlaces(order.map(keyOf));
  const was = firstPlaces(target.map(keyOf));
  const named = merged.filter((item) => wanted.has(keyOf(item)));
  named.sort((left, right) => wanted.get(keyOf(left))! - wanted.get(keyOf(right))!);
  const others = merged.filter((item) => !wanted.has(keyOf(item)));
  const result: T[] = [];
  let next = 0;
  for (const item of named) {
    const place = was.get(keyOf(item)) ?? -1;
    while (next < others.length && was.get(keyOf(others[next]!))! < place) {
      result.push(others[next++]!);
    }
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

/** Where each key comes first. */
function firstPlaces(keys: readonly unknown[]): ReadonlyMap<unknown, number> {
  const places = new Map<unknown, number>();
  for (const [at, key] of keys.entries()) if (!places.has(key)) places.set(key, at);
  return places;
}

const OPERATIONS_MAX = 10_000;
/** Of all that a JSON patch copies, as the real server. */
const COPIED_BYTES_MAX = 3 * 1024 * 1024;

interface Operation extends Json {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** RFC 6902. */
function jsonPatch(target: Json, patch: readonly Operation[]): Json {
  const holder: Json = { root: structuredClone(target) };
  let copied = 0;
  for (const operation of patch) {
    const path = pointer(operation.path);
    if (operation.op === 'add' && path.length === 1) throw rejected();
    switch (operation.op) {
      case 'add':
        addAt(holder, path, structuredClone(operation.value ?? null));
        break;
      case 'replace':
        // The server adds a field that the object does not have yet.
        if (path.length > 1 && !isRecord(valueAt(holder, path.slice(0, -1)))) removeAt(holder, path);
        addAt(holder, path, structuredClone(operation.value ?? null));
        break;
      case 'remove':
        removeAt(holder, path);
        break;
      case 'move':
        addAt(holder, path, removeAt(holder, pointer(operation.from)));
        break;
      case 'copy': {
        const value = valueAt(holder, pointer(operation.from));
        copied += JSON.stringify(value).length;
        if (copied > COPIED_BYTES_MAX) throw rejected();
        addAt(holder, path, structuredClone(value));
        break;
      }
      case 'test':
        if (!equal(testedAt(holder, path), operation.value ?? null)) throw rejected();
        break;
      default:
        throw rejected();
    }
  }
  const { root } = holder;
  if (!isRecord(root)) throw rejected();
  return root;
}

function pointer(path: unknown): readonly string[] {
  if (typeof path !== 'string' || (path !== '' && !path.startsWith('/'))) {
    throw rejected();
  }
  return [
    'root',
    ...path
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')),
  ];
}

function valueAt(holder: Json, path: readonly string[]): unknown {
  let value: unknown = holder;
  for (const step of path) {
    if (Array.isArray(value)) value = (value as unknown[])[itemAt(value, step)];
    else if (isRecord(value) && Object.hasOwn(value, step)) value = value[step];
    else throw rejected();
  }
  return value;
}

/** The index of a step into a list; negative ones count from its end. @throws ApiError 422 if there is no such item */
function itemAt({ length }: readonly unknown[], step: string, most = length - 1): number {
  if (!/^[+-]?\d+$/.test(step)) throw rejected();
  const given = Number(step);
  const at = given < 0 ? given + most + 1 : given;
  if (at < 0 || at > most) throw rejected();
  return at;
}

/** A field that the object does not have counts as null in a test. */
function testedAt(holder: Json, path: readonly string[]): unknown {
  const parent = valueAt(holder, path.slice(0, -1));
  return isRecord(parent) && !Object.hasOwn(parent, path.at(-1)!) ? null : valueAt(holder, path);
}

function addAt(holder: Json, path: readonly string[], value: unknown): void {
  const parent = valueAt(holder, path.slice(0, -1));
  const step = path.at(-1)!;
  if (Array.isArray(parent)) {
    parent.splice(step === '-' ? parent.length : itemAt(parent, step, parent.length), 0, value);
  } else if (isRecord(parent)) {
    setKey(parent, step, value);
  } else {
    throw rejected();
  }
}

function removeAt(holder: Json, path: readonly string[]): unknown {
  const value = valueAt(holder, path);
  const parent = valueAt(holder, path.slice(0, -1)) as Json | unknown[];
  if (Array.isArray(parent)) parent.splice(itemAt(parent, path.at(-1)!), 1);
  else delete parent[path.at(-1)!];
  return value;
}

/** The server has one message for everything that is wrong with an operation. */
function rejected(): ApiError {
  return new ApiError(failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {}));
}
