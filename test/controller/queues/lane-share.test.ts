import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createLaneShare,
  FRESH_WRITES_PER_CHORE,
  noteLane,
  pickLane,
} from '../../../src/controller/queues/lane-share.ts';

/** Who gets the tokens, one letter each, when so many of each lane wait. */
function order(fresh: number, chores: number, freshPerChore = FRESH_WRITES_PER_CHORE): string {
  const share = createLaneShare(freshPerChore);
  const waiting = { fresh, chore: chores };
  let letters = '';
  for (;;) {
    const lane = pickLane(share, waiting.fresh > 0, waiting.chore > 0);
    if (lane === null) return letters;
    noteLane(share, lane, waiting.chore > 0);
    waiting[lane]--;
    letters += lane[0];
  }
}

test('chores that need a write get one token in four while fresh writes wait', () => {
  assert.equal(order(7, 3), 'fffcfffcfc');
});

test('a lane alone gets all tokens', () => {
  assert.equal(order(5, 0), 'fffff');
  assert.equal(order(0, 5), 'ccccc');
});

test('with a share of one for one, the lanes alternate', () => {
  assert.equal(order(3, 3, 1), 'fcfcfc');
});

test('fresh writes that came before a chore do not count against fresh ones', () => {
  const share = createLaneShare(3);
  for (let n = 0; n < 10; n++) noteLane(share, 'fresh', false);
  assert.equal(pickLane(share, true, true), 'fresh');
});
