import { JSON_TYPE } from '../kube/media-type.ts';
import { fnv1a128 } from '../lib/hash.ts';
import { methodNotAllowed, noSuchPath, notAcceptable } from './api-error.ts';
import { aggregatedDiscovery, discoveryDocument, GROUP_VERSIONS } from './discovery.ts';
import { negotiate } from './negotiate.ts';
import { openApiDocument } from './openapi.ts';
import type { ApiReply, ApiRequest } from './request.ts';

const HEALTH_PATHS: readonly string[] = ['/healthz', '/livez', '/readyz'];
const HEALTH = /^\/(healthz|livez|readyz)(\/ping)?$/;
const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const AGGREGATED_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const OPENAPI = '/openapi/v3';

const VERSION = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3',
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
};

/** Answers paths that name no resource: health, version, discovery, OpenAPI. @throws ApiError 404, 405, 406 */
export function plainReply(path: string, request: ApiRequest): ApiReply {
  if (HEALTH.test(path)) return { status: 200, headers: TEXT, body: Buffer.from('ok') };
  if (path === '/openapi/v2') return openApiV2Reply(request);
  if (path === OPENAPI || path.startsWith(`${OPENAPI}/`)) return openApiReply(path, request);
  const trimmed = path.length > 2 && path.endsWith('/') ? path.slice(0, -1) : path;
  const document = documentOf(trimmed);
  if (document === undefined) {
    if (path.startsWith('/api/') || (path.startsWith('/apis/') && knownGroup(path))) throw noSuchPath();
    return { status: 404, headers: TEXT, body: Buffer.from('404 page not found\n') };
  }
  // The list of groups, and a single group, accept every method.
  if (request.method !== 'GET' && !/^\/apis(\/[^/]+)?$/.test(trimmed)) throw methodNotAllowed();
  const accept = request.headers.accept ?? '';
  if (trimmed === '/api' || trimmed === '/apis') {
    const wanted = discoveryShape(accept);
    if (wanted === 'aggregated') return aggregatedReply(trimmed, request);
  } else if (accept !== '') {
    negotiate(accept);
  }
  return { status: 200, headers: { 'content-type': JSON_TYPE }, body: Buffer.from(JSON.stringify(document)) };
}

function documentOf(path: string): object | undefined {
  if (path === '/version') return VERSION;
  if (path === '/') return { paths: PATHS };
  return discoveryDocument(path);
}

/** A path below an unknown group gets no Status at all. */
function knownGroup(path: string): boolean {
  return GROUP_VERSIONS.some((groupVersion) => path.startsWith(`/apis/${groupVersion.split('/')[0]}/`));
}

const PATHS: readonly string[] = [
  '/api',
  '/apis',
  ...GROUP_VERSIONS.flatMap((groupVersion) => {
    const [group = '', version] = groupVersion.split('/');
    return version === undefined ? [`/api/${group}`] : [`/apis/${group}`, `/apis/${groupVersion}`];
  }),
  ...HEALTH_PATHS,
  OPENAPI,
  ...GROUP_VERSIONS.map((groupVersion) => `${OPENAPI}/${documentName(groupVersion)}`),
  '/version',
].sort();

/** @throws ApiError 406 */
function discoveryShape(accept: string): 'aggregated' | 'legacy' {
  const clauses = accept.split(',').map((clause) => clause.split(';').map((part) => part.trim()));
  for (const [type, ...parameters] of clauses) {
    const given = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    const as = given.get('as') ?? '';
    if (as === 'APIGroupDiscoveryList') {
      const exact = given.get('g') === 'apidiscovery.k8s.io' && given.get('v') === 'v2';
      if (exact && type === JSON_TYPE) return 'aggregated';
    } else if (as === '' && (accept === '' || type === JSON_TYPE || type === '*/*' || type === 'application/*')) {
      return 'legacy';
    }
  }
  negotiate(accept);
  throw notAcceptable('only the following media types are accepted: application/json');
}

function aggregatedReply(path: '/api' | '/apis', request: ApiRequest): ApiReply {
  const body = JSON.stringify(aggregatedDiscovery(path));
  const etag = `"${fnv1a128(body).toUpperCase()}"`;
  const headers = { 'cache-control': 'public', etag, vary: 'Accept' };
  if (request.headers.ifNoneMatch === etag) return { status: 304, headers, body: NOTHING };
  return { status: 200, headers: { ...headers, 'content-type': AGGREGATED_TYPE }, body: Buffer.from(body) };
}

const NOTHING = new Uint8Array(0);

function documentName(groupVersion: string): string {
  return `${groupVersion.includes('/') ? 'apis' : 'api'}/${groupVersion}`;
}

const OPENAPI_V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/**
 * An OpenAPI 2.0 document that describes nothing. kubectl looks in it for kinds that version 3 lacks, and works without
 * them.
 */
function openApiV2Reply({ headers: { accept = '' } }: ApiRequest): ApiReply {
  if (!accept.includes('com.github.proto-openapi')) {
    const document = { swagger: '2.0', info: { title: 'Kubernetes', version: VERSION.gitVersion }, paths: {} };
    return { status: 200, headers: { 'content-type': JSON_TYPE }, body: Buffer.from(JSON.stringify(document)) };
  }
  // Document {1 swagger, 2 info {1 title, 2 version}}.
  const body = Buffer.from(`\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07${VERSION.gitVersion}`, 'latin1');
  return { status: 200, headers: { 'content-type': OPENAPI_V2_PROTOBUF }, body };
}

interface OpenApi {
  readonly body: Uint8Array;
  readonly hash: string;
}

/** The documents, made when they are first asked for. */
const openApi = new Map<string, OpenApi>();

function openApiOf(groupVersion: string): OpenApi {
  let document = openApi.get(groupVersion);
  if (document === undefined) {
    const text = JSON.stringify(openApiDocument(groupVersion));
    document = { body: Buffer.from(text), hash: fnv1a128(text).toUpperCase() };
    openApi.set(groupVersion, document);
  }
  return document;
}

/** The index names each document with its hash, so that clients may keep a document for good. */
function openApiReply(path: string, request: ApiRequest): ApiReply {
  if (path === OPENAPI) {
    const urlOf = (groupVersion: string): string =>
      `${OPENAPI}/${documentName(groupVersion)}?hash=${openApiOf(groupVersion).hash}`;
    const paths = Object.fromEntries(
      GROUP_VERSIONS.map((groupVersion) => [documentName(groupVersion), { serverRelativeURL: urlOf(groupVersion) }]),
    );
    return { status: 200, headers: TEXT, body: Buffer.from(JSON.stringify({ paths })) };
  }
  const groupVersion = GROUP_VERSIONS.find((name) => path === `${OPENAPI}/${documentName(name)}`);
  if (groupVersion === undefined) return { status: 404, headers: {}, body: NOTHING };
  const { body, hash } = openApiOf(groupVersion);
  const etag = `"${hash}"`;
  const headers = { 'cache-control': 'no-cache, private', etag, vary: 'Accept' };
  const query = new URLSearchParams(request.path.slice(path.length));
  const wanted = query.get('hash');
  if (wanted !== null && wanted !== hash) {
    const location = `${path}?hash=${hash}`;
    return { status: 301, headers: { ...headers, 'content-type': JSON_TYPE, location }, body: NOTHING };
  }
  if (request.headers.ifNoneMatch === etag) return { status: 304, headers, body: NOTHING };
  return { status: 200, headers: { ...headers, 'content-type': JSON_TYPE }, body };
}
