import {
  createSelectorIndex,
  podsOf,
  putPod,
  putService,
  removeService,
  type SelectorIndex,
} from '../../src/core/selector-index.ts';
import type { PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import type { BenchCase, MicroBench, Size } from '../support/micro-bench.ts';
import { clusterRecords, flipped } from '../support/records.ts';

export const selectorIndexBench: MicroBench = { name: 'core/selector-index', prepare };

/** One namespace of many services. In this case upstream walks through all of them for each event of a pod. */
function prepare(size: Size): readonly BenchCase[] {
  const { services, pods } = clusterRecords('onens', size === 'full' ? {} : { servicesPerNamespace: 10 });
  const index = build(services, pods);
  const some = pods.slice(0, 1000);
  const flips = some.map((pod, i) => flipped(pod, 1_000_000 + i));
  const relabelled = some.map((pod) => ({ ...pod, labels: ['app', 'none'] }));
  const moved = services.slice(0, 100);
  return [
    { name: 'build, per pod', operations: pods.length, run: () => summary(build(services, pods), services) },
    {
      name: 'pod turns ready and back',
      operations: 2 * some.length,
      run: () => putAll(index, flips) + putAll(index, some),
    },
    {
      name: 'pod leaves its service and comes back',
      operations: 2 * some.length,
      run: () => putAll(index, relabelled) + putAll(index, some),
    },
    {
      name: 'service goes and comes back',
      operations: 2 * moved.length,
      run: () => {
        for (const service of moved) removeService(index, service);
        for (const service of moved) putService(index, service, service.namespace, service.selector);
        return summary(index, moved);
      },
    },
  ];
}

function build(services: readonly ServiceRecord[], pods: readonly PodRecord[]): SelectorIndex<ServiceRecord> {
  const index = createSelectorIndex<ServiceRecord>();
  for (const service of services) putService(index, service, service.namespace, service.selector);
  for (const pod of pods) putPod(index, pod);
  return index;
}

/** How many services the pods belonged to, before and after. */
function putAll(index: SelectorIndex<ServiceRecord>, pods: readonly PodRecord[]): number {
  let touched = 0;
  for (const pod of pods) {
    const { servicesBefore, servicesAfter } = putPod(index, pod);
    touched += servicesBefore.length + servicesAfter.length;
  }
  return touched;
}

/** A text with the pods of each service. */
function summary(index: SelectorIndex<ServiceRecord>, services: readonly ServiceRecord[]): string {
  return services
    .map((service) => `${service.name}: ${Array.from(podsOf(index, service), (pod) => pod.name).join(' ')}`)
    .join('\n');
}
