import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { stripHints } from '../../../src/core/slices/topology-hints.ts';
import {
  distributeTraffic,
  hintsMode,
  type TrafficDistribution,
} from '../../../src/core/slices/traffic-distribution.ts';
import { hintSlices, type HintTexts, textOfEndpoints, writtenTexts } from './hint-text.ts';
import { makeService } from '../../support/records.ts';
import { propertyRuns } from '../../support/runs.ts';

const SEED = 20261121;
const MODE = 'service.kubernetes.io/topology-mode';
const DEPRECATED = 'service.kubernetes.io/topology-aware-hints';

function distribute(mode: TrafficDistribution, texts: HintTexts): string[] {
  const slices = hintSlices(texts);
  const result = distributeTraffic(slices, mode);
  assert.equal(result.hints, null);
  assert.equal(result.failure, '');
  return writtenTexts(slices, result);
}

test('endpoints of the same zone and node share their hints', () => {
  const slices = hintSlices({ created: ['a/n a/n a/m'] });
  distributeTraffic(slices, 'PreferSameNode');
  const [n1, n2, m] = slices.created[0]!.endpoints;
  assert.equal(n1!.hints, n2!.hints);
  assert.notEqual(n1!.hints, m!.hints);
});

suite('which hints a Service asks for', () => {
  function modeOf(annotations: Readonly<Record<string, string>>, trafficDistribution = ''): string {
    return hintsMode(makeService({ annotations, trafficDistribution }));
  }

  test('a Service asks for no hints by default, nor by other annotations', () => {
    assert.equal(modeOf({}), 'none');
    for (const value of ['disabled', 'Disabled', 'AUTO', 'enabled', ' Auto', ''])
      assert.equal(modeOf({ [MODE]: value }), 'none');
  });

  test('two spellings of Auto count, under either annotation', () => {
    for (const value of ['Auto', 'auto']) {
      assert.equal(modeOf({ [MODE]: value }), 'Auto');
      assert.equal(modeOf({ [DEPRECATED]: value }), 'Auto');
    }
  });

  test('of both annotations the deprecated one decides', () => {
    assert.equal(modeOf({ [MODE]: 'Auto', [DEPRECATED]: 'Disabled' }), 'none');
    assert.equal(modeOf({ [MODE]: 'Disabled', [DEPRECATED]: 'auto' }), 'Auto');
    assert.equal(modeOf({ [MODE]: 'Auto', [DEPRECATED]: '' }), 'none');
  });

  test('trafficDistribution decides unless the annotation says Auto', () => {
    for (const value of ['PreferClose', 'PreferSameZone', 'PreferSameNode']) {
      assert.equal(modeOf({}, value), value);
      assert.equal(modeOf({ [MODE]: 'Disabled' }, value), value);
      assert.equal(modeOf({ [MODE]: 'Auto' }, value), 'Auto');
    }
  });

  test('an unknown trafficDistribution counts as unset', () => {
    for (const value of ['Unknown', 'preferclose', 'PreferFar']) assert.equal(modeOf({}, value), 'none');
  });
});

/** One pod on node-0 in zone a, three on node-1 in b, two on node-2 in c. */
const SIX = 'a/node-0 b/node-1 b/node-1 b/node-1 c/node-2 c/node-2';

suite('slices that are written anyway', () => {
  for (const mode of ['PreferClose', 'PreferSameZone'] as const) {
    test(`${mode}: each ready endpoint serves its own zone`, () => {
      assert.deepEqual(distribute(mode, { created: [SIX] }), [
        'a/node-0>a b/node-1>b b/node-1>b b/node-1>b c/node-2>c c/node-2>c',
      ]);
    });
  }

  test('PreferSameNode hints name the own zone and the own node', () => {
    assert.deepEqual(distribute('PreferSameNode', { created: [SIX] }), [
      'a/node-0>a@node-0 b/node-1>b@node-1 b/node-1>b@node-1 b/node-1>b@node-1 c/node-2>c@node-2 c/node-2>c@node-2',
    ]);
  });

  test('slices to create and to update get the same hints', () => {
    assert.deepEqual(distribute('PreferClose', { created: ['a b', 'a b'], updated: ['a a', 'b c'] }), [
      'a>a b>b',
      'a>a b>b',
      'a>a a>a',
      'b>b c>c',
    ]);
  });

  test('wrong hints are corrected, and right ones stay', () => {
    assert.deepEqual(distribute('PreferClose', { updated: ['a>b a>a+b a/n>a@n a> >a'] }), ['a>a a>a a/n>a a>a ']);
    assert.deepEqual(distribute('PreferSameNode', { updated: ['a/n>a@m a/n>@n a/n'] }), ['a/n>a@n a/n>a@n a/n>a@n']);
    const slices = hintSlices({ updated: ['a>a'] });
    const [endpoint] = slices.updated[0]!.endpoints;
    distributeTraffic(slices, 'PreferClose');
    assert.equal(slices.updated[0]!.endpoints[0], endpoint);
  });

  test('without zone and node an endpoint has no hints object', () => {
    assert.deepEqual(distribute('PreferClose', { created: ['/n'] }), ['/n']);
    assert.deepEqual(distribute('PreferSameNode', { created: [''] }), ['']);
  });

  test('on a node without zone an endpoint has a node hint alone', () => {
    assert.deepEqual(distribute('PreferSameNode', { created: ['/n'] }), ['/n>@n']);
  });

  test('endpoints that are not ready keep their hints', () => {
    assert.deepEqual(distribute('PreferClose', { updated: ['!a !a>b ?a>b a'] }), ['!a !a>b ?a>b a>a']);
  });
});

suite('slices that could stay as they are', () => {
  test('a slice is written for missing and wrong hints of ready endpoints', () => {
    assert.deepEqual(distribute('PreferClose', { unchanged: ['b>c', 'c', 'a>a b>b'] }), ['b>b', 'c>c']);
  });

  test('a slice is not written for hints of endpoints that are not ready', () => {
    assert.deepEqual(distribute('PreferClose', { unchanged: ['!b', '!b>a', '?b', ''] }), []);
  });

  test('a missing or surplus node hint is wrong', () => {
    assert.deepEqual(distribute('PreferSameZone', { unchanged: ['a/n>a@n'] }), ['a/n>a']);
    assert.deepEqual(distribute('PreferSameNode', { unchanged: ['a/n>a', 'a/n>a@n', 'a>a'] }), ['a/n>a@n']);
  });

  test('a hint of an endpoint without zone is wrong', () => {
    assert.deepEqual(distribute('PreferClose', { unchanged: ['>a'] }), ['']);
  });

  test('the stored slice and its right endpoints stay as they are', () => {
    const slices = hintSlices({ unchanged: ['a>a b'] });
    const { touched } = distributeTraffic(slices, 'PreferClose');
    const [stored] = slices.unchanged;
    assert.equal(touched[0]!.stored, stored);
    assert.equal(touched[0]!.endpoints[0], stored!.object.endpoints![0]);
    assert.equal(textOfEndpoints(stored!.object.endpoints!), 'a>a b');
  });

  test('an unset or unknown trafficDistribution removes all hints', () => {
    const slices = hintSlices({ updated: ['a>a'], unchanged: ['b>b', 'b'] });
    assert.deepEqual(writtenTexts(slices, stripHints(slices)), ['a', 'b']);
  });
});

test('the summary of a slice gives the same as walking its endpoints', () => {
  const endpoint = fc
    .tuple(
      fc.constantFrom('', '', '!', '?'),
      fc.constantFrom('', 'a', 'b'),
      fc.constantFrom('', '/n', '/m'),
      fc.constantFrom('', '>', '>a', '>b', '>a+b', '>@n', '>a@n', '>b@m', '>a@n'),
    )
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(
      fc.array(endpoint, { maxLength: 4 }).map((texts) => texts.join(' ')),
      fc.constantFrom<TrafficDistribution>('PreferClose', 'PreferSameNode'),
      (text, mode) => {
        const [rewritten] = distribute(mode, { updated: [text] });
        const touched = distribute(mode, { unchanged: [text] });
        // Empty hints where there are none to be are not worth a write, and are taken away with one.
        const same = rewritten === text || rewritten === text.replaceAll(/(^| )((?:\/[nm])?)>(?= |$)/g, '$1$2');
        assert.deepEqual(touched, same ? [] : [rewritten]);
        if (touched.length > 0) assert.deepEqual(distribute(mode, { unchanged: touched }), []);
      },
    ),
    propertyRuns(1000, SEED),
  );
});
