import { decodeBare, decodeEnvelope } from '../kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../kube/media-type.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { messageOf } from '../kube/schema.ts';
import { badRequest, unsupportedBody } from './api-error.ts';
import { goKind, JsonSyntaxError, parseGoJson } from './go-json.ts';
import { JsonTypeError, normaliseJson } from './json-body.ts';
import type { ApiObject } from './object.ts';
import { YAML } from './negotiate.ts';
import type { Resource } from './resource.ts';
import type { YamlFormat } from './state.ts';

/** The type of the object that a body should hold. */
export type BodyType = Pick<Resource, 'kind' | 'apiVersion' | 'version'>;

export interface Body {
  /** A new object, which the caller may change. */
  readonly object: ApiObject;
  /** Paths of fields that this server does not know. Only JSON has their names. */
  readonly unknownFields: readonly string[];
}

/**
 * Reads an object of the resource from a request's body.
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
  if (contentType === '' || type === JSON_TYPE) return fromJson(resource, readJson(resource.kind, bytes), bytes);
  if (type === YAML && yaml !== null) return fromJson(resource, readYaml(resource.kind, bytes, yaml), bytes);
  if (type !== PROTOBUF) throw unsupportedBody();
  const foreign = protobufProblem(bytes);
  if (foreign !== null) throw unrecognized(resource.kind, foreign, bytes);
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

const MAGIC: readonly number[] = [0x6b, 0x38, 0x73, 0];

/** The problem of bytes that lack the prefix of protobuf; null = they have it. */
export function protobufProblem(bytes: Uint8Array): string | null {
  if (MAGIC.every((byte, at) => bytes[at] === byte)) return null;
  return `provided data does not appear to be a protobuf message, expected prefix [${MAGIC.join(' ')}]`;
}

/** @throws ApiError 400 */
function fromJson(type: BodyType, value: unknown, bytes: Uint8Array): Body {
  const problem = versionKindProblem(value);
  if (problem !== null) throw unrecognized(type.kind, problem, bytes);
  try {
    return decodeJson(type, value ?? {});
  } catch (error) {
    if (!(error instanceof JsonTypeError)) throw error;
    throw badRequest(cannotBeHandled(type, value, error.message));
  }
}

/**
 * An object from its JSON value, in the shape of storage.
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

/** The server's message about the body of a POST or PUT. @param value the body, as far as it could be read */
export function cannotBeHandled({ kind, version }: BodyType, value: unknown, why: string): string {
  const { apiVersion, kind: given } = (value ?? {}) as { apiVersion?: unknown; kind?: unknown };
  const shownKind = typeof given === 'string' && given !== '' ? given : kind;
  const shownVersion =
    typeof apiVersion === 'string' && apiVersion !== '' ? apiVersion.slice(apiVersion.indexOf('/') + 1) : version;
  return `${shownKind} in version "${shownVersion}" cannot be handled as a ${kind}: ${why}`;
}

/** @throws ApiError 400 */
function readJson(kind: string, bytes: Uint8Array): unknown {
  try {
    return parseGoJson(bytes);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw unrecognized(kind, `${NO_VERSION_KIND}${error.message}`, bytes);
    throw error;
  }
}

const NO_VERSION_KIND = "couldn't get version/kind; json parse error: ";
const VERSION_KIND =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** The problem of apiVersion and kind, which the server checks first; null = both can be read, or are absent. */
export function versionKindProblem(value: unknown): string | null {
  if (value === null) return null;
  const unfit = (kind: string, where: string): string =>
    `${NO_VERSION_KIND}json: cannot unmarshal ${kind} into Go ${where}`;
  if (typeof value !== 'object' || Array.isArray(value)) return unfit(goKind(value), `value of type ${VERSION_KIND}`);
  for (const [name, given] of Object.entries(value) as [string, unknown][]) {
    if ((name !== 'apiVersion' && name !== 'kind') || given === null || typeof given === 'string') continue;
    return unfit(goKind(given), `struct field .${name} of type string`);
  }
  const { apiVersion } = value as { apiVersion?: string };
  return (apiVersion ?? '').split('/').length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : null;
}

const SHOWN_MAX = 30;

function unrecognized(kind: string, why: string, bytes: Uint8Array): Error {
  const start = Buffer.from(bytes.subarray(0, SHOWN_MAX));
  const text = start.toString(start[0] === 0x7b ? 'utf8' : 'hex') + (bytes.length > SHOWN_MAX ? ' ...' : '');
  const shown = bytes.length === 0 ? '<empty>' : text;
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`);
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
  return (end < 0 ? contentType : contentType.slice(0, end).trim()).toLowerCase();
}

const EMPTY = new Uint8Array(0);

function withMetadata(object: Record<string, unknown>): ApiObject {
  delete object['apiVersion'];
  delete object['kind'];
  object['metadata'] ??= {};
  return object as ApiObject;
}

/** The problem of the object's apiVersion and kind; null = they fit the type. Empty texts fit. */
function kindProblem(type: BodyType, apiVersion: string, kind: string): string | null {
  if ((apiVersion === '' || apiVersion === type.apiVersion) && (kind === '' || kind === type.kind)) return null;
  const given = kind === '' ? type.kind : kind;
  const from = apiVersion === '' ? type.apiVersion : apiVersion;
  const version = from.slice(from.indexOf('/') + 1);
  const goPackage = type.apiVersion.includes('/') ? type.apiVersion.split('.')[0] : 'core';
  return messageOf(from, given) === undefined
    ? `no kind "${given}" is registered for version "${from}" in scheme "pkg/runtime/scheme.go:111"`
    : `converting (${version}.${given}) to (${goPackage}.${type.kind}): unknown conversion`;
}
