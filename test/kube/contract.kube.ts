import { apiServerContract, apiServerWithoutWatchList } from '../suites/apiserver.ts';
import type { ApiServerUnderTest } from '../suites/apiserver-client.ts';
import { startCluster } from './cluster.ts';

async function start(watchList: boolean): Promise<ApiServerUnderTest> {
  const cluster = await startCluster({ watchList });
  return { url: cluster.url, token: cluster.token, caFile: cluster.caFile, stop: () => cluster.stop() };
}

apiServerContract('kube-apiserver', false, () => start(true));
apiServerWithoutWatchList('kube-apiserver', () => start(false));
