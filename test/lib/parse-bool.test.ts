import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBool } from '../../src/lib/parse-bool.ts';

const cases: [expected: boolean | null, ...texts: string[]][] = [
  [true, '1', 't', 'T', 'TRUE', 'true', 'True'],
  [false, '0', 'f', 'F', 'FALSE', 'false', 'False'],
  [null, '', 'yes', 'tRUE', ' true', '01'],
];
for (const [expected, ...texts] of cases) {
  for (const text of texts)
    test(`the text "${text}" is ${expected ?? 'neither'}`, () => assert.equal(parseBool(text), expected));
}
