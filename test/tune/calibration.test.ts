import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CalibrationError, calibrationText, parseCalibration } from '../../src/tune/calibration.ts';
import { GUESSED } from '../../src/tune/numbers.ts';
import { DEFAULT_CALIBRATION } from '../../src/twin/settings.ts';

function parse(change: object): unknown {
  return parseCalibration({ ...DEFAULT_CALIBRATION, ...change });
}

test('a calibration reads as it was written', () => {
  const calibration = { ...DEFAULT_CALIBRATION, watchLagMs: 2.5, cores: 8 };
  const other = { calibration, unsure: { ...GUESSED, CPU: { down: 1.1, up: 1 } } };
  assert.deepEqual(parseCalibration(JSON.parse(calibrationText(other))), other);
});

test('the numbers of a calibration that does not say how unsure they are are guesses', () => {
  assert.deepEqual(parse({}), { calibration: DEFAULT_CALIBRATION, unsure: GUESSED });
  for (const spread of Object.values(GUESSED)) assert.deepEqual(spread, { down: 2, up: 2 });
});

for (const [title, change, message] of [
  ['of a newer program', { version: 4 }, 'version: 4, and this program reads 3'],
  ['with a text for a number', { watchLagMs: '1' }, 'watchLagMs: "1" is no number above 0'],
  ['without a number', { cores: undefined }, 'cores: nothing is no number above 0'],
  ['with a number that cannot be', { apiMs: { median: -1, tail: 2 } }, 'apiMs.median: -1 is no number above 0'],
  ['without what endpoints add', { apiEach: { slices: 0 } }, 'apiEach.endpoints: nothing is no number of at least 0'],
  ['with a part of a core', { cores: 2.5 }, 'cores: 2.5 is no whole number'],
  ['with a field too many', { apiMs: { median: 1, tail: 2, most: 3 } }, 'apiMs.most: there is no such field'],
  [
    'with a spread below 1',
    { unsure: { ...GUESSED, CPU: { down: 0.9, up: 2 } } },
    'unsure.CPU.down: 0.9 is no number of at least 1',
  ],
  ['without a spread', { unsure: { CPU: GUESSED.CPU } }, 'unsure.API latency: nothing is no JSON object'],
  ['with a text for its spreads', { unsure: '25 %' }, 'unsure: "25 %" is no JSON object'],
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
