import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  allNodes,
  createNodeTable,
  currentShares,
  getNode,
  movePod,
  podsOnNode,
  putNode,
  removeNode,
  zoneOf,
  type NodeTable,
} from '../../src/core/node-table.ts';
import type { PodRecord } from '../../src/kube/types.ts';
import { makePod, makeNode } from '../support/records.ts';
import { propertyRuns } from '../support/runs.ts';

const SEED = 20261121;

function version(resourceVersion: string): { resourceVersion: string } {
  return { resourceVersion };
}

suite('nodes', () => {
  test('the zone of a node is its label, empty without one, null without a node', () => {
    const table = createNodeTable();
    putNode(table, makeNode('n1', 'a'));
    putNode(table, makeNode('n2', ''));
    assert.equal(zoneOf(table, 'n1'), 'a');
    assert.equal(zoneOf(table, 'n2'), '');
    assert.equal(zoneOf(table, 'n3'), null);
    assert.equal(zoneOf(table, ''), null);
    assert.deepEqual(
      [...allNodes(table)].map(({ name }) => name),
      ['n1', 'n2'],
    );
  });

  test("a node that comes, goes or gets another zone changes its pods' zone (D9, D16)", () => {
    const table = createNodeTable();
    assert.equal(putNode(table, makeNode('n', '', version('1'))).placeChanged, true);
    assert.equal(putNode(table, makeNode('n', '', version('2'))).placeChanged, false);
    assert.equal(putNode(table, makeNode('n', 'a', version('3'))).placeChanged, true);
    assert.equal(putNode(table, makeNode('n', 'a', { ...version('4'), ready: false })).placeChanged, false);
    assert.equal(putNode(table, makeNode('n', 'a', { ...version('5'), uid: 'another' })).placeChanged, false);
    assert.equal(putNode(table, makeNode('n', 'b', version('6'))).placeChanged, true);
    assert.equal(removeNode(table, 'n').placeChanged, true);
    assert.equal(removeNode(table, 'n').placeChanged, false);
  });

  test('a node that goes spoils no shares, whatever it did before', () => {
    const table = createNodeTable();
    putNode(table, makeNode('n', 'a', { ...version('1'), allocatableCpu: 'much' }));
    assert.deepEqual(removeNode(table, 'n'), { placeChanged: true, sharesChanged: false, spoilsShares: '' });
  });

  test('a heartbeat changes nothing but the version that is kept', () => {
    const table = createNodeTable();
    putNode(table, makeNode('n1', 'a', version('1')));
    putNode(table, makeNode('n2', 'b', version('2')));
    const shares = currentShares(table);
    const beat = makeNode('n1', 'a', version('3'));
    assert.deepEqual(putNode(table, beat), { placeChanged: false, sharesChanged: false, spoilsShares: '' });
    assert.equal(getNode(table, 'n1'), beat);
    assert.equal(currentShares(table), shares);
  });
});

suite('CPU shares', () => {
  test('a zone label that comes later makes hints possible', () => {
    const table = createNodeTable();
    putNode(table, makeNode('n1', 'a'));
    putNode(table, makeNode('n2', ''));
    assert.equal(currentShares(table), null);
    assert.equal(putNode(table, makeNode('n2', 'b', version('2'))).sharesChanged, true);
    assert.deepEqual(currentShares(table)!.zones, [
      { zone: 'a', share: 0.5 },
      { zone: 'b', share: 0.5 },
    ]);
  });

  test('shares change with CPU, readiness, zone and role, and with nodes', () => {
    const table = createNodeTable();
    putNode(table, makeNode('n1', 'a'));
    putNode(table, makeNode('n2', 'b'));
    const seen = [currentShares(table)];
    const changes = [
      makeNode('n2', 'b', { ...version('2'), allocatableCpu: '12' }),
      makeNode('n3', 'c', { ...version('3'), allocatableCpu: '1' }),
      makeNode('n3', 'b', { ...version('4'), allocatableCpu: '1' }),
      makeNode('n3', 'b', { ...version('5'), allocatableCpu: '1', ready: false }),
      makeNode('n2', 'b', {
        ...version('6'),
        labels: ['node-role.kubernetes.io/master', '', ...makeNode('', 'b').labels],
      }),
    ];
    for (const change of changes) {
      assert.equal(putNode(table, change).sharesChanged, true);
      seen.push(currentShares(table));
    }
    assert.equal(new Set(seen).size, 6);
    assert.equal(seen[5], null);
    putNode(table, makeNode('n2', 'b', version('7')));
    assert.equal(removeNode(table, 'n1').sharesChanged, true);
    assert.equal(currentShares(table), null);
  });

  test('a node that spoils the shares is told once', () => {
    const table = createNodeTable();
    putNode(table, makeNode('n1', 'a'));
    putNode(table, makeNode('n2', 'b'));
    const bad = { allocatableCpu: 'many' };
    const first = putNode(table, makeNode('n3', 'b', bad));
    assert.equal(first.sharesChanged, true);
    assert.equal(first.spoilsShares, 'status.allocatable.cpu is no quantity: many');
    assert.equal(putNode(table, makeNode('n3', 'b', { ...bad, ...version('2') })).spoilsShares, '');
    assert.equal(putNode(table, makeNode('n3', 'c', { ...bad, ...version('3') })).spoilsShares, '');
    assert.equal(
      putNode(table, makeNode('n3', '', { ...bad, ...version('4') })).spoilsShares,
      'label topology.kubernetes.io/zone is missing or empty',
    );
    assert.equal(removeNode(table, 'n3').sharesChanged, true);
    assert.equal(currentShares(table)!.zones.length, 2);
  });
});

/** A table and the pods that it was told of. */
function createWorld(): {
  table: NodeTable;
  pods: Map<string, PodRecord>;
  set: (name: string, pod?: PodRecord) => void;
} {
  const table = createNodeTable();
  const pods = new Map<string, PodRecord>();
  return {
    table,
    pods,
    set(name, pod) {
      movePod(table, pods.get(name), pod);
      if (pod === undefined) pods.delete(name);
      else pods.set(name, pod);
    },
  };
}

function podsOn({ table, pods }: ReturnType<typeof createWorld>, nodeName: string): string[] {
  return [...podsOnNode(table, nodeName, (_, name) => pods.get(name))].map(({ name, uid }) => `${name} ${uid}`).sort();
}

suite('the pods of a node', () => {
  test('a node has its pods from their binding to their end, even if it is unknown', () => {
    const world = createWorld();
    world.set('web-0', makePod('web-0', { nodeName: '' }));
    assert.deepEqual(podsOn(world, ''), []);
    world.set('web-0', makePod('web-0', { nodeName: 'n1' }));
    world.set('web-1', makePod('web-1', { nodeName: 'n1' }));
    world.set('web-0', makePod('web-0', { nodeName: 'n1', ready: false }));
    assert.deepEqual(podsOn(world, 'n1'), ['web-0 uid-web-0', 'web-1 uid-web-1']);
    world.set('web-0');
    assert.deepEqual(podsOn(world, 'n1'), ['web-1 uid-web-1']);
  });

  test('a pod that comes back elsewhere under its name is on one node only', () => {
    const world = createWorld();
    world.set('web-0', makePod('web-0', { nodeName: 'n1' }));
    world.set('web-0', makePod('web-0', { nodeName: 'n2', uid: 'new' }));
    assert.deepEqual(podsOn(world, 'n1'), []);
    assert.deepEqual(podsOn(world, 'n2'), ['web-0 new']);
  });

  test('the pods of a node are those that a search through all pods finds', () => {
    const changes = fc.array(
      fc.tuple(
        fc.nat(9).map((n) => `p${n}`),
        fc.constantFrom(null, '', 'n1', 'n1', 'n2'),
      ),
      { maxLength: 100 },
    );
    fc.assert(
      fc.property(changes, (list) => {
        const world = createWorld();
        for (const [i, [name, nodeName]] of list.entries()) {
          world.set(name, nodeName === null ? undefined : makePod(name, { nodeName, uid: `${i}` }));
        }
        for (const node of ['n1', 'n2']) {
          const found = [...world.pods.values()].filter(({ nodeName }) => nodeName === node);
          assert.deepEqual(podsOn(world, node), found.map(({ name, uid }) => `${name} ${uid}`).sort());
        }
      }),
      propertyRuns(200, SEED),
    );
  });
});
