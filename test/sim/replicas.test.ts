/** Two replicas under all faults of the simulation. RUNS=10000 plays so many seeds, SEED=n one of them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { playReplicas } from './replicas.ts';
import { TIMES } from '../support/election-world.ts';
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

it('a process that acts too long on its last renewal is noticed', () => {
  const { first, count } = { first: 1, count: 30 };
  const wrong = Array.from({ length: count }, (_, i) => first + i).find((seed) =>
    playReplicas(seed, 2 * TIMES.renewDeadlineMs).wrong?.includes('its last renewal was sent'),
  );
  assert.notEqual(wrong, undefined, `none of ${count} seeds`);
});
