/** Change by change, with writes that fail and others that write too, against planning from nothing on the same state. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Member } from '../../../src/core/member.ts';
import { ackSlice, planSlices, type SlicesPlan } from '../../../src/core/slices/plan.ts';
import { observeSlice, type ServiceSlices } from '../../../src/core/slices/service-slices.ts';
import { TOPOLOGY_MODE_ANNOTATION } from '../../../src/kube/names.ts';
import type { Endpoint, EndpointSlice, PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { labelsFromRecord } from '../../support/labels.ts';
import { makePod, makeServicePort } from '../../support/records.ts';
import {
  carryOut,
  counterSuffix,
  createSlicesWorld,
  endpointOf,
  plan,
  putPod,
  putSlice,
  removePod,
  removeSlice,
  setService,
  slice,
  type SlicesWorld,
  sync,
  verbs,
} from './slices-world.ts';
import { propertyRuns } from '../../support/runs.ts';

const runs = propertyRuns(300);

interface Scene {
  readonly world: SlicesWorld;
  readonly members: Map<string, Member>;
  /** How many plans were made: names of slices never repeat. */
  plans: number;
}

type Change = (scene: Scene) => void;

function named(name: string, change: Change): Change {
  return Object.assign(change, { [fc.toStringMethod]: () => name });
}

const podName = fc.nat(11).map((i) => `p${i}`);

const pod = fc
  .record({
    name: podName,
    life: fc.nat(1),
    ready: fc.boolean(),
    deleting: fc.constantFrom(false, false, true),
    phase: fc.constantFrom('Running', 'Running', 'Running', 'Succeeded'),
    port: fc.constantFrom(8080, 8080, 8081, 0),
    ips: fc.constantFrom('both', 'both', 'IPv4', 'none', 'bad'),
    zone: fc.constantFrom('a', 'a', 'b', '', null),
  })
  .map(({ name, life, port, ips, zone, ...fields }) => {
    const i = Number(name.slice(1)) + 20 * life;
    const podIPs = {
      both: [`10.0.0.${i}`, `fd00::${i + 1}`],
      IPv4: [`10.0.0.${i}`],
      none: [],
      bad: ['169.254.0.1', `fd00::${i + 1}`],
    }[ips];
    const ports = port === 0 ? [] : [{ name: 'http', containerPort: port, protocol: 'TCP' }];
    const record: PodRecord = makePod(name, { uid: `${name}-${life}`, podIPs, ports, ...fields });
    return named(`${name} ${life} ${JSON.stringify({ ...fields, port, ips, zone })}`, ({ world, members }) => {
      members.set(name, { pod: record, zone });
      putPod(world, record, zone);
    });
  });

const gone = podName.map((name) =>
  named(`no ${name}`, ({ world, members }) => {
    members.delete(name);
    removePod(world, name);
  }),
);

const service = fc
  .constantFrom<Partial<ServiceRecord>[]>(
    { labels: labelsFromRecord({ team: 'a' }) },
    { labels: [] },
    { ports: [makeServicePort()] },
    { ports: [makeServicePort({ targetPort: 9090 })] },
    { ports: [makeServicePort({ targetPort: 'http' })] },
    { ports: [makeServicePort({ targetPort: 'http' }), makeServicePort({ name: 'more', targetPort: 1 })] },
    { clusterIP: 'None', ports: [] },
    { clusterIP: '10.96.0.10', ports: [makeServicePort({ targetPort: 'http' })] },
    { publishNotReadyAddresses: true },
    { publishNotReadyAddresses: false },
    { ipFamilies: ['IPv4', 'IPv6'] },
    { ipFamilies: ['IPv6'] },
    { uid: 'uid-web-2' },
    { trafficDistribution: 'PreferClose' },
    { trafficDistribution: '' },
    { annotations: labelsFromRecord({ [TOPOLOGY_MODE_ANNOTATION]: 'Auto' }) },
    { annotations: [] },
    { selector: null },
    { selector: labelsFromRecord({ app: 'web' }) },
  )
  .map((fields) =>
    named(`service ${JSON.stringify(fields)}`, ({ world }) => {
      setService(world, { ...world.service, ...fields });
    }),
  );

const shares = fc
  .constantFrom<[string, number][][]>(
    [
      ['a', 0.5],
      ['b', 0.5],
    ],
    [
      ['a', 0.9],
      ['b', 0.1],
    ],
    [],
  )
  .map((zones) =>
    named(`shares ${JSON.stringify(zones)}`, ({ world }) => {
      world.shares = zones.length === 0 ? null : { version: 1, zones: zones.map(([zone, share]) => ({ zone, share })) };
    }),
  );

const EDITS: readonly ((old: EndpointSlice) => EndpointSlice | null)[] = [
  () => null,
  (old) => ({ ...old, endpoints: (old.endpoints ?? []).slice(1) }),
  (old) => ({ ...old, endpoints: [...(old.endpoints ?? []), ...(old.endpoints ?? []).slice(0, 1)] }),
  (old) => ({ ...old, endpoints: (old.endpoints ?? []).toReversed() }),
  (old) => ({ ...old, endpoints: [...(old.endpoints ?? []), { addresses: ['10.9.9.9'] }] }),
  (old) => ({
    ...old,
    endpoints: (old.endpoints ?? []).map((endpoint): Endpoint => Object.assign({}, endpoint, HINTED)),
  }),
  (old) => ({
    ...old,
    endpoints: (old.endpoints ?? []).map((endpoint): Endpoint => Object.assign({}, endpoint, MOVED)),
  }),
  (old) => ({ ...old, ports: [{ name: '', protocol: 'TCP', port: 8081 }] }),
  (old) => ({ ...old, metadata: { ...old.metadata, labels: { ...old.metadata.labels, foreign: 'label' } } }),
  (old) => ({ ...old, metadata: { ...old.metadata, labels: {} } }),
  (old) => ({ ...old, metadata: { ...old.metadata, ownerReferences: [] } }),
  (old) => ({ ...old, metadata: { ...old.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
];
const MOVED = { addresses: ['10.9.9.8'] };
const HINTED = { hints: { forZones: [{ name: 'b' }] } };

const edit = fc.record({ at: fc.nat(3), kind: fc.nat(EDITS.length - 1) }).map(({ at, kind }) =>
  named(`edit ${kind} of slice ${at}`, ({ world }) => {
    const old = [...world.server.values()][at];
    if (old === undefined) return;
    const edited = EDITS[kind]!(old);
    if (edited === null) removeSlice(world, old.metadata.name!);
    else putSlice(world, edited);
  }),
);

/** A slice that somebody made, with endpoints that may stand elsewhere too. */
const foreign = fc
  .record({ name: fc.constantFrom('web-0', 'web-x'), pods: fc.array(podName, { maxLength: 4, size: 'max' }) })
  .map(({ name, pods }) =>
    named(`slice ${name} of ${pods.join(' ')}`, ({ world }) => {
      const endpoints = pods.map((p) => endpointOf(makePod(p, { podIPs: [`10.0.0.${p.slice(1)}`] })));
      putSlice(world, slice(name, endpoints, { metadata: { uid: `uid-${name}-${world.revision}` } }));
    }),
  );

/** Each planned write by what becomes of it. */
const syncs = fc
  .array(fc.constantFrom('applied', 'applied', 'refused', 'not-sent', 'lost'), { minLength: 1 })
  .map((fates) =>
    named(`sync ${fates.join(' ')}`, (scene) => {
      const { world } = scene;
      const { writes } = plan(world, 0, freshNames(scene));
      writes.forEach((write, i) => {
        const fate = fates[i % fates.length]!;
        if (fate === 'applied') ackSlice(world.slices, write, carryOut(world, write));
        else if (fate === 'lost') {
          // It came about, but the answer was lost; so the object is read before the next plan.
          carryOut(world, write);
          ackSlice(world.slices, write, { result: 'unknown', uid: '', resourceVersion: '' });
          observeSlice(world.slices, write.name, world.server.get(write.name) ?? null);
        } else ackSlice(world.slices, write, { result: fate, uid: '', resourceVersion: '' });
      });
    }),
  );

function freshNames(scene: Scene): () => string {
  const round = ++scene.plans;
  let next = 0;
  return () => `${round}-${next++}`;
}

const change = fc.oneof(
  { weight: 12, arbitrary: pod },
  { weight: 3, arbitrary: gone },
  { weight: 4, arbitrary: service },
  { weight: 1, arbitrary: shares },
  { weight: 2, arbitrary: edit },
  { weight: 1, arbitrary: foreign },
  { weight: 6, arbitrary: syncs },
);
const changes = fc.array(change, { maxLength: 40, size: 'max' });
const max = fc.constantFrom(1, 2, 3, 100);

function startScene(maxEndpointsPerSlice: number): Scene {
  return { world: createSlicesWorld({ max: maxEndpointsPerSlice }), members: new Map(), plans: 0 };
}

/** All that is known, told anew and in another order. */
function fromNothing({ world, members }: Scene): ServiceSlices {
  const fresh = createSlicesWorld({ service: world.service, config: world.slices.config });
  for (const [name, { pod, zone }] of [...members].reverse()) putPod(fresh, { ...pod, name }, zone);
  for (const [name, object] of [...world.server].reverse()) observeSlice(fresh.slices, name, object);
  return fresh.slices;
}

function planOf(slices: ServiceSlices, { world }: Scene): Pick<SlicesPlan, 'writes' | 'facts'> {
  const { writes, facts } = planSlices(slices, { triggerTime: 7, shares: world.shares, suffix: counterSuffix() });
  return deepFreeze({ writes, facts });
}

test('plans change by change equal a plan from nothing', () => {
  fc.assert(
    fc.property(changes, max, (story, maxEndpointsPerSlice) => {
      const scene = startScene(maxEndpointsPerSlice);
      for (const each of story) {
        each(scene);
        assert.deepEqual(planOf(scene.world.slices, scene), planOf(fromNothing(scene), scene));
      }
    }),
    runs,
  );
});

test('after all writes nothing is left to do, and each pod has its place', () => {
  fc.assert(
    fc.property(changes, max, (story, maxEndpointsPerSlice) => {
      const scene = startScene(maxEndpointsPerSlice);
      const { world } = scene;
      for (const each of story) each(scene);
      sync(world);
      const rest = plan(world);
      assert.equal(verbs(rest), 'none');
      if (world.service.selector === null) return;
      const mine = [...world.server.values()].filter(isMine);
      for (const family of ['IPv4', 'IPv6']) {
        const slices = mine.filter(({ addressType }) => addressType === family);
        if (!familiesOf(world.service).includes(family)) {
          assert.equal(slices.length, 0);
          continue;
        }
        assert.ok(slices.length > 0, 'always at least one slice');
        assert.deepEqual(listed(slices), wanted(scene, family));
        const facts = rest.facts.families.find((each) => each.family === family)!;
        assert.equal(facts.slices, slices.length);
        assert.equal(facts.endpoints, listed(slices).length);
      }
    }),
    runs,
  );
});

test('no slice that we fill exceeds the maximum', () => {
  fc.assert(
    fc.property(changes, max, (story, maxEndpointsPerSlice) => {
      const scene = startScene(maxEndpointsPerSlice);
      for (const each of story) {
        each(scene);
        for (const { object, name } of plan(scene.world, 0, freshNames(scene)).writes) {
          const before = scene.world.server.get(name)?.endpoints?.length ?? 0;
          assert.ok((object?.endpoints?.length ?? 0) <= Math.max(maxEndpointsPerSlice, before));
        }
      }
    }),
    runs,
  );
});

function isMine({ metadata }: EndpointSlice): boolean {
  return metadata.deletionTimestamp === undefined && metadata.labels?.['kubernetes.io/service-name'] === 'web';
}

function familiesOf({ ipFamilies }: ServiceRecord): readonly string[] {
  return ipFamilies;
}

/** Such as `p1 10.0.0.1 TCP:8080`, in order. */
function listed(slices: readonly EndpointSlice[]): string[] {
  return slices
    .flatMap(({ endpoints, ports }) =>
      (endpoints ?? []).map(
        ({ targetRef, addresses, conditions, zone = '' }) =>
          `${targetRef?.name} ${addresses.join()} ${conditions?.ready} ${zone} ${portsText(ports ?? [])}`,
      ),
    )
    .sort();
}

function wanted({ world, members }: Scene, family: string): string[] {
  const { ports, publishNotReadyAddresses } = world.service;
  const lines: string[] = [];
  for (const { pod, zone } of members.values()) {
    const address = (pod.podIPs ?? []).find((ip) => ip.includes(':') === (family === 'IPv6') && !ip.startsWith('169.'));
    if (pod.phase === 'Succeeded' || address === undefined) continue;
    if (zone === null && !publishNotReadyAddresses) continue;
    const numbers = ports
      .map(({ name, protocol, targetPort }) => ({
        name,
        protocol,
        port: typeof targetPort === 'number' ? targetPort : pod.ports[0]?.containerPort,
      }))
      .filter(({ port }) => port !== undefined);
    const ready = publishNotReadyAddresses || (pod.ready && !pod.deleting);
    lines.push(`${pod.name} ${address} ${ready} ${zone ?? ''} ${portsText(numbers)}`);
  }
  return lines.sort();
}

function portsText(ports: readonly { readonly name?: string; readonly port?: number | undefined }[]): string {
  return ports
    .map(({ name, port }) => `${name}:${port}`)
    .sort()
    .join(',');
}
