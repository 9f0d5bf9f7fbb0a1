/** Clusters of the programs that tests find or build. */
import { type Cluster, type ClusterOptions, startKubeCluster } from '../../src/testbed/kube-cluster.ts';
import { kubeBinaries, type OlderRelease } from './binaries.ts';

export interface TestClusterOptions extends ClusterOptions {
  /** kube-apiserver and kube-controller-manager of that release. Default the newest. */
  readonly release?: OlderRelease;
}

/** @throws Error when a program does not start, with the end of its log */
export async function startCluster(options: TestClusterOptions = {}): Promise<Cluster> {
  return startKubeCluster(await kubeBinaries(options.release), options);
}
