import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import type { Json } from './apiserver-client.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const ALL = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

function resourceOf(document: Json, group: string, name: string): Json {
  const item = document.items.find((entry: Json) => (entry.metadata.name ?? '') === group);
  assert.equal(item.versions[0].freshness, 'Current');
  return item.versions[0].resources.find((resource: Json) => resource.resource === name);
}

/** Discovery in one document for each root, and OpenAPI 3.0. */
export const DISCOVERY_CASES: Readonly<Record<string, Case>> = {
  'one document has all core resources': async ({ call }) => {
    const { status, contentType, body, headers } = await call('GET', '/api', undefined, { accept: AGGREGATED });
    assert.deepEqual([status, contentType], [200, AGGREGATED]);
    assert.deepEqual(
      [body.kind, body.apiVersion, body.metadata],
      ['APIGroupDiscoveryList', 'apidiscovery.k8s.io/v2', {}],
    );
    assert.deepEqual([headers['vary'], headers['cache-control']], ['Accept', 'public']);
    assert.deepEqual(resourceOf(body, '', 'services'), {
      resource: 'services',
      responseKind: { group: '', version: '', kind: 'Service' },
      scope: 'Namespaced',
      singularResource: 'service',
      verbs: ALL,
      shortNames: ['svc'],
      categories: ['all'],
      subresources: resourceOf(body, '', 'services').subresources,
    });
    assert.deepEqual(resourceOf(body, '', 'namespaces'), {
      resource: 'namespaces',
      responseKind: { group: '', version: '', kind: 'Namespace' },
      scope: 'Cluster',
      singularResource: 'namespace',
      verbs: ALL.filter((verb) => verb !== 'deletecollection'),
      shortNames: ['ns'],
      subresources: [
        { subresource: 'finalize', responseKind: { group: '', version: '', kind: 'Namespace' }, verbs: ['update'] },
        {
          subresource: 'status',
          responseKind: { group: '', version: '', kind: 'Namespace' },
          verbs: ['get', 'patch', 'update'],
        },
      ],
    });
    const { subresources } = resourceOf(body, '', 'pods');
    assert.deepEqual(
      subresources.find((subresource: Json) => subresource.subresource === 'binding'),
      { subresource: 'binding', responseKind: { group: '', version: '', kind: 'Binding' }, verbs: ['create'] },
    );
  },

  'one document has all groups': async ({ call }) => {
    const { body } = await call('GET', '/apis', undefined, { accept: AGGREGATED });
    assert.deepEqual(resourceOf(body, 'discovery.k8s.io', 'endpointslices'), {
      resource: 'endpointslices',
      responseKind: { group: '', version: '', kind: 'EndpointSlice' },
      scope: 'Namespaced',
      singularResource: 'endpointslice',
      verbs: ALL,
    });
  },

  'the Accept of kubectl and client-go gives the aggregated document': async ({ call }) => {
    const accept = [
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer',
      'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
      'application/json',
    ].join(',');
    assert.equal((await call('GET', '/apis', undefined, { accept })).contentType, AGGREGATED);
  },

  'an unserved version of the aggregated document is refused': async ({ call }) => {
    const old = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
    assert.equal((await call('GET', '/api', undefined, { accept: old })).status, 406);
    const { status, body } = await call('GET', '/api', undefined, { accept: `${old},application/json` });
    assert.deepEqual([status, body.kind], [200, 'APIVersions']);
  },

  'an unchanged document is not sent again': async ({ call }) => {
    const { headers } = await call('GET', '/apis', undefined, { accept: AGGREGATED });
    const etag = String(headers['etag']);
    assert.match(etag, /^"[0-9A-F]+"$/);
    const again = await call('GET', '/apis', undefined, { accept: AGGREGATED, ifNoneMatch: etag });
    assert.deepEqual([again.status, again.text, again.headers['etag']], [304, '', etag]);
    const changed = await call('GET', '/apis', undefined, { accept: AGGREGATED, ifNoneMatch: '"0"' });
    assert.equal(changed.status, 200);
  },

  'the legacy lists name subresources after their resource': async ({ ok }) => {
    const { resources } = await ok('GET', '/api/v1');
    const names = resources.map((resource: Json) => resource.name);
    assert.equal(names.indexOf('namespaces/finalize'), names.indexOf('namespaces') + 1);
    const { verbs, kind } = resources.find((resource: Json) => resource.name === 'pods/binding');
    assert.deepEqual([verbs, kind], [['create'], 'Binding']);
    assert.deepEqual(resources.find((resource: Json) => resource.name === 'pods').categories, ['all']);
  },

  'a slash at the end gives the same document': async ({ ok }) => {
    assert.equal((await ok('GET', '/apis/')).kind, 'APIGroupList');
    assert.equal((await ok('GET', '/apis/discovery.k8s.io/')).kind, 'APIGroup');
  },

  'an unknown group is plain text': async ({ call }) => {
    const { status, text } = await call('GET', '/apis/nothing.example.com/v1');
    assert.deepEqual([status, text], [404, '404 page not found\n']);
  },

  'the root lists the paths': async ({ ok }) => {
    const { paths } = await ok('GET', '/');
    for (const path of ['/api', '/api/v1', '/apis', '/apis/discovery.k8s.io/v1', '/healthz', '/openapi/v3']) {
      assert.ok(paths.includes(path), path);
    }
  },

  'discovery is read-only': async ({ call }) => {
    for (const path of ['/api', '/version']) assert.equal((await call('POST', path, {})).status, 405, path);
  },

  'OpenAPI: the index names each document with its hash': async ({ call, ok }) => {
    const { status, text } = await call('GET', '/openapi/v3');
    assert.equal(status, 200);
    const { serverRelativeURL } = JSON.parse(text).paths['apis/discovery.k8s.io/v1'];
    assert.match(serverRelativeURL, /^\/openapi\/v3\/apis\/discovery\.k8s\.io\/v1\?hash=[0-9A-F]+$/);
    const { openapi, paths } = await ok('GET', serverRelativeURL);
    assert.equal(openapi, '3.0.0');
    const { patch } = paths['/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{name}'];
    assert.deepEqual(patch['x-kubernetes-group-version-kind'], {
      group: 'discovery.k8s.io',
      version: 'v1',
      kind: 'EndpointSlice',
    });
    assert.ok(patch.parameters.some((parameter: Json) => parameter.name === 'fieldValidation'));
  },

  'OpenAPI: an old hash leads to the current document': async ({ call }) => {
    const { status, headers } = await call('GET', '/openapi/v3/api/v1?hash=0123');
    assert.equal(status, 301);
    assert.match(String(headers['location']), /^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]+$/);
  },

  'OpenAPI: an unchanged document is not sent again': async ({ call }) => {
    const { headers } = await call('GET', '/openapi/v3/apis/coordination.k8s.io/v1');
    const again = await call('GET', '/openapi/v3/apis/coordination.k8s.io/v1', undefined, {
      ifNoneMatch: String(headers['etag']),
    });
    assert.deepEqual([again.status, again.text], [304, '']);
  },

  'OpenAPI: an unknown document is 404': async ({ call }) => {
    assert.equal((await call('GET', '/openapi/v3/apis/discovery.k8s.io/v2')).status, 404);
  },

  'OpenAPI: schemas have types, required fields and merge keys': async ({ ok }) => {
    const { components } = await ok('GET', '/openapi/v3/api/v1');
    const { PodSpec, ServicePort, Container } = Object.fromEntries(
      ['PodSpec', 'ServicePort', 'Container'].map((name) => [name, components.schemas[`io.k8s.api.core.v1.${name}`]]),
    ) as Json;
    assert.deepEqual(PodSpec.required, ['containers']);
    const { containers, terminationGracePeriodSeconds } = PodSpec.properties;
    assert.deepEqual(
      [containers.type, containers['x-kubernetes-patch-merge-key'], containers['x-kubernetes-patch-strategy']],
      ['array', 'name', 'merge'],
    );
    assert.deepEqual([terminationGracePeriodSeconds.type, terminationGracePeriodSeconds.format], ['integer', 'int64']);
    assert.equal(Container.properties.ports['x-kubernetes-patch-merge-key'], 'containerPort');
    assert.deepEqual(ServicePort.required, ['port']);
    assert.deepEqual(components.schemas['io.k8s.api.core.v1.Service']['x-kubernetes-group-version-kind'], [
      { group: '', version: 'v1', kind: 'Service' },
    ]);
  },

  'OpenAPI: version 2 is served': async ({ ok, call }) => {
    assert.equal((await ok('GET', '/openapi/v2')).swagger, '2.0');
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const { status, contentType } = await call('GET', '/openapi/v2', undefined, { accept });
    assert.deepEqual([status, contentType], [200, 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf']);
  },
};
