import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { divideUp, parseQuantityNano } from '../../src/kube/quantity.ts';

suite('quantities in billionths', () => {
  const cases: Readonly<Record<string, bigint>> = {
    '0': 0n,
    '0.000': 0n,
    '0m': 0n,
    '4': 4_000_000_000n,
    '+4': 4_000_000_000n,
    '007': 7_000_000_000n,
    '3920m': 3_920_000_000n,
    '1500u': 1_500_000n,
    '7n': 7n,
    '0.5': 500_000_000n,
    '.5': 500_000_000n,
    '5.': 5_000_000_000n,
    '1.5k': 1_500_000_000_000n,
    '2M': 2_000_000_000_000_000n,
    '1E': 1_000_000_000_000_000_000_000_000_000n,
    '4Ki': 4_096_000_000_000n,
    '0.5Mi': 524_288_000_000_000n,
    '1Ei': 1_152_921_504_606_846_976_000_000_000n,
    '1e3': 1_000_000_000_000n,
    '1E3': 1_000_000_000_000n,
    '12e-1': 1_200_000_000n,
    '4e+2': 400_000_000_000n,
  };
  for (const [text, nano] of Object.entries(cases)) {
    test(`${text} is ${nano} billionths`, () => assert.equal(parseQuantityNano(text), nano));
  }

  test('amounts below a billionth are rounded up', () => {
    assert.equal(parseQuantityNano('0.1n'), 1n);
    assert.equal(parseQuantityNano('1.0000000001'), 1_000_000_001n);
    assert.equal(parseQuantityNano('1e-999999999'), 1n);
    assert.equal(parseQuantityNano('0e-999999999'), 0n);
  });

  test('amounts above 2^63 - 1 are cut to that', () => {
    const largest = 9_223_372_036_854_775_807_000_000_000n;
    assert.equal(parseQuantityNano('9223372036854775807'), largest);
    assert.equal(parseQuantityNano('9223372036854775808'), largest);
    assert.equal(parseQuantityNano('16Ei'), largest);
    assert.equal(parseQuantityNano('1e999999999'), largest);
    assert.equal(parseQuantityNano('0e999999999'), 0n);
  });

  for (const text of [
    '',
    '.',
    'm',
    '-1',
    '1 ',
    ' 1',
    '1x',
    '1mm',
    '1ki',
    '1K',
    '1e',
    '1e+',
    'e3',
    '1.2.3',
    '١',
    '1'.repeat(65),
  ]) {
    test(`the text "${text}" is no quantity`, () => assert.equal(parseQuantityNano(text), null));
  }

  test('division rounds up', () => {
    assert.equal(divideUp(0n, 3n), 0n);
    assert.equal(divideUp(3n, 3n), 1n);
    assert.equal(divideUp(4n, 3n), 2n);
  });
});
