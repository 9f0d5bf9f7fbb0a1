import { setKey } from '../kube/labels.ts';
import { badRequest, unsupportedMediaType } from './api-error.ts';
import { equal } from './object.ts';

type Json = Record<string, unknown>;

/**
 * Applies a patch of one of the three kinds that name their changes; `target` stays as it is.
 * @throws ApiError 400 or 415
 */
export function applyPatch(target: Json, contentType: string, patch: unknown): Json {
  switch (contentType) {
    case 'application/merge-patch+json':
      return mergePatch(target, patch) as Json;
    case 'application/strategic-merge-patch+json':
      return strategicPatch(target, patch, '') as Json;
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

/** Lists that merge by a key of their items instead of being replaced (struct tag patchMergeKey). */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  conditions: 'type',
  podIPs: 'ip',
  hostIPs: 'ip',
  containers: 'name',
  initContainers: 'name',
  env: 'name',
  volumes: 'name',
  'containers.ports': 'containerPort',
  'initContainers.ports': 'containerPort',
  'spec.ports': 'port',
  'status.addresses': 'type',
  ownerReferences: 'uid',
};

function strategicPatch(target: unknown, patch: unknown, path: string): unknown {
  if (!isRecord(patch)) return patch;
  if (patch['$patch'] === 'replace') {
    const { $patch: _, ...rest } = patch;
    return rest;
  }
  const merged: Json = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    if (value === null) {
      delete merged[key];
      continue;
    }
    const mergeKey = MERGE_KEYS[`${path}.${key}`] ?? MERGE_KEYS[key];
    if (key === 'finalizers' && Array.isArray(value)) {
      merged[key] = [...new Set([...listAt(merged, key), ...value])];
    } else if (mergeKey !== undefined && Array.isArray(value)) {
      merged[key] = mergeList(records(listAt(merged, key)), records(value), mergeKey, key);
    } else {
      setKey(merged, key, strategicPatch(ownValue(merged, key), value, key));
    }
  }
  return merged;
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

function mergeList(target: readonly Json[], patch: readonly Json[], mergeKey: string, path: string): Json[] {
  if (patch.some((item) => item['$patch'] === 'replace')) return patch.filter((item) => item['$patch'] === undefined);
  const merged = [...target];
  for (const item of patch) {
    const at = merged.findIndex((other) => other[mergeKey] === item[mergeKey]);
    if (item['$patch'] === 'delete') {
      if (at >= 0) merged.splice(at, 1);
    } else if (at >= 0) {
      merged[at] = strategicPatch(merged[at], item, path) as Json;
    } else {
      merged.push(item);
    }
  }
  return merged;
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
