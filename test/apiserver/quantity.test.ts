/** Amounts, against exact arithmetic; what a real server makes of them is in the contract. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseQuantity, QuantityError } from '../../src/apiserver/quantity.ts';
import { propertyRuns } from '../support/runs.ts';

const SEED = 20_261_121;

test('a quantity is written as the shortest number without a fraction', () => {
  const texts: Readonly<Record<string, string>> = {
    '0.5': '500m',
    '1500m': '1500m',
    '2000m': '2',
    '1000': '1k',
    '1024Ki': '1Mi',
    '0.5Ki': '512',
    '1.1Mi': '1153433600m',
    '1e10': '10e9',
    '-0': '0',
  };
  for (const [given, text] of Object.entries(texts)) assert.equal(parseQuantity(given).text, text, given);
});

test('an amount below a thousandth counts as a thousandth', () => {
  for (const text of ['1n', '1u', '0.00001', '1e-9']) assert.equal(parseQuantity(text).milli, 1n, text);
  assert.equal(parseQuantity('-1n').milli, -1n);
});

test('hostile texts of quantities cost nothing', () => {
  for (const text of ['1e999999999', `1${'0'.repeat(1_000_000)}`, '1e-999999999']) {
    assert.throws(() => parseQuantity(text), QuantityError, text.slice(0, 20));
  }
});

test('a written quantity reads as the same amount and is written the same again', () => {
  const text = fc
    .tuple(
      fc.constantFrom('', '-', '+'),
      fc.bigInt({ min: 0n, max: 10n ** 15n }),
      fc.option(fc.nat({ max: 999_999 }), { nil: null }),
      fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-4', 'E6'),
    )
    .map(([sign, whole, fraction, suffix]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${suffix}`);
  fc.assert(
    fc.property(text, (given) => {
      const quantity = parseQuantity(given);
      const again = parseQuantity(quantity.text);
      assert.equal(again.milli, quantity.milli);
      assert.equal(again.text, quantity.text);
    }),
    propertyRuns(3000, SEED),
  );
});
