/**
 * Where our slices are others than those of upstream's algorithm on the same state, on purpose: each case says what both do.
 * All else is equal (upstream.test.ts).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPOLOGY_MODE_ANNOTATION } from '../../../src/kube/names.ts';
import type { EndpointSlice } from '../../../src/kube/types.ts';
import { labelsFromRecord } from '../../support/labels.ts';
import { makePod, makeServicePort, makeNode } from '../../support/records.ts';
import { type Change, setService, TEN_PODS, withMetadata } from './service-changes.ts';
import { advance, apply, editSlice, ourPlan, play, type Scene, startScene, theirSync } from './upstream-scene.ts';
import { copySliceServer, serveSliceRequest } from '../../support/slice-server.ts';
import { countWrites } from '../../support/slice-content.ts';

/** What both write from here on, and what slices they have then. */
interface Both {
  readonly writes: string;
  readonly theirWrites: string;
  readonly slices: readonly EndpointSlice[];
  readonly theirSlices: readonly EndpointSlice[];
}

function sync(scene: Scene): Both {
  const server = copySliceServer(scene.server);
  const { writes: theirs } = theirSync(scene, server, 1);
  for (const write of theirs) serveSliceRequest(server, write);
  const writes = ourPlan(scene);
  apply(scene, writes);
  advance(scene);
  return {
    writes: countWrites(writes),
    theirWrites: countWrites(theirs),
    slices: [...scene.server.slices.values()],
    theirSlices: [...server.slices.values()],
  };
}

function settled(changes: readonly Change[], maxEndpointsPerSlice = 100, asUpstream = false): Scene {
  const scene = startScene(maxEndpointsPerSlice, asUpstream);
  play(scene, changes);
  sync(scene);
  return scene;
}

const NO_PODS: Change = ({ pods }) => pods.clear();
const AUTO = setService({ annotations: labelsFromRecord({ [TOPOLOGY_MODE_ANNOTATION]: 'Auto' }) });

test('a label with an empty value comes to the placeholder too, unlike upstream', () => {
  const scene = settled([], 100, true);
  play(scene, [setService({ labels: labelsFromRecord({ team: '' }) })]);
  const { writes, theirWrites, slices, theirSlices } = sync(scene);
  assert.deepEqual([writes, theirWrites], ['1 update', 'none']);
  assert.equal(slices[0]!.metadata.labels!['team'], '');
  assert.equal(theirSlices[0]!.metadata.labels!['team'], undefined);
});

test('a slice that takes new endpoints gets the headless label that it lacks', () => {
  const scene = settled([
    setService({ clusterIP: 'None' }),
    ({ pods }) => void pods.set('a', makePod('a', { podIPs: ['10.0.0.1'] })),
  ]);
  editSlice(scene, {
    at: 0,
    edit: (slice) => {
      const { 'service.kubernetes.io/headless': _, ...labels } = slice.metadata.labels!;
      return withMetadata(slice, { labels });
    },
  });
  play(scene, [({ pods }) => void pods.set('b', makePod('b', { podIPs: ['10.0.0.2'] }))]);
  const { writes, theirWrites, slices, theirSlices } = sync(scene);
  assert.deepEqual([writes, theirWrites], ['1 update', '1 update']);
  assert.equal(slices[0]!.metadata.labels!['service.kubernetes.io/headless'], '');
  assert.equal(theirSlices[0]!.metadata.labels!['service.kubernetes.io/headless'], undefined);
});

test('a recycled slice keeps finalizers and the annotations of others (D10)', () => {
  const scene = settled([TEN_PODS]);
  const marked = { annotations: { mine: 'yes' }, finalizers: ['mine/finalizer'] };
  editSlice(scene, { at: 0, edit: (slice) => withMetadata(slice, marked) });
  play(scene, [setService({ ports: [makeServicePort({ targetPort: 9090 })] })]);
  const { writes, theirWrites, slices, theirSlices } = sync(scene);
  assert.deepEqual([writes, theirWrites], ['1 update', '1 update']);
  const marks = ({ metadata }: EndpointSlice): unknown => [metadata.annotations?.['mine'], metadata.finalizers];
  assert.deepEqual(marks(slices[0]!), ['yes', ['mine/finalizer']]);
  assert.deepEqual(marks(theirSlices[0]!), [undefined, undefined]);
});

test('an endpoint in a zone without a share costs one write, not one a sync (D41)', () => {
  const scene = settled([
    AUTO,
    ({ nodes }) => void nodes.set('node-3', makeNode('node-3', 'd', { ready: false })),
    TEN_PODS,
  ]);
  assert.equal(ourPlan(scene).length, 0);
  assert.equal(countWrites(theirSync(scene, scene.server, 1).writes), '1 update');
});

test('hints that an endpoint without zone makes impossible are removed once', () => {
  const hinted = (slices: readonly EndpointSlice[]): number =>
    slices.flatMap(({ endpoints }) => endpoints ?? []).filter(({ hints }) => hints !== undefined).length;
  const scene = settled([AUTO, ({ nodes }) => void nodes.set('node-3', makeNode('node-3', 'b')), TEN_PODS]);
  assert.equal(hinted([...scene.server.slices.values()]), 10);
  play(scene, [({ nodes }) => void nodes.set('node-3', makeNode('node-3', '', { ready: false }))]);
  const { writes, slices } = sync(scene);
  assert.deepEqual([writes, hinted(slices)], ['1 update', 0]);
  assert.equal(ourPlan(scene).length, 0);
  assert.equal(countWrites(theirSync(scene, scene.server, 1).writes), '1 update');
});

test('an address that the server would refuse is left out; upstream fails (D13)', () => {
  const scene = startScene(100);
  play(scene, [TEN_PODS, ({ pods }) => void pods.set('bad', makePod('bad', { podIPs: ['169.254.1.1'] }))]);
  const addresses = (slice: EndpointSlice | null): string[] =>
    (slice?.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
  const [ours, theirs] = [ourPlan(scene), theirSync(scene, scene.server, 1).writes];
  assert.deepEqual([countWrites(ours), countWrites(theirs)], ['1 create', '1 create']);
  const missing = new Set(addresses(theirs[0]!.object)).difference(new Set(addresses(ours[0]!.object)));
  assert.deepEqual([...missing], ['169.254.1.1']);
});

test('a scale to nothing and back keeps the slice, here and upstream', () => {
  const scene = settled([TEN_PODS]);
  const names = [...scene.server.slices.keys()];
  for (const change of [NO_PODS, TEN_PODS]) {
    play(scene, [change]);
    const { writes, theirWrites, slices } = sync(scene);
    assert.deepEqual([writes, theirWrites], ['1 update', '1 update']);
    assert.deepEqual(
      slices.map((slice) => slice.metadata.name),
      names,
    );
  }
});
