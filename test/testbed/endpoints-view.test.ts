import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointsText } from '../../src/judge/endpoints-check.ts';
import { watchEndpoints, type EndpointsView } from '../../src/testbed/endpoints-view.ts';
import type { KubeObject } from '../../src/kube/types.ts';

type Emit = (type: string, object: KubeObject) => void;

interface World {
  readonly view: EndpointsView;
  readonly emit: Emit;
  readonly breakWatch: (error: Error) => void;
}

/** A view of a server that holds these objects, with its watch in our hands. */
async function watching(...items: KubeObject[]): Promise<World> {
  let emit: Emit = () => undefined;
  let breakWatch: (error: Error) => void = () => undefined;
  const view = await watchEndpoints({
    list: () => Promise.resolve({ resourceVersion: '1', items }),
    watch: (_path, _resourceVersion, onEvent) => {
      emit = (type, object) => onEvent(type, object, 0);
      const ended = new Promise<void>((_, reject) => (breakWatch = reject));
      return { stop: () => undefined, ended };
    },
  });
  return { view, emit, breakWatch };
}

function web(...ready: string[]): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'shop', name: 'web' },
    subsets: [{ addresses: ready.map((ip) => ({ ip })), ports: [{ port: 80 }] }],
  };
}

const TWO = new Map([['shop/web', endpointsText(web('10.64.0.1', '10.64.0.2'))]]);

test('the view has converged when every object is right, at once or by an event', async () => {
  const { view, emit } = await watching(web('10.64.0.1'));
  const converged = view.converged(TWO, 1000);
  emit('MODIFIED', web('10.64.0.1', '10.64.0.2'));
  await converged;
  await view.converged(TWO, 0);
});

test('an object that turns wrong again counts as wrong', async () => {
  const { view, emit } = await watching(web('10.64.0.1', '10.64.0.2'));
  emit('DELETED', web('10.64.0.1', '10.64.0.2'));
  await assert.rejects(view.converged(TWO, 5), { message: '1 Endpoints are still wrong after 5 ms, such as shop/web' });
});

test('a broken watch ends the wait with its error', async () => {
  const { view, breakWatch } = await watching();
  const converged = view.converged(TWO, 1000);
  breakWatch(new Error('cut'));
  await assert.rejects(converged, { message: 'cut' });
});

test('a broken watch is told though nobody waits for anything', async () => {
  const { view, breakWatch } = await watching();
  breakWatch(new Error('cut'));
  await assert.rejects(view.broken, { message: 'cut' });
});

test('every event but a bookmark is a write', async () => {
  const { view, emit } = await watching();
  emit('ADDED', web());
  emit('MODIFIED', web('10.64.0.1'));
  emit('BOOKMARK', web());
  emit('DELETED', web());
  assert.equal(view.writes(), 3);
});

test('an expectation is met by the first event that shows it, once', async () => {
  const { view, emit } = await watching();
  const seen: string[] = [];
  view.expectAddress('shop/web', '10.64.0.1', true, () => seen.push('ready'));
  emit('MODIFIED', web('10.64.0.2'));
  assert.equal(view.waiting(), 1);
  emit('MODIFIED', web('10.64.0.1'));
  emit('MODIFIED', web('10.64.0.1'));
  assert.deepEqual([seen, view.waiting()], [['ready'], 0]);
});

test('the newer expectation of an address replaces the older one', async () => {
  const { view, emit } = await watching();
  const seen: string[] = [];
  view.expectAddress('shop/web', '10.64.0.1', true, () => seen.push('ready'));
  view.expectAddress('shop/web', '10.64.0.1', false, () => seen.push('gone'));
  emit('MODIFIED', web('10.64.0.1'));
  emit('MODIFIED', web());
  assert.deepEqual(seen, ['gone']);
});
