import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPrng, nextFloat, type Prng } from '../../src/lib/prng.ts';
import { type Decision, intervalOf, PAIRS_MAX } from '../../src/tune/sequential.ts';

describe('the decision after each pair of runs', () => {
  const cases: readonly (readonly [name: string, ratios: readonly number[], decision: Decision | null])[] = [
    ['waits for the third pair', [0.5, 0.5], null],
    ['is lower where the interval is below 1', [0.5, 0.51, 0.49], 'lower'],
    ['is higher where the interval is above 1', [2, 2.1, 1.9], 'higher'],
    ['is the same where the interval lies within 5 %', [1.001, 0.999, 1], 'same'],
    ['is the same, not lower, where it lies within 5 % and below 1', [0.98, 0.98, 0.98], 'same'],
    ['goes on where the interval is wide', [0.5, 1.5, 0.9], null],
    ['gives up after ten pairs', [0.5, 1.5, 0.9, 0.5, 1.5, 0.9, 0.5, 1.5, 0.9, 1], 'cannot tell'],
  ];
  for (const [name, ratios, decision] of cases) {
    it(name, () => assert.equal(intervalOf(ratios).decision, decision));
  }
});

function normal(prng: Prng): number {
  return Math.sqrt(-2 * Math.log(1 - nextFloat(prng))) * Math.cos(2 * Math.PI * nextFloat(prng));
}

interface Series {
  readonly decision: Decision;
  readonly pairs: number;
  /** The truth was within the interval at each look. */
  readonly isCovered: boolean;
}

/** @param spread standard deviation of the logarithm of a pair's ratio */
function series(truth: number, spread: number, prng: Prng): Series {
  const ratios: number[] = [];
  let isCovered = true;
  for (;;) {
    ratios.push(truth * Math.exp(spread * normal(prng)));
    const { decision, low, high } = intervalOf(ratios);
    if (low > truth || high < truth) isCovered = false;
    if (decision !== null) return { decision, pairs: ratios.length, isCovered };
  }
}

const SERIES = 20_000;

function simulate(truth: number, spread: number): Series[] {
  const prng = createPrng(1);
  return Array.from({ length: SERIES }, () => series(truth, spread, prng));
}

function share(all: readonly Series[], of: (one: Series) => boolean): number {
  return all.filter(of).length / all.length;
}

describe('series of pairs that are looked at one after the other', () => {
  for (const spread of [0.02, 0.1, 0.5]) {
    it(`pairs call equal settings different in at most 5 % (spread ${spread})`, () => {
      const all = simulate(1, spread);
      const wrong = share(all, ({ decision }) => decision === 'lower' || decision === 'higher');
      // Two standard errors above 5 %.
      assert.ok(wrong <= 0.0531, `${(100 * wrong).toFixed(2)} %`);
      assert.ok(share(all, ({ isCovered }) => isCovered) >= 0.9469);
    });
  }

  it('pairs hold the truth in 95 % if settings differ by half', () => {
    assert.ok(share(simulate(0.5, 0.2), ({ isCovered }) => isCovered) >= 0.9469);
  });

  it('pairs tell settings apart that differ by half, mostly before the tenth', () => {
    const all = simulate(0.5, 0.2);
    assert.ok(share(all, ({ decision }) => decision === 'lower') > 0.99);
    assert.ok(share(all, ({ pairs }) => pairs < PAIRS_MAX) > 0.99);
  });
});
