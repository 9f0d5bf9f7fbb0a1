import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { summarizeHints, withoutHints } from '../../../src/core/slices/hint-summary.ts';
import { endpointsOf } from './hint-text.ts';

function summaryOf(text: string): ReturnType<typeof summarizeHints> {
  return summarizeHints(endpointsOf(text));
}

suite('what a slice’s hints are judged by', () => {
  test('an empty slice: nothing is missing and nothing is wrong', () => {
    assert.deepEqual(summaryOf(''), {
      ready: 0,
      anyHints: false,
      everyReadyHasZoneHint: true,
      nodeHints: false,
      hintZones: [],
      foreignZones: [],
      ownZoneHints: true,
      ownNodeHints: true,
    });
  });

  test('only what has the condition ready counts as ready', () => {
    assert.equal(summaryOf('a a !a ?a').ready, 2);
    assert.equal(summaryOf('!a ?a').ready, 0);
    assert.equal(summarizeHints([{ addresses: ['10.0.0.1'] }]).ready, 0);
  });

  test('hints of any endpoint are hints, be they empty', () => {
    assert.equal(summaryOf('a !a').anyHints, false);
    assert.equal(summaryOf('a !a>a').anyHints, true);
    assert.equal(summaryOf('a>').anyHints, true);
    assert.equal(summaryOf('a>@n').anyHints, true);
  });

  test('hints for nodes are told apart, of ready endpoints alone', () => {
    assert.equal(summaryOf('a>a !a>a@n').nodeHints, false);
    assert.equal(summaryOf('a>a a>a@n').nodeHints, true);
  });

  test('zones of hints are counted over ready endpoints, ascending', () => {
    assert.deepEqual(summaryOf('b>b a>b c>a+b !c>c').hintZones, [
      { zone: 'a', count: 1 },
      { zone: 'b', count: 3 },
    ]);
  });

  test('zones that serve endpoints of others are told apart', () => {
    assert.deepEqual(summaryOf('b>b c>c').foreignZones, []);
    assert.deepEqual(summaryOf('b>b a>c a>b >d !x>y').foreignZones, ['b', 'c', 'd']);
  });

  test('null and absent are the same', () => {
    const plain = { addresses: ['10.0.0.1'], conditions: { ready: true } };
    const nulls = { ...plain, zone: null, nodeName: null, hints: null } as unknown as typeof plain;
    assert.deepEqual(summarizeHints([nulls]), summarizeHints([plain]));
    const lists = { ...plain, hints: { forZones: null, forNodes: [] } } as unknown as typeof plain;
    assert.deepEqual(summarizeHints([lists]), { ...summarizeHints([plain]), anyHints: true });
  });
});

test('an endpoint without hints stays the same object when they are taken away', () => {
  const [plain, hinted] = endpointsOf('a a>b');
  assert.equal(withoutHints(plain!), plain);
  assert.equal('hints' in withoutHints(hinted!), false);
});
