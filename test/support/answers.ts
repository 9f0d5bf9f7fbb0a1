/** Answers of an API server, as events. */
import { JSON_TYPE } from '../../src/kube/media-type.ts';
import type { TransportEvent } from '../../src/ports/transport.ts';

/** A string is plain text, as proxies answer. */
export function answered(
  status: number,
  body: object | string,
  headers: { readonly retryAfterSeconds?: number; readonly priorityLevel?: string } = {},
): TransportEvent & { type: 'response' } {
  const isText = typeof body === 'string';
  return {
    type: 'response',
    id: 0,
    status,
    contentType: isText ? 'text/plain' : JSON_TYPE,
    retryAfterSeconds: -1,
    priorityLevel: '',
    ...headers,
    body: Buffer.from(isText ? body : JSON.stringify(body)),
  };
}

export function refusedWith(code: number, reason = '', message = 'simulated'): TransportEvent & { type: 'response' } {
  return answered(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message });
}

/** A create where the namespace is being deleted. */
export const NAMESPACE_ENDS = answered(403, {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code: 403,
  reason: 'Forbidden',
  details: { causes: [{ reason: 'NamespaceTerminating', message: 'the namespace is being terminated' }] },
});

export function failedWith(kind: 'refused' | 'timeout' | 'reset', mayHaveArrived: boolean): TransportEvent {
  return { type: 'failure', id: 0, kind, message: 'simulated', mayHaveArrived };
}
