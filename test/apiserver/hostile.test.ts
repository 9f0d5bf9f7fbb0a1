/** Whatever a client sends gets an answer, and leaves the server as able to answer as before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { apply, createApiServer } from '../../src/apiserver/server.ts';
import { encodeObject } from '../../src/kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../../src/kube/media-type.ts';
import { YAML_FORMAT } from '../../src/node/yaml.ts';
import { propertyRuns } from '../support/runs.ts';

const SEED = 20_261_121;
const CORE = '/api/v1/namespaces/default';

const path = fc.oneof(
  fc.constantFrom(
    `${CORE}/pods`,
    `${CORE}/pods/p`,
    `${CORE}/pods/p/status`,
    `${CORE}/pods/p/binding`,
    '/api',
    '/apis',
    '/openapi/v3',
    '/openapi/v3/api/v1',
    `${CORE}/services`,
    `${CORE}/services/s`,
    `${CORE}/services/s/status`,
    `${CORE}/endpoints`,
    `${CORE}/endpoints/e`,
    `${CORE}/events`,
    `${CORE}/events/e`,
    '/api/v1/nodes',
    '/api/v1/nodes/n/status',
    '/api/v1/namespaces',
    '/api/v1/namespaces/x/finalize',
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/s',
    '/apis/coordination.k8s.io/v1/namespaces/default/leases/l',
  ),
  fc.webPath(),
);

const query = fc.dictionary(
  fc.constantFrom(
    'watch',
    'resourceVersion',
    'resourceVersionMatch',
    'limit',
    'continue',
    'labelSelector',
    'fieldSelector',
    'sendInitialEvents',
    'timeoutSeconds',
    'gracePeriodSeconds',
    'fieldValidation',
    'dryRun',
    'includeObject',
    'hash',
  ),
  fc.oneof(
    fc.constantFrom(
      '0',
      '1',
      'true',
      'All',
      'Object',
      'Exact',
      'NotOlderThan',
      'a=b',
      'metadata.name=p',
      'a in (',
      '!',
    ),
    fc.string(),
  ),
  { maxKeys: 3 },
);

const FIELDS = [
  'metadata',
  'name',
  'namespace',
  'labels',
  '$retainKeys',
  '$setElementOrder/ports',
  '$deleteFromPrimitiveList/finalizers',
  'annotations',
  'finalizers',
  'ownerReferences',
  'spec',
  'status',
  'subsets',
  'addresses',
  'ports',
  'port',
  'containers',
  'conditions',
  'podIPs',
  'podIP',
  'clusterIP',
  'clusterIPs',
  'ipFamilies',
  'type',
  'selector',
  'preconditions',
  'gracePeriodSeconds',
  'endpoints',
  'addressType',
  'loadBalancer',
  'renewTime',
  '$patch',
  '__proto__',
  'op',
  'path',
];

/** Nested values under the names that mean something somewhere. */
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(
      'p',
      's',
      'e',
      '',
      0,
      1,
      80,
      -1,
      1.5,
      true,
      null,
      'None',
      '10.0.0.1',
      'NodePort',
      '/a/b',
      'add',
      'delete',
    ),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie('tree'), { maxKeys: 6 }),
  ),
}));

const body = fc.oneof(
  tree.map((value) => JSON.stringify(value)),
  fc
    .record({ metadata: fc.constant({ name: 'p' }), spec: tree, status: tree, subsets: tree })
    .map((value) => JSON.stringify(value)),
  fc.string(),
);

const CONTENT_TYPES = [
  JSON_TYPE,
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
  'application/yaml',
  PROTOBUF,
  'text/plain',
];

const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';

test('every request gets an answer', () => {
  const server = createApiServer({ random: () => 0.5, watchOutboxEventsMax: 10, yaml: YAML_FORMAT });
  const send = (
    method: string,
    target: string,
    contentType: string,
    bytes: Uint8Array | null,
    accept: string,
  ): number => {
    const reply = apply(server, 0, { method, path: target, headers: { accept, contentType }, body: bytes });
    if ('watch' in reply) {
      reply.watch.take();
      reply.watch.close();
    }
    return reply.status;
  };
  const valid: readonly [string, object][] = [
    ['pods', { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } }],
    ['services', { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } }],
    ['endpoints', { metadata: { name: 'e' }, subsets: [{ addresses: [{ ip: '10.0.0.1' }] }] }],
  ];
  fc.assert(
    fc.property(
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'PATCH', 'PATCH', 'DELETE', 'HEAD'),
      path,
      query,
      fc.constantFrom(...CONTENT_TYPES),
      body,
      fc.constantFrom(
        JSON_TYPE,
        PROTOBUF,
        TABLE,
        'application/yaml',
        'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
        'application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2',
        'x/y',
        '',
      ),
      (method, target, parameters, contentType, text, accept) => {
        for (const [resource, object] of valid) {
          send('POST', `${CORE}/${resource}`, JSON_TYPE, Buffer.from(JSON.stringify(object)), JSON_TYPE);
        }
        const search = new URLSearchParams(parameters).toString();
        const status = send(method, `${target}?${search}`, contentType, Buffer.from(text), accept);
        assert.ok(status >= 200 && status < 600);
        // What is stored now can be listed and encoded.
        for (const [resource] of valid) {
          for (const type of [JSON_TYPE, PROTOBUF, TABLE]) {
            assert.equal(send('GET', `${CORE}/${resource}`, '', null, type), 200);
          }
        }
      },
    ),
    propertyRuns(3000, SEED),
  );
});

test('patches of odd shapes get an answer', () => {
  const server = createApiServer({ random: () => 0.5 });
  const patched = (type: string, path: string, body: string): number =>
    apply(server, 0, {
      method: 'PATCH',
      path: `${CORE}/services/kubernetes${path}`,
      headers: { accept: JSON_TYPE, contentType: `application/${type}-patch+json` },
      body: Buffer.from(body),
    }).status;
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  assert.deepEqual(
    [
      patched('json', '/status', '[{"op":"remove","path":""}]'),
      patched('json', '/status', '[{"op":"replace","path":"","value":null}]'),
      patched(
        'json',
        '',
        '[{"op":"add","path":"/metadata/x"},{"op":"copy","from":"/metadata/x","path":"/metadata/y"}]',
      ),
      patched('merge', '', deep),
      patched('strategic-merge', '', '{"status":{"conditions":[{"$patch":{"toString":null}}]}}'),
    ],
    // The last one is the real server's answer to a directive that it does not know.
    [422, 422, 200, 400, 500],
  );
});

test('a header of warnings has bounds', () => {
  const server = createApiServer({ random: () => 0.5 });
  const warned = (fields: readonly string[]): string[] => {
    const object = { metadata: { name: 'a' }, ...Object.fromEntries(fields.map((field) => [field, 1])) };
    const request = { method: 'POST', path: `${CORE}/events?dryRun=All`, body: Buffer.from(JSON.stringify(object)) };
    const { headers } = apply(server, 0, { ...request, headers: { accept: JSON_TYPE, contentType: JSON_TYPE } });
    return (headers['warning'] ?? '').split(', ').filter((text) => text !== '');
  };
  const named = (count: number, length: number): string[] =>
    Array.from({ length: count }, (_, i) => String(i).padStart(length, 'f'));
  // A name is quoted, so its control character is none any more.
  assert.equal(warned(['x', 'a\u0007b', 'y']).length, 3);
  assert.equal(warned(named(20, 100)).length, 20);
  const many = warned(named(100, 60));
  assert.ok(many.length > 50 && many.length < 60, String(many.length));
  assert.equal(warned(named(2, 3000))[0]!.length, '299 - ""'.length + 256 + 1);
});

test('what a patch changes counts in the history, and not how often', () => {
  const server = createApiServer({ random: () => 0.5, historyEventsMax: 10_000, historyBytesMax: 1024 * 1024 });
  const { history } = server.stores.get('services')!;
  const patch = (labels: object): void => {
    const { status } = apply(server, 0, {
      method: 'PATCH',
      path: `${CORE}/services/kubernetes`,
      headers: { accept: JSON_TYPE, contentType: 'application/merge-patch+json' },
      body: Buffer.from(JSON.stringify({ metadata: { annotations: labels } })),
    });
    assert.equal(status, 200);
  };
  const kept = (): number =>
    server.stores.get('services')!.history.length - server.stores.get('services')!.historyStart;
  for (let i = 0; i < 1000; i++) patch({ a: String(i) });
  assert.ok(history.length > 0 && kept() > 20, `${kept()} events`);
  for (let i = 0; i < 20; i++) patch({ [`b${i}`]: 'x'.repeat(10_000) });
  assert.ok(kept() < 5, `${kept()} events of some 200 KB`);
});

test('the history holds no more than its bytes', () => {
  const bytesMax = 1024 * 1024;
  const server = createApiServer({ random: () => 0.5, historyBytesMax: bytesMax });
  for (let i = 0; i < 200; i++) {
    const object = { metadata: { name: 'a', annotations: { a: String(i).padEnd(100_000) } } };
    const body = Buffer.from(JSON.stringify(object));
    const headers = { accept: JSON_TYPE, contentType: JSON_TYPE };
    apply(server, 0, { method: 'PUT', path: `${CORE}/endpoints/a`, headers, body });
  }
  // The state before the oldest change is held beside them.
  const { history } = server.stores.get('endpoints')!;
  const held = new Set(history.flatMap((event) => (event === null ? [] : [event.record, event.previous])));
  const sizes = Array.from(held, (record) => record?.sizeBytes ?? 0);
  const sum = sizes.reduce((all, size) => all + size, 0);
  assert.ok(sizes.length > 2 && sum <= bytesMax + Math.max(...sizes), `${sizes.length} objects of ${sum} bytes`);
});

test('YAML whose aliases stand for too much is refused', () => {
  const server = createApiServer({ random: () => 0.5, yaml: YAML_FORMAT });
  const posted = (resource: string, lines: readonly string[]): number => {
    const headers = { accept: JSON_TYPE, contentType: 'application/yaml' };
    return apply(server, 0, {
      method: 'POST',
      path: `${CORE}/${resource}`,
      headers,
      body: Buffer.from(lines.join('\n')),
    }).status;
  };
  const address = '{ ip: 10.0.0.1 }';
  const subsets = (count: number): string[] => [
    'metadata: { name: a }',
    'subsets:',
    `- addresses: &all [${Array.from({ length: 1000 }, () => address).join()}]`,
    ...Array.from({ length: count }, () => '- addresses: *all'),
  ];
  const chain = Array.from({ length: 60 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}],`);
  const probe = (fields: readonly string[]): string[] => [
    'metadata: { name: p }',
    'spec: { containers: [{ name: c, image: i, livenessProbe: {',
    ...fields.map((field) => `  ${field}`),
    '  } }] }',
  ];
  // Numbers come first in the order of keys, so the longest chain of aliases is met before its parts.
  const deep = Array.from({ length: 20_000 }, (_, at) => `${90_000 - at}: &b${at + 1} [*b${at}],`);
  assert.deepEqual(
    [
      posted('endpoints', subsets(100_000)),
      posted('pods', probe(['a0: &a0 [x, x],', ...chain])),
      posted('pods', probe(['b0: &b0 [x],', ...deep])),
      posted('pods', probe(['a: &a [*a]'])),
      posted('endpoints', subsets(2)),
    ],
    [400, 400, 400, 400, 201],
  );
});

test('damaged protobuf gets an answer', () => {
  const server = createApiServer({ random: () => 0.5 });
  const object = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'a', labels: { b: 'c' }, creationTimestamp: '2026-01-01T00:00:00Z' },
    subsets: [{ addresses: [{ ip: '10.0.0.1', targetRef: { kind: 'Pod' } }], ports: [{ port: 80 }] }],
  };
  const whole = encodeObject(object);
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (at, byte, length) => {
      const bytes = Uint8Array.from(whole.subarray(0, Math.max(at + 1, length)));
      bytes[at] = byte;
      const headers = { accept: PROTOBUF, contentType: PROTOBUF };
      const { status } = apply(server, 0, { method: 'PUT', path: `${CORE}/endpoints/a`, headers, body: bytes });
      assert.ok([200, 201, 400, 409, 415, 422].includes(status), String(status));
    }),
    propertyRuns(2000, SEED),
  );
});

test('a label named __proto__ is a label', () => {
  const server = createApiServer({ random: () => 0.5 });
  const reply = apply(server, 0, {
    method: 'POST',
    path: `${CORE}/endpoints`,
    headers: {},
    body: Buffer.from('{"metadata":{"name":"a","labels":{"__proto__":"x","y":"z"}}}'),
  });
  // The key is no valid label, and says so.
  assert.equal(reply.status, 422);
});
