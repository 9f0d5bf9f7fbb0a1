/** The stories of all scenarios, told to a stage on which nothing happens. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePeersFlags } from '../../bench/peers/flags.ts';
import { settingsOf } from '../../bench/peers/pair.ts';
import type { Scenario, Stage } from '../../bench/peers/scenario.ts';
import { SCENARIOS } from '../../bench/peers/scenarios.ts';
import type { BenchServer } from '../../bench/peers/server.ts';
import { makeCluster } from '../../src/workload/cluster.ts';

const ONE_LEASE = { items: [{ metadata: { name: 'kube-controller-manager' }, spec: { holderIdentity: 'a' } }] };

/** What the story asked of the stage while it was measured, in order. */
async function measuredOf(scenario: Scenario): Promise<string[]> {
  const asked: string[] = [];
  let isMeasured = false;
  const acts: Partial<Stage> = {
    cluster: makeCluster(scenario.profile('tiny'), 1),
    server: {
      client: { send: async () => null, text: async () => '', list: async () => ONE_LEASE },
    } as unknown as BenchServer,
    settings: settingsOf(scenario, parsePeersFlags([], true)),
    echoes: false,
    measure: async (work) => {
      isMeasured = true;
      await work();
      isMeasured = false;
    },
    servicesOf: ({ namespace, name }) => [`${namespace}/${name}`],
    cpuSeconds: () => 0,
    disturbance: () => ({ rightMs: 0, wrongMost: 0, wrongSeconds: 0 }),
  };
  const stage = new Proxy(acts, {
    get: (of, name: keyof Stage) => {
      if (isMeasured) asked.push(name);
      return of[name] ?? (() => Promise.resolve(true));
    },
  }) as Stage;
  await scenario.story(stage);
  return asked;
}

describe('the stories of the scenarios', { concurrency: true }, () => {
  for (const scenario of SCENARIOS) {
    it(`${scenario.name} says whether its measure ends at rest`, async () => {
      const asked = await measuredOf(scenario);
      assert.ok(asked.length > 0);
      assert.equal(scenario.endsAtRest === true, asked.at(-1) === 'rest');
    });
  }
});
