import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exp, log } from '../../src/lib/exp-log.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';

const view = new DataView(new ArrayBuffer(8));

function bitsOf(value: number): string {
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16).padStart(16, '0');
}

/** How many numbers further one is than the other. They have one sign. */
function apart(a: number, b: number): bigint {
  const [x, y] = [BigInt(`0x${bitsOf(a)}`), BigInt(`0x${bitsOf(b)}`)];
  return x < y ? y - x : x - y;
}

function expectNear(name: string, x: number, found: number, expected: number): void {
  // Both are off by less than a unit in the last place, so they are the numbers on both sides of the truth.
  assert.ok(apart(found, expected) <= 1n, `${name}(${x}) = ${found}, and Math has ${expected}`);
}

describe('exponential and logarithm', () => {
  it('both are those of Math, but for the last place', () => {
    const prng = createPrng(1);
    for (let i = 0; i < 50_000; i++) {
      // Results down to the least numbers, and those that a model needs.
      for (const x of [-745 + 1454 * nextFloat(prng), 10 * nextFloat(prng) - 5])
        expectNear('exp', x, exp(x), Math.exp(x));
      const near = 0.5 + 1.5 * nextFloat(prng);
      for (const x of [Math.exp(-745 + 1454 * nextFloat(prng)), near]) {
        if (x > 0) expectNear('log', x, log(x), Math.log(x));
      }
    }
  });

  it('both have what is exact', () => {
    for (const [x, expected] of [
      [0, 1],
      [-0, 1],
      [1e-300, 1],
      [710, Infinity],
      [Infinity, Infinity],
      [-746, 0],
      [-Infinity, 0],
      [Number.NaN, Number.NaN],
    ] as const) {
      assert.equal(exp(x), expected, `exp(${x})`);
    }
    for (const [x, expected] of [
      [1, 0],
      [0, -Infinity],
      [-0, -Infinity],
      [-1, Number.NaN],
      [-Infinity, Number.NaN],
      [Infinity, Infinity],
      [Number.NaN, Number.NaN],
    ] as const) {
      assert.equal(log(x), expected, `log(${x})`);
    }
  });

  it('both are the same on every machine, to the bit', () => {
    // With multiplications and additions that are fused most of these have another last bit.
    for (const [x, bits] of [
      [-0.331, '3fe6fb89681b1de9'],
      [0.891, '400380229a3958d9'],
      [6.6, '4086f8c2f293c9a1'],
      [709.7, '7fed75ae7a50ee14'],
      [-745.1, '0000000000000001'],
    ] as const) {
      assert.equal(bitsOf(exp(x)), bits, `exp(${x})`);
    }
    for (const [x, bits] of [
      [0.0437, 'c0090b12eafeed39'],
      [0.7161, 'bfd55f32d2aa17fc'],
      [0.8258, 'bfc87fe1ee68dbd6'],
      [1.2944, '3fd083d8af7e1d70'],
      [1.0000001, '3e7ad7f2847b6492'],
      [3, '3ff193ea7aad030a'],
      [5e-324, 'c0874385446d71c3'],
    ] as const) {
      assert.equal(bitsOf(log(x)), bits, `log(${x})`);
    }
  });
});
