/**
 * The embedded API server: one synchronous function from a request to its answer, and the state behind it. No time but
 * what the caller tells, no randomness but what the configuration gives. What it has to say and do is checked by one
 * suite that the real kube-apiserver has to pass too (test/suites/apiserver.ts).
 */
import { decodeBare, decodeEnvelope, encodeObject } from '../kube/codec.ts';
import { JSON_TYPE, PROTOBUF, PROTOBUF_WATCH } from '../kube/media-type.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { messageOf } from '../kube/schema.ts';
import type { Status } from '../kube/types.ts';
import { ApiError, badRequest, methodNotAllowed, noSuchPath, notAcceptable, notFound } from './api-error.ts';
import { bindPod, BINDINGS } from './bind.ts';
import { fromJson, mediaType, readBody, readJson } from './body.ts';
import { discoveryDocument } from './discovery.ts';
import { parseListOptions } from './list-options.ts';
import { negotiate } from './negotiate.ts';
import type { Negotiated } from './negotiate.ts';
import type { ApiObject } from './object.ts';
import { applyPatch } from './patch.ts';
import { JsonTypeError, normaliseJson } from './json-body.ts';
import { listObjects, openWatch, tickWatches } from './read.ts';
import { bodyOf, encodeList } from './record.ts';
import type { StoredRecord } from './record.ts';
import { parseTarget } from './request.ts';
import type { ApiReply, ApiRequest, Target } from './request.ts';
import { ENDPOINTS, NAMESPACES, PODS, SERVICES } from './resource.ts';
import type { Resource } from './resource.ts';
import { createState, keyOf, storeOf } from './state.ts';
import type { ApiServer, ApiServerConfig } from './state.ts';
import { dropHistory } from './store.ts';
import { createObject, deleteObject, updateObject } from './write.ts';
import type { DeleteOptions, WriteResult } from './write.ts';

export type { ApiReply, ApiRequest, ApiServer, ApiServerConfig };
export type { Watch } from './watch.ts';

const SYSTEM_NAMESPACES: readonly string[] = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

/** A server with what every cluster has from its first second: four namespaces and the `kubernetes` Service. */
export function createApiServer(config: ApiServerConfig): ApiServer {
  const server = createState(config);
  const nowMs = server.config.startWallMs;
  const create = (resource: Resource, namespace: string, object: ApiObject): void => {
    createObject(server, nowMs, { resource, namespace, name: '', subresource: '' }, object, 512);
  };
  for (const name of SYSTEM_NAMESPACES) create(NAMESPACES, '', { metadata: { name } });
  create(SERVICES, 'default', {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: { ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
  });
  create(ENDPOINTS, 'default', {
    metadata: { name: 'kubernetes', labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] }],
  });
  return server;
}

/** Bodies over this are refused with 413 by the real server, and by our HTTP shell. */
export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Answers one request. Never throws for anything that a client can send. @param nowMs wall-clock milliseconds */
export function apply(server: ApiServer, nowMs: number, request: ApiRequest): ApiReply {
  let negotiated: Negotiated = { encoding: 'json', as: 'object' };
  let resource: Resource | null = null;
  try {
    const mark = request.path.indexOf('?');
    const path = mark < 0 ? request.path : request.path.slice(0, mark);
    const target = parseTarget(path);
    if (target === null) return plainPath(path, request.method);
    resource = target.resource;
    negotiated = negotiate(request.headers.accept ?? '');
    const query = new URLSearchParams(mark < 0 ? '' : request.path.slice(mark + 1));
    return dispatch({ server, nowMs, request, target, query, negotiated });
  } catch (error) {
    if (error instanceof ApiError) return statusReply(error.status, negotiated, headersOf(resource));
    if (error instanceof URIError) return statusReply(badRequest('malformed path').status, negotiated, {});
    throw error;
  }
}

/** Does what is due by now. @returns when it wants to be called again at the latest; Infinity = not before a request */
export function tick(server: ApiServer, nowMs: number): number {
  return tickWatches(server, nowMs);
}

/** Forgets all history: watches and pages that start before now get 410. Open watches go on. */
export function compact(server: ApiServer): void {
  for (const store of server.stores.values()) dropHistory(store, server.revision);
}

/** Ends every open watch, as a restart of the real server's cache does. */
export function closeWatches(server: ApiServer): void {
  for (const watchers of server.watchers.values()) for (const watcher of watchers) watcher.finish();
}

interface Call {
  readonly server: ApiServer;
  readonly nowMs: number;
  readonly request: ApiRequest;
  readonly target: Target;
  readonly query: URLSearchParams;
  readonly negotiated: Negotiated;
}

function dispatch(call: Call): ApiReply {
  const { target, request } = call;
  const collection = target.name === '';
  if (target.subresource === 'binding') return bindOne(call);
  switch (request.method) {
    case 'GET':
      return collection ? listOrWatch(call) : getOne(call);
    case 'POST':
      if (!collection || (target.resource.namespaced && target.namespace === '')) throw methodNotAllowed();
      return postOne(call);
    case 'PUT':
      if (collection) throw methodNotAllowed();
      return putOne(call);
    case 'PATCH':
      if (collection || target.subresource === 'finalize') throw methodNotAllowed();
      return patchOne(call);
    case 'DELETE':
      if (target.subresource !== '') throw methodNotAllowed();
      return collection ? deleteMany(call) : deleteOne(call);
    default:
      throw methodNotAllowed();
  }
}

function listOrWatch(call: Call): ApiReply {
  const { server, nowMs, target, query, negotiated } = call;
  const { resource } = target;
  const options = parseListOptions(query, server.config.watchList);
  if (options.watch) {
    const watch = openWatch(server, nowMs, target, options, negotiated);
    const contentType = negotiated.encoding === 'protobuf' ? PROTOBUF_WATCH : JSON_TYPE;
    return { status: 200, headers: { ...headersOf(resource), 'content-type': contentType }, watch };
  }
  if (negotiated.as === 'metadata') {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (${goType(resource)}List)`,
    );
  }
  const { records, metadata } = listObjects(server, target, options);
  const body = encodeList(resource, records, metadata, negotiated.encoding, negotiated.as !== 'object');
  return { status: 200, headers: bodyHeaders(resource, negotiated), body };
}

function getOne({ server, target, negotiated }: Call): ApiReply {
  const { resource, namespace, name } = target;
  const record = storeOf(server, resource).records.get(keyOf(resource, namespace, name));
  if (record === undefined) throw notFound(resource, name);
  return recordReply(200, record, negotiated);
}

function postOne({ server, nowMs, request, target, query, negotiated }: Call): ApiReply {
  const { object, unknownFields } = readBody(target.resource, request.headers.contentType ?? '', request.body);
  const warnings = checkUnknownFields(unknownFields, query);
  const result = createObject(server, nowMs, target, object, sizeOf(request));
  return writeReply(result, negotiated, warnings);
}

function bindOne({ server, nowMs, request, target, negotiated }: Call): ApiReply {
  if (request.method !== 'POST') throw methodNotAllowed();
  const { object } = readBody(BINDINGS, request.headers.contentType ?? '', request.body);
  bindPod(server, nowMs, target, object);
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return statusReply(status, negotiated, headersOf(PODS));
}

function putOne({ server, nowMs, request, target, query, negotiated }: Call): ApiReply {
  const { object, unknownFields } = readBody(target.resource, request.headers.contentType ?? '', request.body);
  const warnings = checkUnknownFields(unknownFields, query);
  const result = updateObject(server, nowMs, target, object, sizeOf(request));
  return writeReply(result, negotiated, warnings);
}

function patchOne({ server, nowMs, request, target, query, negotiated }: Call): ApiReply {
  const { resource, namespace, name } = target;
  const contentType = mediaType(request.headers.contentType ?? '');
  const record = storeOf(server, resource).records.get(keyOf(resource, namespace, name));
  const base = record === undefined ? {} : { kind: resource.kind, apiVersion: resource.apiVersion, ...record.object };
  const patch = contentType.endsWith('-patch+json') ? readJson(resource.kind, request.body ?? new Uint8Array(0)) : null;
  const merged = applyPatch(record === undefined ? {} : base, contentType, patch);
  if (record === undefined) throw notFound(resource, name);
  const { object, unknownFields } = fromJson(resource, merged);
  const warnings = checkUnknownFields(unknownFields, query);
  const result = updateObject(server, nowMs, target, object, record.sizeBytes + sizeOf(request));
  return writeReply(result, negotiated, warnings);
}

function deleteOne(call: Call): ApiReply {
  const { server, nowMs, target, negotiated } = call;
  const { resource, name } = target;
  const { record, gone } = deleteObject(server, nowMs, target, deleteOptions(call));
  if (!gone || resource.returnsDeleted) return recordReply(200, record, negotiated);
  const details: Status['details'] = { name, kind: resource.name, uid: record.object.metadata.uid! };
  if (resource.group !== '') details.group = resource.group;
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  return statusReply(status as Status, negotiated, headersOf(resource), 200);
}

function deleteMany(call: Call): ApiReply {
  const { server, nowMs, target, query, negotiated } = call;
  const { resource } = target;
  const { records, metadata } = listObjects(server, target, parseListOptions(query, server.config.watchList));
  const options = deleteOptions(call);
  for (const { object } of records) {
    const { name = '', namespace = '' } = object.metadata;
    deleteObject(server, nowMs, { resource, namespace, name, subresource: '' }, options);
  }
  const body = encodeList(resource, records, metadata, negotiated.encoding, negotiated.as !== 'object');
  return { status: 200, headers: bodyHeaders(resource, negotiated), body };
}

function deleteOptions({ request, query }: Call): DeleteOptions {
  if (request.body !== null && request.body.length > 0) return readDeleteOptions(request);
  const grace = query.get('gracePeriodSeconds');
  if (grace === null) return {};
  if (!/^-?[0-9]+$/.test(grace)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
  return { gracePeriodSeconds: Number(grace) };
}

function readDeleteOptions({ headers, body }: ApiRequest): DeleteOptions {
  const bytes = body!;
  if (mediaType(headers.contentType ?? '') === PROTOBUF) {
    try {
      const { raw } = decodeEnvelope(bytes);
      return decodeBare('v1', 'DeleteOptions', bytes, raw.start, raw.end) as DeleteOptions;
    } catch (error) {
      if (error instanceof DecodeError) throw badRequest(error.message);
      throw error;
    }
  }
  const value = (readJson('DeleteOptions', bytes) ?? {}) as DeleteOptions & { kind?: string; apiVersion?: string };
  const { kind = '', apiVersion = 'meta.k8s.io/v1' } = value;
  if (kind !== '' && kind !== 'DeleteOptions') {
    const where = 'in scheme "pkg/runtime/scheme.go:111"';
    throw badRequest(`no kind "${kind}" is registered for version "${apiVersion}" ${where}`);
  }
  try {
    return normaliseJson(messageOf('v1', 'DeleteOptions')!, value, []);
  } catch (error) {
    if (error instanceof JsonTypeError) throw badRequest(error.message);
    throw error;
  }
}

/** `fieldValidation`: Warn (the default) answers with a warning for each, Strict refuses, Ignore drops them silently. */
function checkUnknownFields(paths: readonly string[], query: URLSearchParams): readonly string[] {
  if (paths.length === 0) return paths;
  const texts = paths.map((path) => `unknown field ${JSON.stringify(path)}`);
  const mode = query.get('fieldValidation') ?? '';
  if (mode === 'Strict') throw badRequest(`strict decoding error: ${texts.join(', ')}`);
  return mode === 'Ignore' ? [] : texts;
}

function sizeOf(request: ApiRequest): number {
  // The object, its bytes and the strings in it: about four times the body.
  return 4 * (request.body?.length ?? 0) + 512;
}

function writeReply({ record, created }: WriteResult, negotiated: Negotiated, warnings: readonly string[]): ApiReply {
  return recordReply(created ? 201 : 200, record, negotiated, warnings);
}

function recordReply(
  status: number,
  record: StoredRecord,
  negotiated: Negotiated,
  warnings: readonly string[] = [],
): ApiReply {
  const { resource } = record;
  if (negotiated.as === 'metadataList') {
    const type = goType(resource);
    throw notAcceptable(`you requested PartialObjectMetadataList, but the requested object is not a list (${type})`);
  }
  const body = bodyOf(record, negotiated.encoding, negotiated.as === 'metadata');
  return { status, headers: bodyHeaders(resource, negotiated, warnings), body };
}

/** How the server's messages call the type behind a resource. */
function goType({ group, kind }: Resource): string {
  return `*${group === '' ? 'core' : group.slice(0, group.indexOf('.'))}.${kind}`;
}

function bodyHeaders(
  resource: Resource,
  { encoding }: Negotiated,
  warnings: readonly string[] = [],
): Record<string, string> {
  return { ...headersOf(resource, warnings), 'content-type': encoding === 'protobuf' ? PROTOBUF : JSON_TYPE };
}

function headersOf(resource: Resource | null, warnings: readonly string[] = []): Record<string, string> {
  const headers: Record<string, string> = { 'cache-control': 'no-cache, private' };
  const texts = resource === null || resource.warning === '' ? warnings : [resource.warning, ...warnings];
  if (texts.length > 0) {
    headers['warning'] = texts.map((text) => `299 - "${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(', ');
  }
  return headers;
}

function statusReply(
  status: Status,
  { encoding }: Negotiated,
  headers: Record<string, string>,
  code: number = status.code,
): ApiReply {
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  headers['content-type'] = encoding === 'protobuf' ? PROTOBUF : JSON_TYPE;
  const body = encoding === 'protobuf' ? encodeObject(status) : Buffer.from(JSON.stringify(status));
  return { status: code, headers, body };
}

const HEALTH_PATHS: readonly string[] = ['/healthz', '/livez', '/readyz'];
const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

function plainPath(path: string, method: string): ApiReply {
  if (HEALTH_PATHS.includes(path)) return { status: 200, headers: TEXT, body: Buffer.from('ok') };
  const document = discoveryDocument(path);
  if (document === undefined) {
    if (!path.startsWith('/api/') && !path.startsWith('/apis/')) {
      return { status: 404, headers: TEXT, body: Buffer.from('404 page not found\n') };
    }
    return statusReply(noSuchPath().status, { encoding: 'json', as: 'object' }, {});
  }
  if (method !== 'GET') return statusReply(methodNotAllowed().status, { encoding: 'json', as: 'object' }, {});
  return { status: 200, headers: { 'content-type': JSON_TYPE }, body: Buffer.from(JSON.stringify(document)) };
}
