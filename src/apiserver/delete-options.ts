import { decodeBare, decodeEnvelope } from '../kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../kube/media-type.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { messageOf } from '../kube/schema.ts';
import { badRequest, unsupportedBody } from './api-error.ts';
import { mediaType, protobufProblem, versionKindProblem } from './body.ts';
import { JsonSyntaxError, parseGoJson } from './go-json.ts';
import { JsonTypeError, normaliseJson } from './json-body.ts';
import { YAML } from './negotiate.ts';
import type { ApiRequest } from './request.ts';
import type { YamlFormat } from './state.ts';
import type { DeleteOptions } from './write.ts';

/** The options of a DELETE, and whether it is a dry run. */
export type RequestedDelete = DeleteOptions & { readonly dryRun?: readonly string[] };

/**
 * Reads the options of a DELETE from its body, or from its query if it has no body.
 * @throws ApiError 400 or 415
 */
export function readDeleteOptions(
  request: ApiRequest,
  query: URLSearchParams,
  yaml: YamlFormat | null,
): RequestedDelete {
  if (request.body !== null && request.body.length > 0) {
    const options = fromBody(request, yaml);
    // What the query says beside a body is not read: a dry run that it asks for deletes.
    return { ...options, dryRun: options.dryRun ?? [] };
  }
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null && !/^-?[0-9]+$/.test(grace))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
  const [policy, orphan] = [query.get('propagationPolicy'), query.get('orphanDependents')];
  return {
    dryRun: query.getAll('dryRun'),
    ...preconditionsIn(query),
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: !FALSE.has(orphan.toLowerCase()) }),
  };
}

/** An empty value is none. */
function preconditionsIn(query: URLSearchParams): Pick<DeleteOptions, 'preconditions'> {
  const [uid, resourceVersion] = [query.get('uid') ?? '', query.get('resourceVersion') ?? ''];
  if (uid === '' && resourceVersion === '') return {};
  return {
    preconditions: { ...(uid === '' ? {} : { uid }), ...(resourceVersion === '' ? {} : { resourceVersion }) },
  };
}

/** Anything else is true in a query (runtime.Convert_Slice_string_To_bool). */
const FALSE: ReadonlySet<string> = new Set(['false', '0']);

function fromBody({ headers, body }: ApiRequest, yaml: YamlFormat | null): RequestedDelete {
  const bytes = body!;
  if (mediaType(headers.contentType ?? '') === PROTOBUF) {
    const foreign = protobufProblem(bytes);
    if (foreign !== null) throw badRequest(foreign);
    try {
      const { raw } = decodeEnvelope(bytes);
      return decodeBare('v1', 'DeleteOptions', bytes, raw.start, raw.end) as DeleteOptions;
    } catch (error) {
      if (error instanceof DecodeError) throw badRequest(error.message);
      throw error;
    }
  }
  const { contentType = '' } = headers;
  const type = mediaType(contentType);
  const isYaml = type === YAML && yaml !== null;
  if (contentType !== '' && type !== JSON_TYPE && !isYaml) throw unsupportedBody();
  const value = withVersionKind(isYaml ? fromYaml(bytes, yaml) : fromJson(bytes)) as DeleteOptions & {
    kind?: string;
    apiVersion?: string;
  };
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

/** @throws ApiError 400 */
function fromJson(bytes: Uint8Array): unknown {
  try {
    return parseGoJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badRequest(`couldn't get version/kind; json parse error: ${error.message}`);
  }
}

/** @throws ApiError 400 */
function fromYaml(bytes: Uint8Array, yaml: YamlFormat): unknown {
  try {
    return yaml.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw badRequest(`yaml: ${(error as Error).message}`);
  }
}

/** @throws ApiError 400 */
function withVersionKind(value: unknown): object {
  const problem = versionKindProblem(value);
  if (problem !== null) throw badRequest(problem);
  return value ?? {};
}
