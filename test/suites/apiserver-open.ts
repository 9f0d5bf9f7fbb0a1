import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import { endpointsPath } from './apiserver-client.ts';

/** What a real server does and the embedded one does not: see apiserver-differences.ts. */
export const OPEN_CASES: Readonly<Record<string, Case>> = {
  'open: managedFields are kept': async (client) => {
    const { metadata } = await client.ok('POST', await endpointsPath(client), {
      metadata: { name: 'a', labels: { b: 'c' } },
    });
    assert.equal(metadata.managedFields.length, 1);
  },

  'open: server-side apply creates and updates': async (client) => {
    const object = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'a' } };
    const { status } = await client.call('PATCH', `${await endpointsPath(client)}/a?fieldManager=test`, object, {
      contentType: 'application/apply-patch+yaml',
    });
    assert.equal(status, 201);
  },

  'open: a pod keeps fields that the protobuf tables skip': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
    const readinessProbe = { httpGet: { port: 80 } };
    await client.ok('POST', path, {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i', readinessProbe }] },
    });
    const { text } = await client.call('GET', `${path}/p`, undefined, {
      accept: 'application/vnd.kubernetes.protobuf',
    });
    assert.ok(text.includes('HTTP'));
  },

  'open: duplicate fields are warned of': async (client) => {
    const text = '{"metadata":{"name":"a","name":"b"}}';
    const { warnings } = await client.call('POST', await endpointsPath(client), text);
    assert.ok(warnings.some((warning) => warning.startsWith('duplicate field')));
  },

  'open: unknown fields of what the protobuf tables skip': async (client) => {
    const containers = [{ name: 'c', image: 'i', readinessProbe: { httpGet: { port: 80, colour: 'red' } } }];
    const path = `/api/v1/namespaces/${await client.namespace()}/pods?fieldValidation=Strict`;
    const { status } = await client.call('POST', path, { metadata: { name: 'p' }, spec: { containers } });
    assert.equal(status, 400);
  },

  'open: a forbidden change of a pod is shown': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
    const pod = { metadata: { name: 'p' }, spec: { hostname: 'a', containers: [{ name: 'c', image: 'i' }] } };
    await client.ok('POST', path, pod);
    const { body } = await client.call('PUT', `${path}/p`, { ...pod, spec: { ...pod.spec, hostname: 'b' } });
    assert.match(body.message, /"Hostname"/);
  },

  'open: quotas and limit ranges': async (client) => {
    assert.equal((await client.call('GET', '/api/v1/namespaces/default/resourcequotas')).status, 200);
    assert.equal((await client.call('GET', '/api/v1/namespaces/default/limitranges')).status, 200);
  },
};
