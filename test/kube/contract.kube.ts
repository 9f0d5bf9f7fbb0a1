import { apiServerContract } from '../suites/apiserver.ts';
import { startCluster } from './cluster.ts';

apiServerContract('kube-apiserver', false, async () => {
  const cluster = await startCluster();
  return { url: cluster.url, token: cluster.token, caFile: cluster.caFile, stop: () => cluster.stop() };
});
