/** Index, membership and plan together, change by change, against the oracle that looks at everything each time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  applyPod,
  createMembership,
  type Membership,
  setSpec,
  subsetsOf,
} from '../../../src/core/endpoints/membership.ts';
import { type EndpointsPlan, planEndpoints } from '../../../src/core/endpoints/plan.ts';
import {
  createSelectorIndex,
  podsOf,
  putPod,
  putService,
  removePod,
  removeService,
} from '../../../src/core/selector-index.ts';
import type { Endpoints, EndpointSubset, PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { oracleEndpoints } from '../../../src/judge/endpoints-oracle.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { arbitraryPod, arbitraryService } from '../../support/endpoints-world.ts';
import { propertyRuns } from '../../support/runs.ts';

const config = { tolerateUnreadyEndpointsAnnotation: true };
const OVER = 'endpoints.kubernetes.io/over-capacity';

/** What main thread and planner keep of one service. */
interface Live {
  spec: ServiceRecord;
  readonly membership: Membership;
  stored: Endpoints | null;
  isCanonical: boolean;
}

/** A controller without everything around it: every write succeeds at once. */
function createWorld() {
  const index = createSelectorIndex<Live>();
  const lives = new Map<string, Live>();
  const pods = new Map<string, PodRecord>();
  return {
    pods,
    lives,
    putPod(pod: PodRecord): void {
      pods.set(pod.name, pod);
      const { servicesBefore, servicesAfter } = putPod(index, pod);
      deepFreeze(pod);
      for (const live of servicesBefore) {
        if (!servicesAfter.includes(live)) applyPod(live.membership, pod.name, null);
      }
      for (const live of servicesAfter) applyPod(live.membership, pod.name, pod);
    },
    removePod(name: string): void {
      pods.delete(name);
      for (const live of removePod(index, 'ns', name).servicesBefore) applyPod(live.membership, name, null);
    },
    putService(spec: ServiceRecord): void {
      let live = lives.get(spec.name);
      if (live === undefined) {
        live = { spec, membership: createMembership(spec, config), stored: null, isCanonical: false };
        lives.set(spec.name, live);
      }
      live.spec = spec;
      setSpec(live.membership, spec);
      const before = new Set([...podsOf(index, live)].map((pod) => pod.name));
      putService(index, live, 'ns', spec.selector);
      for (const pod of podsOf(index, live)) {
        before.delete(pod.name);
        applyPod(live.membership, pod.name, pod);
      }
      for (const name of before) applyPod(live.membership, name, null);
    },
    removeService(name: string): void {
      const live = lives.get(name);
      if (live === undefined) return;
      removeService(index, live);
      lives.delete(name);
    },
  };
}

function plan(live: Live): EndpointsPlan {
  const { spec, membership, stored, isCanonical } = live;
  return planEndpoints({
    service: spec,
    subsets: deepFreeze(subsetsOf(membership)),
    stored: deepFreeze(stored),
    isCanonical,
    triggerTime: 0,
  });
}

function planAndStore(live: Live): void {
  const { object } = plan(live);
  if (object === null) return;
  live.stored = { ...object, metadata: { ...object.metadata, uid: 'e', resourceVersion: '1' } };
  live.isCanonical = true;
}

const POD_NAMES = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
const SERVICE_NAMES = ['web', 'db', 'all'];

type Change = (world: ReturnType<typeof createWorld>) => void;

function changes(uids: 'own' | 'any'): fc.Arbitrary<Change[]> {
  // Few pods where uids are shared, so that they often are not, too.
  const podName = fc.constantFrom(...(uids === 'own' ? POD_NAMES : POD_NAMES.slice(0, 3)));
  const serviceName = fc.constantFrom(...SERVICE_NAMES);
  const change: fc.Arbitrary<Change> = fc.oneof(
    {
      weight: 12,
      arbitrary: podName
        .chain((name) => arbitraryPod(name, uids))
        .map(
          (pod): Change =>
            (world) =>
              world.putPod({ ...pod }),
        ),
    },
    {
      weight: 2,
      arbitrary: podName.map(
        (name): Change =>
          (world) =>
            world.removePod(name),
      ),
    },
    {
      weight: 4,
      arbitrary: serviceName.chain(arbitraryService).map(
        (spec): Change =>
          (world) =>
            world.putService(deepFreeze(spec)),
      ),
    },
    {
      weight: 1,
      arbitrary: serviceName.map(
        (name): Change =>
          (world) =>
            world.removeService(name),
      ),
    },
  );
  return fc.array(change, { maxLength: 30 });
}

for (const uids of ['own', 'any'] as const) {
  test(`after every change the objects are the oracle's, uids: ${uids}`, () => {
    fc.assert(
      fc.property(changes(uids), (steps) => {
        const world = createWorld();
        for (const step of steps) {
          step(world);
          const truth = { services: [...world.lives.values()].map(({ spec }) => spec), pods: [...world.pods.values()] };
          for (const live of world.lives.values()) {
            const expected = oracleEndpoints(truth, `ns/${live.spec.name}`, config);
            if (expected === null) {
              assert.equal(plan(live).object, null);
              continue;
            }
            planAndStore(live);
            const { metadata, subsets = [] } = live.stored!;
            assert.deepEqual(subsets, expected.subsets);
            assert.deepEqual(metadata.labels, expected.labels);
            assert.equal(metadata.annotations?.[OVER] === 'truncated', expected.overCapacity);
            assert.equal(plan(live).object, null, 'a settled world plans nothing');
          }
        }
      }),
      propertyRuns(600, 10),
    );
  });
}

test('a service that is seldom planned ends with the same object', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(changes('own'), fc.boolean()), { maxLength: 4 }), (rounds) => {
      const world = createWorld();
      for (const [steps, planned] of rounds) {
        for (const step of steps) step(world);
        if (planned) for (const live of world.lives.values()) planAndStore(live);
      }
      const truth = { services: [...world.lives.values()].map(({ spec }) => spec), pods: [...world.pods.values()] };
      for (const live of world.lives.values()) {
        const expected = oracleEndpoints(truth, `ns/${live.spec.name}`, config);
        if (expected !== null) assert.deepEqual(subsetsOf(live.membership), expected.subsets);
      }
    }),
    propertyRuns(100, 11),
  );
});

test('after a restart nothing is planned, whatever order another writer used', () => {
  const pods = fc.tuple(...POD_NAMES.map((name) => arbitraryPod(name, 'own')));
  fc.assert(
    fc.property(pods, arbitraryService('web'), fc.boolean(), (all, spec, portByPort) => {
      const expected = oracleEndpoints({ services: [spec], pods: all }, 'ns/web', config);
      if (expected === null) return;
      const subsets = expected.subsets.toReversed().flatMap((subset): EndpointSubset[] => {
        const shuffled = { ...subset, addresses: (subset.addresses ?? []).toReversed() };
        return portByPort && subset.ports ? subset.ports.map((port) => ({ ...shuffled, ports: [port] })) : [shuffled];
      });
      const world = createWorld();
      for (const pod of all) world.putPod(pod);
      world.putService(spec);
      const live = world.lives.get('web')!;
      const metadata = { name: 'web', resourceVersion: '1', labels: { ...expected.labels } };
      live.stored = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets };
      assert.equal(plan(live).object, null);
    }),
    propertyRuns(300, 12),
  );
});

test('thousands of pods in one service are planned right, over capacity too', () => {
  const world = createWorld();
  const labels = ['app', 'web'];
  const pod = (n: number, ready: boolean): PodRecord => {
    const ip = `10.0.${n >> 8}.${n & 255}`;
    return {
      ...fc.sample(arbitraryPod(`p${n}`, 'own'), { seed: n, numRuns: 1 })[0]!,
      labels,
      ready,
      podIP: ip,
      podIPs: [ip],
    };
  };
  const service = fc.sample(arbitraryService('web'), { seed: 1, numRuns: 1 })[0]!;
  const ports = [
    { name: 'a', protocol: 'TCP', port: 1, targetPort: 8080, appProtocol: undefined },
    { name: 'b', protocol: 'TCP', port: 2, targetPort: 'http', appProtocol: undefined },
  ];
  world.putService({ ...service, type: 'ClusterIP', ipFamilies: ['IPv4'], selector: ['app', 'web'], ports });
  const live = world.lives.get('web')!;
  const check = (overCapacity: boolean): void => {
    const truth = { services: [live.spec], pods: [...world.pods.values()] };
    const expected = oracleEndpoints(truth, 'ns/web', config)!;
    assert.equal(expected.overCapacity, overCapacity);
    planAndStore(live);
    assert.deepEqual(live.stored!.subsets ?? [], expected.subsets);
    assert.equal(live.stored!.metadata.annotations?.[OVER] === 'truncated', expected.overCapacity);
  };
  for (let n = 0; n < 2000; n++) world.putPod(pod(n, n % 10 !== 0));
  check(true);
  for (let n = 0; n < 5; n++) {
    world.putPod(pod(n * 300, true));
    check(true);
  }
  for (let n = 100; n < 1800; n++) world.removePod(`p${n}`);
  check(false);
});
