import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GENERATED } from './generated.ts';
import { withParts } from './parts.ts';

for (const { path, read, make } of GENERATED) {
  test(`${path} equals its data (else: npm run docs)`, () => {
    assert.equal(read(), make());
  });
}

test('a table of flags has the default, the allowed values and the help of each', () => {
  const manual = GENERATED.find(({ path }) => path === 'docs/manual.md')!;
  assert.match(manual.make(), /^\| `--min-resync-period` \| 12h \| 0, or at least 1s \| every service /m);
});

test('a document without a place for a part is an error', () => {
  assert.throws(() => withParts('x.md', '# nothing', [{ marker: '<!-- flags -->', text: '' }]), {
    message: 'x.md has no <!-- flags --> with <!-- end --> behind it',
  });
});
