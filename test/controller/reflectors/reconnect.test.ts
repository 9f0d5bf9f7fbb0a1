import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createReconnect,
  nextReconnectMs,
  noteWatch,
  type TryCost,
} from '../../../src/controller/reflectors/reconnect.ts';
import { createPrng } from '../../../src/lib/prng.ts';

describe('the pause before a watch is tried again', () => {
  it('a pause is between a base and its double; bases double from 0.8 s to 30 s', () => {
    const reconnect = createReconnect();
    const prng = createPrng(1);
    let nowMs = 0;
    for (const baseMs of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      const pauseMs = nextReconnectMs(reconnect, prng, nowMs, 'list');
      assert.ok(pauseMs >= baseMs && pauseMs < 2 * baseMs, `${pauseMs} ms with a base of ${baseMs} ms`);
      nowMs += pauseMs;
    }
  });

  it('a pause stays below 6 s after a try that cost the server little', () => {
    assert.ok(Math.max(...pauses('little').ms) < 6000);
  });

  it('a pause is below 2 s while no server is reached, and short once one answers', () => {
    const { ms, next } = pauses('nothing');
    assert.ok(Math.max(...ms) < 2000);
    const pauseMs = next('little');
    assert.ok(pauseMs < 1600, `${pauseMs} ms`);
  });

  it('a pause before a list is short after however many tries that cost little', () => {
    const pauseMs = pauses('little').next('list');
    assert.ok(pauseMs < 1600, `${pauseMs} ms`);
  });

  it('pauses begin anew after two minutes without a failure, and not before', () => {
    const reconnect = createReconnect();
    const prng = createPrng(1);
    const first = nextReconnectMs(reconnect, prng, 0, 'list');
    const second = nextReconnectMs(reconnect, prng, first + 119_000, 'list');
    assert.ok(second >= 1600, `${second} ms`);
    const third = nextReconnectMs(reconnect, prng, first + 119_000 + second + 121_000, 'list');
    assert.ok(third < 1600, `${third} ms`);
  });

  it('pauses begin anew after a watch that ran for ten seconds', () => {
    const reconnect = createReconnect();
    const prng = createPrng(1);
    const first = nextReconnectMs(reconnect, prng, 0, 'list');
    noteWatch(reconnect, 9999);
    const second = nextReconnectMs(reconnect, prng, first + 9999, 'list');
    assert.ok(second >= 1600, `${second} ms`);
    noteWatch(reconnect, 10_000);
    const third = nextReconnectMs(reconnect, prng, first + second + 20_000, 'list');
    assert.ok(third < 1600, `${third} ms`);
  });

  it('pauses differ from one controller to the next', () => {
    const pauses = [1, 2, 3, 4].map((seed) => nextReconnectMs(createReconnect(), createPrng(seed), 0, 'list'));
    assert.equal(new Set(pauses).size, 4);
  });
});

/** The pauses of a hundred tries in a row, and the next one. */
function pauses(cost: TryCost): { readonly ms: readonly number[]; readonly next: (cost: TryCost) => number } {
  const reconnect = createReconnect();
  const prng = createPrng(1);
  let nowMs = 0;
  const next = (each: TryCost): number => {
    const pauseMs = nextReconnectMs(reconnect, prng, nowMs, each);
    nowMs += pauseMs;
    return pauseMs;
  };
  return { ms: Array.from({ length: 100 }, () => next(cost)), next };
}
