import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  allPods,
  createSelectorIndex,
  getPod,
  getSelectedPod,
  podCount,
  podsOf,
  putPod,
  putService,
  removePod,
  removeService,
  type SelectorIndex,
  servicesOf,
} from '../../src/core/selector-index.ts';
import { fewSize } from '../../src/lib/few.ts';
import type { Labels, PodRecord } from '../../src/kube/types.ts';
import { labelsFromRecord } from '../support/labels.ts';
import { makePod } from '../support/records.ts';
import { propertyRuns } from '../support/runs.ts';

type Pairs = Readonly<Record<string, string>>;

/** Services stand for themselves, as their names. */
function indexOf(services: Readonly<Record<string, Pairs | null>>): SelectorIndex<string> {
  const index = createSelectorIndex<string>();
  for (const [name, selector] of Object.entries(services)) {
    putService(index, name, 'ns', selector === null ? null : labelsFromRecord(selector));
  }
  return index;
}

function pod(name: string, labels: Pairs, namespace = 'ns'): PodRecord {
  return makePod(name, { labels, namespace });
}

function podNames(index: SelectorIndex<string>, service: string): string[] {
  return [...podsOf(index, service)].map(({ name }) => name).sort();
}

test('a pod has the services whose selectors its labels satisfy', () => {
  const index = indexOf({
    web: { app: 'web' },
    front: { app: 'web', tier: 'front' },
    db: { app: 'db' },
    all: {},
    none: null,
  });
  putPod(index, pod('p', { app: 'web', tier: 'front', extra: '1' }));
  assert.deepEqual(servicesOf(index, 'ns', 'p').toSorted(), ['all', 'front', 'web']);
});

test('pods with equal labels keep one list of them, whenever they come', () => {
  const index = indexOf({});
  putPod(index, pod('p', { app: 'web' }));
  putPod(index, pod('q', { app: 'web' }));
  putPod(index, pod('p', { app: 'web' }));
  assert.equal(getPod(index, 'ns', 'p')!.labels, getPod(index, 'ns', 'q')!.labels);
});

test('a pod keeps the lists of its record before where they are equal', () => {
  const index = indexOf({});
  const ports = (port: number): PodRecord['ports'] => [{ name: 'http', containerPort: port, protocol: 'TCP' }];
  const podIPs = (): string[] => ['10.0.0.1', 'fd00::1'];
  const first = makePod('p', { podIPs: podIPs(), ports: ports(80) });
  putPod(index, first);
  putPod(index, makePod('p', { podIPs: podIPs(), ports: ports(80), ready: false }));
  const second = getPod(index, 'ns', 'p')!;
  assert.deepEqual([second.podIPs === first.podIPs, second.ports === first.ports, second.ready], [true, true, false]);
  putPod(index, makePod('p', { podIPs: ['10.0.0.2', 'fd00::1'], ports: ports(81) }));
  const third = getPod(index, 'ns', 'p')!;
  assert.deepEqual([third.podIPs, third.ports], [['10.0.0.2', 'fd00::1'], ports(81)]);
});

test('a value of another key is no match', () => {
  const index = indexOf({ web: { app: 'web' } });
  assert.deepEqual(putPod(index, pod('p', { tier: 'web' })).servicesAfter, []);
  assert.deepEqual(putPod(index, pod('q', { app: 'other' })).servicesAfter, []);
});

test('a service finds the pods that were there before it', () => {
  const index = indexOf({});
  putPod(index, pod('a', { app: 'web', x: '1' }));
  putPod(index, pod('b', { app: 'web', x: '2' }));
  putPod(index, pod('c', { app: 'db', x: '2' }));
  putService(index, 'web', 'ns', labelsFromRecord({ app: 'web' }));
  putService(index, 'x2', 'ns', labelsFromRecord({ x: '2' }));
  assert.deepEqual(podNames(index, 'web'), ['a', 'b']);
  assert.deepEqual(podNames(index, 'x2'), ['b', 'c']);
});

test('namespaces do not mix', () => {
  const index = indexOf({ web: { app: 'web' } });
  assert.deepEqual(putPod(index, pod('p', { app: 'web' }, 'other')).servicesAfter, []);
  assert.deepEqual(podNames(index, 'web'), []);
});

test('a changed pod returns the record before, and the same list for the same labels', () => {
  const index = indexOf({ web: { app: 'web' } });
  const first = pod('p', { app: 'web' });
  putPod(index, first);
  const second = { ...first, ready: false };
  const change = putPod(index, second);
  assert.equal(change.previous, first);
  assert.equal(change.servicesBefore, change.servicesAfter);
  assert.equal(getPod(index, 'ns', 'p'), second);
});

test('a relabelled pod names the services before and after', () => {
  const index = indexOf({ web: { app: 'web' }, db: { app: 'db' }, all: {} });
  putPod(index, pod('p', { app: 'web' }));
  const { servicesBefore, servicesAfter } = putPod(index, pod('p', { app: 'db' }));
  assert.deepEqual(
    [servicesBefore.toSorted(), servicesAfter.toSorted()],
    [
      ['all', 'web'],
      ['all', 'db'],
    ],
  );
  assert.deepEqual(podNames(index, 'web'), []);
  assert.deepEqual(podNames(index, 'db'), ['p']);
});

test('a removed pod names its services', () => {
  const index = indexOf({ web: { app: 'web' } });
  putPod(index, pod('p', { app: 'web' }));
  assert.deepEqual(removePod(index, 'ns', 'p'), { servicesBefore: ['web'] });
  assert.deepEqual(removePod(index, 'ns', 'p'), { servicesBefore: [] });
  assert.equal(getPod(index, 'ns', 'p'), undefined);
  assert.equal(podCount(index), 0);
});

test('a pod with the labels of the last one, which has gone, is found', () => {
  const index = indexOf({ web: { app: 'web' } });
  const first = pod('a', { app: 'web' });
  putPod(index, first);
  removePod(index, 'ns', 'a');
  assert.deepEqual(putPod(index, { ...first, name: 'b' }).servicesAfter, ['web']);
  assert.deepEqual(podNames(index, 'web'), ['b']);
});

test('a list once given does not change', () => {
  const index = indexOf({ web: { app: 'web' } });
  const { servicesAfter } = putPod(index, pod('p', { app: 'web' }));
  putService(index, 'web2', 'ns', labelsFromRecord({ app: 'web' }));
  removeService(index, 'web');
  assert.deepEqual(servicesAfter, ['web']);
  assert.deepEqual(servicesOf(index, 'ns', 'p'), ['web2']);
});

test('pods follow a selector that changes, goes and comes', () => {
  const index = indexOf({ web: { app: 'web' } });
  putPod(index, pod('a', { app: 'web' }));
  putPod(index, pod('b', { app: 'db' }));
  putService(index, 'web', 'ns', labelsFromRecord({ app: 'db' }));
  assert.deepEqual(podNames(index, 'web'), ['b']);
  putService(index, 'web', 'ns', null);
  assert.deepEqual(podNames(index, 'web'), []);
  putService(index, 'web', 'ns', labelsFromRecord({}));
  assert.deepEqual(podNames(index, 'web'), ['a', 'b']);
});

test('nothing is left of removed pods and services', () => {
  const index = indexOf({ web: { app: 'web' }, all: {} });
  for (const name of ['a', 'b', 'c']) putPod(index, pod(name, { app: 'web', name }));
  for (const name of ['c', 'a', 'b']) removePod(index, 'ns', name);
  assert.deepEqual(
    [...index.services.values()].map(({ groups }) => groups),
    [null, null],
  );
  const namespace = index.namespaces.get('ns')!;
  assert.deepEqual([namespace.groups.size, namespace.groupsByPair.size, namespace.pods.size], [0, 0, 0]);
  removeService(index, 'web');
  assert.equal(namespace.servicesByPair.size, 0);
  removeService(index, 'all');
  assert.deepEqual([index.namespaces.size, index.services.size, index.podCount], [0, 0, 0]);
});

test('all pods can be removed while they are walked', () => {
  const index = indexOf({ web: { app: 'web' } });
  for (const namespace of ['ns', 'other'])
    for (const name of ['a', 'b']) putPod(index, pod(name, { app: 'web' }, namespace));
  for (const { namespace, name } of allPods(index)) removePod(index, namespace, name);
  assert.equal(podCount(index), 0);
});

test('a service with no selector leaves no namespace', () => {
  assert.equal(indexOf({ web: null }).namespaces.size, 0);
});

test('services that share a pair are told apart by another one', () => {
  const index = createSelectorIndex<string>();
  for (let i = 0; i < 100; i++) putService(index, `s${i}`, 'ns', labelsFromRecord({ app: `a${i}`, tier: 'front' }));
  const { servicesByPair } = index.namespaces.get('ns')!;
  const largest = Math.max(...[...servicesByPair.values()].flatMap((byValue) => [...byValue.values()].map(fewSize)));
  assert.equal(largest, 1);
});

test('different labels with equal hashes are different groups', () => {
  // A known collision of FNV-1a.
  const index = indexOf({ film: { costarring: 'x' }, water: { liquid: 'x' } });
  for (const order of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    putPod(index, pod('a', { costarring: 'x' }));
    putPod(index, pod('b', { liquid: 'x' }));
    const { groups } = index.namespaces.get('ns')!;
    assert.equal(groups.size, 1, 'they collide');
    assert.deepEqual([podNames(index, 'film'), podNames(index, 'water')], [['a'], ['b']]);
    putService(index, 'all', 'ns', []);
    assert.deepEqual(podNames(index, 'all'), ['a', 'b']);
    removeService(index, 'all');
    for (const name of order) removePod(index, 'ns', name);
    assert.equal(groups.size, 0);
  }
});

// Against an index that is no index

const PODS = ['p', 'q', 'r', 's', 't'];

interface Flat {
  readonly pods: Map<string, PodRecord>;
  readonly services: Map<string, { namespace: string; selector: Labels }>;
}

function matches(labels: Labels, selector: Labels): boolean {
  const pairs = (flat: Labels): string[] => flat.flatMap((text, i) => (i % 2 === 0 ? [`${text}=${flat[i + 1]}`] : []));
  return pairs(selector).every((pair) => pairs(labels).includes(pair));
}

function checkAgainst(index: SelectorIndex<string>, flat: Flat): void {
  assert.deepEqual([...allPods(index)].map(keyOf).sort(), [...flat.pods.keys()].sort());
  assert.equal(podCount(index), flat.pods.size);
  for (const [service, { namespace, selector }] of flat.services) {
    const expected = [...flat.pods.values()].filter(
      (each) => each.namespace === namespace && matches(each.labels, selector),
    );
    const actual = [...podsOf(index, service)];
    assert.deepEqual(actual.map(keyOf).sort(), expected.map(keyOf).sort());
    for (const each of actual) assert.equal(each, flat.pods.get(keyOf(each)));
    for (const name of PODS) {
      assert.equal(
        getSelectedPod(index, service, name),
        expected.find((each) => each.name === name),
      );
    }
  }
  for (const each of flat.pods.values()) {
    const expected = [...flat.services].filter(
      ([, { namespace, selector }]) => namespace === each.namespace && matches(each.labels, selector),
    );
    assert.deepEqual(servicesOf(index, each.namespace, each.name).toSorted(), expected.map(([name]) => name).sort());
  }
}

function keyOf({ namespace, name }: PodRecord): string {
  return `${namespace}/${name}`;
}

const pairs = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('0', '1'), { maxKeys: 3 });
const namespaces = fc.constantFrom('ns', 'other');
const podName = fc.constantFrom(...PODS);
const serviceName = fc.constantFrom('v', 'w', 'x', 'y', 'z');
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put pod'), namespace: namespaces, name: podName, pairs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove pod'), namespace: namespaces, name: podName, pairs }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('put service'), namespace: namespaces, name: serviceName, pairs }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('remove service'), namespace: namespaces, name: serviceName, pairs }),
  },
);

test('the index equals a fresh search after every change, and is empty in the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const index = createSelectorIndex<string>();
      const flat: Flat = { pods: new Map(), services: new Map() };
      // As the interner gives them.
      const lists = new Map<string, Labels>();
      for (const { do: verb, namespace, name, pairs } of steps) {
        const service = `${namespace}/${name}`;
        if (verb === 'put pod') {
          const made = pod(name, pairs, namespace);
          const list = made.labels.join();
          if (!lists.has(list)) lists.set(list, made.labels);
          const put = { ...made, labels: lists.get(list)! };
          assert.equal(putPod(index, put).previous, flat.pods.get(keyOf(put)));
          flat.pods.set(keyOf(put), put);
        } else if (verb === 'remove pod') {
          removePod(index, namespace, name);
          flat.pods.delete(service);
        } else if (verb === 'put service') {
          putService(index, service, namespace, labelsFromRecord(pairs));
          flat.services.set(service, { namespace, selector: labelsFromRecord(pairs) });
        } else {
          removeService(index, service);
          flat.services.delete(service);
        }
        checkAgainst(index, flat);
      }
      for (const { namespace, name } of flat.pods.values()) removePod(index, namespace, name);
      for (const service of flat.services.keys()) removeService(index, service);
      assert.equal(index.namespaces.size, 0);
    }),
    propertyRuns(200, 13),
  );
});

test('a pod may have thousands of labels', () => {
  const index = indexOf({ web: { 'key-7': 'v', 'key-4999': 'v' } });
  const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key-${i}`, 'v']));
  assert.deepEqual(putPod(index, pod('p', labels)).servicesAfter, ['web']);
  removePod(index, 'ns', 'p');
  assert.equal(index.namespaces.get('ns')!.groupsByPair.size, 0);
});
