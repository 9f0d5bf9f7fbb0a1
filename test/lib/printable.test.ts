import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { printable, printableJson, printableJsonParts } from '../../src/lib/printable.ts';
import { propertyRuns } from '../support/runs.ts';

describe('a text of a stranger', () => {
  for (const [what, text, shown] of [
    ['keeps letters of all scripts', 'Größe 東京 🙂', 'Größe 東京 🙂'],
    ['cannot colour or clear a terminal', '\u001B[2J\u009B31m', String.raw`\u001b[2J\u009b31m`],
    ['cannot begin a line', 'a\nb\r\tc', String.raw`a\nb\r\tc`],
    ['cannot turn the direction', 'web\u202Emoc.live', String.raw`web\u202emoc.live`],
    ['cannot hide characters', 'we\u200Bb\uFEFF', String.raw`we\u200bb\ufeff`],
    ['shows half of a pair', 'a\uD83D', String.raw`a\ud83d`],
  ] as const) {
    it(what, () => assert.equal(printable(text), shown));
  }
});

it('JSON for a terminal has the same data, and does not steer it', () => {
  assert.equal(
    printableJson({ name: '\u001B[2J\u009B\u202E\u{E0041} ä' }),
    String.raw`{
  "name": "\u001b[2J\u009b\u202e\udb40\udc41 ä"
}`,
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const printed = printableJson({ name });
      assert.ok(!/[\p{Cc}\p{Cf}\p{Cs}]/u.test(printed.replaceAll('\n', '')));
      assert.deepEqual(JSON.parse(printed), { name });
    }),
    propertyRuns(100),
  );
});

it('JSON in parts is the same text', () => {
  for (const value of [
    {},
    { a: 1 },
    {
      none: [],
      deep: [{ list: ['\u001B', [1, {}]], text: 'a\nb' }, null, 'x'],
      last: { list: [1, 2] },
      '\u202E': true,
    },
  ]) {
    assert.equal([...printableJsonParts(value)].join(''), printableJson(value));
  }
});
