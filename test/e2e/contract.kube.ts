import { apiServerContract, apiServerWithoutWatchList } from '../suites/apiserver.ts';
import { apiServerDualStack } from '../suites/apiserver-dual-stack.ts';
import type { ApiServerUnderTest } from '../suites/apiserver-client.ts';
import type { ClusterOptions } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';

async function start(options: ClusterOptions = {}): Promise<ApiServerUnderTest> {
  const cluster = await startCluster(options);
  return { url: cluster.url, token: cluster.token, caFile: cluster.caFile, stop: () => cluster.stop() };
}

apiServerContract('kube-apiserver', false, () => start());
apiServerWithoutWatchList('kube-apiserver', () => start({ watchList: false }));
apiServerDualStack('kube-apiserver', () => start({ serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:10:96::/112'] }));
