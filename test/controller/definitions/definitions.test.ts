import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseRunFlags } from '../../../src/cli/flags/flags.ts';
import { createControllers } from '../../../src/controller/definitions/controllers.ts';
import { DEFINITIONS } from '../../../src/controller/definitions/definitions.ts';
import { createMetricStore } from '../../../src/metrics/store.ts';
import type { Facts } from '../../../src/shard/protocol.ts';

const OPTIONS = parseRunFlags([], () => undefined).controller;
const ALL = Object.entries(DEFINITIONS);

suite('the definitions of the controllers', () => {
  test('each definition stands under its output', () => {
    for (const [kind, definition] of ALL) assert.equal(definition.kind, kind);
  });

  test('definitions share no name, queue, component or mark of slices', () => {
    for (const field of ['name', 'queueName', 'tokenUse', 'component', 'managedBy'] as const) {
      const values = ALL.map(([, definition]) => definition[field]);
      assert.deepEqual(values, [...new Set(values)], field);
    }
  });

  test('definitions of slices have a mark, and that of Endpoints has none', () => {
    for (const [kind, { writes, managedBy }] of ALL) assert.equal(managedBy !== '', writes === 'EndpointSlice', kind);
  });

  test('definitions read what they write, and no slices of others', () => {
    for (const [kind, { needs, writes }] of ALL) {
      const ownSlices = writes === 'EndpointSlice' ? [kind] : [];
      assert.deepEqual(
        needs.filter((one) => one !== 'endpoints'),
        ownSlices,
        kind,
      );
      if (writes === 'Endpoints') assert.deepEqual(needs, [kind]);
    }
  });

  test('definitions of slices leave orphans to the garbage collector', () => {
    for (const [kind, definition] of ALL) {
      const fates = [false, true].map((cleanUpUnselected) => definition.fate(null, { ...OPTIONS, cleanUpUnselected }));
      assert.equal(fates.includes('orphaned'), definition.writes === 'Endpoints', kind);
    }
  });

  test('definitions wait for the cache of what they write', () => {
    for (const [kind, definition] of ALL) {
      const caches = definition.caches(OPTIONS);
      assert.ok(caches.includes(definition.writes === 'Endpoints' ? 'endpoints' : 'endpointslices'), kind);
    }
  });
});

test('a report refuses the facts of another output', () => {
  const [endpoints] = createControllers({ ...OPTIONS, slices: false, mirror: false }, createMetricStore(), () => true);
  const facts: Facts = { kind: 'endpoints', ready: 1, notReady: 0, truncated: 0 };
  endpoints!.report.sum(facts, 1);
  const others: Facts = { kind: 'slices', families: [], topology: false, trafficDistribution: '', waitingForNode: 0 };
  assert.throws(() => endpoints!.report.sum(others, 1), /facts of slices are told to the report of endpoints/);
});
