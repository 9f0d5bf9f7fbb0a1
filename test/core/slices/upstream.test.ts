/**
 * Our slices beside a slow port of upstream's, sync by sync: the same content, never more writes, and nothing to do on what
 * the other one wrote. `UPSTREAM_RUNS=n` plays n stories, `UPSTREAM_SEED=n` begins with another one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { labelsFromRecord } from '../../../src/kube/labels.ts';
import { TOPOLOGY_MODE_ANNOTATION, TRIGGER_TIME_ANNOTATION } from '../../../src/kube/names.ts';
import type { EndpointSlice } from '../../../src/kube/types.ts';
import {
  type Change,
  changeDistribution,
  changeNode,
  changeTopology,
  EDITS,
  foreignEdits,
  ORDINARY,
  setService,
} from '../../support/slice-changes.ts';
import { contentOf } from '../../support/slice-content.ts';
import {
  advance,
  apply,
  editSlice,
  newcomer,
  ourPlan,
  play,
  type Scene,
  startScene,
  theirSync,
} from '../../support/slice-scene.ts';
import { copySliceServer, serveSliceRequest, type SliceServer } from '../../support/slice-server.ts';
import { type UpstreamSync, wantsHints } from '../../support/upstream-slices.ts';

const runs = { seed: Number(process.env['UPSTREAM_SEED'] ?? 1), numRuns: Number(process.env['UPSTREAM_RUNS'] ?? 200) };
const UPSTREAM_SEEDS = [1, 2, 3];

function isAuto({ world }: Scene): boolean {
  return wantsHints(world.service);
}

function contentFor(scene: Scene, server: SliceServer): unknown {
  return contentOf(server.slices.values(), isAuto(scene) ? 'none' : 'of ready ones');
}

function shown(writes: readonly { readonly verb: string; readonly name: string }[]): string {
  return writes.map(({ verb, name }) => `${verb} ${name}`).join(', ') || 'none';
}

/** Those on slices that are written. */
function triggerTimes(writes: readonly { readonly object: EndpointSlice | null }[]): Set<string | undefined> {
  const objects = writes.map(({ object }) => object).filter((object) => object !== null);
  return new Set(objects.map(({ metadata }) => metadata.annotations?.[TRIGGER_TIME_ANNOTATION]));
}

const limits = fc.constantFrom(2, 3, 4, 100);

function stories(changes: readonly fc.WeightedArbitrary<Change>[]): fc.Arbitrary<Change[][]> {
  return fc.array(fc.array(fc.oneof(...changes), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });
}

/** Syncs of upstream on the same state that had different choices. */
function theirOutcomes(scene: Scene, server: SliceServer): readonly { sync: UpstreamSync; server: SliceServer }[] {
  return UPSTREAM_SEEDS.map((seed) => {
    const sync = theirSync(scene, server, seed);
    const after = copySliceServer(server);
    for (const write of sync.writes) serveSliceRequest(after, write);
    return { sync, server: after };
  });
}

function checkStep(scene: Scene): void {
  const before = copySliceServer(scene.server);
  const writes = ourPlan(scene);
  apply(scene, writes);
  assert.equal(shown(ourPlan(scene)), 'none', 'ours is at rest');
  for (const { sync, server } of theirOutcomes(scene, before)) {
    // Without creates it is open which group gets what is recycled.
    if (!scene.world.service.deleting) assert.deepEqual(contentFor(scene, scene.server), contentFor(scene, server));
    assert.deepEqual(triggerTimes(writes).difference(triggerTimes(sync.writes)), new Set());
    assert(writes.length <= sync.writes.length, `ours ${shown(writes)}; upstream ${shown(sync.writes)}`);
    assert.equal(shown(ourPlan(newcomer(scene, server))), 'none', 'taking over costs nothing');
  }
  for (const { sync } of theirOutcomes(scene, scene.server)) {
    assert.equal(shown(sync.writes), 'none', 'giving back costs nothing');
  }
  advance(scene);
}

const withDistribution = [...ORDINARY, { weight: 1, arbitrary: changeDistribution }];

const withTopology = [
  ...withDistribution,
  { weight: 2, arbitrary: changeNode },
  { weight: 5, arbitrary: changeTopology },
];

test('from one state: same content, never more writes, at rest on what either wrote', () => {
  fc.assert(
    fc.property(stories(withDistribution), limits, (story, max) => {
      const scene = startScene(max);
      for (const changes of story) {
        play(scene, changes);
        checkStep(scene);
      }
    }),
    runs,
  );
});

/** In one story luck decides which slice a later change meets, so many are added up. */
function addUpWrites(changes: readonly fc.WeightedArbitrary<Change>[]): { ours: number; theirs: number } {
  const samples = fc.sample(fc.tuple(stories(changes), limits), runs);
  const total = { ours: 0, theirs: 0 };
  for (const [i, [story, max]] of samples.entries()) {
    const our = startScene(max);
    const their = startScene(max);
    for (const [j, step] of story.entries()) {
      play(our, step);
      const writes = ourPlan(our);
      apply(our, writes);
      advance(our);
      total.ours += writes.length;

      play(their, step);
      const sync = theirSync(their, their.server, i + j);
      for (const write of sync.writes) serveSliceRequest(their.server, write);
      advance(their);
      total.theirs += sync.writes.length;
    }
  }
  return total;
}

for (const [title, changes] of [
  ['without hints by CPU', withDistribution],
  ['with hints by CPU', withTopology],
] as const) {
  test(`each along its own path, ${title}: no more writes over many stories`, () => {
    const { ours, theirs } = addUpWrites(changes);
    assert(ours <= theirs * 1.005, `ours ${ours}; upstream ${theirs}`);
  });
}

/** Others edit slices; endpoints may be in several of them afterwards, and then upstream's luck decides. */
test('beside other writers: content that upstream might have made, in no more writes than it might need', () => {
  const steps = fc.array(fc.tuple(fc.array(fc.oneof(...withDistribution), { maxLength: 2 }), foreignEdits), {
    minLength: 1,
    maxLength: 5,
  });
  fc.assert(
    fc.property(stories(withDistribution), steps, limits, (story, edited, max) => {
      const scene = startScene(max);
      for (const changes of story) play(scene, changes);
      apply(scene, ourPlan(scene));
      for (const [changes, edits] of edited) {
        for (const { at, edit } of edits) editSlice(scene, at, EDITS[edit]!);
        play(scene, changes);
        const before = copySliceServer(scene.server);
        const writes = ourPlan(scene);
        apply(scene, writes);
        assert.equal(shown(ourPlan(scene)), 'none', 'ours is at rest');
        const outcomes = theirOutcomes(scene, before);
        const most = Math.max(...outcomes.map(({ sync }) => sync.writes.length));
        assert(writes.length <= most, `ours ${shown(writes)}; upstream ${most}`);
        const ourContent = JSON.stringify(contentFor(scene, scene.server));
        const theirs = outcomes.map(({ server }) => JSON.stringify(contentFor(scene, server)));
        if (!scene.world.service.deleting) assert(theirs.includes(ourContent), `${ourContent}\n${theirs.join('\n')}`);
        for (const { server } of outcomes) {
          assert.equal(shown(ourPlan(newcomer(scene, server))), 'none', 'taking over costs nothing');
        }
        for (const { sync } of theirOutcomes(scene, scene.server)) {
          assert.equal(shown(sync.writes), 'none', 'giving back costs nothing');
        }
        advance(scene);
      }
    }),
    runs,
  );
});

test('with hints by CPU: same endpoints, never more writes than upstream might need', () => {
  fc.assert(
    fc.property(stories(withTopology), limits, (story, max) => {
      const scene = startScene(max);
      play(scene, [setService({ annotations: labelsFromRecord({ [TOPOLOGY_MODE_ANNOTATION]: 'Auto' }) })]);
      for (const step of story) {
        play(scene, step);
        const before = copySliceServer(scene.server);
        const writes = ourPlan(scene);
        apply(scene, writes);
        assert.equal(shown(ourPlan(scene)), 'none', 'ours is at rest');
        const outcomes = theirOutcomes(scene, before);
        const most = Math.max(...outcomes.map(({ sync }) => sync.writes.length));
        assert(writes.length <= most, `ours ${shown(writes)}; upstream ${most}`);
        for (const { server } of outcomes) {
          if (scene.world.service.deleting) break;
          assert.deepEqual(contentFor(scene, scene.server), contentFor(scene, server));
        }
        for (const { server } of outcomes) {
          assert.equal(shown(ourPlan(newcomer(scene, server))), 'none', 'taking over costs nothing');
        }
        for (const { sync } of theirOutcomes(scene, scene.server)) {
          if (isRestless(scene)) break;
          assert.equal(shown(sync.writes), 'none', 'giving back costs nothing');
        }
        advance(scene);
      }
    }),
    runs,
  );
});

/** Upstream writes slices with endpoints in a zone that has no share with every sync (D41). */
function isRestless({ server, upstream }: Scene): boolean {
  const endpoints = [...server.slices.values()].flatMap((slice) => slice.endpoints ?? []);
  const { shares } = upstream;
  if (shares === null) return false;
  return endpoints.some(({ conditions, zone = '' }) => conditions?.ready === true && !shares.has(zone));
}
