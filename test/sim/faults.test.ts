/**
 * A seeded cluster under churn and faults, in virtual time, with any of the three controllers. Safety: nothing wrong is
 * ever deleted, nothing crashes. Liveness: when the faults end, every object becomes what the slow oracles say, and then
 * nobody writes any more and nothing is kept.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { createOthers, itemsOf, keyOf, type Others } from '../support/sim-others.ts';
import { createSim, pick, writesOf, type Sim } from '../support/sim.ts';
import { wrongOf } from '../support/wrong-objects.ts';
import { NO_FAULTS, type FaultChances } from '../../src/apiserver/faults.ts';
import type { CheckOptions } from '../../src/cli/cluster-check.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import { nextFloat, createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clusterRequests } from '../../src/workload/request.ts';

/** A mix of faults drawn from the seed: each kind may be missing, rare or frequent. */
function drawFaults(prng: Prng): FaultChances {
  const draw = (): number => [0, 0.01, 0.1][nextInt(prng, 3)]!;
  return {
    loseRequest: draw(),
    loseReply: draw(),
    serverError: draw(),
    tooMany: draw() / 2,
    gone: draw() / 2,
    cutWatch: draw() / 10,
    lag: draw(),
  };
}

/** All three in every second world; a subset is bits. */
function drawControllers(prng: Prng): { endpoints: boolean; slices: boolean; mirroring: boolean } {
  const bits = nextInt(prng, 2) === 0 ? 7 : 1 + nextInt(prng, 7);
  return { endpoints: (bits & 1) !== 0, slices: (bits & 2) !== 0, mirroring: (bits & 4) !== 0 };
}

/** How much happens before the faults end. */
const CHANGES = 300;
const STOPPED_MS_MAX = 12_000;
const RESYNC_MS = 3600_000;

interface Story {
  readonly sim: Sim;
  readonly others: Others;
  readonly checks: Partial<CheckOptions>;
  readonly log: string;
  /** What the seed has drawn, for who reads a failure. */
  readonly mix: string;
}

function play(seed: number): Story {
  const prng = createPrng(seed);
  const faults = drawFaults(prng);
  const shards = 1 + nextInt(prng, 3);
  const serverWatchList = nextInt(prng, 3) > 0;
  const batchMs = [1, 1, 30, 300][nextInt(prng, 4)]!;
  const dualStack = nextInt(prng, 2) === 0;
  const mixName = pick(prng, ['steady', 'steady', 'everything'] as const);
  const collectMs = pick(prng, [Infinity, 1000, 10_000]);
  const endsAt = nextInt(prng, 4) === 0 ? nextInt(prng, CHANGES) : -1;
  const turns = nextInt(prng, 4) === 0;
  const controllers = drawControllers(prng);
  // From a generator of its own, so that what else a seed draws does not hang on it.
  const beyond = createPrng(seed + 1_000_000);
  const options = {
    ...controllers,
    kubeApiQps: [200, 200, 20][nextInt(prng, 3)]!,
    kubeApiBurst: 300,
    concurrentEndpointSyncs: 1 + nextInt(prng, 8),
    endpointUpdatesBatchPeriodMs: nextInt(prng, 2) * 100,
    concurrentServiceEndpointSyncs: 1 + nextInt(prng, 8),
    endpointSliceUpdatesBatchPeriodMs: nextInt(prng, 2) * 100,
    endpointsPerSliceMax: pick(prng, [2, 3, 3, 100]),
    mirroringConcurrentSyncs: 1 + nextInt(prng, 8),
    mirroringBatchPeriodMs: nextInt(prng, 2) * 100,
    mirroringEndpointsPerSubsetMax: pick(prng, [2, 3, 1000]),
    mirroringAll: nextInt(prng, 2) === 0,
    compactSlices: nextInt(beyond, 2) === 0,
    adaptiveBatchPeriodMsMax: pick(beyond, [0, 0, 500]),
    minResyncPeriodMs: RESYNC_MS,
    shardDeadlineMs: 5000,
  };
  const mix = JSON.stringify({
    ...faults,
    shards,
    serverWatchList,
    batchMs,
    dualStack,
    mixName,
    collectMs,
    endsAt,
    turns,
    ...options,
  });
  const sim = createSim({
    seed,
    faults,
    shards,
    serverWatchList,
    options,
    batchMs: () => nextFloat(prng) * 2 * batchMs,
    serviceClusterIPRanges: ['10.96.0.0/12', ...(dualStack ? ['fd00::/108'] : [])],
  });
  const cluster = makeCluster(findProfile('tiny'), seed);
  for (const { method, path, body, contentType } of clusterRequests(cluster))
    sim.tryRequest(method, path, body, contentType);
  const churn = createChurn(cluster, CHURN_MIXES[mixName], seed);
  const others = createOthers(sim, prng, cluster.namespaces, collectMs);
  sim.start();
  for (let i = 0; i < CHANGES; i++) {
    sim.run(nextFloat(prng) * 100);
    const change = nextChange(churn, Date.UTC(2026, 0, 1) + sim.nowMs());
    if (change !== null) {
      const { method, path, body, contentType } = change.request;
      sim.tryRequest(method, path, body, contentType);
    }
    trouble(sim, prng, turns ? drawControllers(prng) : controllers);
    if (nextInt(prng, 5) === 0) others.act();
    if (i === endsAt) others.end(pick(prng, cluster.namespaces));
  }
  Object.assign(sim.faults, NO_FAULTS);
  sim.up();
  if (turns) {
    // Whoever was stopped has started again.
    sim.run(STOPPED_MS_MAX);
    sim.kill();
    sim.start(controllers);
  }
  others.rest();
  sim.run(400_000);
  const log = [
    ...sim.exchanges.map(({ atMs, method, path, status }) => `${atMs} ${method} ${path} ${status}`),
    ...sim.logLines.map((line) => JSON.stringify(line)),
  ].join('\n');
  const { endpointsPerSliceMax, mirroringEndpointsPerSubsetMax, mirroringAll } = options;
  const checks = {
    endpointsController: options.endpoints,
    slicesController: options.slices,
    mirroringController: options.mirroring,
    endpointsPerSliceMax,
    mirroring: { endpointsPerSubsetMax: mirroringEndpointsPerSubsetMax, all: mirroringAll },
  };
  return { sim, others, checks, log, mix };
}

/** @param next the controllers that a new process has */
function trouble(sim: Sim, prng: Prng, next: Partial<ControllerOptions>): void {
  const what = nextInt(prng, 200);
  const shard = sim.shards === null ? 0 : nextInt(prng, sim.shards.count);
  if (what === 0) sim.down();
  else if (what < 8) sim.up();
  else if (what === 8) sim.shards?.kill(shard, 'simulated death');
  else if (what === 9) sim.shards?.hang(shard);
  else if (what === 10) {
    sim.kill();
    sim.start(next);
  } else if (what === 11) sim.compact();
  else if (what === 12) {
    sim.stop();
    sim.at(sim.nowMs() + nextFloat(prng) * STOPPED_MS_MAX, () => sim.start(next));
  }
}

function check(seed: number): void {
  const { sim, others, checks, mix } = play(seed);
  const told = `seed ${seed} with ${mix}`;
  assert.deepEqual(wrongOf(sim, checks), [], told);
  const left = itemsOf(sim, '/api/v1/endpoints')
    .map(keyOf)
    .filter((key) => key.includes('/theirs-'));
  assert.deepEqual(left.toSorted(), others.theirs.toSorted(), `what is not ours stays: ${told}`);
  const writes = writesOf(sim).length;
  sim.run(RESYNC_MS / 2);
  assert.deepEqual(writesOf(sim).slice(writes), [], `a settled world is left alone: ${told}`);
  // Planned anew, and the planners learn what has become of their last writes.
  sim.run(2 * RESYNC_MS);
  assert.deepEqual(writesOf(sim).slice(writes), [], `a settled world plans nothing: ${told}`);
  assert.deepEqual(wrongOf(sim, checks), [], `after a resync: ${told}`);
  sim.run(2 * RESYNC_MS);
  assert.deepEqual(writesOf(sim).slice(writes), [], `nothing is planned twice: ${told}`);
  checkNothingKept(sim, told);
}

/** `SIM_SEED=n` plays one seed, `SIM_RUNS=n` that many from the first (or from `SIM_SEED`) on. */
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
const RUNS = Number(process.env['SIM_RUNS'] ?? (process.env['SIM_SEED'] === undefined ? 50 : 1));

describe('under faults from a seed', () => {
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    it(`seed ${seed}: ends right, then silent`, () => check(seed));
  }

  it('the same seed twice gives the same log', () => {
    assert.equal(play(7).log, play(7).log);
  });
});
