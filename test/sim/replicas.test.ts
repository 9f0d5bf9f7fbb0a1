/** Two replicas under all faults of the simulation. RUNS=10000 plays so many seeds, SEED=n one of them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { playReplicas } from './replicas.ts';
import { seeds } from '../support/runs.ts';

it('no write is sent outside a lease, and all is right at the end', (test) => {
  const { first, count } = seeds({ first: 1, count: 12 });
  let leaders = 0;
  for (let seed = first; seed < first + count; seed++) {
    const outcome = playReplicas(seed);
    leaders += outcome.leaders;
    assert.equal(outcome.wrong, null, `SEED=${seed}\n${outcome.told.join('\n')}`);
  }
  test.diagnostic(`${count} seeds from ${first}, ${leaders} leaders`);
  assert.ok(leaders > count, 'leaders change');
});
