import type { HttpRequest, Transport } from '../ports/transport.ts';

/**
 * Lets only GET through, so whoever has it can change nothing.
 * @throws Error at anything else, before it is sent
 */
export function readOnly<T extends Transport>(transport: T): T {
  return {
    ...transport,
    send(request: HttpRequest) {
      if (request.method !== 'GET') throw new Error(`${request.method} ${request.path} from a process that only reads`);
      transport.send(request);
    },
  };
}
