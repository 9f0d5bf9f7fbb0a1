import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Comparison, errorBeyondChance, type Evidence } from '../../src/tune/evidence.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { ownFigures, type OwnFigures } from '../../src/tune/own-figures.ts';

/** Additions to slices, 1,000 of them, of which so many took `lateMs` and all others 100 ms. */
function evidence(late: number, lateMs: number, writes: number): Evidence {
  const samples = Array.from({ length: 1000 }, (_, i) => ({
    atMs: i,
    kind: 'add' as const,
    latencyMs: i < late ? lateMs : 100,
  }));
  const written = Array.from({ length: writes }, (_, atMs) => ({ atMs, endpoints: 1 }));
  return { samples: { endpoints: [], slices: samples }, writes: { endpoints: [], slices: written } };
}

function isOff(comparison: Comparison): boolean {
  return errorBeyondChance(comparison) > 0;
}

function figuresOf(objective: string, predicted: Evidence, measured: Evidence): OwnFigures {
  return ownFigures(parseObjective(objective), predicted, measured, 0);
}

describe('figures of the objective beside the recording', () => {
  const calm = evidence(0, 0, 100);

  it('changes that were late although none was predicted to be are told', () => {
    const { comparisons } = figuresOf('later(1s)<=0.1%, min writes', calm, evidence(7, 5000, 100));
    assert.deepEqual(
      comparisons.map(({ figure, predicted, measured, error }) => [figure, predicted, measured, error]),
      [['later(1s)', 0, 0.007, 1]],
    );
    assert.ok(comparisons.every(isOff));
  });

  it('a few late changes are chance, and half of the limit is no difference', () => {
    const differs = (late: number, limit: string): boolean =>
      figuresOf(`later(1s)<=${limit}, min writes`, calm, evidence(late, 5000, 100)).comparisons.some(isOff);
    assert.deepEqual(
      [differs(3, '0.1%'), differs(4, '0.1%'), differs(20, '5%'), differs(30, '5%')],
      [false, true, false, true],
    );
  });

  it('what is compared in any case is not compared again, other kinds and shares are', () => {
    const text = 'p99<=1s, p99.9(add)<=2s, p50(remove)<=1s, later(500ms, add)<=1%, min p99(add)';
    const { comparisons, raises } = figuresOf(text, calm, calm);
    assert.deepEqual(
      comparisons.map(({ figure }) => figure),
      ['p99.9(add)', 'later(500ms, add)', 'p99(add)'],
    );
    assert.equal(raises.length, 5);
  });

  it('more writes than predicted raise bounds of writes and bytes by that factor', () => {
    const { raises } = figuresOf('writes<=9/s, bytes(endpoints)<=9/s, cpu<=9, min bytes', calm, evidence(0, 0, 120));
    assert.deepEqual(
      raises.map((raise) => raise(10)),
      [12, 10, 10, 12],
    );
    const fewer = figuresOf('writes<=9/s, min bytes', calm, evidence(0, 0, 50)).raises;
    assert.deepEqual(
      fewer.map((raise) => raise(10)),
      [10, 10],
    );
  });

  it('of two outputs the larger error raises bounds of bytes', () => {
    const both = (endpoints: number, slices: number): Evidence => ({
      ...calm,
      writes: { endpoints: evidence(0, 0, endpoints).writes.slices, slices: evidence(0, 0, slices).writes.slices },
    });
    const { raises } = figuresOf('bytes<=9/s, writes<=9/s, min apiserver-cpu', both(200, 100), both(150, 130));
    assert.deepEqual(
      raises.map((raise) => raise(10)),
      [13, 10, 13],
    );
  });

  it('more late changes than predicted raise bounds by the difference or the factor', () => {
    const starved = figuresOf('later(1s)<=1%, min writes', evidence(400, 5000, 100), evidence(440, 5000, 100)).raises;
    assert.deepEqual([0, 0.1].map(starved[0]!), [0, 0.11]);
    const stalled = figuresOf('later(1s)<=1%, min writes', calm, evidence(40, 5000, 100)).raises;
    assert.deepEqual([0, 1].map(stalled[0]!), [0.04, 1]);
    const chance = figuresOf('later(1s)<=1%, min writes', calm, evidence(3, 5000, 100)).raises;
    assert.equal(chance[0]!(0), 0);
  });

  it('of two limits of one figure the smaller one decides what is off', () => {
    for (const text of ['later(1s)<=0.1%, later(1s, worst)<=20%', 'later(1s, worst)<=20%, later(1s)<=0.1%'])
      assert.ok(figuresOf(`${text}, min writes`, calm, evidence(90, 5000, 100)).comparisons.some(isOff), text);
  });

  it('what chance makes of a latency raises no bound', () => {
    const { raises } = figuresOf('p99(add)<=1s, min writes', evidence(8, 5000, 100), evidence(12, 5000, 100));
    assert.deepEqual([10, 5000].map(raises[0]!), [10, 5000]);
  });

  it('a longer latency than predicted raises bounds by difference or factor', () => {
    const { raises } = figuresOf('p99(add)<=1s, min writes', calm, evidence(500, 150, 100));
    // 150 ms where 100 were predicted: by half for what is short, by 50 ms for what is long.
    assert.deepEqual(
      [10, 100, 1000].map((bound) => raises[0]!(bound)),
      [15, 150, 1050],
    );
  });
});
