import { repackSubsets } from '../../../src/core/endpoints/repack.ts';
import type { EndpointPort, EndpointSubset, PodRecord } from '../../../src/kube/types.ts';
import type { BenchCase, MicroBench, Size } from '../../support/micro-bench.ts';
import { clusterRecords } from '../../support/records.ts';

export const repackBench: MicroBench = { name: 'core/endpoints/repack', prepare };

const HTTP: EndpointPort = { name: 'http', port: 8080, protocol: 'TCP' };
const HTTP_NEXT: EndpointPort = { name: 'http', port: 8081, protocol: 'TCP' };
const METRICS: EndpointPort = { name: 'metrics', port: 9090, protocol: 'TCP' };

/** The subsets as upstream builds them: one for each pod and port. */
function prepare(size: Size): readonly BenchCase[] {
  const count = size === 'full' ? 1000 : 50;
  const { pods } = clusterRecords('huge', { sizes: [{ pods: count, weight: 1 }] });
  const onePort = pods.map((pod) => subset(pod, [HTTP]));
  const rollout = pods.flatMap((pod, i) => [subset(pod, [i % 3 === 0 ? HTTP_NEXT : HTTP]), subset(pod, [METRICS])]);
  const few = onePort.slice(0, 5);
  const repacked = repackSubsets(rollout);
  return [
    {
      name: '5 addresses, one port',
      operations: 100,
      run: () => {
        let last: EndpointSubset[] = [];
        for (let i = 0; i < 100; i++) last = repackSubsets(few);
        return last;
      },
    },
    { name: `${count} addresses, one port`, operations: 1, run: () => repackSubsets(onePort) },
    { name: `${count} addresses, half-way through a roll-out`, operations: 1, run: () => repackSubsets(rollout) },
    { name: `${count} addresses, canonical already`, operations: 1, run: () => repackSubsets(repacked) },
  ];
}

function subset(pod: PodRecord, ports: readonly EndpointPort[]): EndpointSubset {
  const address = {
    ip: pod.podIP,
    nodeName: pod.nodeName,
    targetRef: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid },
  };
  return { addresses: [address], ports };
}
