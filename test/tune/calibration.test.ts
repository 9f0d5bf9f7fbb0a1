import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CalibrationError, calibrationText, parseCalibration } from '../../src/tune/calibration.ts';
import { DEFAULT_CALIBRATION } from '../../src/twin/settings.ts';

function parse(change: object): unknown {
  return parseCalibration({ ...DEFAULT_CALIBRATION, ...change });
}

test('a calibration reads as it was written', () => {
  const other = { ...DEFAULT_CALIBRATION, watchLagMs: 2.5, cores: 8 };
  assert.deepEqual(parseCalibration(JSON.parse(calibrationText(other))), other);
});

for (const [title, change, message] of [
  ['of a newer program', { version: 4 }, 'version: 4, and this program reads 3'],
  ['with a text for a number', { watchLagMs: '1' }, 'watchLagMs: "1" is no number above 0'],
  ['without a number', { cores: undefined }, 'cores: nothing is no number above 0'],
  ['with a number that cannot be', { apiMs: { median: -1, tail: 2 } }, 'apiMs.median: -1 is no number above 0'],
  ['without what endpoints add', { apiEach: { slices: 0 } }, 'apiEach.endpoints: nothing is no number of at least 0'],
  ['with a part of a core', { cores: 2.5 }, 'cores: 2.5 is no whole number'],
  ['with a field too many', { apiMs: { median: 1, tail: 2, most: 3 } }, 'apiMs.most: there is no such field'],
  ['without its costs', { costs: {} }, 'costs.endpointd: nothing is no JSON object'],
] as const) {
  test(`a calibration ${title} is refused by its field`, () =>
    assert.throws(
      () => parse(change),
      (error) => error instanceof CalibrationError && error.message === message,
    ));
}

test('a text that is no JSON object is no calibration', () => {
  assert.throws(() => parseCalibration([]), /it is no JSON object/);
});
