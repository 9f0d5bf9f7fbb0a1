import type { Dispatcher } from 'undici';
import { opensStream, type HttpRequest, type TransportEvent } from '../ports/transport.ts';

/** A request of the transport, from its start to its last event. */
export interface Call {
  readonly request: HttpRequest;
  readonly startedMs: number;
  /** The generation of the access that the request was sent with. */
  generation: number;
  /** How often it was sent. */
  tries: number;
  readonly timer: NodeJS.Timeout;
  /** undefined = no connection has begun to send the request, so nothing can have reached the server. */
  controller: Dispatcher.DispatchController | undefined;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  chunks: Uint8Array[];
  bytes: number;
  /** Whether the last event is queued or the call was cancelled. Then whatever undici still says is ignored. */
  settled: boolean;
  cancelled: boolean;
}

/** Whether the request is a stream that the server has accepted. Only then there are `chunk` and `ended` events. */
export function isOpenStream({ request, status }: Call): boolean {
  return opensStream(request.stream, status);
}

export function responseOf({ request, status, headers, chunks }: Call): TransportEvent {
  return {
    type: 'response',
    id: request.id,
    status,
    contentType: headerText(headers['content-type']),
    retryAfterSeconds: retryAfterSeconds(headers['retry-after']),
    priorityLevel: headerText(headers['x-kubernetes-pf-prioritylevel-uid']),
    body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks),
  };
}

function headerText(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/** Only the form in seconds: the API server sends no dates. */
function retryAfterSeconds(value: string | string[] | undefined): number {
  const text = headerText(value);
  return /^\d{1,9}$/.test(text) ? Number(text) : -1;
}
