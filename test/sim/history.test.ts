/**
 * Seeded worlds under churn for the two sides of one rule: what several API servers that lag behind each other tell is
 * never taken for history that went back, and what a restored etcd tells always is followed.
 *
 * `SEED=n` plays one seed of each kind, `RUNS=n` that many from the first, or from `SEED`, on.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { metric } from '../support/sim-reports.ts';
import { createSim, writesOf, type Sim, type SimConfig } from '../support/sim.ts';
import { wrongOf } from '../support/wrong-objects.ts';
import { objectsOf } from './hand.ts';
import { seeds } from '../support/runs.ts';
import { NO_FAULTS } from '../../src/apiserver/faults.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../../src/lib/prng.ts';
import type { Churn } from '../../src/workload/change.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clusterRequests } from '../support/cluster-requests.ts';

const { first, count } = seeds({ first: 1, count: 12 });
const CHANGES = 60;
const PAUSE_MS_MAX = 2000;
const LAG_MS_MAX = 30_000;
const BUMP = 1_000_000_000;
const RESYNC_MS = 3600_000;
/** How long the pods of a Node that is gone are kept (`slices-node-gone` in docs/differences.md). */
const NODE_GONE_MS = 60_000;
const CONTROLLERS = { endpointsController: true, slicesController: true, mirroringController: true };

interface World {
  readonly sim: Sim;
  readonly prng: Prng;
  readonly churn: Churn;
}

/** All three controllers and a tiny cluster, started. */
function createWorld(seed: number, config: SimConfig): World {
  const prng = createPrng(seed);
  const sim = createSim({
    seed,
    ...config,
    serverWatchList: nextInt(prng, 3) > 0,
    serviceClusterIPRanges: ['10.96.0.0/12', 'fd00::/108'],
    options: {
      endpoints: true,
      slices: true,
      mirror: true,
      kubeApiQps: 200,
      kubeApiBurst: 300,
      minResyncPeriodMs: RESYNC_MS,
    },
  });
  const cluster = makeCluster(findProfile('tiny'), seed);
  for (const { method, path, body, contentType } of clusterRequests(cluster)) {
    sim.tryRequest(method, path, body, contentType);
  }
  sim.start();
  return { sim, prng, churn: createChurn(cluster, CHURN_MIXES.everything, seed) };
}

function change({ sim, churn }: World): void {
  const next = nextChange(churn, Date.UTC(2026, 0, 1) + sim.nowMs());
  if (next === null) return;
  const { method, path, body, contentType } = next.request;
  sim.tryRequest(method, path, body, contentType);
}

function churnOn(world: World, changes: number, between: () => void = () => undefined): void {
  for (let i = 0; i < changes; i++) {
    world.sim.run(nextFloat(world.prng) * PAUSE_MS_MAX);
    change(world);
    between();
  }
}

function expectRight(sim: Sim, told: string): void {
  assert.deepEqual(wrongOf(sim, CONTROLLERS), [], told);
  sim.run(60_000);
  const writes = writesOf(sim).length;
  sim.run(2.5 * RESYNC_MS);
  assert.deepEqual(wrongOf(sim, CONTROLLERS), [], `after a resync: ${told}`);
  assert.deepEqual(writesOf(sim).slice(writes), [], `a settled world is left alone: ${told}`);
  checkNothingKept(sim, told);
}

/** What is said of history, for who reads a failure. */
function noticed(sim: Sim): string[] {
  return sim.logLines.filter(({ message }) => message.includes('went back')).map((line) => JSON.stringify(line));
}

function nodesOf(sim: Sim): Set<string> {
  return new Set(objectsOf(sim, 'nodes').map(({ metadata }) => metadata.uid!));
}

function lag(seed: number): void {
  const chances = { cutWatch: [0, 0.02, 0.1][seed % 3]!, loseReply: 0.02, loseRequest: 0.02, gone: 0.01 };
  const world = createWorld(seed, { servers: { count: 3, lagMsMax: LAG_MS_MAX }, faults: chances });
  const { sim, prng } = world;
  churnOn(world, CHANGES, () => {
    if (nextInt(prng, 12) === 0) sim.cutWatches();
    if (nextInt(prng, 40) === 0) sim.compact();
  });
  Object.assign(sim.faults, NO_FAULTS);
  sim.run(400_000);
  assert.deepEqual(noticed(sim), [], `seed ${seed}`);
  assert.equal(metric(sim, 'endpointd_history_resets_total'), 0);
  expectRight(sim, `seed ${seed}`);
}

function restore(seed: number): void {
  const world = createWorld(seed, {});
  const { sim, prng } = world;
  churnOn(world, nextInt(prng, 20));
  sim.run(60_000);
  for (let round = 0; round < 2; round++) {
    const backup = sim.backup();
    churnOn(world, 10 + nextInt(prng, CHANGES));
    sim.run(nextInt(prng, 2) * 10_000);
    const bump = nextInt(prng, 2) * BUMP;
    const cut = nextInt(prng, 4) > 0;
    const nodes = nodesOf(sim);
    sim.restore(backup, { bump, streams: cut ? 'cut' : 'mute' });
    const isNodeGone = nodes.difference(nodesOf(sim)).size > 0;
    const told = `seed ${seed}, round ${round}, bump ${bump}, ${cut ? 'cut' : 'silent'}, node gone: ${isNodeGone}`;
    sim.run((cut ? 10_000 : 160_000) + (isNodeGone ? NODE_GONE_MS : 0));
    // Endpoints of a Service that is gone wait for an answer of the server; slices for the garbage collector.
    assert.deepEqual(wrongOf(sim, CONTROLLERS), [], told);
    if (round === 1) expectRight(sim, told);
  }
}

describe('three API servers that lag up to 30 s behind each other', () => {
  for (let seed = first; seed < first + count; seed++) {
    it(`seed ${seed}: nothing looks as if history had gone back`, () => lag(seed));
  }
});

describe('an etcd that is restored from a backup, twice', () => {
  for (let seed = first; seed < first + count; seed++) {
    it(`seed ${seed}: all is right 10 s after a cut, 160 s after silence`, () => restore(seed));
  }
});
