import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../src/kube/types.ts';
import { changeRequests, createStoryCluster, fixedObjectRequests } from '../../src/testbed/story-cluster.ts';
import { NOTHING, type PlaceChange } from '../../src/twin/story.ts';
import { story } from '../support/stories.ts';

const UNREADY = { endpoints: 2, slices: 2, isReady: false };

/** The methods of the requests for a pod that is not there at the start. */
function methodsOf(...changes: readonly Omit<PlaceChange, 'place'>[]): string[][] {
  const { places, ...one } = story({ services: 1, pods: 1, changes: [] });
  const cluster = createStoryCluster({ ...one, places: places.map(({ service }) => ({ service, start: NOTHING })) });
  return changes.map((change) =>
    changeRequests(cluster, {
      atMs: 0,
      namespace: 0,
      kind: 'pod',
      places: [{ place: 0, ...change }],
      service: -1,
    }).map(({ request }) => request.method),
  );
}

test('a pod that is bound to a node before it has an address is played on', () => {
  const bound = { wanted: NOTHING, stays: true };
  assert.deepEqual(methodsOf({ wanted: NOTHING }, bound, bound, { wanted: UNREADY, stays: true }), [
    ['POST'],
    ['PATCH'],
    ['PATCH'],
    ['PATCH'],
  ]);
});

test('events that no controller reads are of several pods that are there', () => {
  const cluster = createStoryCluster(story({ services: 1, changes: [] }));
  const made = fixedObjectRequests(cluster).map(({ path, body }) => `${path}/${(body as KubeObject).metadata.name}`);
  const noise = { atMs: 0, namespace: 0, kind: 'quiet', events: 200, places: [], service: -1 } as const;
  const changed = new Set(changeRequests(cluster, noise).map(({ request }) => request.path));
  assert.deepEqual([changed.size, [...changed].filter((path) => !made.includes(path))], [64, []]);
});

test('a pod that goes before it has an address is deleted', () => {
  assert.deepEqual(methodsOf({ wanted: NOTHING }, { wanted: NOTHING }, { wanted: UNREADY }), [
    ['POST'],
    ['DELETE'],
    ['PATCH'],
  ]);
});
