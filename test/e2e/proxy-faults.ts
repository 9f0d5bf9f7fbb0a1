/** What a fault proxy can do to the exchanges of its client, as data. */

export type ExchangeKind = 'list' | 'watch' | 'read' | 'write';

export interface RequestFault {
  readonly at: 'request';
  readonly does:
    /** The connection is cut before the request goes on. */
    | 'cut'
    /** The request goes nowhere and is never answered. */
    | 'swallow'
    /** The request goes on so much later, even if nobody waits for the answer any more. */
    | { readonly lateMs: number }
    /** The proxy answers itself, and the server never hears of the request. */
    | Answer;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ReplyFault {
  readonly at: 'reply';
  readonly does:
    /** The server has answered, and the connection is cut. */
    | 'lose'
    /** The server has answered, and nobody hears of it. */
    | 'hold'
    /** The connection is cut in the middle of the body. */
    | 'cut'
    /** The body is noise, of the length that it had. */
    | 'garble'
    | { readonly delayMsMax: number };
}

/** Each piece of a stream is met anew, so that streams are met that were open before. */
export interface StreamFault {
  readonly at: 'stream';
  readonly does:
    /** Within a frame. */
    | 'cut'
    /** Cleanly, as a proxy does it. */
    | 'end'
    /** The stream stays open, and nothing comes any more. */
    | 'stall'
    /** What comes, comes at five bytes a second. */
    | 'trickle'
    /** A frame of 15 MiB begins, and never ends. */
    | 'endless-frame'
    /** Noise comes between the frames, or within one: what follows it may still look like an object. */
    | 'garble';
}

export type ProxyFault = (RequestFault | ReplyFault | StreamFault) & {
  readonly name: string;
  readonly meets: readonly ExchangeKind[];
  /** That it strikes what it meets, 0 to 1. */
  readonly chance: number;
};

const ALL: readonly ExchangeKind[] = ['list', 'read', 'write'];
const WRITES: readonly ExchangeKind[] = ['write'];
const HTML = '<html><body>Please sign in to the network.</body></html>';
const FLOW_CONTROL = { 'retry-after': '1', 'x-kubernetes-pf-prioritylevel-uid': 'a-priority-level' };

export const PROXY_FAULTS: readonly ProxyFault[] = [
  { name: 'requests are cut', meets: ALL, chance: 0.3, at: 'request', does: 'cut' },
  { name: 'writes vanish', meets: WRITES, chance: 0.05, at: 'request', does: 'swallow' },
  { name: 'replies are lost', meets: ALL, chance: 0.3, at: 'reply', does: 'lose' },
  { name: 'replies to writes never come', meets: WRITES, chance: 0.05, at: 'reply', does: 'hold' },
  { name: 'replies are seconds late', meets: ALL, chance: 0.3, at: 'reply', does: { delayMsMax: 4000 } },
  { name: 'replies miss their time limit', meets: WRITES, chance: 0.05, at: 'reply', does: { delayMsMax: 30_000 } },
  { name: 'replies are cut in the middle', meets: ALL, chance: 0.3, at: 'reply', does: 'cut' },
  { name: 'replies are noise', meets: ALL, chance: 0.3, at: 'reply', does: 'garble' },
  stream('streams are cut within frames', 'cut'),
  stream('streams end', 'end'),
  stream('streams are silent', 'stall'),
  stream('streams trickle', 'trickle'),
  stream('a frame never ends', 'endless-frame'),
  stream('streams bring noise', 'garble'),
  answer('too many requests', ALL, 429, 'Too many requests, please try again later.', FLOW_CONTROL),
  answer('the server is unavailable', ALL, 503, 'service unavailable', { 'retry-after': '1' }),
  answer('internal errors', ALL, 500, 'Internal Server Error'),
  answer('credentials are refused', ALL, 401, 'Unauthorized'),
  answer('rights are refused', ALL, 403, 'Forbidden'),
  answer('a page to sign in', ALL, 200, HTML),
  answer('a webhook refuses for five minutes', WRITES, 429, 'not now', { 'retry-after': '300' }),
];

function stream(name: string, does: StreamFault['does']): ProxyFault {
  return { name, meets: ['watch'], chance: 0.05, at: 'stream', does };
}

function answer(
  name: string,
  meets: readonly ExchangeKind[],
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): ProxyFault {
  const contentType = body.startsWith('<') ? 'text/html' : 'text/plain';
  return { name, meets, chance: 0.3, at: 'request', does: { status, contentType, headers, body } };
}
