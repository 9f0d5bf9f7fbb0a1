/**
 * The writers of an object, as its managedFields name them: each manager with the time of its last write that changed a
 * field of its own. Only objects that somebody else has written are read.
 */
import { parseJsonObject, readTimeSeconds } from './codec.ts';
import { createReader, readLength, readTag, readUtf8, skipField, type ProtoReader } from './protobuf.ts';
import type { ObjectSource } from './source.ts';
import { tagOf } from './tags.ts';
import { parseTime } from './time.ts';

/** The same in every object. */
const OBJECT_METADATA = tagOf('PartialObjectMetadata', 'metadata');
const META_MANAGED_FIELDS = tagOf('ObjectMeta', 'managedFields');
const ENTRY_MANAGER = tagOf('ManagedFieldsEntry', 'manager');
const ENTRY_TIME = tagOf('ManagedFieldsEntry', 'time');

export interface FieldManager {
  /** '' = not told. */
  readonly manager: string;
  /** Seconds since the epoch; 0 = not told. */
  readonly time: number;
}

/**
 * The managers of an object, in its order.
 * @param bytes a bare protobuf message, or JSON text
 * @throws DecodeError
 */
export function fieldManagers(encoding: 'protobuf' | 'json', bytes: Uint8Array): readonly FieldManager[] {
  return encoding === 'protobuf' ? managersOfMessage(bytes) : managersOfJson(parseJsonObject(bytes));
}

/**
 * The managers of an object, in its order.
 * @throws DecodeError
 */
export function fieldManagersOf(source: ObjectSource): readonly FieldManager[] {
  return source.encoding === 'protobuf' ? managersOfMessage(source.bytes) : managersOfJson(source.value);
}

function managersOfMessage(bytes: Uint8Array): FieldManager[] {
  const found: FieldManager[] = [];
  const reader = createReader(bytes);
  within(reader, (tag) => {
    if (tag !== OBJECT_METADATA) return false;
    inner(reader, (metaTag) => {
      if (metaTag !== META_MANAGED_FIELDS) return false;
      found.push(readEntry(reader));
      return true;
    });
    return true;
  });
  return found;
}

function readEntry(reader: ProtoReader): FieldManager {
  const entry = { manager: '', time: 0 };
  inner(reader, (tag) => {
    if (tag === ENTRY_MANAGER) entry.manager = readUtf8(reader);
    else if (tag === ENTRY_TIME) entry.time = readTime(reader);
    else return false;
    return true;
  });
  return entry;
}

function readTime(reader: ProtoReader): number {
  const outer = reader.end;
  reader.end = readLength(reader);
  const seconds = readTimeSeconds(reader) ?? 0;
  reader.end = outer;
  return seconds;
}

/** Reads the message that begins here. */
function inner(reader: ProtoReader, take: (tag: number) => boolean): void {
  const outer = reader.end;
  reader.end = readLength(reader);
  within(reader, take);
  reader.end = outer;
}

/** Reads the fields of a message. `take` reads a field and returns true; if it returns false, the field is skipped. */
function within(reader: ProtoReader, take: (tag: number) => boolean): void {
  for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) if (!take(tag)) skipField(reader, tag);
}

function managersOfJson(value: object): FieldManager[] {
  const { managedFields } = (value as { metadata?: { managedFields?: unknown } }).metadata ?? {};
  if (!Array.isArray(managedFields)) return [];
  return managedFields.map((entry: { manager?: unknown; time?: unknown } | null) => ({
    manager: typeof entry?.manager === 'string' ? entry.manager : '',
    time: typeof entry?.time === 'string' ? parseTime(entry.time) : 0,
  }));
}
