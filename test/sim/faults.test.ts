/**
 * A seeded cluster under churn and faults, in virtual time. Safety: nothing wrong is ever deleted, nothing crashes.
 * Liveness: when the faults end, every object becomes what the slow oracle says, and then nobody writes any more.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSim, writesOf, type Faults, type Sim } from '../support/sim.ts';
import { expectedEndpoints, wrongEndpoints } from '../../src/cli/endpoints-check.ts';
import { nextFloat, createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clusterRequests } from '../../src/workload/request.ts';

function itemsOf(sim: Sim, path: string): KubeObject[] {
  return (sim.request('GET', path) as unknown as { items: KubeObject[] }).items;
}

function wrongOf(sim: Sim): string[] {
  const expected = expectedEndpoints(itemsOf(sim, '/api/v1/services'), itemsOf(sim, '/api/v1/pods'));
  return wrongEndpoints(expected, itemsOf(sim, '/api/v1/endpoints'));
}

/** A mix of faults drawn from the seed: each kind may be missing, rare or frequent. */
function drawFaults(prng: Prng): Faults {
  const draw = (): number => [0, 0.01, 0.1][nextInt(prng, 3)]!;
  return { loseRequest: draw(), loseReply: draw(), serverError: draw(), tooMany: draw() / 2, cutWatch: draw() / 10 };
}

interface Story {
  readonly sim: Sim;
  readonly log: string;
}

function play(seed: number): Story {
  const prng = createPrng(seed);
  const faults = drawFaults(prng);
  const sim = createSim({
    seed,
    faults,
    shards: 1 + nextInt(prng, 3),
    serverWatchList: nextInt(prng, 3) > 0,
    options: {
      kubeApiQps: 200,
      kubeApiBurst: 300,
      concurrentEndpointSyncs: 1 + nextInt(prng, 8),
      endpointUpdatesBatchPeriodMs: nextInt(prng, 2) * 100,
      shardDeadlineMs: 5000,
    },
  });
  const cluster = makeCluster(findProfile('tiny'), seed);
  for (const { method, path, body, contentType } of clusterRequests(cluster))
    sim.tryRequest(method, path, body, contentType);
  const churn = createChurn(cluster, CHURN_MIXES.steady, seed);
  sim.start();
  for (let i = 0; i < 300; i++) {
    sim.run(nextFloat(prng) * 100);
    const change = nextChange(churn, Date.UTC(2026, 0, 1) + sim.nowMs());
    if (change !== null) {
      const { method, path, body, contentType } = change.request;
      sim.tryRequest(method, path, body, contentType);
    }
    trouble(sim, prng);
  }
  Object.assign(sim.faults, { loseRequest: 0, loseReply: 0, serverError: 0, tooMany: 0, cutWatch: 0 });
  sim.up();
  sim.run(400_000);
  const log = [
    ...sim.exchanges.map(({ atMs, method, path, status }) => `${atMs} ${method} ${path} ${status}`),
    ...sim.logLines.map((line) => JSON.stringify(line)),
  ].join('\n');
  return { sim, log };
}

function trouble(sim: Sim, prng: Prng): void {
  const what = nextInt(prng, 200);
  const shard = sim.shards === null ? 0 : nextInt(prng, sim.shards.count);
  if (what === 0) sim.down();
  else if (what < 8) sim.up();
  else if (what === 8) sim.shards?.kill(shard, 'simulated death');
  else if (what === 9) sim.shards?.hang(shard);
  else if (what === 10) {
    sim.kill();
    sim.start();
  } else if (what === 11) sim.compact();
}

const SEEDS = Array.from({ length: 60 }, (_, i) => i + 1);

describe('under faults from a seed', () => {
  for (const seed of SEEDS) {
    it(`seed ${seed}: ends right, then silent`, () => {
      const { sim } = play(seed);
      assert.deepEqual(wrongOf(sim), []);
      const writes = writesOf(sim).length;
      sim.run(3_600_000);
      assert.equal(writesOf(sim).length, writes, 'a settled world is left alone');
    });
  }

  it('the same seed twice gives the same log', () => {
    assert.equal(play(7).log, play(7).log);
  });
});
