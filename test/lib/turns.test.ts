import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addTurn, allTurns, createTurns, nextTurn, takeAllTurns, takeTurn } from '../../src/lib/turns.ts';

test('owners take turns, and the items of each keep their order', () => {
  const turns = createTurns<string, string>(1);
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) addTurn(turns, item[0]!, item);
  assert.equal(nextTurn(turns), 'a1');
  assert.deepEqual([takeTurn(turns), takeTurn(turns)], ['a1', 'b1']);
  // An owner that has waited before is not overtaken by one that comes now.
  addTurn(turns, 'b', 'b2');
  assert.deepEqual(allTurns(turns).toSorted(), ['a2', 'a3', 'b2', 'c1', 'c2']);
  const rest = Array.from({ length: 5 }, () => takeTurn(turns));
  assert.deepEqual(rest, ['c1', 'a2', 'b2', 'c2', 'a3']);
  assert.deepEqual([nextTurn(turns), takeTurn(turns)], [undefined, undefined]);
  for (const item of ['a4', 'a5']) addTurn(turns, 'a', item);
  assert.deepEqual([takeAllTurns(turns), nextTurn(turns)], [['a4', 'a5'], undefined]);
});

test('an owner that may not go is skipped, and keeps its place and its turn', () => {
  const turns = createTurns<string, string>(2);
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) addTurn(turns, item[0]!, item);
  assert.equal(takeTurn(turns), 'a1');
  const isOther = (item: string): boolean => !item.startsWith('a');
  assert.equal(nextTurn(turns, isOther), 'b1');
  const taken = Array.from({ length: 4 }, () => takeTurn(turns, isOther));
  assert.deepEqual(taken, ['b1', 'b2', 'c1', undefined]);
  assert.equal(nextTurn(turns, isOther), undefined);
  assert.deepEqual([takeTurn(turns), takeTurn(turns), takeTurn(turns)], ['a2', 'a3', undefined]);
});

test('a turn may have several items', () => {
  const turns = createTurns<string, string>(2);
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1']) addTurn(turns, item[0]!, item);
  const taken = Array.from({ length: 5 }, () => takeTurn(turns));
  assert.deepEqual(taken, ['a1', 'a2', 'b1', 'c1', 'a3']);
});
