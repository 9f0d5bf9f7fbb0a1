/**
 * Our mirroring beside a slow port of upstream's, change by change: the same slices, never more writes, and nothing to do
 * on what the other one wrote. `RUNS=n` plays n stories, `SEED=n` begins with another one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type MirrorConfig, planMirror } from '../../../src/core/mirroring/plan.ts';
import {
  LAST_APPLIED_ANNOTATION,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  TRIGGER_TIME_ANNOTATION,
} from '../../../src/kube/names.ts';
import type {
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSlice,
  EndpointSubset,
} from '../../../src/kube/types.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { makeService } from '../../support/records.ts';
import { contentOf } from '../../support/slice-content.ts';
import {
  copySliceServer,
  createSliceServer,
  putSlice,
  serveSliceRequest,
  type SliceRequest,
  type SliceServer,
} from '../../support/slice-server.ts';
import { type MirrorSync, upstreamMirror } from '../../support/upstream-mirroring.ts';
import { propertyRuns } from '../../support/runs.ts';

const runs = propertyRuns(150);
const UPSTREAM_SEEDS = [1, 2, 3];
const SELECTORLESS = makeService({ selector: null });

/** A step is a change of the Endpoints, or of a slice by somebody else. */
type Step =
  | { readonly kind: 'subsets'; readonly subsets: readonly EndpointSubset[] }
  | { readonly kind: 'metadata'; readonly metadata: Partial<Endpoints['metadata']> }
  | { readonly kind: 'foreign'; readonly edits: readonly { readonly at: number; readonly edit: Edit }[] };

/** Null = the slice is deleted. */
type Edit = (slice: EndpointSlice) => EndpointSlice | null;

const address: fc.Arbitrary<EndpointAddress> = fc.record(
  {
    ip: fc.oneof(
      { weight: 6, arbitrary: fc.nat(5).map((n) => `10.0.0.${n + 1}`) },
      { weight: 3, arbitrary: fc.nat(2).map((n) => `fd00::${n + 1}`) },
      { weight: 1, arbitrary: fc.constantFrom('010.0.0.01', '::ffff:10.0.0.1', 'FD00::0001', 'nonsense') },
    ),
    hostname: fc.constantFrom('', 'host'),
    nodeName: fc.constantFrom('node-1', 'node-2'),
    targetRef: fc.record({ kind: fc.constant('Pod'), name: fc.constantFrom('p', 'q'), uid: fc.constantFrom('1', '2') }),
  },
  { requiredKeys: ['ip'] },
);

/** In one object a name stands for one port: a slice of two ports by one name is refused by the server, whoever writes it. */
const portLists: fc.Arbitrary<readonly EndpointPort[]> = fc.constantFrom(
  [
    { name: 'http', port: 80, protocol: 'TCP' },
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'grpc', port: 90, protocol: 'TCP', appProtocol: 'h2c' },
  ],
  [
    { name: 'http', port: 8080, protocol: 'TCP' },
    { name: 'dns', port: 53, protocol: 'TCP' },
    { name: 'grpc', port: 90, protocol: 'TCP' },
  ],
);

const subsets: fc.Arbitrary<readonly EndpointSubset[]> = portLists.chain((ports) =>
  fc.array(
    fc.record({
      addresses: fc.array(address, { maxLength: 4 }),
      notReadyAddresses: fc.array(address, { maxLength: 2 }),
      ports: fc.subarray([...ports]),
    }),
    { maxLength: 3 },
  ),
);

const annotations = fc.record(
  {
    note: fc.constantFrom('a', 'b'),
    [LAST_APPLIED_ANNOTATION]: fc.constant('{}'),
    [TRIGGER_TIME_ANNOTATION]: fc.constantFrom('2024-05-01T10:00:00Z', '2024-05-01T10:00:01Z'),
  },
  { requiredKeys: [] },
);

const ownSteps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: subsets.map((list): Step => ({ kind: 'subsets', subsets: list })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record(
        {
          labels: fc.record({ team: fc.constantFrom('a', ''), tier: fc.constant('x') }, { requiredKeys: [] }),
          annotations,
          uid: fc.constantFrom('uid-1', 'uid-2'),
        },
        { requiredKeys: [] },
      )
      .map((metadata): Step => ({ kind: 'metadata', metadata })),
  },
);

const edits: Edit[] = [
  () => null,
  (slice) => ({ ...slice, endpoints: slice.endpoints!.slice(1) }),
  (slice) => ({ ...slice, endpoints: [...slice.endpoints!, { addresses: ['10.9.9.9'] }] }),
  (slice) => ({ ...slice, metadata: { ...slice.metadata, labels: { ...slice.metadata.labels, mine: 'yes' } } }),
  (slice) => ({ ...slice, metadata: { ...slice.metadata, annotations: { mine: 'yes' } } }),
  (slice) => ({ ...slice, ports: [] }),
  (slice) => ({ ...slice, metadata: { ...slice.metadata, name: `${slice.metadata.name}-too`, uid: 'copy' } }),
];

const foreignSteps: fc.Arbitrary<Step> = fc
  .array(fc.record({ at: fc.nat(3), edit: fc.constantFrom(...edits) }), { minLength: 1, maxLength: 3 })
  .map((list): Step => ({ kind: 'foreign', edits: list }));

const story = fc.array(fc.oneof({ weight: 4, arbitrary: ownSteps }, { weight: 1, arbitrary: foreignSteps }), {
  minLength: 1,
  maxLength: 8,
});

interface Scene {
  endpoints: Endpoints;
  readonly server: SliceServer;
}

function play(scene: Scene, step: Step): void {
  const { endpoints, server } = scene;
  if (step.kind === 'subsets') scene.endpoints = { ...endpoints, subsets: step.subsets };
  else if (step.kind === 'metadata') {
    scene.endpoints = { ...endpoints, metadata: { ...endpoints.metadata, ...step.metadata } };
  } else {
    for (const { at, edit } of step.edits) {
      const slice = mirroredSlices(server).toSorted(byName)[at];
      if (slice === undefined) continue;
      const edited = edit(slice);
      if (edited === null) server.slices.delete(slice.metadata.name!);
      else putSlice(server, edited);
    }
  }
  deepFreeze(scene.endpoints);
  for (const slice of server.slices.values()) deepFreeze(slice);
}

function byName(a: EndpointSlice, b: EndpointSlice): number {
  return a.metadata.name! < b.metadata.name! ? -1 : 1;
}

function mirroredSlices(server: SliceServer): EndpointSlice[] {
  return [...server.slices.values()].filter(({ metadata: { labels = {} } }) => {
    return labels[SLICE_MANAGED_BY_LABEL] === MIRROR_MANAGED_BY_VALUE && labels[SERVICE_NAME_LABEL] === 'web';
  });
}

function ours({ endpoints, server }: Scene, config: MirrorConfig): readonly SliceRequest[] {
  let drawn = 0;
  const suffix = (): string => `${server.version}-${drawn++}`;
  return planMirror({ endpoints, stored: mirroredSlices(server), config, zones: null, suffix }).writes;
}

function theirs(scene: Scene, config: MirrorConfig, seed: number): readonly SliceRequest[] {
  return theirSync(scene, config, seed).writes;
}

function theirSync({ endpoints, server }: Scene, config: MirrorConfig, seed: number): MirrorSync {
  const world = { service: SELECTORLESS, endpoints, slices: [...server.slices.values()] };
  return upstreamMirror(world, 'web', config.endpointsPerSubsetMax, createPrng(seed));
}

/** The same Endpoints on a copy of the server, after these writes. */
function after({ endpoints, server }: Scene, writes: readonly SliceRequest[]): Scene {
  const copy = copySliceServer(server);
  for (const write of writes) serveSliceRequest(copy, write);
  return { endpoints, server: copy };
}

function content({ server }: Scene): unknown {
  return contentOf(server.slices.values(), 'all');
}

function startScene(): Scene {
  const endpoints: Endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'ns', uid: 'uid-1' },
  };
  return { endpoints, server: createSliceServer() };
}

const limits = fc.constantFrom(2, 3, 1000);

test('step by step: the same slices as upstream, and never more writes', () => {
  fc.assert(
    fc.property(story, limits, (steps, endpointsPerSubsetMax) => {
      const config = { endpointsPerSubsetMax, all: false };
      let scene = startScene();
      for (const step of steps) {
        play(scene, step);
        const our = ours(scene, config);
        const ourAfter = after(scene, our);
        assert.equal(ours(ourAfter, config).length, 0, 'ours is at rest');
        for (const seed of UPSTREAM_SEEDS) {
          const { writes: their, restless } = theirSync(scene, config, seed);
          if (restless) continue;
          assert(our.length <= their.length, `${our.length} writes where upstream makes ${their.length}`);
          const theirAfter = after(scene, their);
          assert.deepEqual(content(ourAfter), content(theirAfter));
          assert.equal(theirs(ourAfter, config, seed).length, 0, 'giving back costs nothing');
          assert.equal(ours(theirAfter, config).length, 0, 'taking over costs nothing');
        }
        scene = ourAfter;
      }
    }),
    runs,
  );
});

test("over a whole path there are never more writes than upstream's", () => {
  fc.assert(
    fc.property(story, limits, fc.nat(1000), (steps, endpointsPerSubsetMax, seed) => {
      const config = { endpointsPerSubsetMax, all: false };
      const total = { ours: 0, theirs: 0 };
      let [our, their] = [startScene(), startScene()];
      for (const [i, step] of steps.entries()) {
        if (step.kind === 'foreign') continue;
        play(our, step);
        play(their, step);
        const ourWrites = ours(our, config);
        const { writes: theirWrites, restless } = theirSync(their, config, seed + i);
        // No path leads on from what the server refuses, or from what another sync would draw otherwise.
        if (restless) break;
        total.ours += ourWrites.length;
        total.theirs += theirWrites.length;
        our = after(our, ourWrites);
        their = after(their, theirWrites);
        assert.deepEqual(content(our), content(their));
      }
      assert(total.ours <= total.theirs, `${total.ours} writes where upstream makes ${total.theirs}`);
    }),
    runs,
  );
});

// Where ours is another than upstream's, on purpose.

const ONE_ADDRESS: Step = {
  kind: 'subsets',
  subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
};
const UNLIMITED = { endpointsPerSubsetMax: 1000, all: false };

test('reserved labels on Endpoints are no reason to write; to upstream they are (D25)', () => {
  let scene = startScene();
  play(scene, ONE_ADDRESS);
  play(scene, { kind: 'metadata', metadata: { labels: { [SERVICE_NAME_LABEL]: 'other' } } });
  scene = after(scene, ours(scene, UNLIMITED));
  assert.deepEqual([ours(scene, UNLIMITED).length, theirs(scene, UNLIMITED, 1).length], [0, 1]);
});

test('a slice that is being deleted does not count; to upstream it does (D11)', () => {
  let scene = startScene();
  play(scene, ONE_ADDRESS);
  scene = after(scene, ours(scene, UNLIMITED));
  const edit: Edit = (slice) => ({
    ...slice,
    metadata: { ...slice.metadata, deletionTimestamp: '2024-05-01T10:00:00Z' },
  });
  play(scene, { kind: 'foreign', edits: [{ at: 0, edit }] });
  assert.deepEqual(
    ours(scene, UNLIMITED).map(({ verb }) => verb),
    ['create'],
  );
  assert.deepEqual(theirs(scene, UNLIMITED, 1), []);
});

test('an address that the server would refuse is left out; upstream fails (D13)', () => {
  const scene = startScene();
  const addresses = [{ ip: '10.0.0.1' }, { ip: '127.0.0.1' }];
  play(scene, { kind: 'subsets', subsets: [{ addresses, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }] });
  const mirrored = (writes: readonly SliceRequest[]): unknown =>
    writes[0]!.object!.endpoints!.flatMap((endpoint) => endpoint.addresses).toSorted();
  assert.deepEqual(mirrored(ours(scene, UNLIMITED)), ['10.0.0.1']);
  assert.deepEqual(mirrored(theirs(scene, UNLIMITED, 1)), ['10.0.0.1', '127.0.0.1']);
});

test('two ports of one name for one address are mirrored apart; upstream fails', () => {
  const scene = startScene();
  const at = (port: number): EndpointSubset => ({
    addresses: [{ ip: '10.0.0.1' }],
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  });
  play(scene, { kind: 'subsets', subsets: [at(80), at(8080)] });
  assert.throws(() => after(scene, theirs(scene, UNLIMITED, 1)), /422: port names/);
  const settled = after(scene, ours(scene, UNLIMITED));
  assert.equal(settled.server.slices.size, 2);
  assert.deepEqual(ours(settled, UNLIMITED), []);
});

/** `grpc` has an appProtocol, `http` has none. */
const offering = (octets: readonly number[]): EndpointSubset => ({
  addresses: octets.map((octet) => ({ ip: `10.0.0.${octet}` })),
  ports: [
    { name: 'http', port: 80, protocol: 'TCP' },
    { name: 'grpc', port: 90, protocol: 'TCP', appProtocol: 'h2c' },
  ],
});

test('a port with appProtocol and equal addresses is one; upstream writes it twice', () => {
  const scene = startScene();
  play(scene, { kind: 'subsets', subsets: [offering([1]), offering([1])] });
  assert.throws(() => after(scene, theirs(scene, UNLIMITED, 1)), /422: port names/);
  const settled = after(scene, ours(scene, UNLIMITED));
  assert.deepEqual(
    [...settled.server.slices.values()].map(({ ports }) => ports!.map(({ name }) => name)),
    [['grpc', 'http']],
  );
  assert.deepEqual(ours(settled, UNLIMITED), []);
});

test('subsets above the limit have several slices; upstream draws what to leave out', () => {
  const config = { endpointsPerSubsetMax: 2, all: false };
  const held = ({ server }: Scene): number[] =>
    [...server.slices.values()].filter(({ ports }) => ports!.some(({ name }) => name === 'grpc')).map(sizeOf);
  const sizeOf = ({ endpoints }: EndpointSlice): number => endpoints!.length;
  const scene = startScene();
  play(scene, { kind: 'subsets', subsets: [offering([1, 2]), offering([3])] });
  const their = after(scene, theirs(scene, config, 1));
  assert.deepEqual(held(their), [2]);
  assert.equal(theirs(their, config, 2).length > 0, true, 'upstream is never at rest');
  const settled = after(scene, ours(scene, config));
  assert.deepEqual(held(settled), [2, 1]);
  assert.deepEqual(ours(settled, config), []);
});
