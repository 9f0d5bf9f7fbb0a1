import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import { JSON_PATCH, MERGE, STRATEGIC, type Answer, type Client, type Json } from './apiserver-client.ts';

type Patch = (patch: unknown, contentType: string, query?: string) => Promise<Answer>;

/** A Service with two ports in a namespace of its own, and how to patch it. */
async function patchService(client: Client): Promise<Patch> {
  const path = `/api/v1/namespaces/${await client.namespace()}/services`;
  const ports = [
    { name: 'a', port: 80 },
    { name: 'b', port: 81 },
  ];
  await client.ok('POST', path, { metadata: { name: 's', labels: { x: 'y' } }, spec: { ports } });
  return (patch, contentType, query = '') => client.call('PATCH', `${path}/s${query}`, patch, { contentType });
}

const portsOf = ({ body }: Answer): string[] => body.spec.ports.map(({ name, port }: Json) => `${name}:${port}`);

/** The message of a 422 that says no more than that the patch does not fit. */
const REJECTED = 'the server rejected our request due to an error in our request';

/** Each doubles the labels. */
const DOUBLING = Array.from({ length: 35 }, (_, i) => ({ op: 'copy', from: '/metadata', path: `/metadata/a${i}` }));

/** The three kinds of patch: what they can do, and how they fail. */
export const PATCH_CASES: Readonly<Record<string, Case>> = {
  'strategic: items of a list merge by their key, and new ones come first': async (client) => {
    const patch = await patchService(client);
    const added = await patch({ spec: { ports: [{ port: 82, name: 'c' }] } }, STRATEGIC);
    assert.deepEqual(portsOf(added), ['c:82', 'a:80', 'b:81']);
    const renamed = await patch({ spec: { ports: [{ port: 80, name: 'z' }] } }, STRATEGIC);
    assert.deepEqual(portsOf(renamed), ['c:82', 'z:80', 'b:81']);
    const removed = await patch({ spec: { ports: [{ port: 81, $patch: 'delete' }] } }, STRATEGIC);
    assert.deepEqual(portsOf(removed), ['c:82', 'z:80']);
  },

  'JSON patch: an item of a list is named by its index, from the end too': async (client) => {
    const patch = await patchService(client);
    const last = await patch([{ op: 'remove', path: '/spec/ports/-1' }], JSON_PATCH);
    assert.deepEqual(portsOf(last), ['a:80']);
    for (const step of ['length', '', '0x0', '1', '-2']) {
      const { status } = await patch([{ op: 'remove', path: `/spec/ports/${step}` }], JSON_PATCH);
      assert.equal(status, 422, JSON.stringify(step));
    }
  },

  'JSON patch: it may not copy without end': async (client) => {
    const patch = await patchService(client);
    assert.equal((await patch(DOUBLING, JSON_PATCH)).status, 422);
  },

  'strategic: the client may give the order of items': async (client) => {
    const patch = await patchService(client);
    const order = [{ port: 82 }, { port: 81 }, { port: 80 }];
    const answer = await patch(
      { spec: { '$setElementOrder/ports': order, ports: [{ port: 82, name: 'c' }] } },
      STRATEGIC,
    );
    assert.deepEqual(portsOf(answer), ['c:82', 'b:81', 'a:80']);
  },

  'strategic: an order without items sorts what is there': async (client) => {
    const patch = await patchService(client);
    const order = { '$setElementOrder/ports': [{ port: 81 }, { port: 80 }] };
    assert.deepEqual(portsOf(await patch({ spec: order }, STRATEGIC)), ['b:81', 'a:80']);
    await patch({ metadata: { finalizers: ['a.example/x', 'a.example/y'] } }, STRATEGIC);
    const turned = { '$setElementOrder/finalizers': ['a.example/y', 'a.example/x'] };
    const { body } = await patch({ metadata: turned }, STRATEGIC);
    assert.deepEqual(body.metadata.finalizers, ['a.example/y', 'a.example/x']);
    await patch({ metadata: { finalizers: null } }, STRATEGIC);
  },

  'strategic: a delete takes all items with its key, before others are merged': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/services`;
    const ports = [
      { name: 'udp', port: 53, protocol: 'UDP' },
      { name: 'tcp', port: 53, protocol: 'TCP' },
      { name: 'web', port: 80 },
    ];
    const remove = { port: 53, $patch: 'delete' };
    for (const [name, items, expected] of [
      ['a', [remove], ['web:80']],
      ['b', [{ name: 'new', port: 53, protocol: 'UDP' }, remove], ['new:53', 'web:80']],
    ] as const) {
      await client.ok('POST', path, { metadata: { name }, spec: { ports } });
      const patch = { spec: { ports: items } };
      const answer = await client.call('PATCH', `${path}/${name}`, patch, { contentType: STRATEGIC });
      assert.deepEqual(portsOf(answer), expected);
    }
  },

  'strategic: items with one key stay together in an order': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/services`;
    const ports = [
      { name: 'web', port: 80 },
      { name: 'udp', port: 53, protocol: 'UDP' },
      { name: 'tcp', port: 53, protocol: 'TCP' },
    ];
    await client.ok('POST', path, { metadata: { name: 's' }, spec: { ports } });
    const patch = { spec: { '$setElementOrder/ports': [{ port: 53 }, { port: 80 }, { port: 53 }] } };
    const answer = await client.call('PATCH', `${path}/s`, patch, { contentType: STRATEGIC });
    assert.deepEqual(portsOf(answer), ['udp:53', 'tcp:53', 'web:80']);
  },

  'strategic: items that the order does not name keep their place': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/services`;
    const ports = [80, 81, 82, 83].map((port) => ({ name: `p${port}`, port }));
    await client.ok('POST', path, { metadata: { name: 's' }, spec: { ports } });
    const order = [{ port: 83 }, { port: 84 }, { port: 81 }];
    const patch = { spec: { '$setElementOrder/ports': order, ports: [{ port: 84, name: 'p84' }] } };
    const answer = await client.call('PATCH', `${path}/s`, patch, { contentType: STRATEGIC });
    assert.deepEqual(
      portsOf(answer),
      ['p80', 'p82', 'p83', 'p84', 'p81'].map((name) => `${name}:${name.slice(1)}`),
    );
  },

  'strategic: a list or map may be replaced as a whole': async (client) => {
    const patch = await patchService(client);
    const ports = [{ $patch: 'replace' }, { port: 90, name: 'q' }];
    assert.deepEqual(portsOf(await patch({ spec: { ports } }, STRATEGIC)), ['q:90']);
    const replaced = await patch({ metadata: { labels: { $patch: 'replace', k: 'v' } } }, STRATEGIC);
    assert.deepEqual(replaced.body.metadata.labels, { k: 'v' });
    const deleted = await patch({ metadata: { labels: { $patch: 'delete' } } }, STRATEGIC);
    assert.equal(deleted.body.metadata.labels, undefined);
  },

  'strategic: finalizers are joined, and removed one by one': async (client) => {
    const patch = await patchService(client);
    const finalizers = async (metadata: object): Promise<string[]> =>
      (await patch({ metadata }, STRATEGIC)).body.metadata.finalizers;
    assert.deepEqual(await finalizers({ finalizers: ['a.example/x'] }), ['a.example/x']);
    assert.deepEqual(await finalizers({ finalizers: ['a.example/y'] }), ['a.example/y', 'a.example/x']);
    const gone = { '$deleteFromPrimitiveList/finalizers': ['a.example/x'] };
    assert.deepEqual(await finalizers(gone), ['a.example/y']);
    await patch({ metadata: { finalizers: null } }, STRATEGIC);
  },

  'strategic: an item without its key and unknown directives are refused': async (client) => {
    const patch = await patchService(client);
    const { status, body } = await patch({ spec: { ports: [{ targetPort: 1 }] } }, STRATEGIC);
    assert.deepEqual([status, body.message], [500, 'map: map[targetPort:1] does not contain declared merge key: port']);
    const unknown = await patch({ spec: { colour: 1, $patch: 'foo' } }, STRATEGIC);
    assert.deepEqual(
      [unknown.status, unknown.body.message],
      [500, 'unknown patch type: foo in map: map[$patch:foo colour:1]'],
    );
  },

  'JSON patch: an operation that cannot be applied is refused without a reason': async (client) => {
    const patch = await patchService(client);
    for (const operation of [
      { op: 'test', path: '/spec/ports/0/port', value: 91 },
      { op: 'replace', path: '/spec/foo/0/port', value: 91 },
      { op: 'remove', path: '/spec/foo' },
      { op: 'add', path: '/spec/foo/bar', value: 1 },
      { op: 'add', path: '/spec/ports/7', value: 1 },
      { op: 'add', path: 'a', value: 1 },
      { op: 'foo', path: '/a' },
    ]) {
      const { status, body } = await patch([operation], JSON_PATCH);
      assert.deepEqual(
        [status, body.reason, body.message, body.details],
        [422, 'Invalid', REJECTED, {}],
        JSON.stringify(operation),
      );
    }
  },

  'JSON patch: more than 10,000 operations are refused': async (client) => {
    const patch = await patchService(client);
    const { status, body } = await patch(
      Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Service' })),
      JSON_PATCH,
    );
    assert.equal(status, 413);
    assert.equal(
      body.message,
      'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    );
  },

  'bodies that are no patch are refused': async (client) => {
    const patch = await patchService(client);
    for (const [contentType, text, message] of [
      [
        JSON_PATCH,
        '{}',
        'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
      ],
      [MERGE, '[]', 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
      [STRATEGIC, '[]', 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ] as const) {
      const { status, body } = await patch(text, contentType);
      assert.deepEqual([status, body.reason, body.message], [400, 'BadRequest', message]);
    }
    for (const contentType of [JSON_PATCH, MERGE]) {
      const { status, body } = await patch('nonsense', contentType);
      assert.equal(status, 400);
      assert.match(body.message, /^error decoding patch: /);
    }
  },

  'a patch that leaves no valid object is refused': async (client) => {
    const patch = await patchService(client);
    const merged = await patch({ spec: { ports: 'x' } }, MERGE);
    assert.deepEqual(
      [merged.status, merged.body.reason, Object.keys(merged.body.details)],
      [422, 'Invalid', ['causes']],
    );
    assert.match(merged.body.message, /^ "" is invalid: patch: Invalid value: "\{\\"/);
    const why = 'json: cannot unmarshal string into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort';
    assert.ok(merged.body.message.endsWith(`}": ${why}`), merged.body.message);
    const strategic = await patch({ spec: { ports: 'x' } }, STRATEGIC);
    assert.equal(strategic.status, 422);
    assert.match(strategic.body.message, /^ "" is invalid: patch: Invalid value: "map\[spec:map\[ports:x\]\]": /);
    const other = await patch({ kind: 'Pod' }, MERGE);
    assert.equal(other.status, 422);
    assert.match(other.body.message, /converting \(v1\.Pod\) to \(core\.Service\): unknown conversion$/);
  },

  'unknown fields of a patch are refused with Strict': async (client) => {
    const patch = await patchService(client);
    const { status, body } = await patch({ spec: { colour: 1 } }, STRATEGIC, '?fieldValidation=Strict');
    assert.equal(status, 422);
    const why = 'strict decoding error: unknown field "spec.colour"';
    assert.deepEqual(body.details.causes, [
      { reason: 'FieldValueInvalid', message: `Invalid value: "map[spec:map[colour:1]]": ${why}`, field: 'patch' },
    ]);
    const merged = await patch({ spec: { colour: 1 } }, MERGE, '?fieldValidation=Strict');
    assert.deepEqual([merged.status, merged.body.message.endsWith(why)], [422, true]);
    const warned = await patch({ spec: { colour: 1 } }, MERGE);
    assert.deepEqual([warned.status, warned.warnings], [200, [String.raw`unknown field \"spec.colour\"`]]);
  },

  'unknown fields of a body are refused with Strict': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/services`;
    const { status, body } = await client.call('POST', `${path}?fieldValidation=Strict`, {
      metadata: { name: 'a', foo: 1 },
      spec: { ports: [{ port: 80 }], x: 1 },
    });
    assert.equal(status, 400);
    assert.equal(
      body.message,
      'Service in version "v1" cannot be handled as a Service: strict decoding error: ' +
        'unknown field "metadata.foo", unknown field "spec.x"',
    );
  },

  'an unknown value of fieldValidation is refused': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints?fieldValidation=foo`;
    const { status, body } = await client.call('POST', path, { metadata: { name: 'a' } });
    assert.equal(status, 422);
    assert.deepEqual(body.details.causes, [
      {
        reason: 'FieldValueNotSupported',
        message: 'Unsupported value: "foo": supported values: "", "Ignore", "Strict", "Warn"',
        field: 'fieldValidation',
      },
    ]);
  },

  'a patch of a missing object, or of another name, is refused': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    const missing = await client.call('PATCH', `${path}/a`, 'nonsense', { contentType: STRATEGIC });
    assert.deepEqual([missing.status, missing.body.message], [404, 'endpoints "a" not found']);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    const named = await client.call('PATCH', `${path}/a`, { metadata: { name: 'b' } }, { contentType: MERGE });
    assert.deepEqual(
      [named.status, named.body.message],
      [400, 'the name of the object (b) does not match the name on the URL (a)'],
    );
  },
};
