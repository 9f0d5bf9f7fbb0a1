import { Worker } from 'node:worker_threads';
import type { TlsIdentity } from './self-signed.ts';
import { workerEntry } from './worker-entry.ts';

/** The thread's `workerData`. It answers with an ApiServerThreadReady. Any message to it ends it. */
export interface ApiServerThreadOptions {
  readonly seed: number;
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
  readonly tls?: TlsIdentity;
  readonly watchList?: boolean;
  /** Default one of IPv4; a second one of the other family makes the cluster dual-stack. */
  readonly serviceClusterIPRanges?: readonly string[];
  /** Rules of faults, as text. */
  readonly faults?: readonly string[];
  /** Whether rules of faults may be changed over HTTP from this machine. */
  readonly faultAdmin?: boolean;
}

export interface ApiServerThreadReady {
  readonly url: string;
  readonly port: number;
}

export interface ApiServerThread {
  readonly url: string;
  /** Rejected when the thread ends without `close`. Never resolves. */
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
}

/** The embedded API server on a thread of its own. @throws whatever kept it from starting */
export async function startApiServerThread(
  options: ApiServerThreadOptions,
  entry: URL = workerEntry('apiserver'),
): Promise<ApiServerThread> {
  const worker = new Worker(entry, { workerData: options });
  let closing = false;
  const failed = new Promise<never>((_, reject) => {
    worker.once('error', reject);
    worker.once('exit', (status) => {
      if (!closing) reject(new Error(`the thread of the API server has ended with status ${status}`));
    });
  });
  failed.catch(() => undefined);
  const ready = new Promise<ApiServerThreadReady>((resolve) => worker.once('message', resolve));
  const { url } = await Promise.race([ready, failed]);
  return {
    url,
    failed,
    close: async () => {
      closing = true;
      await worker.terminate();
    },
  };
}
