import { Worker } from 'node:worker_threads';
import type { TlsIdentity } from './self-signed.ts';

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
  readonly close: () => Promise<void>;
}

/** The embedded API server on a thread of its own. @throws whatever kept it from starting */
export async function startApiServerThread(options: ApiServerThreadOptions): Promise<ApiServerThread> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`../../workers/apiserver.${extension}`, import.meta.url), { workerData: options });
  const { url } = await new Promise<ApiServerThreadReady>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return {
    url,
    close: async () => {
      await worker.terminate();
    },
  };
}
