import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createStreamLife,
  describeAge,
  describeEnd,
  isPastItsTime,
  lifeEndsAtMs,
  noteFrame,
  noteOpened,
  type StreamLife,
} from '../../../src/controller/reflectors/stream-life.ts';

/** Opened at 1,000 ms for 300 s. */
function opened(): StreamLife {
  const life = createStreamLife(0);
  noteOpened(life, 1000);
  return life;
}

describe('the life of a stream', () => {
  it('a server ends a stream after a random time of 300 to 600 s', () => {
    assert.deepEqual(
      [0, 0.5, 0.9999].map((random) => createStreamLife(random).seconds),
      [300, 450, 599],
    );
    const life = opened();
    assert.deepEqual([isPastItsTime(life, 300_999), isPastItsTime(life, 301_000)], [false, true]);
  });

  it('a stream ends 150 s after its last frame, or after its opening', () => {
    const life = opened();
    assert.equal(lifeEndsAtMs(life, false), 151_000);
    noteFrame(life, 61_000);
    assert.equal(lifeEndsAtMs(life, false), 211_000);
  });

  it('a stream ends 30 s after its last frame while initial events are under way', () => {
    const life = opened();
    assert.equal(lifeEndsAtMs(life, true), 31_000);
    noteFrame(life, 20_000);
    assert.equal(lifeEndsAtMs(life, true), 50_000);
  });

  it('a stream ends 30 s after its timeoutSeconds, whatever frames come', () => {
    const life = opened();
    noteFrame(life, 320_000);
    assert.equal(lifeEndsAtMs(life, false), 331_000);
    assert.equal(lifeEndsAtMs(life, true), 331_000);
  });

  it('a stream says why it has ended', () => {
    const life = opened();
    noteFrame(life, 10_000);
    assert.equal(describeEnd(life, 160_000), 'no whole frame for 150 s');
    noteFrame(life, 320_000);
    assert.equal(describeEnd(life, 331_000), 'the server has not ended it after its 300 s');
  });

  it('a stream says how old it is', () => {
    const life = opened();
    assert.equal(describeAge(life, 13_000), 'opened 12 s ago, no frame yet');
    noteFrame(life, 14_000);
    assert.equal(describeAge(life, 17_000), 'last frame 3 s ago');
  });
});
