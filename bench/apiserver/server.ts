/** The API servers that are weighed: the embedded one and a real one, each a process of its own. */
import { readFile } from 'node:fs/promises';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { startCluster } from '../../test/e2e/cluster.ts';
import type { LoadTarget } from '../support/http-load.ts';
import { usageOf } from '../support/process-usage.ts';

export interface Server {
  readonly name: string;
  readonly target: LoadTarget;
  readonly cpuSeconds: () => number;
  readonly client: ApiClient;
  readonly stop: () => Promise<unknown>;
}

/** A divisor of the numbers of services and pods. */
export const CONNECTIONS = 4;

export async function openEmbedded(): Promise<Server> {
  const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0']);
  const client = createApiClient({ url: serve.url }, CONNECTIONS);
  const cpuSeconds = (): number => usageOf(serve.pid).cpuSeconds;
  return { name: 'embedded', target: { url: serve.url }, cpuSeconds, client, stop: () => serve.stop() };
}

export async function openReal(): Promise<Server> {
  const cluster = await startCluster();
  const { url, token, caFile } = cluster;
  const client = createApiClient({ url, token, ca: await readFile(caFile, 'utf8') }, CONNECTIONS);
  const target = { url, token, caFile };
  return {
    name: 'kube-apiserver',
    target,
    cpuSeconds: () => cluster.apiserverCpuSeconds(),
    client,
    stop: () => cluster.stop(),
  };
}
