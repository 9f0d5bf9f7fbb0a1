/**
 * Turns whole API objects from their JSON shape into protobuf and back, driven by the tables of `schema.ts`.
 *
 * Reading gives what the server's JSON would show. Zero values of plain fields are left out, zero values of pointers
 * stay, maps are records, and times are RFC 3339 text. Writing writes zero values of plain fields, as Go does
 * (docs/spec/wire.md "Encoding"). It ignores properties that the schema does not know.
 */
import { latin1, utf8 } from '../lib/bytes-text.ts';
import { parseErrorText } from '../lib/parse-error.ts';
import { prependPlainAddress } from './endpoint-address.ts';
import { setKey } from './labels.ts';
import { prependList, rememberLists, type EncodingLists } from './encoded-lists.ts';
import {
  createReader,
  createWriter,
  lengthOf,
  DecodeError,
  prependBytes,
  prependInt,
  prependString,
  prependText,
  prependVarint,
  rangeSpells,
  readBool,
  readInt32,
  readInt64,
  readLength,
  readTag,
  readUtf8,
  skipField,
  takeScratch,
  writtenBytes,
  type ProtoReader,
  type ProtoWriter,
} from './protobuf.ts';
import { messageNamed, messageOf, type Field, type Message } from './schema.ts';
import { tagOf } from './tags.ts';
import { formatMicroTime, formatTime, parseMicroTime, TIME_SECONDS_MAX, TIME_SECONDS_MIN } from './time.ts';
import type { KubeObject } from './types.ts';

/** An object cannot be written. The message names the message type and the field. */
export class EncodeError extends Error {
  /** The message type and its field, such as `EndpointAddress.ip`. It has no text of the object, as the message has. */
  readonly field: string;

  constructor(message: string, field = 'kind') {
    super(message);
    this.name = 'EncodeError';
    this.field = field;
  }
}

const ENTRY_KEY = tagOf('MapEntry', 'key');
const ENTRY_VALUE = tagOf('MapEntry', 'value');
const TIME_SECONDS = tagOf('Time', 'seconds');
const TIME_NANOS = tagOf('Time', 'nanos');
const INT_OR_STRING_TYPE = tagOf('IntOrString', 'type');
const INT_OR_STRING_INT = tagOf('IntOrString', 'intVal');
const INT_OR_STRING_TEXT = tagOf('IntOrString', 'strVal');
const QUANTITY_STRING = tagOf('Quantity', 'string');
const TYPE_API_VERSION = tagOf('TypeMeta', 'apiVersion');
const TYPE_KIND = tagOf('TypeMeta', 'kind');
const UNKNOWN_TYPE = tagOf('Unknown', 'typeMeta');
const UNKNOWN_RAW = tagOf('Unknown', 'raw');
const UNKNOWN_CONTENT_ENCODING = tagOf('Unknown', 'contentEncoding');
const UNKNOWN_CONTENT_TYPE = tagOf('Unknown', 'contentType');
/** The same in every list. */
const LIST_METADATA = tagOf('PodList', 'metadata');
const LIST_ITEMS = tagOf('PodList', 'items');

const ENDPOINT_ADDRESS = messageNamed('EndpointAddress');
const LIST_META = messageNamed('ListMeta');

type JsonObject = Record<string, unknown>;

/** Fields that a decode met and that its tables do not have. */
export interface UnknownFields {
  count: number;
  /** The first few different ones, such as `EndpointAddress.9`. */
  readonly fields: string[];
}

const UNKNOWN_FIELDS_MAX = 8;

export function createUnknownFields(): UnknownFields {
  return { count: 0, fields: [] };
}

/** @throws DecodeError */
export function decodeMessage(
  message: Message,
  bytes: Uint8Array,
  start = 0,
  end = bytes.length,
  unknown?: UnknownFields,
): JsonObject {
  return readMessage(message, createReader(bytes, start, end), unknown);
}

function readMessage(message: Message, reader: ProtoReader, unknown: UnknownFields | undefined): JsonObject {
  const object: JsonObject = {};
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    const field = message.byNumber[tag >>> 3];
    if (field === undefined) {
      if (unknown !== undefined) noteUnknown(unknown, `${message.name}.${tag >>> 3}`);
      skipField(reader, tag);
    } else if (field.type === 'skip') {
      skipField(reader, tag);
    } else {
      readField(message, field, tag, reader, object, unknown);
    }
  }
  for (const field of message.required) {
    if (object[field.name] === undefined) object[field.name] = zeroOf(field);
  }
  return object;
}

function noteUnknown(unknown: UnknownFields, field: string): void {
  unknown.count++;
  if (unknown.fields.length < UNKNOWN_FIELDS_MAX && !unknown.fields.includes(field)) unknown.fields.push(field);
}

function readField(
  message: Message,
  field: Field,
  tag: number,
  reader: ProtoReader,
  object: JsonObject,
  unknown: UnknownFields | undefined,
): void {
  if (tag !== field.tag) {
    throw new DecodeError(`${message.name}.${field.name}: wire type ${tag & 7}`, reader.position);
  }
  if (field.shape === 'map') {
    const map = (object[field.name] ??= {}) as JsonObject;
    readMapEntry(field, reader, map, unknown);
    return;
  }
  const value = readValue(message, field, reader, unknown);
  if (field.shape === 'list') {
    const list = object[field.name] as unknown[] | undefined;
    if (list === undefined) object[field.name] = [value];
    else list.push(value);
  } else if (field.pointer || field.type === 'IntOrString' || !isZero(value)) {
    // A zero Time reads as undefined, because nil and zero are the same in JSON.
    if (value !== undefined) object[field.name] = value;
  } else if (object[field.name] !== undefined) {
    // If a field comes twice, the last one counts.
    delete object[field.name];
  }
}

function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false || value === undefined;
}

function readMapEntry(field: Field, reader: ProtoReader, map: JsonObject, unknown: UnknownFields | undefined): void {
  const outer = reader.end;
  reader.end = readLength(reader);
  let key = '';
  let value: unknown = '';
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === ENTRY_KEY) key = readUtf8(reader);
    else if (tag === ENTRY_VALUE) {
      value = field.type === 'Quantity' ? readWrapped(reader, readQuantity, unknown) : readUtf8(reader);
    } else skipField(reader, tag);
  }
  reader.end = outer;
  setKey(map, key, value);
}

function readValue(message: Message, field: Field, reader: ProtoReader, unknown: UnknownFields | undefined): unknown {
  switch (field.type) {
    case 'string': {
      return readUtf8(reader);
    }
    case 'bool': {
      return readBool(reader);
    }
    case 'int32': {
      return readInt32(reader);
    }
    case 'int64': {
      return readInt64(reader);
    }
    case 'Time': {
      return readWrapped(reader, readTimeText, unknown);
    }
    case 'MicroTime': {
      return readWrapped(reader, readMicroTimeText, unknown);
    }
    case 'IntOrString': {
      return readWrapped(reader, readIntOrStringBody, unknown);
    }
    case 'Quantity': {
      return readWrapped(reader, readQuantity, unknown);
    }
    case 'message': {
      const outer = reader.end;
      reader.end = readLength(reader);
      const value = readMessage(field.message!, reader, unknown);
      reader.end = outer;
      return value;
    }
    case 'skip': {
      throw new Error(`assertion failed: ${message.name}.${field.name} is skipped`);
    }
  }
}

/** Reads a length-delimited message with `read`, which must consume all of it. */
function readWrapped<T>(
  reader: ProtoReader,
  read: (reader: ProtoReader, unknown: UnknownFields | undefined) => T,
  unknown: UnknownFields | undefined,
): T {
  const outer = reader.end;
  reader.end = readLength(reader);
  const value = read(reader, unknown);
  reader.end = outer;
  return value;
}

/** The seconds of a Time message that fills the reader; undefined = the message is empty, which is Go's zero time. */
export function readTimeSeconds(reader: ProtoReader): number | undefined {
  if (reader.position >= reader.end) return undefined;
  let seconds = 0;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return seconds;
    if (tag === TIME_SECONDS) seconds = readInt64(reader);
    else skipField(reader, tag);
  }
}

function readTimeText(reader: ProtoReader): string | undefined {
  const at = reader.position;
  const seconds = readTimeSeconds(reader);
  if (seconds === undefined || seconds === TIME_SECONDS_MIN) return undefined;
  checkTime(seconds, at);
  return formatTime(seconds);
}

function readMicroTimeText(reader: ProtoReader): string | undefined {
  const at = reader.position;
  if (at >= reader.end) return undefined;
  let seconds = 0;
  let nanos = 0;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === TIME_SECONDS) seconds = readInt64(reader);
    else if (tag === TIME_NANOS) nanos = readInt32(reader);
    else skipField(reader, tag);
  }
  checkTime(seconds, at);
  if (nanos < 0 || nanos > 999_999_999) throw new DecodeError(`time out of range: ${nanos} nanoseconds`, at);
  return formatMicroTime(seconds, nanos);
}

function checkTime(seconds: number, at: number): void {
  if (seconds < TIME_SECONDS_MIN || seconds > TIME_SECONDS_MAX) {
    throw new DecodeError(`time out of range: ${seconds} seconds`, at);
  }
}

/** An IntOrString message that fills the reader. */
export function readIntOrStringBody(reader: ProtoReader): number | string {
  let type = 0;
  let int = 0;
  let text = '';
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return type === 1 ? text : int;
    if (tag === INT_OR_STRING_TYPE) type = readInt64(reader);
    else if (tag === INT_OR_STRING_INT) int = readInt32(reader);
    else if (tag === INT_OR_STRING_TEXT) text = readUtf8(reader);
    else skipField(reader, tag);
  }
}

function readQuantity(reader: ProtoReader): string {
  let text = '';
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return text;
    if (tag === QUANTITY_STRING) text = readUtf8(reader);
    else skipField(reader, tag);
  }
}

function zeroOf(field: Field): unknown {
  if (field.shape === 'list') return [];
  if (field.shape === 'map') return {};
  if (field.type === 'bool') return false;
  if (field.type === 'int32' || field.type === 'int64') return 0;
  return field.type === 'message' ? {} : '';
}

/** @throws EncodeError when a property does not have the type of its field. */
export function encodeMessage(message: Message, object: object): Uint8Array {
  const writer = takeScratch();
  prependMessage(writer, message, object as JsonObject);
  return writtenBytes(writer);
}

/** What an encoding may copy from an earlier encoding of the same object. */
interface Again extends EncodingLists {
  /** The earlier state of what is being encoded. */
  readonly before: unknown;
}

function prependMessage(writer: ProtoWriter, message: Message, object: JsonObject, again?: Again): void {
  const before = again !== undefined && isObject(again.before) ? again.before : undefined;
  for (let i = message.fields.length - 1; i >= 0; i--) {
    const field = message.fields[i]!;
    if (field.type === 'skip') continue;
    const value = object[field.name];
    if (field.shape === 'one') {
      prependField(writer, message, field, value);
      continue;
    }
    if (value === undefined || value === null) continue;
    if (field.shape === 'list') {
      if (!Array.isArray(value)) throw wrongType(message, field, 'a list', value);
      if (again === undefined || field.type !== 'message') {
        for (let j = value.length - 1; j >= 0; j--) prependItem(writer, message, field, value[j]);
      } else prependListAgain(writer, message, field, value, { ...again, before: before?.[field.name] });
    } else {
      if (!isObject(value)) throw wrongType(message, field, 'a map', value);
      prependMap(writer, message, field, value);
    }
  }
}

function prependListAgain(
  writer: ProtoWriter,
  message: Message,
  field: Field,
  items: readonly object[],
  again: Again,
): void {
  // Lists within the items, such as the addresses of subsets, are encoded again in the same way. Items are matched by
  // their index.
  const olds = Array.isArray(again.before) ? again.before : [];
  const hasLists = field.message!.fields.some(({ shape, type }) => shape === 'list' && type === 'message');
  if (hasLists) {
    for (let i = items.length - 1; i >= 0; i--) {
      prependItem(writer, message, field, items[i], { ...again, before: olds[i] });
    }
  } else prependList(writer, again, items, again.before, (item) => prependItem(writer, message, field, item));
}

/**
 * A scalar that is no pointer is written even if it is zero, as Go does. So the server's echo can be compared byte by
 * byte (`sameBeyondMetadata`). Empty messages and times are left out. Go shows them in JSON only if they are set, and
 * `decodeMessage` takes a message that is present for one that is set.
 */
function prependField(writer: ProtoWriter, message: Message, field: Field, value: unknown): void {
  if (value === undefined || value === null) {
    if (!field.pointer) prependZero(writer, field);
  } else if (!field.pointer && isZero(value) && field.type !== 'IntOrString') {
    checkZero(message, field, value);
    prependZero(writer, field);
  } else prependItem(writer, message, field, value);
}

function prependZero(writer: ProtoWriter, field: Field): void {
  const isNumber = field.type === 'bool' || field.type === 'int32' || field.type === 'int64';
  if (!isNumber && field.type !== 'string') return;
  prependVarint(writer, 0);
  prependVarint(writer, field.tag);
}

/** A zero value must have the type of its field, too. */
function checkZero(message: Message, field: Field, value: unknown): void {
  const expected =
    field.type === 'bool' ? 'boolean' : field.type === 'int32' || field.type === 'int64' ? 'number' : 'string';
  if (field.type === 'message' || typeof value !== expected) throw wrongType(message, field, field.type, value);
}

function prependItem(writer: ProtoWriter, message: Message, field: Field, value: unknown, again?: Again): void {
  if (field.type === 'string') {
    if (typeof value !== 'string') throw wrongType(message, field, 'a string', value);
    prependString(writer, field.tag, value);
    return;
  }
  if (field.type === 'bool') {
    if (typeof value !== 'boolean') throw wrongType(message, field, 'a boolean', value);
    prependVarint(writer, value ? 1 : 0);
    prependVarint(writer, field.tag);
    return;
  }
  if (field.type === 'int32' || field.type === 'int64') {
    if (!isInteger(value, field.type)) throw wrongType(message, field, `an ${field.type}`, value);
    prependInt(writer, value);
    prependVarint(writer, field.tag);
    return;
  }
  if (field.message === ENDPOINT_ADDRESS && isObject(value)) {
    if (prependPlainAddress(writer, field.tag, value)) return;
  }
  const from = lengthOf(writer);
  if (field.type === 'message') {
    if (!isObject(value)) throw wrongType(message, field, 'an object', value);
    prependMessage(writer, field.message!, value, again);
  } else if (field.type === 'IntOrString') {
    prependIntOrString(writer, message, field, value);
  } else if (field.type === 'Quantity') {
    prependQuantity(writer, message, field, value);
  } else {
    prependTime(writer, message, field, value);
  }
  prependVarint(writer, lengthOf(writer) - from);
  prependVarint(writer, field.tag);
}

function prependMap(writer: ProtoWriter, message: Message, field: Field, map: JsonObject): void {
  const keys = Object.keys(map).sort();
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i]!;
    const value = map[key];
    const from = lengthOf(writer);
    if (field.type === 'Quantity') {
      prependQuantity(writer, message, field, value);
      prependVarint(writer, lengthOf(writer) - from);
    } else {
      if (typeof value !== 'string') throw wrongType(message, field, `a string at ${JSON.stringify(key)}`, value);
      prependVarint(writer, prependText(writer, value));
    }
    prependVarint(writer, ENTRY_VALUE);
    prependString(writer, ENTRY_KEY, key);
    prependVarint(writer, lengthOf(writer) - from);
    prependVarint(writer, field.tag);
  }
}

function prependTime(writer: ProtoWriter, message: Message, field: Field, value: unknown): void {
  const time = typeof value === 'string' ? parseMicroTime(value) : null;
  if (time === null) throw wrongType(message, field, 'a time in RFC 3339', value);
  if (time.seconds === TIME_SECONDS_MIN && time.nanos === 0) return;
  // Go writes nanoseconds of a Time as 0 and ignores them when reading.
  prependInt(writer, field.type === 'Time' ? 0 : time.nanos);
  prependVarint(writer, TIME_NANOS);
  prependInt(writer, time.seconds);
  prependVarint(writer, TIME_SECONDS);
}

function prependIntOrString(writer: ProtoWriter, message: Message, field: Field, value: unknown): void {
  const isText = typeof value === 'string';
  if (!isText && !isInteger(value, 'int32')) throw wrongType(message, field, 'a number or a string', value);
  prependString(writer, INT_OR_STRING_TEXT, isText ? value : '');
  prependInt(writer, isText ? 0 : value);
  prependVarint(writer, INT_OR_STRING_INT);
  prependVarint(writer, isText ? 1 : 0);
  prependVarint(writer, INT_OR_STRING_TYPE);
}

function prependQuantity(writer: ProtoWriter, message: Message, field: Field, value: unknown): void {
  if (typeof value !== 'string' && typeof value !== 'number') throw wrongType(message, field, 'a quantity', value);
  prependString(writer, QUANTITY_STRING, String(value));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isInteger(value: unknown, type: 'int32' | 'int64'): value is number {
  return type === 'int32' ? (Number(value) | 0) === value : Number.isInteger(value);
}

function wrongType(message: Message, field: Field, expected: string, value: unknown): EncodeError {
  const shown = JSON.stringify(value) ?? String(value);
  const name = `${message.name}.${field.name}`;
  return new EncodeError(`${name}: expected ${expected}, got ${shown.slice(0, 100)}`, name);
}

/** "k8s" and the style byte, in front of every unary body and every watched object. */
const MAGIC = [0x6b, 0x38, 0x73, 0x00] as const;

export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** Where in the bytes the bare message is. */
  readonly raw: { readonly start: number; readonly end: number };
}

/** Whether the bytes begin as an envelope does. */
export function isEnvelope(bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  return end - start >= MAGIC.length && MAGIC.every((byte, i) => bytes[start + i] === byte);
}

/**
 * @param last an earlier envelope. Equal strings are taken from it, so a stream of one kind makes no strings
 * @throws DecodeError
 */
export function decodeEnvelope(bytes: Uint8Array, start = 0, end = bytes.length, last?: Envelope): Envelope {
  if (!isEnvelope(bytes, start, end)) throw new DecodeError('envelope: no k8s magic', start);
  const reader = createReader(bytes, start + MAGIC.length, end);
  let apiVersion = '';
  let kind = '';
  let rawStart = end;
  let rawEnd = end;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === UNKNOWN_TYPE) {
      reader.end = readLength(reader);
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (inner === TYPE_API_VERSION) apiVersion = readKnown(reader, last?.apiVersion ?? '');
        else if (inner === TYPE_KIND) kind = readKnown(reader, last?.kind ?? '');
        else skipField(reader, inner);
      }
      reader.end = end;
    } else if (tag === UNKNOWN_RAW) {
      rawEnd = readLength(reader);
      rawStart = reader.position;
      reader.position = rawEnd;
    } else if (tag === UNKNOWN_CONTENT_ENCODING) {
      const stop = readLength(reader);
      if (stop !== reader.position) throw new DecodeError('envelope: content encodings are not supported', start);
    } else skipField(reader, tag);
  }
  return { apiVersion, kind, raw: { start: rawStart, end: rawEnd } };
}

function readKnown(reader: ProtoReader, known: string): string {
  const stop = readLength(reader);
  const start = reader.position;
  reader.position = stop;
  return rangeSpells(reader.bytes, start, stop, known) ? known : latin1(reader.bytes, start, stop);
}

/** An envelope around the bare message `raw`. */
export function encodeEnvelope(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array {
  const writer = createWriter(raw.length + 64);
  prependTail(writer);
  const rawEnd = lengthOf(writer);
  prependBytes(writer, raw);
  prependHead(writer, apiVersion, kind, rawEnd);
  return writtenBytes(writer);
}

/** The empty contentEncoding and contentType that Go always writes. */
function prependTail(writer: ProtoWriter): void {
  prependString(writer, UNKNOWN_CONTENT_TYPE, '');
  prependString(writer, UNKNOWN_CONTENT_ENCODING, '');
}

/** Writes what stands before a raw message. The raw message is what was written after the first `rawEnd` bytes. */
function prependHead(writer: ProtoWriter, apiVersion: string, kind: string, rawEnd: number): void {
  prependVarint(writer, lengthOf(writer) - rawEnd);
  prependVarint(writer, UNKNOWN_RAW);
  const from = lengthOf(writer);
  prependString(writer, TYPE_KIND, kind);
  prependString(writer, TYPE_API_VERSION, apiVersion);
  prependVarint(writer, lengthOf(writer) - from);
  prependVarint(writer, UNKNOWN_TYPE);
  for (let i = MAGIC.length - 1; i >= 0; i--) prependVarint(writer, MAGIC[i]!);
}

/**
 * A request or response body, with envelope.
 * @throws EncodeError for a kind without a schema, or a property of the wrong type
 */
export function encodeObject(object: KubeObject | object): Uint8Array {
  return encodeWhole(object as KubeObject, undefined);
}

/**
 * As `encodeObject`, for the next state of an object. List items that `before` has too are copied from its encoding; so
 * items must never change. The new encoding replaces that of `before`, so encoding `before` once more copies nothing.
 */
export function encodeAgain(object: KubeObject | object, before: object): Uint8Array {
  const again: Again = { before, lists: [] };
  const body = encodeWhole(object as KubeObject, again);
  rememberLists(again, body);
  return body;
}

function encodeWhole(object: KubeObject, again: Again | undefined): Uint8Array {
  const { apiVersion, kind } = object;
  const message = messageOf(apiVersion, kind);
  if (message === undefined) throw new EncodeError(`no protobuf schema for ${apiVersion}/${kind}`);
  const writer = takeScratch();
  prependTail(writer);
  const rawEnd = lengthOf(writer);
  prependMessage(writer, message, object, again);
  prependHead(writer, apiVersion, kind, rawEnd);
  return writtenBytes(writer);
}

/** The bare message of an object, as a list's item or `ObjectSource.bytes`. */
export function encodeBare(object: KubeObject | object): Uint8Array {
  const { apiVersion, kind } = object as KubeObject;
  const message = messageOf(apiVersion, kind);
  if (message === undefined) throw new EncodeError(`no protobuf schema for ${apiVersion}/${kind}`);
  return encodeMessage(message, object);
}

/**
 * Decodes an object with envelope, by the schema of its kind. apiVersion and kind come first in the result, as in JSON.
 * @throws DecodeError
 */
export function decodeObject(bytes: Uint8Array, unknown?: UnknownFields): KubeObject {
  const { apiVersion, kind, raw } = decodeEnvelope(bytes);
  return decodeBare(apiVersion, kind, bytes, raw.start, raw.end, unknown);
}

/** @throws DecodeError */
export function decodeBare(
  apiVersion: string,
  kind: string,
  bytes: Uint8Array,
  start = 0,
  end = bytes.length,
  unknown?: UnknownFields,
): KubeObject {
  const message = messageOf(apiVersion, kind);
  if (message === undefined) throw new DecodeError(`no protobuf schema for ${apiVersion}/${kind}`);
  return { apiVersion, kind, metadata: {}, ...decodeMessage(message, bytes, start, end, unknown) };
}

/**
 * An object that came as JSON, read through the protobuf tables. They check every type, and leave out unknown fields.
 * @throws EncodeError
 */
export function decodeJson(apiVersion: string, kind: string, value: object): KubeObject {
  return decodeBare(apiVersion, kind, encodeBare({ ...value, apiVersion, kind }));
}

/** A list body, with envelope, around items that are bare messages already. */
export function encodeList(
  apiVersion: string,
  kind: string,
  metadata: object,
  items: readonly Uint8Array[],
): Uint8Array {
  const listMeta = encodeMessage(LIST_META, metadata);
  let bytesTotal = listMeta.length + 64;
  for (const item of items) bytesTotal += item.length + 6;
  const writer = createWriter(bytesTotal);
  prependTail(writer);
  const rawEnd = lengthOf(writer);
  for (let i = items.length - 1; i >= 0; i--) {
    prependBytes(writer, items[i]!);
    prependVarint(writer, items[i]!.length);
    prependVarint(writer, LIST_ITEMS);
  }
  prependBytes(writer, listMeta);
  prependVarint(writer, listMeta.length);
  prependVarint(writer, LIST_METADATA);
  prependHead(writer, apiVersion, kind, rawEnd);
  return writtenBytes(writer);
}

/** JSON text as an object. @throws DecodeError */
export function parseJsonObject(bytes: Uint8Array, start = 0, end = bytes.length): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(utf8(bytes, start, end));
  } catch (error) {
    throw new DecodeError(parseErrorText(error), start);
  }
  if (!isObject(value)) throw new DecodeError('JSON: expected an object', start);
  return value;
}
