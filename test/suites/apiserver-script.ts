import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import {
  JSON_PATCH,
  MERGE,
  STRATEGIC,
  type Answer,
  type CallOptions,
  type Client,
  type Json,
} from './apiserver-client.ts';

/** One request of a script, and which parts of the answer it shows. */
export interface Step {
  readonly method: string;
  /**
   * `services/a?x=y` is in the case's own namespace, a path with a leading slash is whole. In paths and bodies NS stands
   * for that namespace, RV and UID for the version and uid that the last answer with metadata had.
   */
  readonly path: string;
  readonly body?: unknown;
  readonly options?: CallOptions;
  /** Paths such as `spec.ports` that a success shows; all fields but metadata and kind when absent. */
  readonly shows?: readonly string[];
}

/**
 * Requests in order, and what they see: a line with the status of each, then indented lines. These are the fields that
 * are shown, or the causes of a 422 as `field: message`, or the reason and message of another error.
 */
export interface Script {
  readonly steps: readonly Step[];
  readonly sees: readonly string[];
}

const NAMESPACED: Readonly<Record<string, string>> = {
  endpointslices: '/apis/discovery.k8s.io/v1/namespaces/NS/',
  leases: '/apis/coordination.k8s.io/v1/namespaces/NS/',
};

export function get(path: string, ...shows: string[]): Step {
  return { method: 'GET', path, ...shown(shows) };
}

/** Creates an object that is called `a` unless it says otherwise. */
export function create(path: string, object: Json, ...shows: string[]): Step {
  return { method: 'POST', path, body: { ...object, metadata: { name: 'a', ...object.metadata } }, ...shown(shows) };
}

export function put(path: string, object: Json, ...shows: string[]): Step {
  return { method: 'PUT', path, body: { ...object, metadata: { name: 'a', ...object.metadata } }, ...shown(shows) };
}

export function remove(path: string, options?: Json, ...shows: string[]): Step {
  return { method: 'DELETE', path, body: options, ...shown(shows) };
}

export function merge(path: string, patch: Json, ...shows: string[]): Step {
  return { method: 'PATCH', path, body: patch, options: { contentType: MERGE }, ...shown(shows) };
}

export function strategic(path: string, patch: Json, ...shows: string[]): Step {
  return { method: 'PATCH', path, body: patch, options: { contentType: STRATEGIC }, ...shown(shows) };
}

export function jsonPatch(path: string, patch: Json, ...shows: string[]): Step {
  return { method: 'PATCH', path, body: patch, options: { contentType: JSON_PATCH }, ...shown(shows) };
}

function shown(shows: readonly string[]): Partial<Step> {
  return shows.length === 0 ? {} : { shows };
}

export function casesOf(scripts: Readonly<Record<string, Script>>): Readonly<Record<string, Case>> {
  return Object.fromEntries(
    Object.entries(scripts).map(([title, script]) => [
      title,
      async (client: Client) => assert.deepEqual(await play(client, script.steps), script.sees),
    ]),
  );
}

/** What the steps see, in a namespace of their own. A request that a server breaks off sees `no answer` and why. */
export async function play(client: Client, steps: readonly Step[]): Promise<string[]> {
  const namespace = await client.namespace();
  const lines: string[] = [];
  let resourceVersion = '';
  let uid = '';
  const sent = JSON.stringify(steps);
  const fill = (text: string): string =>
    text
      .replaceAll(/\bNS\b/g, namespace)
      .replaceAll(/\bRV\b/g, resourceVersion)
      .replaceAll(/\bUID\b/g, uid);
  const hide = (text: string): string => {
    let hidden = text.replaceAll(namespace, 'NS');
    if (resourceVersion !== '') {
      hidden = hidden.replaceAll(`"${resourceVersion}"`, '"RV"').replaceAll(`(${resourceVersion})`, '(RV)');
    }
    if (uid !== '') hidden = hidden.replaceAll(uid, 'UID');
    hidden = hidden.replaceAll(GENERATED, '<given>');
    return abbreviate(
      hidden.replaceAll(GIVEN, (given) => (sent.includes(given) || RANGE.includes(given) ? given : '<given>')),
    );
  };
  for (const { method, path, body, options, shows } of steps) {
    const [resource = ''] = path.split(/[/?]/);
    const prefix = path.startsWith('/') ? '' : (NAMESPACED[resource] ?? '/api/v1/namespaces/NS/');
    const raw = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const filled = typeof raw === 'string' ? fill(raw) : undefined;
    if (method === 'GET' && /[?&]watch=(1|true)|\/watch\//.test(path)) {
      const events = await watched(client, fill(prefix + path));
      if (events !== null) {
        lines.push('200', ...events.map((event) => `  ${hide(event)}`));
        continue;
      }
    }
    const answer = await client.call(method, fill(prefix + path), filled, options).catch((error: Error) => error);
    if (answer instanceof Error) {
      lines.push(`no answer: ${answer.message}`);
      continue;
    }
    if (answer.status < 300 && answer.body?.metadata?.uid !== undefined) {
      ({ resourceVersion, uid } = answer.body.metadata);
    }
    lines.push(String(answer.status), ...linesOf(answer, shows).map((line) => `  ${hide(line)}`));
  }
  return lines;
}

/** What a watch sees until it times out; null when there is none. */
async function watched(client: Client, path: string): Promise<string[] | null> {
  const watch = await client.watch(path).catch(() => null);
  if (watch === null) return null;
  return (await watch.rest()).map(({ type, object }) => {
    const { name, annotations } = object.metadata ?? {};
    if (type === 'ERROR') return `ERROR ${object.code} ${object.reason}: ${object.message}`;
    return [type, name, ...Object.keys(type === 'BOOKMARK' ? (annotations ?? {}) : {})].filter(Boolean).join(' ');
  });
}

function linesOf({ status, body, text, contentType }: Answer, shows: readonly string[] | undefined): string[] {
  if (body === undefined) return [`${contentType}: ${text}`];
  if (body.kind === 'Status') return statusLines(body);
  if (status >= 300) return [text];
  if (Array.isArray(body.items)) return [`items = ${body.items.map((item: Json) => item.metadata.name).join(', ')}`];
  const paths =
    shows ??
    Object.keys(body)
      .filter((key) => !['metadata', 'kind', 'apiVersion'].includes(key))
      .sort();
  return paths.map((path) => {
    let value = body;
    for (const step of path.split('.')) value = value?.[step];
    return `${path} = ${value === undefined ? 'nothing' : JSON.stringify(sorted(value))}`;
  });
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

function statusLines({ code, reason, message, details }: Json): string[] {
  if (code !== 422 || details?.causes === undefined) return [`${reason ?? 'no reason'}: ${message ?? 'no message'}`];
  const lines = details.causes.map((cause: Json) => {
    assert.ok(message.includes(`${cause.field}: ${cause.message}`), `${cause.field} is missing in ${message}`);
    const usual = cause.message.startsWith(USUAL[cause.reason] ?? '-');
    return `${usual ? '' : `(${cause.reason}) `}${cause.field}: ${cause.message.replace(/\n[^]*/, '')}`;
  });
  // The server says some things twice.
  return [...new Set<string>(lines)];
}

/** How the message of a cause starts. */
const USUAL: Readonly<Record<string, string>> = {
  FieldValueInvalid: 'Invalid value',
  FieldValueRequired: 'Required value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
};

/** Cluster IPs and node ports; those that no step names were given by the server. */
const GIVEN = /\b10\.(?:9[6-9]|10[0-9]|11[01])\.[0-9]+\.[0-9]+\b|\b3[012][0-9]{3}\b/g;

/** The end of a generated name. */
const GENERATED = /(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?=")/g;

/** Ends of the range of node ports; they come in messages. */
const RANGE: readonly string[] = ['30000', '32767'];

/** The long texts of the server that come often; what they say is compared to the letter. */
const ABBREVIATIONS: ReadonlyArray<readonly [string, string]> = [
  [
    '<no label>',
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
      "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ],
  [
    '<no subdomain>',
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
      "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  [
    '<no name part>',
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
      "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    '<no label value>',
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
      "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
      "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  ['<no ip>', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
];

function abbreviate(text: string): string {
  let short = text;
  for (const [name, long] of ABBREVIATIONS) short = short.replaceAll(long, name);
  return short.replaceAll(/(.)\1{24,}/g, (run, item: string) => `${item}{${run.length}}`);
}
