import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { decodeBare, decodeObject } from '../../src/kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../../src/kube/media-type.ts';
import { createWatchReader } from '../../src/kube/watch-framing.ts';

/** Any JSON that a server answers with: what is in it is what the cases are about. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers of a server under test have no type that can be relied on
export type Json = any;

export interface ApiServerUnderTest {
  readonly url: string;
  readonly token: string;
  readonly caFile?: string;
  stop(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  /** The Warning headers, one text each. */
  readonly warnings: readonly string[];
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Decoded where it is JSON or protobuf, else undefined. */
  readonly body: Json;
  readonly text: string;
}

export interface CallOptions {
  readonly accept?: string;
  readonly contentType?: string;
  readonly ifNoneMatch?: string;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: Json;
}

export interface OpenWatch {
  readonly contentType: string;
  /** The next `count` events; fewer only if the stream has ended. */
  take(count: number): Promise<WatchEvent[]>;
  /** Everything until the server ends the stream. */
  rest(): Promise<WatchEvent[]>;
  close(): void;
}

export interface Client {
  readonly call: (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Answer>;
  /** Fails the case unless the answer is a success. */
  readonly ok: (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Json>;
  readonly watch: (path: string, options?: CallOptions) => Promise<OpenWatch>;
  /** A namespace of its own for each case. */
  readonly namespace: () => Promise<string>;
  readonly close: () => Promise<void>;
}

export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';

export function createClient(server: ApiServerUnderTest): Client {
  const connect = server.caFile === undefined ? {} : { ca: readFileSync(server.caFile) };
  const dispatcher = new Agent({ connect, connections: 16, bodyTimeout: 0 });
  const headersFor = ({ accept = JSON_TYPE, contentType = JSON_TYPE, ifNoneMatch }: CallOptions) => ({
    authorization: `Bearer ${server.token}`,
    accept,
    'content-type': contentType,
    ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
  });
  const send = (method: string, path: string, body: unknown, options: CallOptions) =>
    request(server.url + path, {
      method: method as 'GET',
      dispatcher,
      headers: headersFor(options),
      body:
        body === undefined
          ? null
          : body instanceof Uint8Array || typeof body === 'string'
            ? body
            : JSON.stringify(body),
    });
  const client: Client = {
    async call(method, path, body, options = {}) {
      const response = await send(method, path, body, options);
      const bytes = Buffer.from(await response.body.arrayBuffer());
      const contentType = String(response.headers['content-type'] ?? '');
      return {
        status: response.statusCode,
        contentType,
        warnings: warningsOf(response.headers['warning']),
        headers: response.headers,
        body: contentType.startsWith(PROTOBUF)
          ? decodeObject(bytes)
          : contentType.startsWith(JSON_TYPE) && bytes.length > 0
            ? JSON.parse(bytes.toString())
            : undefined,
        text: bytes.toString('latin1'),
      };
    },
    async ok(method, path, body, options) {
      const answer = await client.call(method, path, body, options);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
    async watch(path, options = {}) {
      const response = await send('GET', path, undefined, options);
      const contentType = String(response.headers['content-type'] ?? '');
      if (response.statusCode !== 200) {
        throw new Error(`GET ${path}: ${response.statusCode} ${await response.body.text()}`);
      }
      response.body.on('error', () => {});
      return readWatch(contentType, response.body);
    },
    async namespace() {
      const created = await client.ok('POST', '/api/v1/namespaces', { metadata: { generateName: 'case-' } });
      return created.metadata.name as string;
    },
    close: () => dispatcher.destroy(),
  };
  return client;
}

/** Path of the Endpoints of a namespace that nobody else uses. */
export async function endpointsPath(client: Client): Promise<string> {
  return `/api/v1/namespaces/${await client.namespace()}/endpoints`;
}

function readWatch(contentType: string, body: AsyncIterable<Uint8Array> & { destroy(): void }): OpenWatch {
  const reader = createWatchReader(contentType);
  const chunks = body[Symbol.asyncIterator]();
  let ended = false;
  const take = async (count: number): Promise<WatchEvent[]> => {
    const events: WatchEvent[] = [];
    while (events.length < count) {
      const frame = reader.next();
      if (frame !== null) {
        const { object } = frame;
        const { kind, apiVersion } = object;
        const value =
          object.encoding === 'json'
            ? object.value
            : { ...decodeBare(apiVersion, kind, object.bytes), kind, apiVersion };
        events.push({ type: frame.type, object: value });
        continue;
      }
      if (ended) break;
      const next = await chunks.next();
      if (next.done === true) ended = true;
      else reader.push(next.value);
    }
    return events;
  };
  return {
    contentType,
    take,
    rest: () => take(Number.POSITIVE_INFINITY),
    close: () => body.destroy(),
  };
}

function warningsOf(header: string | string[] | undefined): string[] {
  const values = header === undefined ? [] : Array.isArray(header) ? header : [header];
  return values.flatMap((value) => [...value.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]!));
}

/** Without what differs from run to run, and without managedFields. */
export function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Json = {};
  for (const [key, item] of Object.entries(value)) {
    if (VOLATILE.has(key)) continue;
    copy[key] = plain(item);
  }
  return copy;
}

const VOLATILE = new Set(['managedFields', 'uid', 'resourceVersion', 'creationTimestamp', 'namespace']);
