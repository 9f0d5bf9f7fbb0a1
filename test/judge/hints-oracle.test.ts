import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint, NodeRecord } from '../../src/kube/types.ts';
import { judgeCpuHints, oracleShares } from '../../src/judge/hints-oracle.ts';
import { labelsFromRecord } from '../support/labels.ts';

function node(zone: string, allocatableCpu: string, fields: Partial<NodeRecord> = {}): NodeRecord {
  const labels: Record<string, string> = zone === '' ? {} : { 'topology.kubernetes.io/zone': zone };
  return {
    name: '',
    uid: '',
    resourceVersion: '',
    labels: labelsFromRecord(labels),
    ready: true,
    allocatableCpu,
    ...fields,
  };
}

const CONTROL_PLANE = labelsFromRecord({ 'node-role.kubernetes.io/control-plane': '' });

test('shares of CPU by zone leave out the control plane and nodes not ready', () => {
  const nodes = [
    node('a', '1'),
    node('a', '500m'),
    node('b', '1.5'),
    node('c', '3k'),
    node('', '8', { labels: CONTROL_PLANE }),
    node('', '8', { ready: false }),
  ];
  assert.deepEqual(
    oracleShares(nodes),
    new Map([
      ['a', 1.5 / 3003],
      ['b', 1.5 / 3003],
      ['c', 3000 / 3003],
    ]),
  );
});

test('one zone, a node without zone or a node without CPU gives no shares', () => {
  assert.equal(oracleShares([node('a', '1'), node('a', '2')]), null);
  assert.equal(oracleShares([node('a', '1'), node('b', '1'), node('', '1')]), null);
  for (const cpu of ['', '0', 'many', '0m']) assert.equal(oracleShares([node('a', '1'), node('b', cpu)]), null);
});

test('a quantity is read as the server writes it', () => {
  const same = (text: string, whole: string): void =>
    assert.deepEqual(
      oracleShares([node('a', text), node('b', whole)]),
      new Map([
        ['a', 0.5],
        ['b', 0.5],
      ]),
    );
  same('2000m', '2');
  same('1.1', '1100m');
  same('100u', '1m');
  same('1Ki', '1024');
  same('2e3', '2k');
});

const SHARES = new Map([
  ['a', 0.5],
  ['b', 0.3],
  ['c', 0.2],
]);

/** Ready endpoints of zone `own`, as many with a hint for each zone as told. */
function hinted(counts: Record<string, number>, own = 'a'): Endpoint[] {
  return Object.entries(counts).flatMap(([name, count]) =>
    Array.from({ length: count }, () => ({ addresses: ['10.0.0.1'], zone: own, hints: { forZones: [{ name }] } })),
  );
}

test('no hints at all are right, hints of some endpoints are not', () => {
  const bare: Endpoint[] = [{ addresses: ['10.0.0.9'], zone: 'a' }];
  assert.equal(judgeCpuHints([...bare, ...bare], SHARES), null);
  assert.equal(
    judgeCpuHints([...hinted({ a: 5, b: 3, c: 2 }), ...bare], SHARES),
    '10.0.0.9: 0 zone hints where others have one',
  );
});

test('hints for nodes are wrong: they belong to trafficDistribution', () => {
  const both = { forZones: [{ name: 'a' }], forNodes: [{ name: 'node-1' }] };
  assert.equal(
    judgeCpuHints([{ addresses: ['10.0.0.9'], zone: 'a', hints: both }], SHARES),
    '10.0.0.9: hints for nodes, which topology-mode never gives',
  );
});

test('hints are in proportion to the shares, within the bounds of a sync', () => {
  // Minimum 5, 3, 2 of 10; nothing is left over.
  assert.equal(judgeCpuHints(hinted({ a: 5, b: 3, c: 2 }), SHARES), null);
  assert.equal(judgeCpuHints(hinted({ a: 7, b: 2, c: 1 }), SHARES), '7 hints for zone a, at most 6 are allowed');
  // Minimum 42, 25, 17 of 100, maximum 58, 41, 33.
  assert.equal(judgeCpuHints(hinted({ a: 58, b: 25, c: 17 }), SHARES), null);
  assert.equal(judgeCpuHints(hinted({ a: 60, b: 24, c: 16 }), SHARES), '60 hints for zone a, at most 58 are allowed');
});

test('hints are wrong where they cannot be given', () => {
  assert.match(judgeCpuHints(hinted({ a: 5, b: 3, c: 2 }), null)!, /^hints although there are no CPU shares/);
  assert.equal(judgeCpuHints(hinted({ a: 1, b: 1 }), SHARES), 'hints for 2 endpoints in 3 zones');
  const thirds = new Map([
    ['a', 1 / 3],
    ['b', 1 / 3],
    ['c', 1 / 3],
  ]);
  assert.equal(
    judgeCpuHints(hinted({ a: 2, b: 2, c: 1 }), thirds),
    'hints although the zones need 6 endpoints and there are 5',
  );
});

test('a zone without CPU is for its own endpoints only', () => {
  assert.equal(judgeCpuHints(hinted({ b: 2, c: 8, d: 1 }), SHARES), '8 hints for zone c, at most 3 are allowed');
  assert.equal(judgeCpuHints(hinted({ d: 8, b: 2, c: 1 }), SHARES), 'hints for zone d, which has no CPU');
  assert.equal(judgeCpuHints(hinted({ d: 8, b: 2, c: 1 }, 'd'), SHARES), null);
  const nowhere = [{ addresses: ['10.0.0.9'], hints: { forZones: [{ name: 'a' }] } }];
  assert.equal(judgeCpuHints(nowhere, SHARES), '10.0.0.9: has no zone, so no endpoint may have a hint');
});

test('hints by earlier shares are right as long as no zone is overloaded', () => {
  const wider = new Map([
    ['a', 0.45],
    ['b', 0.3],
    ['c', 0.25],
  ]);
  assert.equal(judgeCpuHints(hinted({ a: 50, b: 28, c: 22 }), wider), null);
});
