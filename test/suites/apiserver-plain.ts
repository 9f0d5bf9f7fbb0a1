import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import type { Json } from './apiserver-client.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

function statusOf(code: number, reason: string, message: string, details?: object): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  };
}

export const PLAIN_CASES: Readonly<Record<string, Case>> = {
  'health checks say ok': async ({ call }) => {
    for (const path of ['/healthz', '/livez', '/readyz']) {
      const { status, text, contentType } = await call('GET', path);
      assert.deepEqual([status, text, contentType], [200, 'ok', 'text/plain; charset=utf-8']);
    }
  },

  'the version is one that was compared': async ({ ok }) => {
    const { major, minor, gitVersion } = await ok('GET', '/version');
    assert.deepEqual([major, minor, gitVersion], ['1', '36', 'v1.36.3']);
  },

  '/api names the core versions': async ({ ok }) => {
    const { kind, versions } = await ok('GET', '/api');
    assert.deepEqual([kind, versions], ['APIVersions', ['v1']]);
  },

  '/apis names the groups': async ({ ok }) => {
    const { kind, apiVersion, groups } = await ok('GET', '/apis');
    assert.deepEqual([kind, apiVersion], ['APIGroupList', 'v1']);
    const version = { groupVersion: 'discovery.k8s.io/v1', version: 'v1' };
    assert.deepEqual(
      groups.find((group: Json) => group.name === 'discovery.k8s.io'),
      { name: 'discovery.k8s.io', versions: [version], preferredVersion: version },
    );
  },

  '/apis/GROUP names its versions': async ({ ok }) => {
    const version = { groupVersion: 'coordination.k8s.io/v1', version: 'v1' };
    assert.deepEqual(await ok('GET', '/apis/coordination.k8s.io'), {
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'coordination.k8s.io',
      versions: [version],
      preferredVersion: version,
    });
  },

  '/api/v1 names the resources': async ({ ok }) => {
    const { kind, groupVersion, resources } = await ok('GET', '/api/v1');
    assert.deepEqual([kind, groupVersion], ['APIResourceList', 'v1']);
    const shown = Object.fromEntries(
      resources.map((resource: Json) => [
        resource.name,
        [resource.singularName, resource.kind, resource.namespaced, resource.shortNames ?? []],
      ]),
    );
    assert.deepEqual(shown['pods'], ['pod', 'Pod', true, ['po']]);
    assert.deepEqual(shown['services'], ['service', 'Service', true, ['svc']]);
    assert.deepEqual(shown['endpoints'], ['endpoints', 'Endpoints', true, ['ep']]);
    assert.deepEqual(shown['nodes'], ['node', 'Node', false, ['no']]);
    assert.deepEqual(shown['namespaces'], ['namespace', 'Namespace', false, ['ns']]);
    assert.deepEqual(shown['events'], ['event', 'Event', true, ['ev']]);
    assert.deepEqual(shown['pods/status'], ['', 'Pod', true, []]);
    const verbs = (name: string): string[] => resources.find((resource: Json) => resource.name === name).verbs;
    assert.deepEqual(verbs('pods'), VERBS);
    assert.deepEqual(verbs('pods/status'), ['get', 'patch', 'update']);
    assert.deepEqual(verbs('namespaces/finalize'), ['update']);
  },

  '/apis/GROUP/VERSION names the resources': async ({ ok }) => {
    const { resources, ...head } = await ok('GET', '/apis/discovery.k8s.io/v1');
    assert.deepEqual(head, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'discovery.k8s.io/v1' });
    const { storageVersionHash: _, ...slices } = resources[0];
    assert.deepEqual(slices, {
      name: 'endpointslices',
      singularName: 'endpointslice',
      namespaced: true,
      kind: 'EndpointSlice',
      verbs: VERBS,
    });
  },

  'a path outside of the API is plain text': async ({ call }) => {
    const { status, text, contentType } = await call('GET', '/no-such-path');
    assert.deepEqual([status, text, contentType], [404, '404 page not found\n', 'text/plain; charset=utf-8']);
  },

  'an unknown resource is a Status': async ({ call }) => {
    const expected = statusOf(404, 'NotFound', 'the server could not find the requested resource', {});
    for (const path of [
      '/api/v1/nothings',
      '/api/v1/namespaces/default/nothings',
      '/api/v1/namespaces/default/pods/a/b',
    ]) {
      const { status, body } = await call('GET', path);
      assert.equal(status, 404);
      assert.deepEqual(body, expected);
    }
  },

  'an unsuitable method is refused': async ({ call }) => {
    const expected = statusOf(
      405,
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
      {},
    );
    for (const [method, path] of [
      ['PUT', '/api/v1/namespaces/default/endpoints'],
      ['PATCH', '/api/v1/namespaces/default/endpoints'],
      ['POST', '/api/v1/namespaces/default/endpoints/a'],
      ['POST', '/api/v1/endpoints'],
    ] as const) {
      const { status, body } = await call(method, path, {});
      assert.equal(status, 405, `${method} ${path}`);
      assert.deepEqual(body, expected);
    }
  },

  'an Accept that cannot be met is refused': async ({ call }) => {
    const message =
      '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ' +
      'application/vnd.kubernetes.protobuf';
    for (const accept of ['application/none', 'application/*']) {
      const { status, body } = await call('GET', '/api/v1/namespaces/default', undefined, { accept });
      assert.equal(status, 406);
      assert.deepEqual(body, statusOf(406, 'NotAcceptable', message, {}));
    }
  },

  'the first Accept clause that can be met counts, and unknown parameters do not': async ({ call }) => {
    const json = await call('GET', '/api/v1/namespaces/default', undefined, {
      accept: 'application/none,application/json;drop=metadata.managedFields,application/vnd.kubernetes.protobuf',
    });
    assert.deepEqual([json.status, json.contentType], [200, 'application/json']);
    const protobuf = await call('GET', '/api/v1/namespaces/default', undefined, {
      accept: 'application/vnd.kubernetes.protobuf,application/json',
    });
    assert.deepEqual([protobuf.status, protobuf.contentType], [200, 'application/vnd.kubernetes.protobuf']);
    assert.equal(protobuf.body.metadata.name, 'default');
    const any = await call('GET', '/api/v1/namespaces/default', undefined, { accept: '*/*' });
    assert.equal(any.contentType, 'application/json');
  },

  'an Accept clause of any type counts after the others': async ({ call }) => {
    for (const type of ['application/vnd.kubernetes.protobuf', 'application/yaml']) {
      const { status, contentType } = await call('GET', '/api/v1/namespaces/default', undefined, {
        accept: `*/*,application/*,${type}`,
      });
      assert.deepEqual([status, contentType], [200, type]);
    }
  },

  'errors have the encoding that is asked for': async ({ call }) => {
    const { status, contentType, body } = await call('GET', '/api/v1/namespaces/none', undefined, {
      accept: 'application/vnd.kubernetes.protobuf',
    });
    assert.deepEqual([status, contentType], [404, 'application/vnd.kubernetes.protobuf']);
    assert.deepEqual(
      [body.kind, body.reason, body.details],
      ['Status', 'NotFound', { name: 'none', kind: 'namespaces' }],
    );
  },

  'a body over 3 MiB is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, {
      metadata: { name: 'a', annotations: { a: 'x'.repeat(3 * 1024 * 1024) } },
    });
    const message = 'Request entity too large: limit is 3145728';
    assert.equal(status, 413);
    assert.deepEqual([body.reason, body.message, body.code], ['RequestEntityTooLarge', message, 413]);
  },

  'metrics count requests and watches': async ({ call, ok, watch, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    await ok('POST', path, { metadata: { name: 'a' } });
    await call('GET', `${path}/b`);
    const open = await watch(`${path}?watch=1`);
    await open.take(1);
    const { status, contentType, text } = await call('GET', '/metrics');
    open.close();
    assert.equal(status, 200);
    assert.match(contentType, /^text\/plain; version=0\.0\.4/);
    const valueOf = (name: string, ...labels: string[]): number => {
      const line = text.split('\n').find((candidate) => {
        return candidate.startsWith(`${name}{`) && labels.every((label) => candidate.includes(label));
      });
      return Number(line?.slice(line.lastIndexOf(' ')));
    };
    const about = (verb: string, code: number, scope: string): number =>
      valueOf(
        'apiserver_request_total',
        'resource="endpoints"',
        `verb="${verb}"`,
        `code="${code}"`,
        `scope="${scope}"`,
        'component="apiserver"',
        'dry_run=""',
        'group=""',
        'subresource=""',
        'version="v1"',
      );
    assert.ok(about('POST', 201, 'resource') >= 1);
    assert.ok(about('GET', 404, 'resource') >= 1);
    const scope = 'scope="namespace"';
    assert.ok(valueOf('apiserver_longrunning_requests', 'resource="endpoints"', 'verb="WATCH"', scope) >= 1);
  },
};
