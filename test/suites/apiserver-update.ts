import assert from 'node:assert/strict';
import { encodeObject } from '../../src/kube/codec.ts';
import { ACCEPT_METADATA, PROTOBUF } from '../../src/kube/media-type.ts';
import type { Case } from './apiserver.ts';
import { endpointsPath, JSON_PATCH, MERGE, plain, STRATEGIC } from './apiserver-client.ts';

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

function subsetsOf(...ips: string[]): object[] {
  return [{ addresses: ips.map((ip) => ({ ip })) }];
}

export const UPDATE_CASES: Readonly<Record<string, Case>> = {
  'PUT replaces, and raises the version': async (client) => {
    const path = await endpointsPath(client);
    const first = await client.ok('POST', path, {
      metadata: { name: 'a', labels: { b: 'c' } },
      subsets: subsetsOf('1.2.3.4'),
    });
    const { status, body } = await client.call('PUT', `${path}/a`, {
      metadata: { name: 'a' },
      subsets: subsetsOf('1.2.3.5'),
    });
    assert.equal(status, 200);
    assert.deepEqual([body.metadata.labels, body.subsets], [undefined, subsetsOf('1.2.3.5')]);
    assert.ok(Number(body.metadata.resourceVersion) > Number(first.metadata.resourceVersion));
    assert.equal(body.metadata.uid, first.metadata.uid);
  },

  'PUT that changes nothing keeps the version': async (client) => {
    const path = await endpointsPath(client);
    const object = {
      metadata: { name: 'a', labels: { b: 'c', d: 'e' } },
      subsets: [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 80 }] }],
    };
    const first = await client.ok('POST', path, object);
    const again = await client.ok('PUT', `${path}/a`, {
      metadata: { labels: { d: 'e', b: 'c' }, name: 'a' },
      subsets: [{ ports: [{ port: 80, protocol: 'TCP' }], addresses: [{ ip: '1.2.3.4' }] }],
    });
    assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion);
    const list = await client.ok('GET', path);
    const watch = await client.watch(`${path}?watch=1&resourceVersion=${first.metadata.resourceVersion}`);
    await client.ok('PUT', `${path}/a`, {
      metadata: { name: 'a', resourceVersion: first.metadata.resourceVersion },
      subsets: object.subsets,
    });
    const [event] = await watch.take(1);
    watch.close();
    assert.ok(Number(event!.object.metadata.resourceVersion) > Number(list.metadata.resourceVersion));
    assert.deepEqual(event!.object.metadata.labels, undefined);
  },

  'PUT of a missing name creates Endpoints': async (client) => {
    const path = await endpointsPath(client);
    const { status, body } = await client.call('PUT', `${path}/a`, {
      metadata: { name: 'a' },
      subsets: subsetsOf('1.2.3.4'),
    });
    assert.equal(status, 201);
    assert.deepEqual(body.subsets, subsetsOf('1.2.3.4'));
  },

  'PUT of a missing name creates even with a resourceVersion': async (client) => {
    const path = await endpointsPath(client);
    const { status } = await client.call('PUT', `${path}/a`, { metadata: { name: 'a', resourceVersion: '12' } });
    assert.equal(status, 201);
  },

  'PUT of a missing name with a uid conflicts': async (client) => {
    const path = await endpointsPath(client);
    const { status, body } = await client.call('PUT', `${path}/a`, { metadata: { name: 'a', uid: 'xx' } });
    assert.deepEqual([status, body.reason], [409, 'Conflict']);
    assert.match(
      body.message,
      /^Operation cannot be fulfilled on endpoints "a": .* Precondition failed: UID in precondition: xx, UID in object meta: $/,
    );
  },

  'PUT of a missing name creates Leases, Services and Events too, but no others': async ({ call, namespace }) => {
    const ns = await namespace();
    const metadata = { name: `put-${ns}` };
    const core = `/api/v1/namespaces/${ns}`;
    const slice = { metadata, addressType: 'IPv4', endpoints: [] };
    const pod = { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } };
    for (const [path, object, expected] of [
      [`/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`, { metadata }, 201],
      [`${core}/services`, { metadata, spec: { ports: [{ port: 80 }] } }, 201],
      [`${core}/events`, { metadata, involvedObject: { namespace: ns } }, 201],
      [`/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`, slice, 404],
      [`${core}/pods`, pod, 404],
      ['/api/v1/nodes', { metadata }, 404],
      ['/api/v1/namespaces', { metadata }, 404],
    ] as const) {
      const { status, body } = await call('PUT', `${path}/${metadata.name}`, object);
      assert.equal(status, expected, path);
      if (status === 404) assert.match(body.message, new RegExp(`^[a-z.0-9]+ "put-${ns}" not found$`));
    }
  },

  'PUT with an old resourceVersion conflicts': async (client) => {
    const path = await endpointsPath(client);
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'a' } });
    await client.ok('PUT', `${path}/a`, { metadata: { name: 'a' }, subsets: subsetsOf('1.2.3.4') });
    const { status, body } = await client.call('PUT', `${path}/a`, {
      metadata: { name: 'a', resourceVersion: metadata.resourceVersion },
    });
    assert.equal(status, 409);
    assert.deepEqual(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `Operation cannot be fulfilled on endpoints "a": ${MODIFIED}`,
      reason: 'Conflict',
      details: { name: 'a', kind: 'endpoints' },
      code: 409,
    });
  },

  'PUT with the uid of an object that is gone conflicts': async (client) => {
    const path = await endpointsPath(client);
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await client.call('PUT', `${path}/a`, { metadata: { name: 'a', uid: 'xx' } });
    assert.deepEqual([status, body.reason], [409, 'Conflict']);
    assert.ok(body.message.endsWith(`UID in precondition: xx, UID in object meta: ${metadata.uid}`));
  },

  'PUT under another name is refused': async (client) => {
    const path = await endpointsPath(client);
    const { status, body } = await client.call('PUT', `${path}/a`, { metadata: { name: 'b' } });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.equal(body.message, 'the name of the object (b) does not match the name on the URL (a)');
  },

  'PUT in another namespace is refused': async (client) => {
    const path = await endpointsPath(client);
    const { status, body } = await client.call('PUT', `${path}/a`, { metadata: { name: 'a', namespace: 'other' } });
    assert.equal(status, 400);
    assert.equal(body.message, 'the namespace of the provided object does not match the namespace sent on the request');
  },

  'PUT of a Lease has to name the version that it replaces': async ({ ok, call, namespace }) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${await namespace()}/leases`;
    await ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await call('PUT', `${path}/a`, {
      metadata: { name: 'a' },
      spec: { holderIdentity: 'me' },
    });
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    );
    assert.equal(body.details.kind, 'leases');
  },

  'fields that the server has set stay': async (client) => {
    const path = await endpointsPath(client);
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'a' } });
    const updated = await client.ok('PUT', `${path}/a`, {
      metadata: {
        name: 'a',
        creationTimestamp: '2001-01-01T00:00:00Z',
        generation: 5,
        labels: { b: 'c' },
      },
    });
    assert.equal(updated.metadata.creationTimestamp, metadata.creationTimestamp);
    assert.deepEqual([updated.metadata.generation, updated.metadata.deletionTimestamp], [undefined, undefined]);
  },

  'an update cannot delete': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    const metadata = { name: 'a', deletionTimestamp: '2001-01-01T00:00:00Z' };
    const { status, body } = await client.call('PUT', `${path}/a`, { metadata });
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'Endpoints "a" is invalid: metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable',
    );
  },

  'invalid updates name their causes': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await client.call('PUT', `${path}/a`, {
      metadata: { name: 'a' },
      subsets: subsetsOf('127.0.0.1'),
    });
    assert.equal(status, 422);
    assert.deepEqual(body.details, {
      name: 'a',
      kind: 'Endpoints',
      causes: [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
          field: 'subsets[0].addresses[0].ip',
        },
      ],
    });
  },

  'PUT in protobuf, answered with metadata': async (client) => {
    const path = await endpointsPath(client);
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'a' } });
    const object = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'a', resourceVersion: metadata.resourceVersion, uid: metadata.uid },
      subsets: subsetsOf('1.2.3.4'),
    };
    const { status, contentType, body } = await client.call('PUT', `${path}/a`, encodeObject(object), {
      contentType: PROTOBUF,
      accept: ACCEPT_METADATA,
    });
    assert.deepEqual([status, contentType, body.kind], [200, PROTOBUF, 'PartialObjectMetadata']);
    const stored = await client.ok('GET', `${path}/a`);
    assert.deepEqual(
      [stored.metadata.resourceVersion, stored.subsets],
      [body.metadata.resourceVersion, subsetsOf('1.2.3.4')],
    );
  },

  'a slice counts generations of everything but annotations': async ({ ok, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await namespace()}/endpointslices`;
    const object = { metadata: { name: 'a' }, addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }] };
    await ok('POST', path, object);
    const generations: number[] = [];
    for (const change of [
      { metadata: { name: 'a', annotations: { b: 'c' } } },
      { metadata: { name: 'a', labels: { b: 'c' } } },
      { endpoints: [{ addresses: ['10.0.0.2'] }], metadata: { name: 'a', labels: { b: 'c' } } },
      { endpoints: [{ addresses: ['10.0.0.2'] }], metadata: { name: 'a', labels: { b: 'c' } } },
    ]) {
      const updated = await ok('PUT', `${path}/a`, { ...object, ...change });
      generations.push(updated.metadata.generation);
    }
    assert.deepEqual(generations, [1, 2, 3, 3]);
  },

  'the address type of a slice cannot change': async ({ ok, call, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await namespace()}/endpointslices`;
    await ok('POST', path, { metadata: { name: 'a' }, addressType: 'IPv4', endpoints: [] });
    const { status, body } = await call('PUT', `${path}/a`, {
      metadata: { name: 'a' },
      addressType: 'IPv6',
      endpoints: [],
    });
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'EndpointSlice.discovery.k8s.io "a" is invalid: addressType: Invalid value: "IPv6": field is immutable',
    );
  },

  'merge patch: null removes': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, {
      metadata: { name: 'a', labels: { b: 'c', d: 'e' } },
      subsets: subsetsOf('1.2.3.4'),
    });
    const patched = await client.ok(
      'PATCH',
      `${path}/a`,
      { metadata: { labels: { b: null, f: 'g' } } },
      { contentType: MERGE },
    );
    assert.deepEqual(plain(patched.metadata), { name: 'a', labels: { d: 'e', f: 'g' } });
    assert.deepEqual(patched.subsets, subsetsOf('1.2.3.4'));
  },

  'JSON patch: operations are applied in order': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a', labels: { b: 'c' } }, subsets: subsetsOf('1.2.3.4') });
    const patched = await client.ok(
      'PATCH',
      `${path}/a`,
      [
        { op: 'test', path: '/metadata/labels/b', value: 'c' },
        { op: 'add', path: '/metadata/labels/x~1y', value: 'z' },
        { op: 'add', path: '/subsets/0/addresses/-', value: { ip: '1.2.3.5' } },
        { op: 'remove', path: '/metadata/labels/b' },
      ],
      { contentType: JSON_PATCH },
    );
    assert.deepEqual([patched.metadata.labels, patched.subsets], [{ 'x/y': 'z' }, subsetsOf('1.2.3.4', '1.2.3.5')]);
  },

  'a patch of an old version conflicts': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    const patch = { metadata: { resourceVersion: '1', labels: { b: 'c' } } };
    const { status, body } = await client.call('PATCH', `${path}/a`, patch, { contentType: MERGE });
    assert.deepEqual([status, body.message], [409, `Operation cannot be fulfilled on endpoints "a": ${MODIFIED}`]);
  },

  'a patch of a missing object is refused': async (client) => {
    const path = await endpointsPath(client);
    const { status, body } = await client.call('PATCH', `${path}/a`, {}, { contentType: MERGE });
    assert.deepEqual([status, body.message], [404, 'endpoints "a" not found']);
  },

  'a patch that changes nothing keeps the version': async (client) => {
    const path = await endpointsPath(client);
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'a', labels: { b: 'c' } } });
    const patched = await client.ok(
      'PATCH',
      `${path}/a`,
      { metadata: { labels: { b: 'c' } } },
      { contentType: STRATEGIC },
    );
    assert.equal(patched.metadata.resourceVersion, metadata.resourceVersion);
  },

  'a patch of an unknown media type is refused': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await client.call('PATCH', `${path}/a`, {});
    assert.deepEqual([status, body.reason], [415, 'UnsupportedMediaType']);
  },
};
