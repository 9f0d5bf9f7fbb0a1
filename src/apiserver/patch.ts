import { setKey } from '../kube/labels.ts';
import { messageOf } from '../kube/schema.ts';
import type { Message } from '../kube/schema.ts';
import { badRequest, unsupportedMediaType } from './api-error.ts';
import { MERGE_LISTS } from './merge-lists.ts';
import { equal } from './object.ts';
import type { Resource } from './resource.ts';

type Json = Record<string, unknown>;

/**
 * Applies a patch of one of the three kinds that name their changes; `target` stays as it is.
 * @throws ApiError 400 or 415
 */
export function applyPatch(resource: Resource, target: Json, contentType: string, patch: unknown): Json {
  switch (contentType) {
    case 'application/merge-patch+json':
      return mergePatch(target, patch) as Json;
    case 'application/strategic-merge-patch+json':
      return strategicPatch(target, patch, messageOf(resource.apiVersion, resource.kind)) as Json;
    case 'application/json-patch+json':
      return jsonPatch(target, patch);
    default:
      throw unsupportedMediaType();
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
 * A strategic merge patch: as a merge patch, but lists of objects merge by a key, and directives (keys with a dollar)
 * tell what else is to happen. @param message the type of target and patch; undefined = the tables do not know it
 */
function strategicPatch(target: unknown, patch: unknown, message: Message | undefined): unknown {
  if (!isRecord(patch)) return patch;
  if (patch['$patch'] === 'delete') return {};
  if (patch['$patch'] === 'replace') {
    const { $patch: _, ...rest } = patch;
    return rest;
  }
  const merged: Json = isRecord(target) ? { ...target } : {};
  const retained = patch['$retainKeys'];
  if (Array.isArray(retained)) {
    for (const key of Object.keys(merged)) if (!retained.includes(key)) delete merged[key];
  }
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
    const list = message === undefined ? undefined : MERGE_LISTS[message.name]?.[key];
    if (list === undefined || !Array.isArray(value)) {
      const inner = field?.shape === 'one' ? field.message : undefined;
      setKey(merged, key, strategicPatch(ownValue(merged, key), value, inner));
      continue;
    }
    const mergeKey = list['x-kubernetes-patch-merge-key'];
    const before = listAt(merged, key);
    merged[key] =
      mergeKey === undefined
        ? [...new Set([...before, ...value])]
        : mergeList(records(before), records(value), mergeKey, field?.message, patch[`${ORDER}${key}`]);
  }
  return merged;
}

const ORDER = '$setElementOrder/';
const DELETE_VALUES = '$deleteFromPrimitiveList/';

function removeValues(merged: Json, key: string, values: unknown): void {
  if (Array.isArray(values)) merged[key] = listAt(merged, key).filter((value) => !values.includes(value));
}

/** `__proto__` is a name like any other here. */
function ownValue(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function listAt(object: Json, key: string): readonly unknown[] {
  const value = ownValue(object, key);
  return Array.isArray(value) ? value : [];
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
  order: unknown,
): Json[] {
  if (patch.some((item) => item['$patch'] === 'replace')) return patch.filter((item) => item['$patch'] === undefined);
  const merged = [...target];
  for (const item of patch) {
    const at = merged.findIndex((other) => other[mergeKey] === item[mergeKey]);
    if (item['$patch'] === 'delete') {
      if (at >= 0) merged.splice(at, 1);
    } else if (at >= 0) {
      merged[at] = strategicPatch(merged[at], item, message) as Json;
    } else {
      merged.push(strategicPatch({}, item, message) as Json);
    }
  }
  return Array.isArray(order) ? inOrder(merged, records(order), target, mergeKey) : merged;
}

/**
 * Items that the client names go in its order. The others keep their place before those that they were before in the
 * target, as the server's merge does it.
 */
function inOrder(merged: readonly Json[], order: readonly Json[], target: readonly Json[], mergeKey: string): Json[] {
  const wanted = new Map(order.map((item, at) => [item[mergeKey], at]));
  const was = new Map(target.map((item, at) => [item[mergeKey], at]));
  const named = merged.filter((item) => wanted.has(item[mergeKey]));
  named.sort((left, right) => wanted.get(left[mergeKey])! - wanted.get(right[mergeKey])!);
  const others = merged.filter((item) => !wanted.has(item[mergeKey]));
  const result: Json[] = [];
  let next = 0;
  for (const item of named) {
    const place = was.get(item[mergeKey]) ?? -1;
    while (next < others.length && was.get(others[next]![mergeKey])! < place) {
      result.push(others[next++]!);
    }
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

const OPERATIONS_MAX = 10_000;

interface Operation extends Json {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** RFC 6902. */
function jsonPatch(target: Json, patch: unknown): Json {
  if (!Array.isArray(patch)) throw badRequest('json patch: expected a list of operations');
  if (patch.length > OPERATIONS_MAX) throw badRequest(`json patch: more than ${OPERATIONS_MAX} operations`);
  const holder: Json = { root: structuredClone(target) };
  for (const operation of records(patch) as readonly Operation[]) {
    const path = pointer(operation.path);
    switch (operation.op) {
      case 'add':
        addAt(holder, path, structuredClone(operation.value));
        break;
      case 'replace':
        removeAt(holder, path);
        addAt(holder, path, structuredClone(operation.value));
        break;
      case 'remove':
        removeAt(holder, path);
        break;
      case 'move':
        addAt(holder, path, removeAt(holder, pointer(operation.from)));
        break;
      case 'copy':
        addAt(holder, path, structuredClone(valueAt(holder, pointer(operation.from))));
        break;
      case 'test':
        if (!equal(valueAt(holder, path), operation.value))
          throw badRequest(`json patch: test failed: ${String(operation.path)}`);
        break;
      default:
        throw badRequest(`json patch: unexpected op ${JSON.stringify(operation.op)}`);
    }
  }
  return holder['root'] as Json;
}

function pointer(path: unknown): readonly string[] {
  if (typeof path !== 'string' || (path !== '' && !path.startsWith('/'))) {
    throw badRequest(`json patch: bad path ${JSON.stringify(path)}`);
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
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) throw missing(path);
    value = (value as Json)[step];
  }
  return value;
}

function addAt(holder: Json, path: readonly string[], value: unknown): void {
  const parent = valueAt(holder, path.slice(0, -1));
  const step = path.at(-1)!;
  if (Array.isArray(parent)) {
    const at = step === '-' ? parent.length : Number(step);
    if (!Number.isInteger(at) || at < 0 || at > parent.length) throw missing(path);
    parent.splice(at, 0, value);
  } else if (isRecord(parent)) {
    setKey(parent, step, value);
  } else {
    throw missing(path);
  }
}

function removeAt(holder: Json, path: readonly string[]): unknown {
  const value = valueAt(holder, path);
  const parent = valueAt(holder, path.slice(0, -1)) as Json | unknown[];
  if (Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1);
  else delete parent[path.at(-1)!];
  return value;
}

function missing(path: readonly string[]): Error {
  return badRequest(`json patch: no such path: /${path.slice(1).join('/')}`);
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
