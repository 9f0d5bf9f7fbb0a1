import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type ApiClient, type ApiRequest } from '../node/api-client.ts';

const RETRY_MS = 100;
/**
 * Parts of answers of a kube-apiserver after which another try helps, although the status does not say so. 403: the
 * server has just started, and admission has not read the namespaces yet. 422: the server could not ask etcd for a free
 * address.
 */
const PASSING = ['not yet ready to handle request', 'failed to allocate IP: rpc error'];

/**
 * Sends until there is an answer, or the signal. If a request was carried out and its answer was lost, the next try
 * shows it: the created object exists. An object that is gone needs no more changes.
 * @throws ApiError for an answer that no further try would change
 */
export async function sendThrough(client: ApiClient, request: ApiRequest, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await client.send(request);
      return;
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if (status === 404 && request.method !== 'POST') return;
      if (status === 409 && request.method === 'POST') return;
      const passing = status === 0 || status === 409 || status === 429 || status >= 500;
      const { message } = error as Error;
      if (!passing && !PASSING.some((text) => message.includes(text))) throw error;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
