/** What of the run of Kubernetes' own tests needs no Go. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renamedIn } from './adapt.ts';
import { leavesOf, patternOf, type TestResult } from './go-test.ts';

describe("the run of Kubernetes' own tests", () => {
  const names = { declaration: 'func New(', renamed: 'func old(' };

  it('the run renames a declaration, and no call', () => {
    assert.equal(
      renamedIn('package x\nfunc New(a int) {}\n\tx.New(1)\n', names, 'x.go'),
      'package x\nfunc old(a int) {}\n\tx.New(1)\n',
    );
  });

  it('the run ends with an error if a declaration is missing or repeated', () => {
    const message = (times: number): string => `x.go has "func New(" ${times} times, expected once: adapt it anew`;
    assert.throws(() => renamedIn('package x\n', names, 'x.go'), { message: message(0) });
    assert.throws(() => renamedIn('\nfunc New()\nfunc New()', names, 'x.go'), { message: message(2) });
  });

  it('the run counts tests without subtests, and failing tests beside their subtests', () => {
    const outcomes = new Map<string, TestResult['outcome']>([
      ['A/one', 'pass'],
      ['A', 'pass'],
      ['B/one', 'fail'],
      ['B/two', 'pass'],
      ['B', 'fail'],
      ['C/one', 'pass'],
      ['C', 'fail'],
    ]);
    assert.deepEqual(
      leavesOf(outcomes, 's').map(({ name, outcome }) => `${name} ${outcome}`),
      ['A/one pass', 'B/one fail', 'B/two pass', 'C/one pass', 'C fail'],
    );
  });

  it('the run names a subtest by a pattern that matches nothing else', () => {
    assert.equal(patternOf('Test_A/a.b+c'), String.raw`^Test_A$/^a\.b\+c$`);
  });
});
