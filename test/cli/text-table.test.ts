import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textTable } from '../../src/cli/text-table.ts';

test('each column is as wide as its widest cell', () => {
  const rows = [
    ['web', '', 'x\u001B'],
    ['a-long-one', '10', ''],
  ];
  assert.deepEqual(textTable(['NAME', 'PODS', 'WHY'], rows), [
    'NAME        PODS  WHY',
    String.raw`web         -     x\u001b`,
    'a-long-one  10    -',
  ]);
});

test('a table may have more rows than a call has arguments', () => {
  const lines = textTable(
    ['POD', 'WHY'],
    Array.from({ length: 200_000 }, (_, i) => [`web-${i}`, 'ready']),
  );
  assert.equal(lines.length, 200_001);
  assert.deepEqual([lines[0], lines[1], lines.at(-1)], ['POD         WHY', 'web-0       ready', 'web-199999  ready']);
});
