import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Few, fewHas, fewItems, fewOf, fewSize, fewWith, fewWithout } from '../../src/lib/few.ts';
import { propertyRuns } from '../support/runs.ts';

const items = [{ n: 0 }, { n: 1 }, { n: 2 }];

test('a few may be none, one and many', () => {
  assert.deepEqual([...fewItems(null)], []);
  assert.deepEqual([...fewItems(fewWith(null, items[0]!))], [items[0]]);
  assert.deepEqual([...fewItems(fewWith(fewWith(null, items[0]!), items[1]!))], [items[0], items[1]]);
});

test('a few of strings is none, one and many', () => {
  for (const names of [[], ['a'], ['a', 'b']]) assert.deepEqual([...fewItems(fewOf(names))], names);
});

test('a few is a set, whatever is added and removed', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(2))), (steps) => {
      let few: Few<{ n: number }> = null;
      const expected = new Set<{ n: number }>();
      for (const [add, i] of steps) {
        const item = items[i]!;
        few = add ? fewWith(few, item) : fewWithout(few, item);
        if (add) expected.add(item);
        else expected.delete(item);
        assert.deepEqual([...fewItems(few)], [...expected]);
        assert.equal(fewSize(few), expected.size);
        for (const each of items) assert.equal(fewHas(few, each), expected.has(each));
      }
    }),
    propertyRuns(200),
  );
});
