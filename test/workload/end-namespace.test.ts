import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endNamespace } from '../../src/workload/end-namespace.ts';
import { livingCluster, type LivingCluster } from '../support/living-cluster.ts';

const CONTENTS = ['services', 'pods'].map((resource) => `/api/v1/namespaces/shop/${resource}`);

/** Plays the conversation; gives how many pauses it took. A second passes in each. */
function play(cluster: LivingCluster, answers = (status: number): boolean => status < 300): number {
  const story = endNamespace('shop', CONTENTS);
  let pauses = 0;
  for (let step = story.next(); step.done !== true;) {
    if (step.value === null) {
      cluster.run(1000);
      if (++pauses > 100) throw new Error('it never ends');
      step = story.next(null);
    } else {
      const { method, path, body } = step.value;
      const reply = cluster.request(method, path, body ?? undefined);
      step = story.next(answers(reply.code ?? 200) ? reply : null);
    }
  }
  return pauses;
}

function livingShop(): LivingCluster {
  const cluster = livingCluster();
  cluster.request('POST', '/api/v1/nodes', { metadata: { name: 'node-1' } });
  cluster.request('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } });
  cluster.request('POST', CONTENTS[0]!, { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } });
  const spec = { containers: [{ name: 'main', image: 'main:1' }] };
  cluster.request('POST', CONTENTS[1]!, { metadata: { name: 'web-1' }, spec });
  cluster.run(5000);
  cluster.request('DELETE', '/api/v1/namespaces/shop');
  return cluster;
}

describe('a namespace that is being deleted', () => {
  it('a deleted namespace is emptied, waits for its pods to end, and goes', () => {
    const cluster = livingShop();
    const pauses = play(cluster);
    assert.ok(pauses > 0);
    assert.equal(cluster.request('GET', '/api/v1/namespaces/shop').code, 404);
    assert.equal(cluster.request('GET', `${CONTENTS[1]}/web-1`).code, 404);
  });

  it('a deleted namespace stays while a request has no answer', () => {
    const cluster = livingShop();
    let asked = 0;
    play(cluster, (status) => status < 300 && ++asked > 20);
    assert.equal(cluster.request('GET', '/api/v1/namespaces/shop').code, 404);
  });

  it('a deleted namespace keeps finalizers of others', () => {
    const story = endNamespace('shop', []);
    assert.deepEqual(story.next().value, { method: 'GET', path: '/api/v1/namespaces/shop', body: null });
    const answer = story.next({ metadata: { name: 'shop' }, spec: { finalizers: ['kubernetes', 'example.com/hold'] } });
    const body = { metadata: { name: 'shop' }, spec: { finalizers: ['example.com/hold'] } };
    assert.deepEqual(answer.value, { method: 'PUT', path: '/api/v1/namespaces/shop/finalize', body });
    assert.equal(story.next({}).done, true);
  });
});
