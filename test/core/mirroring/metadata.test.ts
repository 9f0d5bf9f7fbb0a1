import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasMetadata, mirroredMetadata, withMetadata } from '../../../src/core/mirroring/metadata.ts';
import type { ObjectMeta } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { mirroredEndpoints, mirrorSlice } from '../../support/mirror-text.ts';

const RESERVED = {
  'kubernetes.io/service-name': 'web',
  'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
};
const OWNER = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  name: 'web',
  uid: 'uid-web',
  controller: true,
  blockOwnerDeletion: true,
};

/** The metadata of a new slice. */
function checkNew(name: string, endpoints: ObjectMeta, expected: ObjectMeta): void {
  test(name, () => {
    const wanted = mirroredMetadata(deepFreeze(mirroredEndpoints([], endpoints)));
    assert.deepEqual(withMetadata({ name: 'web-new01' }, wanted), { name: 'web-new01', ...expected });
  });
}

checkNew('Endpoints without anything', {}, { labels: RESERVED, ownerReferences: [OWNER] });
checkNew(
  'labels and annotations are mirrored',
  { labels: { foo: 'bar' }, annotations: { foo2: 'bar2' } },
  { labels: { foo: 'bar', ...RESERVED }, annotations: { foo2: 'bar2' }, ownerReferences: [OWNER] },
);
checkNew(
  'the trigger time and what kubectl last applied are not',
  {
    annotations: {
      'endpoints.kubernetes.io/last-change-trigger-time': 'date',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    },
  },
  { labels: RESERVED, ownerReferences: [OWNER] },
);
checkNew(
  'labels of the Endpoints that are ours to set are overwritten',
  {
    labels: {
      'kubernetes.io/service-name': 'other',
      'endpointslice.kubernetes.io/managed-by': 'me',
      'service.kubernetes.io/headless': '',
    },
  },
  { labels: { 'service.kubernetes.io/headless': '', ...RESERVED }, ownerReferences: [OWNER] },
);

test("a written slice keeps its finalizers, its generateName and the server's fields", () => {
  const wanted = mirroredMetadata(mirroredEndpoints([], { labels: { foo: 'bar' } }));
  const base = deepFreeze({
    name: 'a',
    generateName: 'web-',
    uid: 'u',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['example.com/f'],
    labels: { old: '1' },
    annotations: { old: '1' },
    ownerReferences: [{ ...OWNER, uid: 'uid-old' }],
  });
  assert.deepEqual(withMetadata(base, wanted), {
    name: 'a',
    generateName: 'web-',
    uid: 'u',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['example.com/f'],
    labels: { foo: 'bar', ...RESERVED },
    ownerReferences: [OWNER],
  });
});

/** Whether a slice with `slice` in its metadata needs no write for Endpoints with `endpoints` in theirs. */
function checkHas(name: string, endpoints: ObjectMeta, slice: ObjectMeta, expected: boolean): void {
  test(name, () => {
    const wanted = mirroredMetadata(mirroredEndpoints([], endpoints));
    assert.equal(hasMetadata(mirrorSlice('a IPv4 ->', slice), wanted), expected);
  });
}

const last = { 'kubectl.kubernetes.io/last-applied-configuration': 'one' };
checkHas('as written', {}, {}, true);
checkHas('absent is empty', { labels: {}, annotations: {} }, { annotations: {} }, true);
checkHas('a label more on the Endpoints', { labels: { foo: 'bar' } }, {}, false);
checkHas('a label more on the slice', {}, { labels: { foo: 'bar', ...RESERVED } }, false);
checkHas('another value of a label', { labels: { foo: 'bar' } }, { labels: { foo: 'baz', ...RESERVED } }, false);
checkHas('the same label', { labels: { foo: 'bar' } }, { labels: { ...RESERVED, foo: 'bar' } }, true);
checkHas('reserved labels on the Endpoints do not matter', { labels: { 'kubernetes.io/service-name': 'x' } }, {}, true);
checkHas('an annotation more on the Endpoints', { annotations: { foo: 'bar' } }, {}, false);
checkHas('an annotation more on the slice', {}, { annotations: { foo: 'bar' } }, false);
checkHas('the same annotation', { annotations: { foo: 'bar' } }, { annotations: { foo: 'bar' } }, true);
checkHas('last-applied-configuration on the Endpoints only', { annotations: last }, {}, true);
checkHas(
  'last-applied-configuration beside the same annotations',
  { annotations: { foo: 'bar', ...last } },
  { annotations: { foo: 'bar' } },
  true,
);
checkHas('last-applied-configuration beside other annotations', { annotations: { foo: 'bar', ...last } }, {}, false);
checkHas('last-applied-configuration that was once mirrored goes', { annotations: last }, { annotations: last }, false);
checkHas(
  'a trigger time that was once mirrored goes',
  {},
  { annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': 'date' } },
  false,
);
checkHas('Endpoints of the same name that are gone own it', {}, { ownerReferences: [{ ...OWNER, uid: 'old' }] }, false);
checkHas('other Endpoints own it too', {}, { ownerReferences: [OWNER, { ...OWNER, name: 'other', uid: 'u' }] }, true);
checkHas('nobody owns it', {}, { ownerReferences: [] }, true);
checkHas(
  'somebody else owns it too',
  {},
  { ownerReferences: [OWNER, { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-c' }] },
  true,
);
