/** Over random worlds: what is explained to be in is in the plan, as it is explained, and what is left out is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mirroredAddresses } from '../../../src/core/explain/mirroring.ts';
import type { Reason } from '../../../src/core/explain/reasons.ts';
import {
  explainService,
  type PodExplanation,
  type Seen,
  type ServiceExplanation,
  type SliceExplanation,
  type Verdict,
} from '../../../src/core/explain/service.ts';
import { applyPod, createMembership, subsetsOf } from '../../../src/core/endpoints/membership.ts';
import { planEndpoints } from '../../../src/core/endpoints/plan.ts';
import { planMirror } from '../../../src/core/mirroring/plan.ts';
import { createZoneShares, NO_SHARE, replaceShare, sharesOf } from '../../../src/core/slices/zone-shares.ts';
import { TOPOLOGY_MODE_ANNOTATION } from '../../../src/kube/names.ts';
import { labelsInclude } from '../../../src/kube/labels.ts';
import { emptyOutput } from '../../../src/kube/record.ts';
import type { Endpoints, EndpointSlice, PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { arbitraryPod, arbitraryService } from '../../support/endpoints-world.ts';
import { EXPLAIN_CONFIG } from '../../support/explain.ts';
import { labelsFromRecord } from '../../support/labels.ts';
import { makeService } from '../../support/records.ts';
import { propertyRuns } from '../../support/runs.ts';
import { createSlicesWorld, putPod, sync, type SlicesWorld } from '../slices/slices-world.ts';

const runs = propertyRuns(300);

interface World {
  readonly service: ServiceRecord;
  readonly before: readonly PodRecord[];
  readonly pods: readonly PodRecord[];
  readonly zones: ReadonlyMap<string, string>;
}

const podList = fc.tuple(...Array.from({ length: 6 }, (_, i) => arbitraryPod(`p${i}`, 'own')));

const service = fc
  .record({
    service: arbitraryService('web'),
    hints: fc.constantFrom('', '', 'PreferClose', 'PreferSameNode', 'Auto'),
    deleting: fc.constantFrom(false, false, false, true),
  })
  .map(({ service: made, hints, deleting }): ServiceRecord => {
    const annotations = hints === 'Auto' ? labelsFromRecord({ [TOPOLOGY_MODE_ANNOTATION]: 'Auto' }) : made.annotations;
    return Object.assign({}, made, { annotations, deleting, trafficDistribution: hints === 'Auto' ? '' : hints });
  });

const world: fc.Arbitrary<World> = fc
  .record({
    service,
    before: podList,
    pods: podList,
    nodes: fc.array(fc.constantFrom('node-1', 'node-2', 'node-3'), { minLength: 6, maxLength: 6 }),
    zones: fc.record({
      'node-1': fc.constantFrom('a', 'a', ''),
      'node-2': fc.constantFrom('b', 'b', null),
      'node-3': fc.constantFrom('c', null),
    }),
  })
  .map(({ nodes, zones, pods, ...rest }) => {
    const known = Object.entries(zones).flatMap(([node, zone]) => (zone === null ? [] : [[node, zone] as const]));
    const placed = pods.map((pod, i): PodRecord =>
      pod.nodeName === 'node-1' ? Object.assign({}, pod, { nodeName: nodes[i]! }) : pod,
    );
    return Object.assign(rest, { pods: placed, zones: new Map<string, string>(known) });
  });

function sharesIn(zones: ReadonlyMap<string, string>): Seen['shares'] {
  const all = createZoneShares();
  for (const zone of zones.values()) {
    const spoils = zone === '' ? 'no zone' : '';
    replaceShare(all, NO_SHARE, { zone, cpuNano: 4_000_000_000n, spoils });
  }
  return sharesOf(all);
}

function selectedPods({ service: { selector }, pods }: World): readonly PodRecord[] {
  return selector === null ? [] : pods.filter(({ labels }) => labelsInclude(labels, selector));
}

/** What a server holds of the Service's slices, and what it will hold. */
function slicesBeforeAndAfter(made: World): { before: EndpointSlice[]; after: EndpointSlice[] } {
  const options = { service: made.service, max: 3 };
  const old = createSlicesWorld({ ...options, service: { ...made.service, deleting: false } });
  putAll(old, selectedPods({ ...made, pods: made.before }), made.zones);
  sync(old);
  const before = [...old.server.values()];
  const current = createSlicesWorld({ ...options, stored: before });
  current.shares = sharesIn(made.zones);
  putAll(current, selectedPods(made), made.zones);
  sync(current);
  return { before, after: [...current.server.values()] };
}

function putAll(into: SlicesWorld, pods: readonly PodRecord[], zones: ReadonlyMap<string, string>): void {
  for (const pod of pods) putPod(into, pod, zones.get(pod.nodeName) ?? null);
}

function endpointsOf(made: World): Endpoints | null {
  const config = { tolerateUnreadyEndpointsAnnotation: false };
  const membership = createMembership(made.service, config);
  for (const pod of selectedPods(made)) applyPod(membership, pod.name, pod);
  const subsets = subsetsOf(membership);
  return planEndpoints({ service: made.service, subsets, stored: null, isCanonical: false, triggerTime: 0 }).object;
}

function explainStored(
  made: World,
  slices: readonly EndpointSlice[],
  object: Endpoints | null,
): Pick<ServiceExplanation, 'due'> & { readonly pods: readonly Written<PodExplanation>[] } {
  const { service: record, pods, zones } = made;
  const shares = sharesIn(zones);
  const endpoints = object && { object, record: emptyOutput() };
  const seen: Seen = { service: record, pods, asked: null, allPods: true, zones, shares, endpoints, slices };
  const { due, pods: explained } = explainService(seen, { ...EXPLAIN_CONFIG, maxEndpointsPerSlice: 3 });
  return { due, pods: explained as readonly Written<PodExplanation>[] };
}

function explain(made: World, slices: readonly EndpointSlice[]): readonly Written<PodExplanation>[] {
  return explainStored(made, slices, null).pods;
}

/** Of a configuration in which every controller runs. */
type Written<T> = { readonly [K in keyof T]: NonNullable<T[K]> };

function stateIn(object: Endpoints | null, name: string): Verdict['state'] {
  for (const { addresses = [], notReadyAddresses = [] } of object?.subsets ?? []) {
    if (addresses.some(({ targetRef }) => targetRef?.name === name)) return 'ready';
    if (notReadyAddresses.some(({ targetRef }) => targetRef?.name === name)) return 'not-ready';
  }
  return 'left-out';
}

test('Endpoints: pods explained as ready, not ready or left out are so in the plan', () => {
  fc.assert(
    fc.property(world, (made) => {
      const object = endpointsOf(made);
      for (const { pod, endpoints } of explain(made, [])) {
        assert.equal(endpoints.state, stateIn(object, pod.slice(3)), `${pod} ${endpoints.why}`);
      }
    }),
    runs,
  );
});

test('slices: explained conditions, hints and slices are those of the plan', () => {
  fc.assert(
    fc.property(world, (made) => {
      const { before, after } = slicesBeforeAndAfter(made);
      for (const { pod, slices } of explain(made, before)) {
        const name = pod.slice(3);
        for (const { family, state, why, ...explained } of slices) {
          const ofFamily = (all: EndpointSlice[]): EndpointSlice[] =>
            all.filter(({ addressType }) => addressType === family);
          const planned = ofFamily(after).flatMap(({ endpoints }) => endpoints ?? []);
          const endpoint = planned.find(({ targetRef }) => targetRef?.name === name);
          const { ready, serving = false, terminating = false } = endpoint?.conditions ?? {};
          const told = { state, serving: explained.serving, terminating: explained.terminating };
          const expected = endpoint === undefined ? 'left-out' : ready === true ? 'ready' : 'not-ready';
          assert.deepEqual(told, { state: expected, serving, terminating }, `${pod} ${family} ${why}`);
          assert.deepEqual(
            explained.hintZones,
            (endpoint?.hints?.forZones ?? []).map((zone) => zone.name),
          );
          assert.deepEqual(
            explained.hintNodes,
            (endpoint?.hints?.forNodes ?? []).map((node) => node.name),
          );
          const listing = ofFamily(before).filter((slice) =>
            slice.endpoints?.some((each) => each.targetRef?.name === name),
          );
          assert.deepEqual(
            explained.listedIn,
            listing.map(({ metadata }) => metadata.name),
          );
        }
      }
    }),
    runs,
  );
});

/** Whether the stored slices have the pod as planned. */
function agrees({ state, serving, terminating, ...now }: SliceExplanation): boolean {
  return now.listed === state && now.listedServing === serving && now.listedTerminating === terminating;
}

test('what is stored agrees when it is written, and differs only while a write is due', () => {
  fc.assert(
    fc.property(world, (made) => {
      const { before, after } = slicesBeforeAndAfter(made);
      const written = explainStored(made, after, endpointsOf(made));
      for (const { pod, endpoints, slices } of written.pods) {
        assert.equal(endpoints.listed, endpoints.state, pod);
        assert.ok(slices.every(agrees), pod);
      }
      const old = explainStored(made, before, endpointsOf({ ...made, pods: made.before }));
      if (old.due.endpoints === 0) {
        for (const { pod, endpoints } of old.pods) assert.equal(endpoints.listed, endpoints.state, pod);
      }
      if (old.due.slices === 0) for (const { pod, slices } of old.pods) assert.ok(slices.every(agrees), pod);
    }),
    runs,
  );
});

/** What must be the case for a reason to be given, told from the pod alone. */
const HOLDS: Partial<Record<Reason, (pod: PodRecord, made: World) => boolean>> = {
  'not-selected': (pod, made) => !labelsInclude(pod.labels, made.service.selector ?? []),
  ended: ({ phase }) => phase === 'Succeeded' || phase === 'Failed',
  'no-ip': ({ podIP, podIPs }) => podIP === '' && podIPs?.length === 0,
  terminating: ({ deleting }, made) => deleting && !made.service.publishNotReadyAddresses,
  'no-port': ({ ports }, made) =>
    made.service.ports.every(
      ({ targetPort, protocol }) => !ports.some((port) => port.name === targetPort && port.protocol === protocol),
    ),
  'no-service-port': (_, made) => made.service.ports.length === 0 && made.service.clusterIP !== 'None',
  'unknown-node': ({ nodeName }, made) => !made.zones.has(nodeName),
  'not-ready': ({ ready }, made) => !ready && !made.service.publishNotReadyAddresses,
  ending: ({ deleting, ready }, made) => deleting && ready && !made.service.publishNotReadyAddresses,
  'service-ending': (_, made) => made.service.deleting,
  'no-address': () => true,
};

test('each reason is true of its pod, and each pod that is not ready has one', () => {
  fc.assert(
    fc.property(world, (made) => {
      for (const { pod: key, endpoints, slices } of explain(made, [])) {
        const pod = made.pods.find(({ name }) => `ns/${name}` === key)!;
        for (const { state, reason, why } of [endpoints, ...slices]) {
          assert.equal(state === 'ready', reason === null);
          assert.equal(reason === null, why === '');
          if (reason !== null) assert.ok(HOLDS[reason]?.(pod, made), `${key}: ${reason}`);
        }
      }
    }),
    runs,
  );
});

const ip = fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3', '127.0.0.1', 'nonsense', 'fd00::1', '010.0.0.1');
const addresses = fc.array(
  ip.map((text) => ({ ip: text })),
  { maxLength: 4 },
);
const subsets = fc.array(
  fc.record({
    addresses,
    notReadyAddresses: addresses,
    ports: fc.uniqueArray(
      fc.constantFrom(80, 443).map((port) => ({ port, protocol: 'TCP', name: String(port) })),
      {
        selector: ({ port }) => port,
      },
    ),
  }),
  { maxLength: 3 },
);

function portsText(ports: readonly string[]): string {
  return [...ports].sort().join(',');
}

test('mirroring: each address is explained, and mirrored ones are in the plan', () => {
  fc.assert(
    fc.property(subsets, fc.constantFrom(1, 2, 1000), (made, endpointsPerSubsetMax) => {
      const config = { endpointsPerSubsetMax, all: false };
      const endpoints: Endpoints = {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 'web', namespace: 'ns' },
        subsets: made,
      };
      let drawn = 0;
      const { writes } = planMirror({ endpoints, stored: [], config, zones: null, suffix: () => `${drawn++}` });
      const planned = writes.flatMap(({ object }) => {
        const ports = portsText((object?.ports ?? []).map(({ port }) => `${port}/TCP`));
        return (object?.endpoints ?? []).map(({ addresses: [text], conditions }) => {
          return `${text} ${conditions?.ready} ${ports}`;
        });
      });
      const explained = mirroredAddresses(endpoints, config);
      const mirrored = explained.filter(({ reason }) => reason === null);
      const told = mirrored.map(({ ip: text, state, ports }) => `${text} ${state === 'ready'} ${portsText(ports)}`);
      assert.deepEqual(told.sort(), planned.sort());
      const all = new Set(
        made.flatMap((subset) => [...subset.addresses, ...subset.notReadyAddresses].map((each) => each.ip)),
      );
      for (const text of all) {
        const canonical = text === '010.0.0.1' ? '10.0.0.1' : text;
        assert.ok(
          explained.some((each) => each.ip === canonical || each.ip === text),
          text,
        );
      }
    }),
    runs,
  );
});

test('a Service that is not planned from pods says why, and explains no pod', () => {
  const { unplanned, pods } = explainService(
    {
      service: makeService({ selector: null }),
      pods: [],
      asked: null,
      allPods: true,
      zones: null,
      shares: null,
      endpoints: null,
      slices: [],
    },
    EXPLAIN_CONFIG,
  );
  assert.match(unplanned, /has no selector/);
  assert.deepEqual(pods, []);
});
