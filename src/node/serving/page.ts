/** A request for a page. */
export interface Asked {
  /** The answer to HEAD is sent without its body. */
  readonly method: 'GET' | 'HEAD';
  readonly path: string;
  readonly query: URLSearchParams;
  /** '' = the client takes anything. */
  readonly accept: string;
  /** Aborted when the client has gone. */
  readonly left: AbortSignal;
  /** Lets the answer take so long from now on. Only for pages that are made one at a time. */
  readonly extend: (lifeMs: number) => void;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** If a page throws, the answer has status 500. */
export type Page = (asked: Asked) => Answer | Promise<Answer>;

/** null = there is no such page. */
export type FindPage = (path: string) => Page | null;

export function text(status: number, body: string): Answer {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}

export function json(value: unknown): Answer {
  return { status: 200, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}
