import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import type { ApiRequest } from '../../src/node/api-client.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';

test('objects are created kind by kind, no more than so many at a time', async () => {
  const cluster = makeCluster(findProfile('tiny'), 1);
  const sent: ApiRequest[] = [];
  const progress: number[] = [];
  let open = 0;
  let openMost = 0;
  const send = async (request: ApiRequest): Promise<unknown> => {
    sent.push(request);
    openMost = Math.max(openMost, ++open);
    await Promise.resolve();
    open--;
    return null;
  };
  await loadCluster({ send }, cluster, 4, (created) => progress.push(created));

  const posts = sent.filter(({ method }) => method === 'POST');
  const kinds = new Set(posts.map(({ path }) => path.split('/').at(-1)));
  assert.deepEqual([...kinds], ['namespaces', 'nodes', 'services', 'pods', 'endpoints']);
  assert.equal(posts.length, 2 + 3 + (10 + 2) + cluster.pods.length + 2);
  assert.equal(sent.length - posts.length, cluster.pods.length);
  assert.equal(progress.at(-1), posts.length);
  assert.equal(openMost, 4);
});

test('a refused request ends the load', async () => {
  const refuse = (): Promise<unknown> => Promise.reject(new Error('403'));
  await assert.rejects(loadCluster({ send: refuse }, makeCluster(findProfile('tiny'), 1), 4), { message: '403' });
});
