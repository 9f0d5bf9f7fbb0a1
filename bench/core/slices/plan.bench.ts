import assert from 'node:assert/strict';
import { ackSlice, planSlices, type SlicesPlan } from '../../../src/core/slices/plan.ts';
import {
  applySlicesPod,
  createServiceSlices,
  type ServiceSlices,
  setSlicesSpec,
} from '../../../src/core/slices/service-slices.ts';
import type { PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import type { BenchCase, MicroBench, Size } from '../../support/micro-bench.ts';
import { clusterRecords, flipped } from '../../support/records.ts';

export const slicesPlanBench: MicroBench = { name: 'core/slices/plan', prepare };

const ZONES = ['a', 'b', 'c'];

function prepare(size: Size): readonly BenchCase[] {
  const counts = size === 'full' ? [5, 100, 1000, 5000] : [5, 150];
  return counts.flatMap((count) => {
    const { services, pods } = clusterRecords('huge', { sizes: [{ pods: count, weight: 1 }] });
    const service = services[0]!;
    const close = { ...service, trafficDistribution: 'PreferClose' };
    const state = start(service, pods);
    const hinted = start(close, pods);
    return [
      { name: `${count} pods: from nothing`, operations: 1, run: () => shape(start(service, pods)) },
      { name: `${count} pods: one turns ready and back`, operations: 2, run: () => flip(state, pods[0]!) },
      {
        name: `${count} pods with PreferClose: one turns ready and back`,
        operations: 2,
        run: () => flip(hinted, pods[0]!),
      },
      {
        name: `${count} pods: nothing to do`,
        operations: 100,
        run: () => {
          let none = 0;
          for (let i = 0; i < 100; i++) if (planOnly(state).writes.length === 0) none++;
          return none;
        },
      },
    ];
  });
}

function start(service: ServiceRecord, pods: readonly PodRecord[]): ServiceSlices {
  const slices = createServiceSlices({
    maxEndpointsPerSlice: 100,
    tolerateUnreadyEndpointsAnnotation: false,
    compactSlices: false,
  });
  setSlicesSpec(slices, service);
  pods.forEach((pod, i) => applySlicesPod(slices, pod.name, { pod, zone: ZONES[i % ZONES.length]! }));
  commit(slices);
  // A second plan shows that nothing is left to write.
  assert.equal(planOnly(slices).writes.length, 0);
  return slices;
}

function flip(slices: ServiceSlices, pod: PodRecord): string {
  applySlicesPod(slices, pod.name, { pod: flipped(pod, 1_000_000), zone: 'a' });
  const away = commit(slices);
  applySlicesPod(slices, pod.name, { pod, zone: 'a' });
  return `${away} ${commit(slices)}`;
}

/** A text with the number of writes and of their endpoints. */
function commit(slices: ServiceSlices): string {
  const { writes } = planOnly(slices);
  assert.ok(writes.length > 0, 'there is something to write');
  let endpoints = 0;
  for (const write of writes) {
    endpoints += write.object?.endpoints?.length ?? 0;
    ackSlice(slices, write, { result: 'applied', uid: `uid-${write.name}`, resourceVersion: '1' });
  }
  return `${writes.length} of ${endpoints}`;
}

function planOnly(slices: ServiceSlices): SlicesPlan {
  let next = 0;
  return planSlices(slices, { triggerTime: 0, shares: null, suffix: () => String(next++).padStart(5, '0') });
}

function shape({ stored }: ServiceSlices): string {
  return [...stored.values()].map((entry) => entry.stored.object.endpoints?.length ?? 0).join(',');
}
