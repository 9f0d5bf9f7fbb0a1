/**
 * From nothing to right on the embedded API server, for planners inline and on threads, side by side: the controller is a
 * process of its own, the server a thread of this one, and what is right says the oracle.
 */
import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { startController } from '../../src/cli/controller-process.ts';
import { endpointsText, expectedEndpoints } from '../../src/cli/endpoints-check.ts';
import { watchEndpoints } from '../../src/cli/endpoints-view.ts';
import { loadCluster } from '../../src/cli/load-cluster.ts';
import { createApiClient } from '../../src/node/api-client.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { startApiServerThread } from '../../src/node/apiserver-thread.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import type { Cluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import type { Size } from '../support/micro-bench.ts';
import { usageOf } from '../support/process-usage.ts';
import { SEED } from '../support/records.ts';
import { table } from '../support/table.ts';

const SHARDS = [0, 1, 2];
const LOAD_CONCURRENT = 8;
const CONVERGE_MS_MAX = 120_000;

export async function runClusterBench(size: Size): Promise<void> {
  const cluster = makeCluster(size === 'full' ? findProfile('spread') : findProfile('tiny'), SEED);
  const server = await startApiServerThread({ seed: SEED });
  const client = createApiClient({ url: server.url }, LOAD_CONCURRENT);
  const loadedFrom = performance.now();
  await loadCluster(client, cluster, LOAD_CONCURRENT);
  const loadSeconds = (performance.now() - loadedFrom) / 1000;
  console.log(
    `\n${cluster.services.length} services, ${cluster.pods.length} pods, loaded in ${loadSeconds.toFixed(1)} s`,
  );

  const rows: string[][] = [];
  for (const shards of SHARDS) rows.push(await converge(client, server.url, shards, cluster));
  console.log(table(['planners', 'wall s', 'CPU s', 'CPU us/pod', 'writes', 'peak RSS MB', 'hash'], rows));
  await client.close();
  await server.close();
}

async function converge(client: ApiClient, url: string, shards: number, cluster: Cluster): Promise<string[]> {
  const [services, podList] = await Promise.all([client.list('/api/v1/services'), client.list('/api/v1/pods')]);
  const expected = expectedEndpoints(services.items, podList.items);
  const view = await watchEndpoints(client);
  const from = performance.now();
  const controller = await startController([
    `--master=${url}`,
    `--shards=${shards}`,
    '--kube-api-qps=5000',
    '--kube-api-burst=5000',
  ]);
  await Promise.race([view.converged(expected, CONVERGE_MS_MAX), controller.failed]);
  const seconds = (performance.now() - from) / 1000;
  const { cpuSeconds, peakBytes } = usageOf(controller.pid);
  const status = await controller.stop();
  if (status !== 0) throw new Error(`the controller has ended with status ${status}`);
  view.stop();
  const { items } = await client.list('/api/v1/endpoints');
  const ours = items.filter(({ metadata }) => expected.has(`${metadata.namespace}/${metadata.name}`));
  for (const namespace of cluster.namespaces) {
    await client.send({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}/endpoints` });
  }
  return [
    shards === 0 ? 'inline' : `${shards} thread${shards > 1 ? 's' : ''}`,
    seconds.toFixed(2),
    cpuSeconds.toFixed(2),
    ((cpuSeconds / cluster.pods.length) * 1e6).toFixed(0),
    String(view.writes()),
    (peakBytes / 1e6).toFixed(0),
    hashOf(ours),
  ];
}

/** Of everything but uids, which the server deals out in the order of creation. */
function hashOf(objects: readonly KubeObject[]): string {
  const texts = objects.map((object) => `${object.metadata.name}\n${endpointsText(object)}`).toSorted();
  const text = texts.join('\n\n').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
