/** What a verification says of random clusters is what a controller then does: no more, no less, and it ends the same. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seeds } from '../support/runs.ts';
import { startVerify } from '../support/sim-verify.ts';
import { createSim, writesOf, type Sim } from '../support/sim.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clusterRequests } from '../support/cluster-requests.ts';

const CHANGES = 150;
const REST_MS = 120_000;

/** Starts a controller that writes, on what the one before has left. */
function rest(sim: Sim): void {
  sim.onShadowPlan = null;
  sim.start();
  sim.run(REST_MS);
  sim.kill();
}

describe('a switch', () => {
  const { first, count } = seeds({ first: 1, count: 4 });
  for (let seed = first; seed < first + count; seed++) {
    it(`a switch costs the predicted writes, and then nothing is left (seed ${seed})`, () => {
      const sim = createSim({ seed, options: { slices: true, mirror: true, kubeApiQps: 500, kubeApiBurst: 500 } });
      const cluster = makeCluster(findProfile('tiny'), seed);
      for (const { method, path, body, contentType } of clusterRequests(cluster)) {
        sim.request(method, path, body, contentType);
      }
      rest(sim);
      const churn = createChurn(cluster, CHURN_MIXES.everything, seed);
      for (let i = 0; i < CHANGES; i++) {
        const { method, path, body, contentType } = nextChange(churn, sim.nowMs())!.request;
        sim.request(method, path, body, contentType);
      }

      const told = startVerify(sim).report();
      sim.kill();
      assert.equal(told.verdict, 'different');
      assert.equal(told.moving.count, 0);
      const before = writesOf(sim).length;
      rest(sim);
      assert.equal(writesOf(sim).length - before, told.cost.writes);

      assert.equal(startVerify(sim).report().verdict, 'same');
    });
  }
});
