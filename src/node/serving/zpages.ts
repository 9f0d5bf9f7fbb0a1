/** /flagz and /statusz in the formats that Kubernetes' components have since 1.36: a text for people, v1beta1 for programs. */
import type { Answer, Asked, Page } from './page.ts';

type Kind = 'Flagz' | 'Statusz';

const COMPONENT = 'endpointd';
const WARNING = 'Warning: this page is for people, and its format may change. Programs ask for application/json.';

/** @param flags by name, in the words of the command line. The password of an address is not shown. */
export function flagzPage(flags: Readonly<Record<string, string>>): Page {
  const shown = Object.entries(flags).map(
    ([name, said]) => [name, name === 'master' ? withoutUser(said) : said] as const,
  );
  const sorted = Object.fromEntries(shown.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const lines = Object.entries(sorted).map(([name, value]) => `${name}=${value}`);
  return (asked) => negotiated(asked, 'Flagz', () => [...headOf('flagz'), ...lines, ''], { flags: sorted });
}

/** An address may lack its scheme, and a password may have an @. */
function withoutUser(address: string): string {
  return address.replace(/^([a-z]+:\/\/)?[^/?#]*@/i, '$1...@');
}

export interface StatusFacts {
  readonly startedMs: number;
  /** The version of Node.js that runs the process. */
  readonly runtimeVersion: string;
  readonly version: string;
  /** First parts of all paths that are served. */
  readonly paths: readonly string[];
}

/** The format has a field only for Go's version. It has the version of Node.js here. */
export function statuszPage({ startedMs, runtimeVersion, version, paths }: StatusFacts, wallMs: () => number): Page {
  return (asked) => {
    const upSeconds = Math.max(0, Math.floor((wallMs() - startedMs) / 1000));
    const text = (): string[] => [
      ...headOf('statusz'),
      '',
      `Started: ${unixDate(startedMs)}`,
      `Up: ${Math.floor(upSeconds / 3600)} hr ${twoDigits((upSeconds / 60) % 60)} min ${twoDigits(upSeconds % 60)} sec`,
      `Go version: ${runtimeVersion}`,
      `Binary version: ${version}`,
      '',
      `Paths: ${paths.join(' ')}`,
      '',
    ];
    return negotiated(asked, 'Statusz', text, {
      startTime: `${new Date(startedMs).toISOString().slice(0, 19)}Z`,
      uptimeSeconds: upSeconds,
      goVersion: runtimeVersion,
      binaryVersion: version,
      paths,
    });
  };
}

function headOf(page: string): string[] {
  return ['', `${COMPONENT} ${page}`, WARNING];
}

/**
 * Answers with text unless something else is asked for. JSON is given only to a client that names the object's group,
 * version and kind.
 */
function negotiated({ accept }: Asked, kind: Kind, lines: () => string[], fields: object): Answer {
  const type =
    accept.trim() === ''
      ? 'text'
      : accept
          .split(',')
          .map((one) => acceptedType(one, kind))
          .find((one) => one !== null);
  if (type === 'text') return { status: 200, contentType: 'text/plain; charset=utf-8', body: lines().join('\n') };
  if (type === 'json') {
    const object = { kind, apiVersion: 'config.k8s.io/v1beta1', metadata: { name: COMPONENT }, ...fields };
    const contentType = `application/json;g=config.k8s.io;v=v1beta1;as=${kind}`;
    return { status: 200, contentType, body: `${JSON.stringify(object, null, 2)}\n` };
  }
  const refusal = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'only the following media types are accepted: application/json, text/plain',
    reason: 'NotAcceptable',
    code: 406,
  };
  return { status: 406, contentType: 'application/json', body: `${JSON.stringify(refusal, null, 2)}\n` };
}

/** null = the page cannot be had in this type. */
function acceptedType(accepted: string, kind: Kind): 'text' | 'json' | null {
  const [type = '', ...parameters] = accepted.split(';').map((part) => part.trim().toLowerCase());
  const has = (name: string): string | undefined =>
    parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1);
  const as = has('as');
  if (as === undefined) return ['text/plain', 'text/*', '*/*'].includes(type) ? 'text' : null;
  const isThis = has('g') === 'config.k8s.io' && has('v') === 'v1beta1' && as === kind.toLowerCase();
  return isThis && ['application/json', 'application/*', '*/*'].includes(type) ? 'json' : null;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Such as `Sun Nov 22 08:58:17 UTC 2026`. */
function unixDate(milliseconds: number): string {
  const date = new Date(milliseconds);
  const day = `${DAYS[date.getUTCDay()]} ${MONTHS[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2, ' ')}`;
  return `${day} ${date.toISOString().slice(11, 19)} UTC ${date.getUTCFullYear()}`;
}

function twoDigits(value: number): string {
  return String(Math.floor(value)).padStart(2, '0');
}
