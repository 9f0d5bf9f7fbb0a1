/** Tuples, the form of all messages: what they take in bytes, and how they are read, each value checked. */

/** The bytes are not a message of this codec. */
export class CodecError extends Error {
  override name = 'CodecError';
}

const NO_STRINGS: readonly string[] = [];

/** Header of a list, a byte string or any text: never more. */
export const HEADER_BYTES = 5;
/** Header of a text below 64 KiB (every name, label and address is), flag, small number or tuple. */
export const SHORT_HEADER_BYTES = 3;
export const NUMBER_BYTES = 9;

export function estimateListBytes(texts: readonly string[]): number {
  let bytes = HEADER_BYTES;
  for (const text of texts) bytes += SHORT_HEADER_BYTES + text.length;
  return bytes;
}

/** Of any text, not only of what the API server validates as ASCII. */
export function estimateTextBytes(text: string): number {
  return HEADER_BYTES + text.length * 3;
}

/** `what` names the value in the error. @throws CodecError, as all of these */
export function tuple(value: unknown, length: number, what: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length !== length) throw new CodecError(`${what}: not a tuple of ${length}`);
  return value;
}

export function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new CodecError(`${what}: not a list`);
  return value;
}

export function strings(value: unknown, what: string): readonly string[] {
  const values = list(value, what);
  if (values.length === 0) return NO_STRINGS;
  for (const item of values) string(item, what);
  return values as readonly string[];
}

export function string(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new CodecError(`${what}: not a string`);
  return value;
}

export function stringOrNull(value: unknown, what: string): string | null {
  return value === null ? null : string(value, what);
}

export function number(value: unknown, what: string): number {
  if (typeof value !== 'number') throw new CodecError(`${what}: not a number`);
  return value;
}

export function byteString(value: unknown, what: string): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new CodecError(`${what}: not a byte string`);
  return value;
}
