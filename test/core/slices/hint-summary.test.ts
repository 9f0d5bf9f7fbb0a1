import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { summarizeHints, withoutHints } from '../../../src/core/slices/hint-summary.ts';
import { endpointsOf } from './hint-text.ts';

function summaryOf(text: string): ReturnType<typeof summarizeHints> {
  return summarizeHints(endpointsOf(text));
}

suite('what a slice’s hints are judged by', () => {
  test('in an empty slice no hint is missing and none is wrong', () => {
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

  test('only endpoints with the condition ready count as ready', () => {
    assert.equal(summaryOf('a a !a ?a').ready, 2);
    assert.equal(summaryOf('!a ?a').ready, 0);
    assert.equal(summarizeHints([{ addresses: ['10.0.0.1'] }]).ready, 0);
  });

  test('hints of any endpoint count as hints, even empty ones', () => {
    assert.equal(summaryOf('a !a').anyHints, false);
    assert.equal(summaryOf('a !a>a').anyHints, true);
    assert.equal(summaryOf('a>').anyHints, true);
    assert.equal(summaryOf('a>@n').anyHints, true);
  });

  test('hints for nodes are told apart, for ready endpoints only', () => {
    assert.equal(summaryOf('a>a !a>a@n').nodeHints, false);
    assert.equal(summaryOf('a>a a>a@n').nodeHints, true);
  });

  test('zones of hints are counted over ready endpoints, ascending', () => {
    assert.deepEqual(summaryOf('b>b a>b c>a+b !c>c').hintZones, [
      { zone: 'a', count: 1 },
      { zone: 'b', count: 3 },
    ]);
  });

  test('zones that serve endpoints of other zones are told apart', () => {
    assert.deepEqual(summaryOf('b>b c>c').foreignZones, []);
    assert.deepEqual(summaryOf('b>b a>c a>b >d !x>y').foreignZones, ['b', 'c', 'd']);
  });

  test('null hints and absent hints are the same', () => {
    const plain = { addresses: ['10.0.0.1'], conditions: { ready: true } };
    const nulls = { ...plain, zone: null, nodeName: null, hints: null } as unknown as typeof plain;
    assert.deepEqual(summarizeHints([nulls]), summarizeHints([plain]));
    const lists = { ...plain, hints: { forZones: null, forNodes: [] } } as unknown as typeof plain;
    assert.deepEqual(summarizeHints([lists]), { ...summarizeHints([plain]), anyHints: true });
  });
});

test('taking hints away keeps an endpoint without hints as the same object', () => {
  const [plain, hinted] = endpointsOf('a a>b');
  assert.equal(withoutHints(plain!), plain);
  assert.equal('hints' in withoutHints(hinted!), false);
});
