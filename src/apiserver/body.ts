import { decodeBare, decodeEnvelope } from '../kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../kube/media-type.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { messageOf } from '../kube/schema.ts';
import { badRequest, unsupportedBody } from './api-error.ts';
import { JsonTypeError, normaliseJson } from './json-body.ts';
import type { ApiObject } from './object.ts';
import { YAML } from './negotiate.ts';
import type { Resource } from './resource.ts';
import type { YamlFormat } from './state.ts';

/** What a body is to hold. */
export type BodyType = Pick<Resource, 'kind' | 'apiVersion' | 'version'>;

export interface Body {
  /** Ours to change. */
  readonly object: ApiObject;
  /** Paths of fields that this server does not know; only JSON tells them. */
  readonly unknownFields: readonly string[];
}

/**
 * Reads an object of that resource from a request's body.
 * @throws ApiError 400 or 415
 */
export function readBody(
  resource: BodyType,
  contentType: string,
  body: Uint8Array | null,
  yaml: YamlFormat | null,
): Body {
  const type = mediaType(contentType);
  const bytes = body ?? EMPTY;
  if (type === '' || type === JSON_TYPE) return fromJson(resource, readJson(resource.kind, bytes));
  if (type === YAML && yaml !== null) return fromJson(resource, readYaml(resource.kind, bytes, yaml));
  if (type !== PROTOBUF) throw unsupportedBody();
  try {
    const { apiVersion, kind, raw } = decodeEnvelope(bytes);
    const problem = kindProblem(resource, apiVersion, kind);
    if (problem !== null) throw badRequest(cannotBeHandled(resource, { apiVersion, kind }, problem));
    const object = decodeBare(resource.apiVersion, resource.kind, bytes, raw.start, raw.end) as Record<string, unknown>;
    return { object: withMetadata(object), unknownFields: [] };
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message);
    throw error;
  }
}

/** @throws ApiError 400 */
function fromJson(type: BodyType, value: unknown): Body {
  try {
    return decodeJson(type, value);
  } catch (error) {
    if (!(error instanceof JsonTypeError)) throw error;
    throw badRequest(cannotBeHandled(type, value, error.message));
  }
}

/**
 * An object from its JSON value, in the shape that it has in storage.
 * @throws JsonTypeError
 */
export function decodeJson(type: BodyType, value: unknown): Body {
  const { apiVersion, kind } = (value ?? {}) as { apiVersion?: unknown; kind?: unknown };
  const problem = kindProblem(
    type,
    typeof apiVersion === 'string' ? apiVersion : '',
    typeof kind === 'string' ? kind : '',
  );
  if (problem !== null) throw new JsonTypeError(problem);
  const unknownFields: string[] = [];
  const object = normaliseJson(messageOf(type.apiVersion, type.kind)!, value, unknownFields);
  return { object: withMetadata(object), unknownFields };
}

/** How the server words what is wrong with the body of a POST or PUT. @param value the body, as far as it could be read */
export function cannotBeHandled({ kind, version }: BodyType, value: unknown, why: string): string {
  const { apiVersion, kind: given } = (value ?? {}) as { apiVersion?: unknown; kind?: unknown };
  const shownKind = typeof given === 'string' && given !== '' ? given : kind;
  const shownVersion =
    typeof apiVersion === 'string' && apiVersion !== '' ? apiVersion.slice(apiVersion.indexOf('/') + 1) : version;
  return `${shownKind} in version "${shownVersion}" cannot be handled as a ${kind}: ${why}`;
}

/** @throws ApiError 400 */
export function readJson(kind: string, bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; ` +
        `json parse error: ${(error as Error).message}`,
    );
  }
}

function readYaml(kind: string, bytes: Uint8Array, yaml: YamlFormat): unknown {
  try {
    return yaml.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): yaml: ${(error as Error).message}`,
    );
  }
}

export function mediaType(contentType: string): string {
  const end = contentType.indexOf(';');
  return end < 0 ? contentType : contentType.slice(0, end).trim();
}

const EMPTY = new Uint8Array(0);

function withMetadata(object: Record<string, unknown>): ApiObject {
  delete object['apiVersion'];
  delete object['kind'];
  object['metadata'] ??= {};
  return object as ApiObject;
}

/** What is wrong with what an object says it is; empty counts as right. */
function kindProblem(type: BodyType, apiVersion: string, kind: string): string | null {
  if ((apiVersion === '' || apiVersion === type.apiVersion) && (kind === '' || kind === type.kind)) return null;
  const given = kind === '' ? type.kind : kind;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  return messageOf(apiVersion, given) === undefined
    ? `no kind "${given}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`
    : `converting (${version}.${given}) to (core.${type.kind}): unknown conversion`;
}
