/**
 * Requests to the API server as data. The weakest useful promise:
 *
 * - A request without `stream` gets exactly one `response` or `failure`.
 * - A request with `stream` gets a `failure`, or a `response` with an empty body, any number of `chunk`s and exactly
 *   one `ended`. An answer that is not 2xx (`opensStream`) is an ordinary `response` with its body, and has no `ended`.
 * - Requests have no order between each other.
 * - After `cancel(id)` nothing more comes for that id, except what was delivered together with the event that led to
 *   the cancel.
 * - Nothing calls back from inside `send` or `cancel`.
 */
export interface Transport {
  send(request: HttpRequest): void;
  cancel(id: number): void;
}

/** Whether a response of that status opens a stream. @param asked whether the request has `stream` */
export function opensStream(asked: boolean, status: number): boolean {
  return asked && status >= 200 && status < 300;
}

/** Which connections and which budget a request uses. */
export type PoolName = 'list' | 'watch' | 'read' | 'write' | 'event' | 'lease';

export interface HttpRequest {
  /** Unique within the process. */
  readonly id: number;
  readonly pool: PoolName;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, from the server's root, already encoded. */
  readonly path: string;
  readonly accept: string;
  readonly contentType: string;
  readonly body: Uint8Array | null;
  readonly stream: boolean;
  /**
   * Milliseconds until a `failure` of kind timeout: of the whole exchange, or of a stream until its response. An open
   * stream has no limit here: only its reader knows what a sign of life is.
   */
  readonly timeoutMs: number;
  /**
   * From this time on no byte of the request is put on a connection, however long it has waited for one. Absent = no
   * limit.
   */
  readonly notAfter?: Deadline;
}

/** A time by both clocks (`ports/clock.ts`): it has come when either of them says so. */
export interface Deadline {
  readonly nowMs: number;
  readonly wallMs: number;
}

export type TransportEvent =
  | {
      readonly type: 'response';
      readonly id: number;
      readonly status: number;
      readonly contentType: string;
      /** The Retry-After header in seconds; -1 = none. */
      readonly retryAfterSeconds: number;
      /**
       * The header X-Kubernetes-PF-PriorityLevel-UID. It says that priority and fairness has admitted or refused the
       * request; '' = none.
       */
      readonly priorityLevel: string;
      readonly body: Uint8Array;
    }
  | { readonly type: 'chunk'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly type: 'ended'; readonly id: number; readonly error: string | null }
  | {
      readonly type: 'failure';
      readonly id: number;
      /**
       * too-big: the answer has more bytes than the transport takes; a smaller one may do. late: its `notAfter` came before a
       * connection began to send it.
       */
      readonly kind: 'refused' | 'timeout' | 'reset' | 'too-big' | 'late' | 'other';
      readonly message: string;
      /** False = certainly nothing reached the server, so a write was not applied. */
      readonly mayHaveArrived: boolean;
    };
