import assert from 'node:assert/strict';
import { encodeObject } from '../../src/kube/codec.ts';
import { PROTOBUF } from '../../src/kube/media-type.ts';
import type { Case } from './apiserver.ts';
import { MERGE, plain, type Json } from './apiserver-client.ts';

export const DELETE_CASES: Readonly<Record<string, Case>> = {
  'a delete of most resources answers with a Status': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { metadata } = await ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await call('DELETE', `${path}/a`);
    assert.equal(status, 200);
    assert.deepEqual(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', kind: 'endpoints', uid: metadata.uid },
    });
    assert.equal((await call('GET', `${path}/a`)).status, 404);
  },

  'the Status of a delete names its group': async ({ ok, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await namespace()}/endpointslices`;
    const { metadata } = await ok('POST', path, { metadata: { name: 'a' }, addressType: 'IPv4', endpoints: [] });
    const { details } = await ok('DELETE', `${path}/a`);
    assert.deepEqual(details, { name: 'a', group: 'discovery.k8s.io', kind: 'endpointslices', uid: metadata.uid });
  },

  'a delete of a missing object is 404': async ({ call, namespace }) => {
    const { status, body } = await call('DELETE', `/api/v1/namespaces/${await namespace()}/endpoints/a`);
    assert.deepEqual([status, body.reason, body.message], [404, 'NotFound', 'endpoints "a" not found']);
  },

  'another uid': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { metadata } = await ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await call('DELETE', `${path}/a`, { preconditions: { uid: 'x' } });
    assert.deepEqual([status, body.reason, body.details], [409, 'Conflict', { name: 'a', kind: 'Endpoints' }]);
    assert.equal(
      body.message,
      `Operation cannot be fulfilled on Endpoints "a": the UID in the precondition (x) does not match the UID in record ` +
        `(${metadata.uid}). The object might have been deleted and then recreated`,
    );
  },

  'a delete with another resourceVersion conflicts': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { metadata } = await ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await call('DELETE', `${path}/a`, { preconditions: { resourceVersion: '1' } });
    assert.equal(status, 409);
    assert.equal(
      body.message,
      `Operation cannot be fulfilled on Endpoints "a": the ResourceVersion in the precondition (1) does not match the ` +
        `ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  },

  'preconditions in protobuf hold': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { uid, resourceVersion } = (await ok('POST', path, { metadata: { name: 'a' } })).metadata;
    for (const [preconditions, expected] of [
      [{ uid: 'x', resourceVersion }, 409],
      [{ uid, resourceVersion }, 200],
    ] as const) {
      const options = encodeObject({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions });
      assert.equal((await call('DELETE', `${path}/a`, options, { contentType: PROTOBUF })).status, expected);
    }
  },

  'a body that is no DeleteOptions is refused': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    await ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await call('DELETE', `${path}/a`, { kind: 'Foo' });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.match(body.message, /^no kind "Foo" is registered for version "meta.k8s.io\/v1"/);
  },

  'finalizers hold an object until the last one is gone': async ({ ok, call, namespace, watch }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const created = await ok('POST', path, { metadata: { name: 'a', finalizers: ['x.y/z'] } });
    const events = await watch(`${path}?watch=1&resourceVersion=${created.metadata.resourceVersion}`);
    const held = await call('DELETE', `${path}/a`);
    assert.equal(held.status, 200);
    assert.equal(held.body.kind, 'Endpoints');
    assert.equal(held.body.metadata.deletionGracePeriodSeconds, 0);
    assert.match(held.body.metadata.deletionTimestamp, /Z$/);
    const again = await ok('DELETE', `${path}/a`);
    assert.equal(again.metadata.resourceVersion, held.body.metadata.resourceVersion);
    const released = await ok('PUT', `${path}/a`, { metadata: { name: 'a' } });
    assert.equal(released.metadata.resourceVersion, held.body.metadata.resourceVersion);
    assert.equal((await call('GET', `${path}/a`)).status, 404);
    const [marked, gone] = await events.take(2);
    events.close();
    assert.deepEqual([marked!.type, gone!.type], ['MODIFIED', 'DELETED']);
    // The state that a DELETED event shows is the last one in the store.
    assert.deepEqual(gone!.object.metadata.finalizers, ['x.y/z']);
    assert.ok(Number(gone!.object.metadata.resourceVersion) > Number(marked!.object.metadata.resourceVersion));
  },

  'the delete of a Service answers with it and takes its Endpoints along': async ({ ok, call, namespace }) => {
    const ns = await namespace();
    const base = `/api/v1/namespaces/${ns}`;
    await ok('POST', `${base}/services`, { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } });
    await ok('POST', `${base}/endpoints`, { metadata: { name: 'a' } });
    await ok('POST', `${base}/endpoints`, { metadata: { name: 'b' } });
    const { status, body } = await call('DELETE', `${base}/services/a`);
    assert.deepEqual([status, body.kind, body.metadata.name], [200, 'Service', 'a']);
    const left = await ok('GET', `${base}/endpoints`);
    assert.deepEqual(
      left.items.map((item: Json) => item.metadata.name),
      ['b'],
    );
  },

  'the last finalizer of a deleted Service takes its Endpoints along too': async ({ ok, call, namespace }) => {
    const base = `/api/v1/namespaces/${await namespace()}`;
    const metadata = { name: 'a', finalizers: ['x.y/z'] };
    await ok('POST', `${base}/services`, { metadata, spec: { ports: [{ port: 80 }] } });
    await ok('POST', `${base}/endpoints`, { metadata: { name: 'a' } });
    await ok('DELETE', `${base}/services/a`);
    assert.equal((await call('GET', `${base}/endpoints/a`)).status, 200);
    await ok('PATCH', `${base}/services/a`, { metadata: { finalizers: null } }, { contentType: MERGE });
    assert.equal((await call('GET', `${base}/services/a`)).status, 404);
    assert.equal((await call('GET', `${base}/endpoints/a`)).status, 404);
  },

  'the query of a delete may have a propagation policy': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    await ok('POST', path, { metadata: { name: 'a' } });
    const held = await call('DELETE', `${path}/a?propagationPolicy=Foreground`);
    assert.deepEqual([held.status, held.body.metadata.finalizers], [200, ['foregroundDeletion']]);
    assert.equal((await call('DELETE', `${path}/a?propagationPolicy=x`)).status, 422);
  },

  'the query of a delete may have preconditions': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { uid, resourceVersion } = (await ok('POST', path, { metadata: { name: 'a' } })).metadata;
    for (const [query, expected] of [
      ['uid=x', 409],
      ['resourceVersion=1', 409],
      [`uid=${uid}&resourceVersion=${resourceVersion}`, 200],
    ] as const) {
      assert.equal((await call('DELETE', `${path}/a?${query}`)).status, expected, query);
    }
  },

  'a delete that asks for a cascade in the old way is accepted with 202': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    await ok('POST', path, { metadata: { name: 'a', finalizers: ['x.y/z'] } });
    assert.equal((await call('DELETE', `${path}/a?orphanDependents=false`)).status, 202);
    await ok('POST', path, { metadata: { name: 'b' } });
    assert.equal((await call('DELETE', `${path}/b?orphanDependents=false`)).status, 200);
  },

  'beside a body the query of a delete asks for no dry run': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    for (const name of ['a', 'b']) await ok('POST', path, { metadata: { name } });
    await ok('DELETE', `${path}/a?dryRun=All`);
    assert.equal((await call('GET', `${path}/a`)).status, 200);
    await ok('DELETE', `${path}/b?dryRun=All`, {});
    assert.equal((await call('GET', `${path}/b`)).status, 404);
  },

  'a shorter period of a pod counts from its first delete': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/pods`;
    const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] };
    await ok('POST', path, { metadata: { name: 'p', finalizers: ['x.y/z'] }, spec });
    const first = await ok('DELETE', `${path}/p?gracePeriodSeconds=1000`);
    const second = await ok('DELETE', `${path}/p?gracePeriodSeconds=900`);
    const seconds = ({ metadata }: Json): number => Date.parse(metadata.deletionTimestamp) / 1000;
    assert.deepEqual([seconds(first) - seconds(second), second.metadata.deletionGracePeriodSeconds], [100, 900]);
  },

  'a pod that is deleted again in the background has no finalizer of the foreground': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/pods`;
    const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] };
    await ok('POST', path, { metadata: { name: 'p', finalizers: ['x.y/z'] }, spec });
    await ok('DELETE', `${path}/p?gracePeriodSeconds=1000&propagationPolicy=Foreground`);
    const { metadata } = await ok('DELETE', `${path}/p?gracePeriodSeconds=900&propagationPolicy=Background`);
    assert.deepEqual(metadata.finalizers, ['x.y/z']);
  },

  'a collection may be deleted by labels': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    for (const [name, app] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
    ] as const) {
      await ok('POST', path, { metadata: { name, labels: { app } } });
    }
    const deleted = await ok('DELETE', `${path}?labelSelector=app%3Dx`);
    assert.equal(deleted.kind, 'EndpointsList');
    assert.deepEqual(
      deleted.items.map((item: Json) => item.metadata.name),
      ['a', 'c'],
    );
    const left = await ok('GET', path);
    assert.deepEqual(
      left.items.map((item: Json) => item.metadata.name),
      ['b'],
    );
  },

  'the delete of a collection passes over what is gone meanwhile': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    for (const name of ['a', 'b', 'c']) await ok('POST', path, { metadata: { name } });
    const { metadata } = await ok('GET', `${path}?limit=1`);
    await ok('DELETE', `${path}/b`);
    await ok('DELETE', `${path}?limit=5&continue=${encodeURIComponent(metadata.continue)}`);
    const left = await ok('GET', path);
    assert.deepEqual(
      left.items.map((item: Json) => item.metadata.name),
      ['a'],
    );
  },

  'a namespace ends in two steps': async ({ ok, call, namespace }) => {
    const ns = await namespace();
    const path = `/api/v1/namespaces/${ns}`;
    const deleted = await ok('DELETE', path);
    assert.deepEqual(
      [deleted.kind, deleted.status, deleted.spec],
      ['Namespace', { phase: 'Terminating' }, { finalizers: ['kubernetes'] }],
    );
    assert.equal(deleted.metadata.deletionGracePeriodSeconds, undefined);
    const refused = await call('POST', `${path}/endpoints`, { metadata: { name: 'a' } });
    assert.equal(refused.status, 403);
    assert.deepEqual(refused.body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `endpoints "a" is forbidden: unable to create new content in namespace ${ns} because it is being terminated`,
      reason: 'Forbidden',
      details: {
        name: 'a',
        kind: 'endpoints',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${ns} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
      code: 403,
    });
    const again = await call('DELETE', path);
    assert.ok(again.status === 200 || again.status === 409, String(again.status));
    const finalized = await ok('PUT', `${path}/finalize`, { metadata: { name: ns }, spec: { finalizers: [] } });
    assert.deepEqual(plain(finalized.spec), {});
    assert.equal((await call('GET', path)).status, 404);
  },

  'updates and deletes go on in a namespace that is being deleted': async ({ ok, call, namespace }) => {
    const ns = await namespace();
    const path = `/api/v1/namespaces/${ns}/endpoints`;
    await ok('POST', path, { metadata: { name: 'a' } });
    await ok('DELETE', `/api/v1/namespaces/${ns}`);
    await ok('PUT', `${path}/a`, { metadata: { name: 'a', labels: { b: 'c' } } });
    const created = await call('PUT', `${path}/b`, { metadata: { name: 'b' } });
    assert.deepEqual([created.status, created.body.details.causes[0].reason], [403, 'NamespaceTerminating']);
    await ok('DELETE', `${path}/a`);
  },

  'the namespaces of the system cannot be deleted': async ({ call }) => {
    const { status, body } = await call('DELETE', '/api/v1/namespaces/default');
    assert.equal(status, 403);
    assert.equal(body.message, 'namespaces "default" is forbidden: this namespace may not be deleted');
  },
};
