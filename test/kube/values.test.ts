import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceKey, splitKey } from '../../src/kube/key.ts';
import {
  EMPTY_LABELS,
  labelsEqual,
  labelsFromPairs,
  labelsGet,
  labelsInclude,
  recordsEqual,
  setKey,
} from '../../src/kube/labels.ts';
import { encodingOf } from '../../src/kube/media-type.ts';
import {
  checkedVersion,
  compareResourceVersions,
  isResourceVersion,
  laterVersion,
} from '../../src/kube/resource-version.ts';
import { formatMicroTime, formatTime, parseMicroTime, parseTime } from '../../src/kube/time.ts';
import { labelsFromRecord } from '../support/labels.ts';

test('labels are sorted by key, and the last of equal keys wins', () => {
  assert.deepEqual(
    labelsFromPairs([
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
    ]),
    ['a', '2', 'b', '3'],
  );
  assert.equal(labelsFromPairs([]), EMPTY_LABELS);
});

test('a label named __proto__ is a label', () => {
  const record: Record<string, string> = {};
  setKey(record, '__proto__', 'x');
  assert.deepEqual(Object.entries(record), [['__proto__', 'x']]);
});

test('records with the same labels are equal', () => {
  assert.ok(recordsEqual(undefined, {}));
  assert.ok(recordsEqual({ a: '1', b: '2' }, { b: '2', a: '1' }));
  assert.ok(!recordsEqual({ a: '1' }, { a: '2' }));
  assert.ok(!recordsEqual({ a: '1' }, { a: '1', b: '2' }));
  assert.ok(!recordsEqual({ toString: 'x' }, { b: 'x' }));
});

test('label sets compare by content and answer look-ups', () => {
  const labels = labelsFromRecord({ app: 'shop', tier: '' });
  assert.ok(labelsEqual(labels, ['app', 'shop', 'tier', '']));
  assert.ok(!labelsEqual(labels, ['app', 'shop']));
  assert.ok(!labelsEqual(labels, ['app', 'shop', 'tier', 'x']));
  assert.equal(labelsGet(labels, 'tier'), '');
  assert.equal(labelsGet(labels, 'shop'), undefined);
});

test('a selector is included when all of its pairs are', () => {
  const labels = labelsFromRecord({ a: '1', b: '2', c: '3' });
  const check = (selector: Record<string, string>, expected: boolean): void =>
    assert.equal(labelsInclude(labels, labelsFromRecord(selector)), expected);
  check({}, true);
  check({ b: '2' }, true);
  check({ a: '1', c: '3' }, true);
  check({ a: '1', b: '3' }, false);
  check({ d: '4' }, false);
  check({ a: '1', aa: '' }, false);
  // A key that is not there, before one with the same value.
  check({ aa: '2' }, false);
  check({ aa: '2', c: '3' }, false);
});

test('resource versions compare by length, then by text', () => {
  assert.equal(compareResourceVersions('9', '10'), -1);
  assert.equal(compareResourceVersions('11', '10'), 1);
  assert.equal(
    compareResourceVersions('340282366920938463463374607431768211455', '340282366920938463463374607431768211455'),
    0,
  );
  assert.equal(compareResourceVersions('', '1'), -1);
});

test('the later of two resource versions may be either', () => {
  for (const [a, b] of [
    ['9', '10'],
    ['10', '9'],
    ['', '10'],
    ['10', '10'],
  ] as const) {
    assert.equal(laterVersion(a, b), '10');
  }
});

test('a resource version is decimal, above zero and without leading zeros', () => {
  const texts = ['1', '340282366920938463463374607431768211455', '', '0', '012', '1x', ' 1', '-1', '1.5', '\u0661'];
  assert.deepEqual(texts.filter(isResourceVersion), texts.slice(0, 2));
  assert.equal(checkedVersion(''), '');
  assert.throws(() => checkedVersion('012'), /metadata.resourceVersion: not decimal/);
});

test('keys split at the places where they were joined', () => {
  assert.deepEqual(splitKey(serviceKey('default', 'web')), { namespace: 'default', name: 'web' });
  assert.deepEqual(splitKey('node-1'), { namespace: '', name: 'node-1' });
});

test('times are RFC 3339 in UTC and go both ways', () => {
  assert.equal(parseTime('2026-08-04T13:01:58Z'), 1_785_848_518);
  assert.equal(formatTime(1_785_848_518), '2026-08-04T13:01:58Z');
  assert.equal(parseTime('2026-08-04T15:01:58.999+02:00'), 1_785_848_518);
  assert.equal(parseTime('1970-01-01T00:00:00Z'), 0);
  assert.equal(formatTime(-62_135_596_800), '0001-01-01T00:00:00Z');
  assert.equal(formatMicroTime(1_785_848_518, 123_000), '2026-08-04T13:01:58.000123Z');
  assert.deepEqual(parseMicroTime('2026-08-04T13:01:58.000123Z'), { seconds: 1_785_848_518, nanos: 123_000 });
  assert.deepEqual(parseMicroTime('2026-08-04t13:01:58.5z'), { seconds: 1_785_848_518, nanos: 500_000_000 });
  assert.equal(parseMicroTime('2026-08-04T13:01:58.1234567Z')?.nanos, 123_456_000);
  assert.equal(parseTime('2026-08-04T12:31:58-00:30'), 1_785_848_518);
  assert.equal(parseTime('0001-01-01T00:00:00Z'), -62_135_596_800);
  assert.equal(parseTime('9999-12-31T23:59:59Z'), 253_402_300_799);
});

test('each day of the calendar is the one that Date knows', () => {
  for (const year of [4, 99, 100, 1900, 1970, 1999, 2000, 2024, 2025, 2100, 9996]) {
    for (let month = 1; month <= 12; month++) {
      for (let day = 0; day <= 32; day++) {
        const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T12:34:56Z`;
        const date = new Date(text);
        const isDay = !Number.isNaN(date.getTime()) && date.getUTCDate() === day;
        assert.equal(parseMicroTime(text)?.seconds, isDay ? date.getTime() / 1000 : undefined, text);
      }
    }
  }
});

function two(number: number): string {
  return String(number).padStart(2, '0');
}

test('a text that is no time reads as 0, and an impossible time is not written', () => {
  for (const text of [undefined, null, '', 'yesterday', '2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01']) {
    assert.equal(parseTime(text), 0, String(text));
  }
  const time = '2026-08-04T13:01:58.25+02:00';
  assert.notEqual(parseMicroTime(time), null);
  for (let i = 0; i < time.length; i++) {
    // Fewer digits of the fraction are a time too.
    const shorter = i === 20 || i === 21 ? null : time.slice(0, i) + time.slice(i + 1);
    assert.equal(parseMicroTime(shorter), null, String(shorter));
    assert.equal(parseMicroTime(`${time.slice(0, i)}x${time.slice(i + 1)}`), null);
    assert.equal(parseMicroTime(`${time.slice(0, i)}0${time.slice(i)}`) === null, i < 20 || i > 22, `0 before ${i}`);
  }
  for (const text of [
    '0000-12-31T23:59:59Z',
    '9999-12-31T23:59:59-00:01',
    '2026-08-04T13:01:58',
    `${time}Z`,
    ` ${time}`,
  ]) {
    assert.equal(parseMicroTime(text), null, text);
  }
  assert.throws(() => formatTime(1e15), RangeError);
  assert.throws(() => formatTime(-62_135_596_801), RangeError, 'the second before the year 1');
  assert.throws(() => formatTime(Number.NaN), RangeError);
});

test('a Content-Type gives the encoding, whatever its parameters', () => {
  assert.equal(encodingOf('application/vnd.kubernetes.protobuf;stream=watch'), 'protobuf');
  assert.equal(encodingOf('Application/JSON; charset=utf-8'), 'json');
  assert.throws(() => encodingOf('text/html'), /unexpected Content-Type "text\/html"/);
});
