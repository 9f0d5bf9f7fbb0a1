import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';

const YAML = 'application/yaml';

/** Bodies in YAML, in both directions. */
export const YAML_CASES: Readonly<Record<string, Case>> = {
  'create and replace take YAML': async ({ call, ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const text = ['metadata: { name: a }', 'subsets:', '- addresses: [{ ip: 10.0.0.1 }]', '  ports: [{ port: 80 }]'];
    const { status } = await call('POST', path, text.join('\n'), { contentType: YAML });
    assert.equal(status, 201);
    assert.deepEqual((await ok('GET', `${path}/a`)).subsets, [
      { addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80, protocol: 'TCP' }] },
    ]);
    const replaced = await call('PUT', `${path}/a`, 'metadata: { name: a, labels: { b: c } }', { contentType: YAML });
    assert.deepEqual([replaced.status, replaced.body.metadata.labels], [200, { b: 'c' }]);
  },

  'unknown fields are warned of': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/services`;
    const text = 'metadata: { name: a }\nspec: { ports: [{ port: 80 }], colour: red }';
    const { status, warnings } = await call('POST', path, text, { contentType: YAML });
    assert.deepEqual([status, warnings], [201, [String.raw`unknown field \"spec.colour\"`]]);
  },

  'a body that is no YAML is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, 'metadata: [', { contentType: YAML });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.match(body.message, /^the object provided is unrecognized \(must be of type Endpoints\): yaml: /);
  },

  'aliases that stand for too much are refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const list = Array.from({ length: 1000 }, () => '{ ip: 10.0.0.1 }').join();
    const some = ['metadata: { name: a }', 'subsets:', `- addresses: &all [${list}]`, '- addresses: *all'];
    assert.equal((await call('POST', path, some.join('\n'), { contentType: YAML })).status, 201);
    const all = [...some, ...Array.from({ length: 20_000 }, () => '- addresses: *all')];
    const { status, body } = await call('POST', path, all.join('\n'), { contentType: YAML });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.match(body.message, /yaml: document contains excessive aliasing/);
  },

  'the options of a delete may be YAML': async ({ call, ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { uid } = (await ok('POST', path, { metadata: { name: 'a' } })).metadata;
    const removed = async (text: string): Promise<number> =>
      (await call('DELETE', `${path}/a`, text, { contentType: YAML })).status;
    assert.equal(await removed('preconditions: ['), 400);
    assert.equal(await removed('kind: Foo'), 400);
    assert.equal(await removed('preconditions: { uid: x }'), 409);
    assert.equal(await removed(`# JSON has no comments\nkind: DeleteOptions\npreconditions:\n  uid: ${uid}`), 200);
  },

  'a body of no known type is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, 'metadata: {}', { contentType: 'text/plain' });
    assert.equal(status, 415);
    assert.equal(
      body.message,
      'the body of the request was in an unknown format - accepted media types include: application/json, ' +
        'application/yaml, application/vnd.kubernetes.protobuf',
    );
  },

  'answers, lists and errors may be YAML': async ({ call, ok, namespace }) => {
    const name = await namespace();
    const { text, contentType } = await call('GET', `/api/v1/namespaces/${name}`, undefined, { accept: YAML });
    assert.equal(contentType, YAML);
    assert.match(text, new RegExp(`^apiVersion: v1\nkind: Namespace\nmetadata:\n  creationTimestamp: "`));
    assert.match(text, /\nspec:\n {2}finalizers:\n {2}- kubernetes\nstatus:\n {2}phase: Active\n$/);
    const path = `/api/v1/namespaces/${name}/endpoints`;
    await ok('POST', path, { metadata: { name: 'a' } });
    const list = await call('GET', path, undefined, { accept: YAML });
    assert.match(list.text, /^apiVersion: v1\nitems:\n- metadata:\n/);
    const missing = await call('GET', `${path}/b`, undefined, { accept: YAML });
    assert.equal(missing.status, 404);
    assert.match(
      missing.text,
      /^apiVersion: v1\ncode: 404\ndetails:\n {2}kind: endpoints\n {2}name: b\nkind: Status\n/,
    );
  },

  'a watch in YAML is refused': async ({ call }) => {
    const { status, text } = await call('GET', '/api/v1/namespaces?watch=1', undefined, { accept: YAML });
    assert.equal(status, 406);
    assert.match(text, /application\/json;stream=watch/);
  },
};
