/**
 * The embedded API server: one synchronous function from a request to its answer, and the state behind it. The caller
 * tells the time, and the configuration gives the randomness. One suite checks it, which the real kube-apiserver passes
 * too (test/suites/apiserver.ts).
 */
import type { Status } from '../kube/types.ts';
import { ApiError, badRequest, invalidKind, methodNotAllowed, notAcceptable, notFound } from './api-error.ts';
import { bindPod, BINDINGS } from './bind.ts';
import { cannotBeHandled, decodeJson, mediaType, readBody, type Body } from './body.ts';
import { readDeleteOptions } from './delete-options.ts';
import { notSupported, type FieldError } from './field-error.ts';
import { parseListOptions } from './list-options.ts';
import { countRequest, METRICS_TYPE, metricsText } from './metrics.ts';
import { negotiate } from './negotiate.ts';
import { sortedKeys, type ApiObject } from './object.ts';
import { applyPatch, goMap, invalidPatch, patchTypeOf, readPatch } from './patch.ts';
import { JsonTypeError } from './json-body.ts';
import { checkReached, listObjects, openWatch, tickWatches } from './read.ts';
import { plainReply } from './plain.ts';
import { isPartialInProtobuf } from './record.ts';
import { goType, headersOf, listReply, PLAIN_OUTPUT, recordReply, statusReply, type Output } from './reply.ts';
import { parseTarget, type ApiReply, type ApiRequest, type Target } from './request.ts';
import { ENDPOINT_SLICES, ENDPOINTS, NAMESPACES, PODS, SERVICES, type Resource } from './resource.ts';
import { createState, keyOf, storeOf, type ApiServer, type ApiServerConfig } from './state.ts';
import { dropHistory } from './store.ts';
import { parseIncludeObject } from './table.ts';
import { watchType } from './watch-frames.ts';
import { createObject, deleteObject, updateObject, type WriteResult } from './write.ts';

export type { ApiReply, ApiRequest, ApiServer, ApiServerConfig };
export type { Watch } from './watch.ts';

const SYSTEM_NAMESPACES: readonly string[] = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

/** A server with the objects that every cluster has from its start: four namespaces and the `kubernetes` Service. */
export function createApiServer(config: ApiServerConfig): ApiServer {
  const server = createState(config);
  const create = (resource: Resource, namespace: string, object: ApiObject): void => {
    createObject(server, { resource, namespace, name: '', subresource: '' }, object, 512);
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
  create(ENDPOINT_SLICES, 'default', {
    metadata: { name: 'kubernetes', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
    ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  });
  return server;
}

/** The largest body. The real server and our HTTP shell refuse larger ones with 413. */
export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Answers one request. No request of a client makes it throw. @param nowMs wall-clock milliseconds */
export function apply(server: ApiServer, nowMs: number, request: ApiRequest): ApiReply {
  let output = PLAIN_OUTPUT;
  let target: Target | null = null;
  let reply: ApiReply;
  server.nowMs = nowMs;
  try {
    const mark = request.path.indexOf('?');
    const path = mark < 0 ? request.path : request.path.slice(0, mark);
    target = parseTarget(path);
    if (target === null) {
      reply = path === '/metrics' ? metricsReply(server) : plainReply(path, request);
    } else {
      const query = new URLSearchParams(mark < 0 ? '' : request.path.slice(mark + 1));
      output = outputOf(server, request, query);
      reply = dispatch({ server, request, target, query, output });
    }
  } catch (error) {
    if (error instanceof ApiError) reply = statusReply(error.status, output, headersOf(target?.resource ?? null));
    else if (error instanceof URIError) reply = statusReply(badRequest('malformed path').status, output, {});
    else throw error;
  }
  countRequest(server.requests, target, request, reply);
  return reply;
}

function metricsReply(server: ApiServer): ApiReply {
  return { status: 200, headers: { 'content-type': METRICS_TYPE }, body: Buffer.from(metricsText(server)) };
}

/** @throws ApiError 400 or 406 */
function outputOf(server: ApiServer, request: ApiRequest, query: URLSearchParams): Output {
  const negotiated = negotiate(request.headers.accept ?? '');
  const { yaml } = server.config;
  if (negotiated.yaml && yaml === null) throw notAcceptable('406: Not Acceptable', {});
  const include = negotiated.as === 'table' ? parseIncludeObject(query) : null;
  const apiVersion = negotiated.tableVersion;
  return {
    negotiated,
    table: include === null ? null : { apiVersion, include, nowMs: () => server.nowMs },
    yaml: negotiated.yaml ? yaml : null,
  };
}

/** Does what is due. @returns the latest time of the next call; Infinity = no call is needed before the next request */
export function tick(server: ApiServer, nowMs: number): number {
  server.nowMs = nowMs;
  return tickWatches(server);
}

/** Forgets all history. Watches and pages that begin before now get 410. Open watches go on. */
export function compact(server: ApiServer): void {
  for (const store of server.stores.values()) dropHistory(store, server.revision);
}

interface Call {
  readonly server: ApiServer;
  readonly request: ApiRequest;
  readonly target: Target;
  readonly query: URLSearchParams;
  readonly output: Output;
}

function dispatch(call: Call): ApiReply {
  const { target, request } = call;
  const collection = target.name === '';
  const ofAllNamespaces = collection && target.resource.namespaced && target.namespace === '';
  if (target.subresource === 'binding') return bindOne(call);
  if (target.subresource === 'finalize' && request.method !== 'PUT') throw methodNotAllowed();
  switch (request.method) {
    case 'GET':
      return collection ? listOrWatch(call) : getOne(call);
    case 'POST':
      if (!collection || ofAllNamespaces) throw methodNotAllowed();
      return postOne(call);
    case 'PUT':
      if (collection) throw methodNotAllowed();
      return putOne(call);
    case 'PATCH':
      if (collection) throw methodNotAllowed();
      return patchOne(call);
    case 'DELETE':
      if (target.subresource !== '') throw methodNotAllowed();
      if (collection && (ofAllNamespaces || !target.resource.verbs.includes('deletecollection')))
        throw methodNotAllowed();
      return collection ? deleteMany(call) : deleteOne(call);
    default:
      throw methodNotAllowed();
  }
}

function listOrWatch(call: Call): ApiReply {
  const { server, target, query, output } = call;
  const { resource } = target;
  const { negotiated } = output;
  const options = parseListOptions(query, server.config.watchList);
  if (options.watch) {
    if (negotiated.yaml) throw notAcceptable(NO_YAML_STREAM);
    const watch = openWatch(server, target, options, negotiated, output.table);
    return { status: 200, headers: { ...headersOf(resource), 'content-type': watchType(negotiated.encoding) }, watch };
  }
  if (negotiated.as === 'metadata') {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (${goType(resource)}List)`,
    );
  }
  return listReply(resource, listObjects(server, target, options), output);
}

const NO_YAML_STREAM =
  'only the following media types are accepted: application/json;stream=watch, ' +
  'application/vnd.kubernetes.protobuf;stream=watch';

function getOne({ server, target, query, output }: Call): ApiReply {
  const { resource, namespace, name } = target;
  checkReached(server, query.get('resourceVersion') ?? '');
  const record = storeOf(server, resource).records.get(keyOf(resource, namespace, name));
  if (record === undefined) throw notFound(resource, name);
  const { negotiated } = output;
  const whole = negotiated.encoding === 'json' || negotiated.as !== 'object' || !negotiated.jsonToo;
  if (whole || !isPartialInProtobuf(record)) return recordReply(200, record, output);
  // kubectl describe asks for protobuf first. A whole pod in JSON is better than half a pod in protobuf.
  return recordReply(200, record, { ...output, negotiated: { ...negotiated, encoding: 'json' } });
}

const FIELD_VALIDATIONS: readonly string[] = ['', 'Ignore', 'Strict', 'Warn'];

/**
 * The server, or for a dry run a view of it that keeps nothing.
 * @param options the kind of the options, for messages
 * @throws ApiError 422
 */
function serverFor({ server, query }: Call, options: string, dryRun: readonly string[] = query.getAll('dryRun')) {
  const errors: FieldError[] = [];
  if (dryRun.some((value) => value !== 'All')) errors.push(notSupported('dryRun', dryRun, ['All']));
  const validation = query.get('fieldValidation') ?? '';
  if (options !== 'DeleteOptions' && !FIELD_VALIDATIONS.includes(validation)) {
    errors.push(notSupported('fieldValidation', validation, FIELD_VALIDATIONS));
  }
  if (errors.length > 0) throw invalidKind(options, 'meta.k8s.io', '', errors);
  return dryRun.length === 0 ? server : { ...server, dryRun: true };
}

/**
 * The object of a POST or PUT, and the warnings about it.
 * @throws ApiError 400 if the body holds no object, or has unknown fields where they are forbidden
 */
function readObject({ request, target, query }: Call, server: ApiServer) {
  const { resource } = target;
  const { headers, body } = request;
  const { object, unknownFields } = readBody(resource, headers.contentType ?? '', body, server.config.yaml);
  const strict = (why: string): Error => badRequest(cannotBeHandled(resource, {}, why));
  return { object, warnings: checkUnknownFields(unknownFields, query, strict) };
}

function postOne(call: Call): ApiReply {
  const { request, target, output } = call;
  const server = serverFor(call, 'CreateOptions');
  const { object, warnings } = readObject(call, server);
  const result = createObject(server, target, object, sizeOf(request));
  return writeReply(result, output, warnings);
}

function bindOne(call: Call): ApiReply {
  const { request, target, output } = call;
  if (request.method !== 'POST') throw methodNotAllowed();
  const server = serverFor(call, 'CreateOptions');
  const { headers, body } = request;
  const { object } = readBody(BINDINGS, headers.contentType ?? '', body, server.config.yaml);
  bindPod(server, target, object);
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return statusReply(status, output, headersOf(PODS));
}

function putOne(call: Call): ApiReply {
  const { request, target, output } = call;
  const server = serverFor(call, 'UpdateOptions');
  const { object, warnings } = readObject(call, server);
  const result = updateObject(server, target, object, sizeOf(request));
  return writeReply(result, output, warnings);
}

function patchOne(call: Call): ApiReply {
  const { request, target, query, output } = call;
  const server = serverFor(call, 'PatchOptions');
  const { resource, namespace, name } = target;
  const patchType = patchTypeOf(mediaType(request.headers.contentType ?? ''));
  const record = storeOf(server, resource).records.get(keyOf(resource, namespace, name));
  if (record === undefined) throw notFound(resource, name);
  const patch = readPatch(patchType, request.body ?? new Uint8Array(0));
  const { kind, apiVersion } = resource;
  const base: Record<string, unknown> = { kind, apiVersion, ...record.object };
  const merged = applyPatch(resource, base, patchType, patch);
  // If the outcome of a patch is no valid object, the error shows the patch (strategic) or the outcome (others).
  const shown = (): string => (patchType === 'strategic' ? goMap(patch) : JSON.stringify(merged));
  // A write of the status keeps the stored spec. If the patch has left the spec alone, it is not decoded again.
  const spec = target.subresource === 'status' && merged['spec'] === base['spec'] ? base['spec'] : undefined;
  const { object, unknownFields } = decodePatched(resource, merged, spec, shown);
  const strict = (why: string): Error => invalidPatch(shown(), why);
  const warnings = checkUnknownFields(unknownFields, query, strict);
  const sum = record.sizeBytes + sizeOf(request);
  const isSummed = patchType !== 'json' && sum < SUMMED_BYTES_MAX;
  const sizeBytes = isSummed ? sum : sizeOfText(JSON.stringify(merged).length);
  const result = updateObject(server, target, object, sizeBytes, true);
  return writeReply(result, output, warnings);
}

/**
 * The sum of an object and its patch grows with each patch, and has no copies of a JSON patch. Below this it is close
 * enough.
 */
const SUMMED_BYTES_MAX = 64 * 1024;

/**
 * The first problem of a patch's outcome. The server reads the keys in alphabetical order, so it may find another
 * problem first.
 */
function problemInOrder(resource: Resource, merged: object): string | null {
  try {
    decodeJson(resource, sortedKeys(merged));
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** @param spec is taken as it is; undefined = it is in `merged` */
function decodePatched(resource: Resource, merged: object, spec: unknown, shown: () => string): Body {
  try {
    if (spec === undefined) return decodeJson(resource, merged);
    const { object, unknownFields } = decodeJson(resource, { ...merged, spec: null });
    const { metadata, spec: _, ...others } = object;
    return { object: { metadata, spec, ...others }, unknownFields };
  } catch (error) {
    if (!(error instanceof JsonTypeError)) throw error;
    throw invalidPatch(shown(), problemInOrder(resource, merged) ?? error.message);
  }
}

function deleteOne(call: Call): ApiReply {
  const { target, output } = call;
  const { resource, name } = target;
  const options = readDeleteOptions(call.request, call.query, call.server.config.yaml);
  const server = serverFor(call, 'DeleteOptions', options.dryRun);
  const { record, gone } = deleteObject(server, target, options);
  // The deprecated way to ask for a cascade is answered otherwise where the object is only marked.
  const status = !gone && options.orphanDependents === false ? 202 : 200;
  if (!gone || resource.returnsDeleted) return recordReply(status, record, output);
  const details: Status['details'] = { name, kind: resource.name, uid: record.object.metadata.uid! };
  if (resource.group !== '') details.group = resource.group;
  const told = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  return statusReply(told as Status, output, headersOf(resource), 200);
}

function deleteMany(call: Call): ApiReply {
  const { target, query, output } = call;
  const { resource } = target;
  const options = readDeleteOptions(call.request, call.query, call.server.config.yaml);
  const server = serverFor(call, 'DeleteOptions', options.dryRun);
  const page = listObjects(server, target, parseListOptions(query, server.config.watchList));
  for (const { object } of page.records) {
    const { name = '', namespace = '' } = object.metadata;
    try {
      deleteObject(server, { resource, namespace, name, subresource: '' }, options);
    } catch (error) {
      // A page of an earlier version can have objects that are gone.
      if (!(error instanceof ApiError) || error.status.code !== 404) throw error;
    }
  }
  return listReply(resource, page, output);
}

/**
 * `fieldValidation`: Warn (the default) answers with one warning for each field, Strict refuses, Ignore drops the
 * fields.
 */
function checkUnknownFields(
  paths: readonly string[],
  query: URLSearchParams,
  strict: (why: string) => Error,
): readonly string[] {
  if (paths.length === 0) return paths;
  const texts = paths.map((path) => `unknown field ${JSON.stringify(path)}`);
  const mode = query.get('fieldValidation') ?? '';
  if (mode === 'Strict') throw strict(`strict decoding error: ${texts.join(', ')}`);
  return mode === 'Ignore' ? [] : texts;
}

function sizeOf(request: ApiRequest): number {
  return sizeOfText(request.body?.length ?? 0);
}

/** An object with its bytes and strings takes about four times its text. */
function sizeOfText(length: number): number {
  return 4 * length + 512;
}

function writeReply({ record, created }: WriteResult, output: Output, warnings: readonly string[]): ApiReply {
  return recordReply(created ? 201 : 200, record, output, warnings);
}
