/** What a verification says of each kind of damage: the object, the field, and both sides. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createNode } from '../support/sim-objects.ts';
import { differenceLines } from '../support/difference-lines.ts';
import { startVerify } from '../support/sim-verify.ts';
import { createSim, type Sim } from '../support/sim.ts';
import { createDamageWorld, DAMAGES, doAllDamage, saidOf, type Api } from '../suites/verify-damage.ts';
import type { Report } from '../../src/verify/report.ts';

/** A cluster that a controller had put right. */
async function damagedCluster(): Promise<Sim> {
  const sim = createSim({ options: { endpoints: true, slices: true, mirror: true } });
  const api: Api = { send: async (method, path, body) => sim.request(method, path, body) };
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  await createDamageWorld(api);
  sim.start();
  sim.run(30_000);
  sim.kill();
  await doAllDamage(api);
  return sim;
}

describe('damage is named', () => {
  let report: Report;
  before(async () => {
    report = startVerify(await damagedCluster()).report();
  });

  for (const damage of DAMAGES) {
    it(damage.title, () => {
      assert.deepEqual(
        saidOf(damage, (service) => differenceLines(report, service)),
        damage.expected,
      );
    });
  }
});
