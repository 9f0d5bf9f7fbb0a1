import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { median, percentile } from '../../src/lib/percentile.ts';
import {
  isBeyondNoise,
  lineThrough,
  pooledPercentile,
  type Ratio,
  ratioOver,
  spread,
} from '../../bench/support/statistics.ts';

function ratioOfMedians(ours: readonly number[], theirs: readonly number[]): Ratio {
  const medianOf = (values: readonly number[]) => (pairs: readonly number[]) => median(pairs.map((at) => values[at]!));
  const pairs = ours.map((_, pair) => pair);
  return ratioOver(pairs, medianOf(ours), medianOf(theirs));
}

describe('statistics of repeated runs', () => {
  it('the median of an even number of runs is between the middle two', () => {
    assert.equal(median([9, 1, 4]), 4);
    assert.equal(median([1, 4, 2, 100]), 3);
    assert.ok(Number.isNaN(median([])));
  });

  it('a ratio of medians has an interval, the same one each time', () => {
    const ours = [10, 11, 9, 10.5, 9.5];
    const theirs = [20, 22, 19, 21, 60];
    const ratio = ratioOfMedians(ours, theirs);
    assert.equal(ratio.value, 10 / 21);
    assert.ok(ratio.low < ratio.value && ratio.value < ratio.high);
    // One outlier of five moves an end of the interval, not the ratio.
    assert.ok(ratio.low > 0.15 && ratio.high < 0.6);
    assert.deepEqual(ratioOfMedians(ours, theirs), ratio);
  });

  it('one pair has a ratio and no interval', () => {
    assert.deepEqual(ratioOfMedians([1], [2]), { value: 0.5, low: Number.NaN, high: Number.NaN, pairs: 1 });
  });

  it('figures of 0 and less have no ratio, and do not count', () => {
    for (const [ours, theirs] of [
      [-0.2, 4],
      [0, 4],
      [4, 0],
      [-1, -4],
    ] as const) {
      const none = { value: Number.NaN, low: Number.NaN, high: Number.NaN, pairs: 2 };
      const ratio = ratioOfMedians([ours, ours], [theirs, theirs]);
      assert.deepEqual(ratio, none, `${ours} by ${theirs}`);
      assert.ok(!isBeyondNoise(ratio, 1.1));
    }
    const { value, low, high } = ratioOfMedians([1, 1, -1], [2, 2, 2]);
    assert.deepEqual([value, low, high], [0.5, Number.NaN, Number.NaN], 'some resamples have no ratio');
  });

  it('a pooled percentile is that of all samples, of a round drawn twice too', () => {
    const byRound = new Map([
      [0, [1, 9, 3]],
      [1, [2, 5]],
      [2, [7]],
    ]);
    for (const share of [0.01, 0.5, 0.75, 0.99]) {
      const of = pooledPercentile(byRound, share);
      for (const rounds of [[0, 1, 2], [1], [0, 0, 1], [2, 2, 0]]) {
        const all = rounds.flatMap((round) => byRound.get(round)!);
        assert.equal(of(rounds), percentile(all, share), `${share} of ${rounds.join()}`);
      }
    }
    assert.ok(Number.isNaN(pooledPercentile(byRound, 0.5)([])));
  });

  it('a line goes through the points, whatever one of five was disturbed by', () => {
    const points = [1, 2, 3, 4, 5].map((x) => ({ x, y: 10 + 2 * x }));
    assert.deepEqual(lineThrough(points), { base: 10, each: 2 });
    assert.deepEqual(lineThrough(points.with(3, { x: 4, y: 100 })), { base: 10, each: 2 });
  });

  it('a difference counts if it exceeds that of runs of the same program', () => {
    const noise = spread([10, 12]);
    assert.equal(noise, 1.2);
    assert.equal(spread([10, 11, 12, 10, 11, 10]), 1.1, 'more runs are no noisier');
    const counts = (ours: readonly number[], theirs: readonly number[]): boolean =>
      isBeyondNoise(ratioOfMedians(ours, theirs), noise);
    assert.ok(!counts([9, 9], [10, 10]));
    assert.ok(counts([8, 8], [10, 10]));
    assert.ok(counts([12.5, 12.5], [10, 10]));
    assert.ok(!counts([8, 14, 8], [10, 10, 10]), 'the interval of the ratio does not leave 1');
    assert.ok(!counts([8], [10]), 'one pair has no interval, so nothing counts');
    assert.ok(!isBeyondNoise(ratioOfMedians([1, 1], [10, 10]), spread([10])), 'one run shows no noise');
  });
});
