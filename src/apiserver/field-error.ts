import type { StatusCause } from '../kube/types.ts';

/** One error of one field, in the real server's words. */
export interface FieldError {
  readonly field: string;
  readonly reason: string;
  /** The text behind the field's name in the Status message. */
  readonly message: string;
}

export function required(field: string, detail = ''): FieldError {
  return { field, reason: 'FieldValueRequired', message: `Required value${detail === '' ? '' : `: ${detail}`}` };
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${shown(value)}: ${detail}` };
}

/** The server sorts the supported values in most messages, but not in all. */
export function notSupported(
  field: string,
  value: unknown,
  supported: readonly string[],
  sort: boolean = true,
): FieldError {
  const list = (sort ? [...supported].sort() : supported).map((text) => JSON.stringify(text));
  return {
    field,
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${shown(value)}: supported values: ${list.join(', ')}`,
  };
}

export function duplicate(field: string, value: unknown): FieldError {
  return { field, reason: 'FieldValueDuplicate', message: `Duplicate value: ${shown(value)}` };
}

export function forbidden(field: string, detail: string): FieldError {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${detail}` };
}

export function tooLong(field: string, bytesMax: number): FieldError {
  return { field, reason: 'FieldValueTooLong', message: `Too long: may not be more than ${bytesMax} bytes` };
}

export function tooMany(field: string, count: number, countMax: number): FieldError {
  return {
    field,
    reason: 'FieldValueTooMany',
    message: `Too many: ${count}: must have at most ${countMax} ${countMax === 1 ? 'item' : 'items'}`,
  };
}

export function causeOf(error: FieldError): StatusCause {
  return { reason: error.reason, message: error.message, field: error.field };
}

/** `a: b`, or `[a: b, c: d]` if there are several different errors. */
export function joinFieldErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
}

function shown(value: unknown): string {
  return value === undefined ? 'null' : JSON.stringify(value);
}
