import type { HttpRequest, Transport } from '../ports/transport.ts';

/** A review of one's own rights or identity changes nothing. */
const SELF_REVIEW = /^\/apis\/(authorization|authentication)\.k8s\.io\/v1\/selfsubject(access)?reviews$/;

/**
 * Lets only reviews of oneself through, which are POSTs.
 * @throws Error at anything else, before it is sent
 */
export function onlySelfReviews<T extends Transport>(transport: T): T {
  return {
    ...transport,
    send(request: HttpRequest) {
      if (!SELF_REVIEW.test(request.path)) throw new Error(`${request.method} ${request.path} is no review of oneself`);
      transport.send(request);
    },
  };
}

/**
 * Lets only GET through, so that whoever has this transport can change nothing.
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

const ONE_ENDPOINTS = /^\/api\/v1\/namespaces\/[^/?]+\/endpoints\/[^/?]+$/;

/**
 * Lets GET through, and the deletion of one Endpoints object.
 * @throws Error at anything else, before it is sent
 */
export function getOrDeleteEndpoints(transport: Transport): Transport {
  const reading = readOnly(transport);
  return {
    ...transport,
    send(request: HttpRequest) {
      if (request.method === 'DELETE' && ONE_ENDPOINTS.test(request.path)) transport.send(request);
      else reading.send(request);
    },
  };
}
