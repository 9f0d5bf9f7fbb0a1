import type { Problem } from '../core/problem.ts';
import { createUnknownFields, decodeBare, decodeJson, parseJsonObject, type UnknownFields } from '../kube/codec.ts';
import type { KubeObject } from '../kube/types.ts';
import { errorMessage } from '../lib/error-message.ts';
import type { ObjectBytes } from './protocol.ts';

/** The result of reading an object: the object without its managedFields, or null; and the problem, if there is one. */
export interface ReadObject {
  readonly object: KubeObject | null;
  /**
   * `undecodable-object` if there is no object. `unknown-field` if the next write would lose a field of it. null = no
   * problem.
   */
  readonly problem: Problem | null;
}

/** `what` names the object in problems, such as `endpoints ns/name`; `name` is the one that it must have. */
export function readObject(
  apiVersion: string,
  kind: string,
  what: string,
  name: string,
  content: ObjectBytes,
): ReadObject {
  const unknown = createUnknownFields();
  try {
    const object = decode(apiVersion, kind, content, unknown);
    if (object.metadata.name !== name) throw new Error(`metadata.name is ${JSON.stringify(object.metadata.name)}`);
    return { object, problem: unknown.count === 0 ? null : unknownFields(what, unknown) };
  } catch (error) {
    const message = errorMessage(error);
    return { object: null, problem: { kind: 'undecodable-object', object: what, field: '', message } };
  }
}

function decode(apiVersion: string, kind: string, content: ObjectBytes, unknown: UnknownFields): KubeObject {
  const { encoding, bytes } = content;
  return encoding === 'json'
    ? decodeJson(apiVersion, kind, parseJsonObject(bytes))
    : decodeBare(apiVersion, kind, bytes, 0, bytes.length, unknown);
}

function unknownFields(what: string, unknown: UnknownFields): Problem {
  return {
    kind: 'unknown-field',
    object: what,
    field: unknown.fields.join(', '),
    message: `${unknown.count} unknown fields, which the next write loses`,
  };
}
