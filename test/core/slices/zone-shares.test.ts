import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  createZoneShares,
  NO_SHARE,
  overloaded,
  replaceShare,
  shareOf,
  sharesOf,
  type ZoneShares,
} from '../../../src/core/slices/zone-shares.ts';
import type { NodeRecord } from '../../../src/kube/types.ts';
import { makeNode } from '../../support/records.ts';
import { propertyRuns } from '../../support/runs.ts';

const SEED = 20261121;
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const MASTER = 'node-role.kubernetes.io/master';

/** A ready node of that zone and CPU. */
function node(zone: string, allocatableCpu: string, fields: { ready?: boolean; role?: string } = {}): NodeRecord {
  const { ready = true, role } = fields;
  const bare = makeNode('n', zone, { ready, allocatableCpu });
  return role === undefined ? bare : { ...bare, labels: [role, '', ...bare.labels] };
}

function sumOf(nodes: readonly NodeRecord[]): ZoneShares {
  const all = createZoneShares();
  for (const each of nodes) replaceShare(all, NO_SHARE, shareOf(each));
  return all;
}

/** Zone -> share; null = none. */
function sharesText(...nodes: readonly NodeRecord[]): Readonly<Record<string, number>> | null {
  const shares = sharesOf(sumOf(nodes));
  return shares === null ? null : Object.fromEntries(shares.zones.map(({ zone, share }) => [zone, share]));
}

suite('CPU shares of the zones', () => {
  test('no nodes, one node or one zone give no shares', () => {
    assert.equal(sharesText(), null);
    assert.equal(sharesText(node('a', '1000m')), null);
    assert.equal(sharesText(node('a', '1000m'), node('a', '1000m')), null);
  });

  test('two zones of the same CPU have half each', () => {
    assert.deepEqual(sharesText(node('a', '1000m'), node('b', '1')), { a: 0.5, b: 0.5 });
  });

  test('a node that is not ready does not make its zone count', () => {
    assert.equal(sharesText(node('a', '1', { ready: false }), node('b', '1')), null);
  });

  test('a node of the control plane does not make its zone count', () => {
    assert.equal(sharesText(node('a', '1'), node('b', '1', { role: CONTROL_PLANE })), null);
    assert.equal(sharesText(node('a', '1'), node('b', '1', { role: MASTER })), null);
  });

  test('uncounted nodes are left out of zones that have others', () => {
    assert.deepEqual(sharesText(node('a', '1'), node('b', '1'), node('b', '1', { ready: false })), { a: 0.5, b: 0.5 });
    assert.deepEqual(sharesText(node('a', '1'), node('b', '1'), node('b', '1', { role: CONTROL_PLANE })), {
      a: 0.5,
      b: 0.5,
    });
  });

  test('three zones have shares of 5000 m, 4500 m and 500 m', () => {
    const nodes = [
      ...['1000m', '1000m', '1000m', '2000m'].map((cpu) => node('a', cpu)),
      ...['3000m', '1500m'].map((cpu) => node('b', cpu)),
      node('c', '500m'),
    ];
    assert.deepEqual(sharesText(...nodes), { a: 0.5, b: 0.45, c: 0.05 });
  });

  test('milli-CPU is rounded up after adding up', () => {
    assert.deepEqual(sharesText(node('a', '500u'), node('a', '400u'), node('b', '1m'), node('c', '1100u')), {
      a: 1 / 3,
      b: 1 / 3,
      c: 2 / 3,
    });
  });

  test('one ready node without zone or CPU takes away all shares', () => {
    const good = [node('a', '1'), node('b', '1')];
    for (const bad of [node('', '1'), node('a', ''), node('a', '0'), node('a', 'four')]) {
      assert.equal(sharesText(...good, bad), null);
      assert.deepEqual(sharesText(...good, { ...bad, ready: false }), { a: 0.5, b: 0.5 });
    }
  });

  test('a node that spoils the shares says why', () => {
    assert.equal(shareOf(node('', '1')).spoils, 'label topology.kubernetes.io/zone is missing or empty');
    assert.equal(shareOf(node('a', '')).spoils, 'status.allocatable.cpu is missing or zero');
    assert.equal(shareOf(node('a', '0m')).spoils, 'status.allocatable.cpu is missing or zero');
    assert.equal(shareOf(node('a', 'four')).spoils, 'status.allocatable.cpu is no quantity: four');
    assert.equal(shareOf(node('a', '-1')).spoils, 'status.allocatable.cpu is no quantity: -1');
    assert.equal(shareOf(node('a', '1')).spoils, '');
    assert.equal(shareOf(node('', 'four', { ready: false })).spoils, '');
  });
});

suite('shares as nodes change', () => {
  test('equal shares are the same object, others have a greater version', () => {
    const all = sumOf([node('a', '1'), node('b', '1')]);
    const first = sharesOf(all);
    assert.equal(sharesOf(all), first);
    assert.equal(replaceShare(all, shareOf(node('a', '1')), shareOf(node('a', '1000m'))), false);
    assert.equal(sharesOf(all), first);

    replaceShare(all, shareOf(node('a', '1')), shareOf(node('a', '2')));
    replaceShare(all, shareOf(node('b', '1')), shareOf(node('b', '2')));
    assert.equal(sharesOf(all), first);

    replaceShare(all, shareOf(node('b', '2')), shareOf(node('b', '6')));
    const second = sharesOf(all);
    assert.deepEqual(second!.zones, [
      { zone: 'a', share: 0.25 },
      { zone: 'b', share: 0.75 },
    ]);
    assert.ok(second!.version > first!.version);
  });

  test('versions also grow over a time without shares', () => {
    const all = sumOf([node('a', '1'), node('b', '1')]);
    const { version } = sharesOf(all)!;
    const bad = shareOf(node('', '1'));
    assert.equal(replaceShare(all, NO_SHARE, bad), true);
    assert.equal(sharesOf(all), null);
    assert.equal(replaceShare(all, bad, NO_SHARE), true);
    assert.equal(sharesOf(all)!.version, version + 1);
  });

  test('a change among nodes that do not count changes nothing', () => {
    const all = sumOf([node('', '1'), node('a', '1'), node('b', '1')]);
    assert.equal(replaceShare(all, NO_SHARE, shareOf(node('c', '1'))), false);
    assert.equal(replaceShare(all, NO_SHARE, shareOf(node('', '1'))), false);
    assert.equal(replaceShare(all, shareOf(node('', '1')), NO_SHARE), false);
    assert.equal(replaceShare(all, shareOf(node('', '1')), NO_SHARE), true);
    assert.deepEqual(
      sharesOf(all)!.zones.map(({ zone }) => zone),
      ['a', 'b', 'c'],
    );
  });

  test('shares kept node by node equal shares summed from scratch', () => {
    const records = fc
      .record({
        name: fc.constantFrom('n1', 'n2', 'n3', 'n4'),
        zone: fc.constantFrom('a', 'b', 'c', 'a', 'b', ''),
        cpu: fc.constantFrom('1', '2', '1500m', '300u', '1', '2', '4Ki', 'bad'),
        ready: fc.constantFrom(true, true, true, false),
        gone: fc.constantFrom(false, false, true),
      })
      .map(({ name, zone, cpu, ready, gone }) => ({ name, record: gone ? null : node(zone, cpu, { ready }) }));
    fc.assert(
      fc.property(fc.array(records, { maxLength: 20 }), (changes) => {
        const all = createZoneShares();
        const nodes = new Map<string, NodeRecord>();
        for (const { name, record } of changes) {
          const known = nodes.get(name);
          const before = sharesOf(all);
          const changed = replaceShare(
            all,
            known === undefined ? NO_SHARE : shareOf(known),
            record === null ? NO_SHARE : shareOf(record),
          );
          if (record === null) nodes.delete(name);
          else nodes.set(name, record);
          const after = sharesOf(all);
          if (!changed) assert.equal(after, before);
          if ((before === null) !== (after === null)) assert.equal(changed, true);
          assert.deepEqual(after?.zones ?? null, sharesOf(sumOf([...nodes.values()]))?.zones ?? null);
        }
      }),
      propertyRuns(300, SEED),
    );
  });
});

suite('whether a zone is overloaded', () => {
  function over(shares: Readonly<Record<string, number>>, counts: Readonly<Record<string, number>>): boolean {
    const zones = Object.entries(shares).map(([zone, share]) => ({ zone, share }));
    return overloaded(
      Object.entries(counts).map(([zone, count]) => ({ zone, count })),
      { version: 1, zones },
    );
  }

  test('of two halves, a zone is overloaded from six to four on', () => {
    const halves = { a: 0.5, b: 0.5 };
    assert.equal(over(halves, { a: 5, b: 4 }), false);
    assert.equal(over(halves, { a: 6, b: 4 }), true);
    assert.equal(over(halves, { a: 6, b: 5 }), false);
    assert.equal(over(halves, { a: 7, b: 5 }), false);
  });

  test('with shares of 2000, 1000 and 100 m the small zone needs one endpoint', () => {
    const shares = sharesText(node('a', '2000m'), node('b', '1000m'), node('c', '100m'))!;
    assert.equal(over(shares, { a: 20, b: 10, c: 1 }), false);
    assert.equal(over(shares, { a: 20, b: 10, c: 0 }), true);
    assert.equal(over(shares, { a: 20, b: 10 }), true);
  });

  test('zones with endpoints and no share only add to the total', () => {
    assert.equal(over({ a: 0.5, b: 0.5 }, { a: 5, b: 5, x: 2 }), false);
    assert.equal(over({ a: 0.5, b: 0.5 }, { a: 5, b: 5, x: 3 }), true);
  });

  test('without shares a service is overloaded if it has hints', () => {
    assert.equal(overloaded([{ zone: 'a', count: 1 }], null), true);
    assert.equal(over({}, { a: 1 }), true);
    assert.equal(overloaded([], null), false);
    assert.equal(over({ a: 0.5, b: 0.5 }, {}), false);
  });
});
