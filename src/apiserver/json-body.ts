import { setKey } from '../kube/labels.ts';
import type { Field, Message } from '../kube/schema.ts';
import { goKind } from './go-json.ts';
import { isRecord } from './object.ts';
import { goMapType, goName, goType } from './go-types.ts';
import { parseQuantity, QuantityError } from './quantity.ts';
import { formatMicroTime, formatTime, parseMicroTime } from '../kube/time.ts';

/** A JSON value does not fit the type of its field. The message is in the words of Go's decoder. */
export class JsonTypeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JsonTypeError';
  }
}

type Json = Record<string, unknown>;

/**
 * A new object that is as `value` would be after storage. Unknown fields are dropped, and their paths go to `unknown`.
 * Nulls, empty lists and maps are dropped, and so are zero values of fields that are no pointers. Parts that the tables
 * skip stay as they were sent.
 * @throws JsonTypeError
 */
export function normaliseJson(message: Message, value: unknown, unknown: string[]): Json {
  const context: Context = { owner: message, unknown, unfit: null };
  const object = readMessage(context, message, value, '');
  if (context.unfit !== null) throw context.unfit;
  return object;
}

interface Context {
  /** The message that has the current field. */
  owner: Message;
  readonly unknown: string[];
  /** The first value of a wrong type. The server reads on, because an error that stops reading is reported first. */
  unfit: JsonTypeError | null;
}

function readMessage(context: Context, message: Message, value: unknown, path: string): Json {
  if (!isRecord(value)) {
    note(context, value, path, `v1.${goName(message)}`);
    return {};
  }
  const object: Json = {};
  const fields = fieldsOf(message);
  for (const name in value) {
    const given = value[name];
    const field = fields.get(name);
    const fieldPath = path === '' ? name : `${path}.${name}`;
    if (field === undefined) {
      if (path !== '' || (name !== 'kind' && name !== 'apiVersion')) context.unknown.push(fieldPath);
      continue;
    }
    if (given === null || name === 'managedFields') continue;
    context.owner = message;
    const read = readField(context, field, given, fieldPath);
    if (read !== undefined) object[name] = read;
  }
  for (const field of message.fields) {
    if (field.required && object[field.name] === undefined) object[field.name] = zeroOf(field);
  }
  return object;
}

/** undefined = the field counts as absent. */
function readField(context: Context, field: Field, value: unknown, path: string): unknown {
  if (field.type === 'skip') return structuredClone(value);
  const { owner } = context;
  if (field.shape === 'list') {
    if (!Array.isArray(value)) return note(context, value, path, `[]${goType(owner, field)}`);
    if (value.length === 0) return undefined;
    return value.map((item, at) => {
      context.owner = owner;
      // null in a list of texts is an empty text.
      return readOne(context, field, item ?? (field.type === 'string' ? '' : item), `${path}[${at}]`);
    });
  }
  if (field.shape === 'map') {
    if (!isRecord(value)) return note(context, value, path, goMapType(owner, field));
    const map: Json = {};
    for (const key of Object.keys(value)) {
      context.owner = owner;
      setKey(map, key, readOne(context, field, value[key] ?? (field.type === 'string' ? '' : undefined), path));
    }
    return Object.keys(map).length === 0 ? undefined : map;
  }
  const read = readOne(context, field, value, path);
  const zero = read === '' || read === 0 || read === false;
  return zero && !field.pointer && field.type !== 'IntOrString' ? undefined : read;
}

function readOne(context: Context, field: Field, value: unknown, path: string): unknown {
  switch (field.type) {
    case 'message':
      return readMessage(context, field.message!, value ?? {}, path);
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'bool':
      if (typeof value === 'boolean') return value;
      break;
    case 'int32':
    case 'int64':
      if (isInteger(value, field.type === 'int32' ? 32 : 64)) return value;
      break;
    case 'Quantity':
      return readQuantity(value);
    case 'IntOrString':
      if (typeof value === 'string' || isInteger(value, 32)) return value;
      return note(context, value, path, 'int32');
    case 'Time':
    case 'MicroTime': {
      if (typeof value !== 'string') throw mismatch(context, value, path, 'string');
      const exact = field.type === 'Time' || MICRO_TIME.test(value);
      const time = exact ? parseMicroTime(value) : null;
      if (time === null) {
        const layout = field.type === 'Time' ? '2006-01-02T15:04:05Z07:00' : '2006-01-02T15:04:05.000000Z07:00';
        throw new JsonTypeError(timeProblem(value, layout));
      }
      return field.type === 'Time' ? formatTime(time.seconds) : formatMicroTime(time.seconds, time.nanos);
    }
    case 'skip':
      return value;
  }
  return note(context, value, path, goType(context.owner, field));
}

export function isInteger(value: unknown, bits: 32 | 64): value is number {
  const bound = 2 ** (bits - 1);
  return Number.isInteger(value) && (value as number) >= -bound && (value as number) < bound;
}

/** An absent value is an empty text. A value that is neither text nor number is read as it is written. */
function readQuantity(value: unknown): string {
  try {
    return value === undefined ? '0' : parseQuantity(typeof value === 'string' ? value : JSON.stringify(value)).text;
  } catch (error) {
    if (error instanceof QuantityError) throw new JsonTypeError(error.message);
    throw error;
  }
}

function timeProblem(value: string, layout: string): string {
  const month = /^[0-9]{4}-([0-9]{2})-/.exec(value)?.[1];
  if (month !== undefined && (month === '00' || Number(month) > 12)) {
    return `parsing time ${JSON.stringify(value)}: month out of range`;
  }
  const part = /^[0-9]{4}/.test(value) ? '' : ` ${JSON.stringify(value)} as "2006"`;
  return `parsing time ${JSON.stringify(value)} as ${JSON.stringify(layout)}: cannot parse${part}`;
}

/** Go's layout of these fields requires all six digits. */
const MICRO_TIME = /\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$/;

function note(context: Context, value: unknown, path: string, expected: string): undefined {
  context.unfit ??= mismatch(context, value, path, expected);
}

function mismatch(context: Context, value: unknown, path: string, expected: string): JsonTypeError {
  const unfit = typeof value === 'number' && expected.startsWith('int');
  const kind = goKind(value);
  const field = path.replaceAll(/\[[0-9]+\]/g, '');
  return new JsonTypeError(
    `json: cannot unmarshal ${unfit ? `number ${value}` : kind} into Go struct field ${goName(context.owner)}.${field} of type ${expected}`,
  );
}

function zeroOf(field: Field): unknown {
  if (field.shape === 'list') return [];
  if (field.shape === 'map' || field.type === 'message') return {};
  if (field.type === 'bool') return false;
  return field.type === 'int32' || field.type === 'int64' ? 0 : '';
}

const byName = new WeakMap<Message, ReadonlyMap<string, Field>>();

function fieldsOf(message: Message): ReadonlyMap<string, Field> {
  let fields = byName.get(message);
  if (fields === undefined) {
    fields = new Map(message.fields.map((field) => [field.name, field]));
    byName.set(message, fields);
  }
  return fields;
}
