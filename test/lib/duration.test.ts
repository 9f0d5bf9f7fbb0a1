import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDuration, parseDuration } from '../../src/lib/duration.ts';
import { propertyRuns } from '../support/runs.ts';

const good: [string, number][] = [
  ['0', 0],
  ['+0', 0],
  ['-0', 0],
  ['0s', 0],
  ['5s', 5000],
  ['500ms', 500],
  ['1h15m30.918s', 4_530_918],
  ['-1.5h', -5_400_000],
  ['+5s', 5000],
  ['.5s', 500],
  ['5.s', 5000],
  ['1us', 0.001],
  ['1\u00b5s', 0.001],
  ['1\u03bcs', 0.001],
  ['1m1ms', 60_001],
  ['1s1h', 3_601_000],
];
for (const [text, ms] of good) {
  test(`${text} is ${ms} ms`, () => assert.equal(parseDuration(text), ms));
}

for (const text of [
  '',
  '5',
  '-',
  '+',
  '.s',
  's',
  '1d',
  '1 s',
  ' 1s',
  '1s ',
  '1e3s',
  '--1s',
  '1S',
  '3000000h',
  '0x1s',
]) {
  test(`${JSON.stringify(text)} is no duration`, () => assert.equal(parseDuration(text), null));
}

for (const [ms, text] of [
  [0, '0s'],
  [1, '1ms'],
  [1500, '1.5s'],
  [60_000, '1m'],
  [5_400_000, '1h30m'],
  [43_200_000, '12h'],
  [-250, '-250ms'],
] as const) {
  test(`${ms} ms is written ${text}`, () => assert.equal(formatDuration(ms), text));
}

test('whole milliseconds survive formatting and parsing', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
      const back = parseDuration(formatDuration(ms));
      assert.ok(back !== null && Math.abs(back - ms) < 1e-3, `${ms} -> ${formatDuration(ms)} -> ${back}`);
    }),
    propertyRuns(100),
  );
});

/** Go's grammar by hand, one character at a time. */
function isDuration(text: string): boolean {
  let rest = text.replace(/^[+-]/, '');
  if (rest === '0') return true;
  if (rest === '') return false;
  while (rest !== '') {
    let digits = 0;
    let i = 0;
    for (; i < rest.length && rest[i]! >= '0' && rest[i]! <= '9'; i++) digits++;
    if (rest[i] === '.') for (i++; i < rest.length && rest[i]! >= '0' && rest[i]! <= '9'; i++) digits++;
    if (digits === 0) return false;
    let unit = i;
    while (unit < rest.length && rest[unit] !== '.' && !(rest[unit]! >= '0' && rest[unit]! <= '9')) unit++;
    if (!['ns', 'us', '\u00b5s', '\u03bcs', 'ms', 's', 'm', 'h'].includes(rest.slice(i, unit))) return false;
    rest = rest.slice(unit);
  }
  return true;
}

test('the parser accepts exactly the grammar', () => {
  const piece = fc.constantFrom('1', '0', '.', 'm', 's', 'h', 'u', '\u00b5', 'n', '-', '+', ' ', 'd');
  fc.assert(
    fc.property(fc.string({ unit: piece, maxLength: 8 }), (text) => {
      assert.equal(parseDuration(text) !== null, isDuration(text), text);
    }),
    propertyRuns(2000),
  );
});
