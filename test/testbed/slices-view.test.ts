import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceView } from '../../src/testbed/service-view.ts';
import { watchSlices } from '../../src/testbed/slices-view.ts';
import type { KubeObject } from '../../src/kube/types.ts';

type Emit = (type: string, object: KubeObject) => void;

/** A view of a server that holds these objects, with its watch in our hands. */
async function watching(...items: KubeObject[]): Promise<{ view: ServiceView; emit: Emit }> {
  let emit: Emit = () => undefined;
  const view = await watchSlices({
    list: () => Promise.resolve({ resourceVersion: '1', items }),
    watch: (_path, _resourceVersion, onEvent) => {
      emit = (type, object) => onEvent(type, object, 0);
      return { stop: () => undefined, ended: new Promise<void>(() => undefined) };
    },
  });
  return { view, emit };
}

const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';

/** Addresses with a leading ! are not ready. */
function slice(name: string, addresses: readonly string[], service = 'web', managedBy = 'ours'): KubeObject {
  const labels = { 'kubernetes.io/service-name': service, [MANAGED_BY]: managedBy };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name, labels },
    endpoints: addresses.map((text) => ({
      addresses: [text.replace('!', '')],
      conditions: { ready: !text.startsWith('!') },
    })),
  };
}

test('the view has converged when the slices of every service are right', async () => {
  const { view, emit } = await watching(slice('web-1', ['10.0.0.1']));
  const two = new Map([['shop/web', (slices: readonly KubeObject[]) => slices.length === 2]]);
  const converged = view.converged(two, 1000);
  emit('ADDED', slice('other-1', [], 'other'));
  emit('ADDED', slice('web-2', []));
  await converged;
  emit('MODIFIED', slice('web-2', [], 'other'));
  await assert.rejects(view.converged(two, 5), {
    message: '1 sets of EndpointSlices are still wrong after 5 ms, such as shop/web',
  });
});

test('the view has not converged while a service is wrong again', async () => {
  const { view, emit } = await watching(slice('web-1', ['10.0.0.1']));
  const both = new Map(
    ['shop/web', 'shop/api'].map((service) => [service, (slices: readonly KubeObject[]) => slices.length === 1]),
  );
  const converged = view.converged(both, 5);
  emit('DELETED', slice('web-1', []));
  emit('ADDED', slice('api-1', [], 'api'));
  await assert.rejects(converged, { message: /^1 sets of EndpointSlices are still wrong .*shop\/web$/ });
});

test('a service that should have no slices is right without any', async () => {
  const { view } = await watching();
  await view.converged(new Map([['shop/web', (slices: readonly KubeObject[]) => slices.length === 0]]), 0);
});

test('an address counts in any slice of the service', async () => {
  const { view, emit } = await watching(slice('web-1', ['10.0.0.1']), slice('web-2', ['!10.0.0.2']));
  const seen: string[] = [];
  view.expectAddress('shop/web', '10.0.0.1', false, () => seen.push('1 gone'));
  view.expectAddress('shop/web', '10.0.0.2', true, () => seen.push('2 ready'));
  emit('MODIFIED', slice('web-2', ['!10.0.0.2', '10.0.0.3']));
  assert.deepEqual([seen, view.waiting()], [[], 2]);
  emit('MODIFIED', slice('web-2', ['10.0.0.2', '10.0.0.1']));
  emit('MODIFIED', slice('web-1', ['!10.0.0.1']));
  assert.deepEqual([seen, view.waiting()], [['2 ready'], 1]);
  emit('MODIFIED', slice('web-2', ['10.0.0.2']));
  assert.deepEqual([seen, view.waiting()], [['2 ready', '1 gone'], 0]);
});

test("writes are told apart by the slice's manager", async () => {
  const { view, emit } = await watching();
  emit('ADDED', slice('web-1', []));
  emit('MODIFIED', slice('web-1', []));
  emit('ADDED', slice('web-2', [], 'web', 'theirs'));
  assert.deepEqual([view.writes('ours'), view.writes('theirs'), view.writes('nobody'), view.writes()], [2, 1, 0, 3]);
});

test('who has seen an address may at once expect something else of it', async () => {
  const { view, emit } = await watching(slice('web-1', ['10.0.0.1']));
  const seen: string[] = [];
  view.expectAddress('shop/web', '10.0.0.1', false, () => {
    seen.push('gone');
    view.expectAddress('shop/web', '10.0.0.1', true, () => seen.push('ready'));
  });
  emit('MODIFIED', slice('web-1', []));
  emit('MODIFIED', slice('web-1', ['10.0.0.1']));
  assert.deepEqual([seen, view.waiting()], [['gone', 'ready'], 0]);
});
