import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasTest, runningTests } from './test-titles.ts';

/** Put together, so that a search for tests that are switched off does not find this text. */
const [SKIPPED, TO_DO] = ['it.', 'test.'].map((call, i) => `${call}${['skip', 'todo'][i]}`);

const SOURCE = `
/** 'in a block' */
// it('in a line', () => undefined);
${SKIPPED}('is skipped', () => undefined);
${TO_DO}('is to be written');
  it('runs', () => undefined);
  test(
    "runs, and isn't short",
    () => undefined,
  );
const rows = [
  ['is a row', 1],
];
const text = 'is no test';
`;

test('a title counts where a test or a row of a table begins with it', () => {
  for (const title of ['runs', "runs, and isn't short", 'is a row']) assert.ok(hasTest(SOURCE, title), title);
});

test('a title in a comment, of a skipped test or in other text does not count', () => {
  for (const title of ['in a block', 'in a line', 'is skipped', 'is to be written', 'is no test', 'run', '']) {
    assert.ok(!hasTest(SOURCE, title), title);
  }
});

test('comments and skipped tests are no running tests', () => {
  for (const piece of ['in a block', 'in a line', 'is skipped', 'is to be written']) {
    assert.ok(!runningTests(SOURCE).includes(piece), piece);
  }
});
