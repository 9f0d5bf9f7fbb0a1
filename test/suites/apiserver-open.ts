import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import type { Client } from './apiserver-client.ts';

async function endpointsPath(client: Client): Promise<string> {
  return `/api/v1/namespaces/${await client.namespace()}/endpoints`;
}

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

  'open: tables for kubectl get': async (client) => {
    const { status, body } = await client.call('GET', await endpointsPath(client), undefined, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    assert.deepEqual([status, body.kind], [200, 'Table']);
  },

  'open: YAML bodies': async (client) => {
    const { status } = await client.call('POST', await endpointsPath(client), 'metadata: { name: a }', {
      contentType: 'application/yaml',
    });
    assert.equal(status, 201);
  },

  'open: aggregated discovery': async (client) => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    assert.equal((await client.ok('GET', '/apis', undefined, { accept })).kind, 'APIGroupDiscoveryList');
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

  'open: dryRun writes nothing': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', `${path}?dryRun=All`, { metadata: { name: 'a' } });
    assert.equal((await client.call('GET', `${path}/a`)).status, 404);
  },

  'open: openapi documents': async (client) => {
    const { status, text } = await client.call('GET', '/openapi/v3');
    assert.equal(status, 200);
    assert.ok(text.includes('"api/v1"'));
  },
};
