/** What a standby keeps in case it leads next. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createUntold, tellKept, tellOrKeep, type Untold } from '../../../src/controller/reports/untold.ts';

interface World {
  readonly untold: Untold;
  readonly told: string[];
  readonly come: (what: string, nowMs: number, stillHolds?: boolean) => void;
  readonly lead: (sinceMs: number) => void;
}

function world(): World {
  const told: string[] = [];
  let waitsToWrite = true;
  const untold = createUntold(() => waitsToWrite);
  return {
    untold,
    told,
    come(what, nowMs, stillHolds = true) {
      const tell = (): void => void told.push(`${what} of ${nowMs}`);
      tellOrKeep(untold, { what, stillHolds: () => stillHolds, tell }, { nowMs, wallMs: 0 });
    },
    lead(sinceMs) {
      waitsToWrite = false;
      tellKept(untold, sinceMs, { nowMs: 100, wallMs: 0 });
    },
  };
}

it('a standby tells what came up last, once, and what still holds, when it leads', () => {
  const { told, come, lead } = world();
  come('old', 1);
  come('again', 2);
  come('new', 5);
  come('over', 6, false);
  come('again', 7);
  assert.deepEqual(told, []);
  lead(5);
  assert.deepEqual(told, ['new of 5', 'again of 7']);
  come('at once', 8, false);
  assert.deepEqual(told, ['new of 5', 'again of 7', 'at once of 8']);
});

it('of a thousand untold things the oldest makes way for one more', () => {
  const { untold, told, come, lead } = world();
  for (let i = 0; i <= 1000; i++) come(String(i), i);
  assert.equal(untold.kept.size, 1000);
  lead(-Infinity);
  assert.equal(told[0], '1 of 1');
  assert.equal(untold.kept.size, 0);
});
