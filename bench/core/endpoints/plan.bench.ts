import assert from 'node:assert/strict';
import { applyPod, createMembership, subsetsOf, type Membership } from '../../../src/core/endpoints/membership.ts';
import { planEndpoints } from '../../../src/core/endpoints/plan.ts';
import type { Endpoints, PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import type { BenchCase, MicroBench, Size } from '../../support/micro-bench.ts';
import { clusterRecords, flipped } from '../../support/records.ts';

export const planBench: MicroBench = { name: 'core/endpoints/plan', prepare };

function prepare(size: Size): readonly BenchCase[] {
  const counts = size === 'full' ? [5, 100, 1000, 5000] : [5, 50];
  return counts.flatMap((count) => {
    const { services, pods } = clusterRecords('huge', { sizes: [{ pods: count, weight: 1 }] });
    const service = services[0]!;
    const state = start(service, pods);
    return [
      { name: `${count} pods: from nothing`, operations: 1, run: () => start(service, pods).stored },
      {
        name: `${count} pods: one turns ready and back`,
        operations: 2,
        run: () => {
          // A pod with a low address: of more than 1,000 pods, those with the highest addresses are cut off.
          const pod = pods[0]!;
          const away = plan(state, flipped(pod, 1_000_000));
          const back = plan(state, pod);
          return `${shape(away)} ${shape(back)}`;
        },
      },
      {
        name: `${count} pods: nothing to do`,
        operations: 100,
        run: () => {
          let none = 0;
          for (let i = 0; i < 100; i++) if (planOnly(state).object === null) none++;
          return none;
        },
      },
    ];
  });
}

interface State {
  readonly service: ServiceRecord;
  readonly membership: Membership;
  stored: Endpoints | null;
  isCanonical: boolean;
}

function start(service: ServiceRecord, pods: readonly PodRecord[]): State {
  const membership = createMembership(service, { tolerateUnreadyEndpointsAnnotation: false });
  const state: State = { service, membership, stored: null, isCanonical: false };
  for (const pod of pods) applyPod(membership, pod.name, pod);
  commit(state);
  return state;
}

function plan(state: State, pod: PodRecord): Endpoints {
  applyPod(state.membership, pod.name, pod);
  return commit(state);
}

function commit(state: State): Endpoints {
  const { object } = planOnly(state);
  assert.ok(object !== null, 'there is something to write');
  state.stored = object;
  state.isCanonical = true;
  return object;
}

function planOnly({ service, membership, stored, isCanonical }: State): ReturnType<typeof planEndpoints> {
  return planEndpoints({ service, subsets: subsetsOf(membership), stored, isCanonical, triggerTime: 0 });
}

function shape({ subsets }: Endpoints): string {
  return (subsets ?? [])
    .map(({ addresses, notReadyAddresses }) => `${addresses?.length ?? 0}+${notReadyAddresses?.length ?? 0}`)
    .join(',');
}
