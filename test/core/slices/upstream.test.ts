/**
 * Our slices beside a slow port of upstream's, sync by sync: the same content, never more writes, and nothing to do on what
 * the other one wrote. `RUNS=n` plays n stories, `SEED=n` begins with another one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { SlicesFacts } from '../../../src/core/slices/facts.ts';
import { TOPOLOGY_MODE_ANNOTATION, TRIGGER_TIME_ANNOTATION } from '../../../src/kube/names.ts';
import type { EndpointSlice } from '../../../src/kube/types.ts';
import {
  type Change,
  changeDistribution,
  changeNode,
  changeTopology,
  type ForeignEdit,
  foreignEdits,
  hintEdits,
  ORDINARY,
  setService,
  STEADY,
  TEN_PODS,
} from './service-changes.ts';
import { labelsFromRecord } from '../../support/labels.ts';
import { canonical, contentOf } from '../../support/slice-content.ts';
import {
  advance,
  apply,
  applySome,
  editSlice,
  newcomer,
  ourPlan,
  ourWholePlan,
  play,
  type Scene,
  startScene,
  theirSync,
} from './upstream-scene.ts';
import { copySliceServer, serveSliceRequest, type SliceServer } from '../../support/slice-server.ts';
import { isReady } from '../../support/upstream-endpoints.ts';
import { type UpstreamSync, wantsHints } from '../../support/upstream-slices.ts';
import { allocate } from '../../support/upstream-topology.ts';
import { propertyRuns } from '../../support/runs.ts';

const runs = propertyRuns(100);
const UPSTREAM_SEEDS = [null, 1, 2, 3];
/** For what only some luck can bring about; mostly the first is enough. */
const MANY_SEEDS = [null, ...Array.from({ length: 50 }, (_, i) => i)];

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

interface Outcome {
  readonly sync: UpstreamSync;
  readonly server: SliceServer;
}

function theirOutcome(scene: Scene, server: SliceServer, seed: number | null): Outcome {
  const sync = theirSync(scene, server, seed);
  const after = copySliceServer(server);
  for (const write of sync.writes) serveSliceRequest(after, write);
  return { sync, server: after };
}

/** Syncs of upstream on the same state that had different luck. */
function theirOutcomes(scene: Scene, server: SliceServer): readonly Outcome[] {
  return UPSTREAM_SEEDS.map((seed) => theirOutcome(scene, server, seed));
}

/** What metrics and events are made of; where luck decides about them, nothing is said. */
function checkFacts(scene: Scene, { families }: SlicesFacts, outcomes: readonly Outcome[]): void {
  const stored = [...scene.server.slices.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  for (const { family, endpoints, slices, added, removed, hints, hintsFailure } of families) {
    const own = stored.filter(({ addressType }) => addressType === family);
    assert.equal(slices, own.length, `slices of ${family}`);
    const listed = own.reduce((sum, slice) => sum + (slice.endpoints?.length ?? 0), 0);
    if (!scene.world.service.deleting) assert.equal(endpoints, listed, `endpoints of ${family}`);
    if (hints !== null && !scene.world.service.deleting) {
      const counted = hints.filter(({ count }) => count > 0).map(({ zone, count }) => [zone, count] as const);
      assert.deepEqual(Object.fromEntries(counted), hintCounts(own), `hints of ${family}`);
    }
    const theirs = new Set(outcomes.map(({ sync }) => canonical(sync.families.find((one) => one.family === family))));
    if (theirs.size === 1) assert.deepEqual([...theirs], [canonical({ family, added, removed, hintsFailure })]);
  }
}

function checkStep(scene: Scene): void {
  const before = copySliceServer(scene.server);
  const { writes, facts } = ourWholePlan(scene);
  apply(scene, writes);
  assert.equal(shown(ourPlan(scene)), 'none', 'ours is at rest');
  const outcomes = theirOutcomes(scene, before);
  checkFacts(scene, facts, outcomes);
  for (const { sync, server } of outcomes) {
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

const CHANGES = [
  ['without hints by CPU', withDistribution],
  ['with hints by CPU', withTopology],
] as const;

test("from one state: the content is upstream's, with never more writes", () => {
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

for (const [title, changes] of CHANGES) {
  test(`each along its own path, ${title}: no more writes over many stories`, () => {
    const { ours, theirs } = addUpWrites(changes);
    assert(ours <= theirs * 1.005, `ours ${ours}; upstream ${theirs}`);
  });
}

/**
 * Endpoints that are in several slices, hints that are right or wrong only beside those of other slices: there luck decides
 * what upstream does, so ours must be one of the possible.
 */
function checkOpenStep(scene: Scene): void {
  const before = copySliceServer(scene.server);
  const { writes, facts } = ourWholePlan(scene);
  apply(scene, writes);
  const outcomes = theirOutcomes(scene, before);
  checkFacts(scene, facts, outcomes);
  const most = Math.max(...outcomes.map(({ sync }) => sync.writes.length));
  assert(writes.length <= most, `ours ${shown(writes)}; upstream ${most}`);
  const restless = outcomes.some(({ server }) => isRestless(scene, server));
  if (!scene.world.service.deleting) {
    const hinted = wantsHints(scene.world.service) && !restless;
    const resultOf = (server: SliceServer): string =>
      canonical([contentFor(scene, server), hinted ? hintCounts(server.slices.values()) : null]);
    const ours = resultOf(scene.server);
    const isPossible = MANY_SEEDS.some((seed) => resultOf(theirOutcome(scene, before, seed).server) === ours);
    assert(isPossible, `ours ${ours}\nupstream ${resultOf(outcomes[0]!.server)}`);
  }
  if (!restless) {
    assert.equal(shown(ourPlan(scene)), 'none', 'ours is at rest');
    for (const { server } of outcomes) {
      assert.equal(shown(ourPlan(newcomer(scene, server))), 'none', 'taking over costs nothing');
    }
    for (const { sync } of theirOutcomes(scene, scene.server)) {
      assert.equal(shown(sync.writes), 'none', 'giving back costs nothing');
    }
  }
  advance(scene);
}

function hintCounts(slices: Iterable<EndpointSlice>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const slice of slices) {
    for (const endpoint of (slice.endpoints ?? []).filter(isReady)) {
      for (const { name } of endpoint.hints?.forZones ?? []) counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  return counts;
}

/**
 * Upstream writes slices with every sync if an endpoint is in a zone that has no share (D41), or if a zone has more hints
 * than it should, though the next write may give it as many. Ours writes what gets other hints by that, and comes to rest.
 */
function isRestless({ world, upstream: { shares } }: Scene, server: SliceServer): boolean {
  if (shares === null || !wantsHints(world.service)) return false;
  const endpoints = [...server.slices.values()].flatMap((slice) => slice.endpoints ?? []).filter(isReady);
  if (endpoints.some(({ zone = '' }) => !shares.has(zone))) return true;
  const allocations = allocate(shares, endpoints.length);
  if (typeof allocations === 'string') return false;
  const counts = hintCounts(server.slices.values());
  return [...allocations].some(([zone, { maximum }]) => (counts[zone] ?? 0) > maximum);
}

function checkBesideOthers(
  start: readonly Change[],
  changes: readonly fc.WeightedArbitrary<Change>[],
  edits: fc.Arbitrary<readonly ForeignEdit[]>,
): void {
  const edited = fc.record({ edits, changes: fc.array(fc.oneof(...changes), { maxLength: 2 }) });
  fc.assert(
    fc.property(stories(changes), fc.array(edited, { maxLength: 5 }), limits, (story, steps, max) => {
      const scene = startScene(max);
      play(scene, start);
      for (const step of story) {
        play(scene, step);
        checkOpenStep(scene);
      }
      for (const step of steps) {
        for (const edit of step.edits) editSlice(scene, edit);
        play(scene, step.changes);
        checkOpenStep(scene);
      }
      for (let syncs = 0; syncs < scene.server.slices.size; syncs++) apply(scene, ourPlan(scene));
      assert.equal(shown(ourPlan(scene)), 'none', 'ours comes to rest');
    }),
    { ...runs, numRuns: Math.ceil(runs.numRuns / 2) },
  );
}

test("beside other writers each plan could be upstream's, and writes end", () => {
  checkBesideOthers([], withDistribution, foreignEdits);
});

const AUTO = setService({ annotations: labelsFromRecord({ [TOPOLOGY_MODE_ANNOTATION]: 'Auto' }) });

test("hints by CPU beside other writers: plans could be upstream's, and writes end", () => {
  checkBesideOthers([AUTO], withTopology, foreignEdits);
});

test("after failed writes each plan could be upstream's, and writes end", () => {
  const steps = fc.array(
    fc.record({
      before: fc.array(fc.oneof(...withDistribution), { minLength: 1, maxLength: 3 }),
      applied: fc.nat(255),
      after: fc.array(fc.oneof(...withDistribution), { maxLength: 1 }),
    }),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(fc.boolean(), steps, limits, (auto, story, max) => {
      const scene = startScene(max);
      play(scene, auto ? [AUTO, TEN_PODS] : [TEN_PODS]);
      for (const { before, applied, after } of story) {
        play(scene, before);
        applySome(scene, ourPlan(scene), applied);
        play(scene, after);
        checkOpenStep(scene);
      }
    }),
    runs,
  );
});

test("lasting hints by CPU beside other writers: plans could be upstream's", () => {
  checkBesideOthers([AUTO, TEN_PODS], STEADY, hintEdits);
});
