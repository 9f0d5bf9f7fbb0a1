import type { Field, Message } from '../kube/schema.ts';
import { goKind } from './go-json.ts';
import { goType } from './go-types.ts';
import { isInteger, JsonTypeError } from './json-body.ts';
import { isRecord } from './object.ts';

type Json = Record<string, unknown>;

/**
 * Converts the outcome of a strategic patch. The server reads it as a map, not as text. So values of a wrong type have
 * other messages, and whole numbers are cut to the width of their field. A value that `before` has too needs no
 * conversion.
 * @throws JsonTypeError for the first wrong value, in the order of the type's fields
 */
export function fromMap(message: Message, value: Json, before: Json): Json {
  for (const name of ['kind', 'apiVersion']) convertScalar('string', 'string', value[name] ?? '');
  return convertStruct(message, value, before);
}

function convertStruct(message: Message, value: unknown, before: unknown): Json {
  if (!isRecord(value)) throw unfit(`restore struct from: ${goKindOf(value)}`);
  const object = { ...value };
  for (const field of message.fields) {
    const given = object[field.name];
    const was = isRecord(before) ? before[field.name] : undefined;
    if (given === undefined || given === null || given === was) continue;
    object[field.name] = convertField(message, field, given, was);
  }
  return object;
}

function convertField(owner: Message, field: Field, value: unknown, before: unknown): unknown {
  if (field.shape === 'list') {
    if (!Array.isArray(value)) throw unfit(`restore slice from ${goKindOf(value)}`);
    return value.map((item) => convertOne(owner, field, item));
  }
  if (field.shape === 'map') {
    if (!isRecord(value)) throw unfit(`restore map from ${goKindOf(value)}`);
    // fromEntries makes own properties of all names, also of `__proto__`.
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convertOne(owner, field, item)]));
  }
  return convertOne(owner, field, value, before);
}

/**
 * null is the zero value of every type. A type that reads itself from JSON is only converted here if JSON has no field
 * for it.
 */
function convertOne(owner: Message, field: Field, value: unknown, before?: unknown): unknown {
  if (value === null) return null;
  switch (field.type) {
    case 'message':
      return convertStruct(field.message!, value, before);
    case 'string':
    case 'bool':
    case 'int32':
    case 'int64':
      return convertScalar(field.type, goType(owner, field), value);
    case 'IntOrString':
      if (typeof value !== 'string' && !isInteger(value, 32)) throw unreadable(value, 'int32');
      return value;
    case 'Time':
    case 'MicroTime':
      if (typeof value !== 'string') throw unreadable(value, 'string');
      return value;
    case 'Quantity':
    case 'skip':
      return value;
  }
}

function convertScalar(type: 'string' | 'bool' | 'int32' | 'int64', named: string, value: unknown): unknown {
  const kind = goKindOf(value);
  if (kind === type) return value;
  if (type === 'string' && kind === 'int64') throw unfit(`convert int64 to ${named}`);
  if (type === 'int32' || type === 'int64') {
    if (kind === 'int64') return type === 'int32' ? (value as number) | 0 : value;
    if (kind === 'float64') throw unfit(`convert float64 to ${named}`);
  }
  throw new JsonTypeError(`unrecognized type: ${type}`);
}

/** The kind of Go value that holds a JSON value in a map. */
export function goKindOf(value: unknown): string {
  if (Array.isArray(value)) return 'slice';
  if (typeof value === 'number') return isInteger(value, 64) ? 'int64' : 'float64';
  if (typeof value === 'object') return value === null ? 'nil' : 'map';
  return typeof value === 'boolean' ? 'bool' : 'string';
}

/** The error of a type that reads itself: it does not name the field. */
function unreadable(value: unknown, type: 'int32' | 'string'): JsonTypeError {
  const given = typeof value === 'number' && type === 'int32' ? `number ${value}` : goKind(value);
  return new JsonTypeError(`json: cannot unmarshal ${given} into Go value of type ${type}`);
}

function unfit(what: string): JsonTypeError {
  return new JsonTypeError(`cannot ${what}`);
}
