import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import { JSON_PATCH, STRATEGIC, type Client } from './apiserver-client.ts';

async function podPath(client: Client, podSpec: object = {}): Promise<string> {
  const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
  await client.ok('POST', path, {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...podSpec },
  });
  return `${path}/p`;
}

const bindingTo = (node: string) => ({ metadata: { name: 'p' }, target: { kind: 'Node', name: node } });

/** pods/NAME/binding: what a scheduler writes. */
export const BINDING_CASES: Readonly<Record<string, Case>> = {
  'a binding sets the node and a condition, and brings labels and annotations': async (client) => {
    const path = await podPath(client);
    const binding = bindingTo('n1');
    const { status, body } = await client.call('POST', `${path}/binding`, {
      apiVersion: 'v1',
      kind: 'Binding',
      ...binding,
      metadata: { ...binding.metadata, labels: { a: 'b' }, annotations: { c: 'd' } },
    });
    assert.equal(status, 201);
    assert.deepEqual(body, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
    const pod = await client.ok('GET', path);
    assert.deepEqual(
      [pod.spec.nodeName, pod.metadata.labels, pod.metadata.annotations, pod.metadata.generation],
      ['n1', { a: 'b' }, { c: 'd' }, 1],
    );
    const { lastTransitionTime, ...condition } = pod.status.conditions[0];
    assert.match(lastTransitionTime, /Z$/);
    assert.deepEqual(condition, { type: 'PodScheduled', status: 'True', lastProbeTime: null });
  },

  'a binding takes away the nominated node and the condition of gates': async (client) => {
    const path = await podPath(client, { schedulingGates: [{ name: 'x.y/a' }] });
    const refused = await client.call('POST', `${path}/binding`, bindingTo('n1'));
    assert.deepEqual(
      [refused.status, refused.body.message],
      [409, 'Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates'],
    );
    await client.ok('PATCH', path, [{ op: 'remove', path: '/spec/schedulingGates' }], { contentType: JSON_PATCH });
    const nominated = { status: { nominatedNodeName: 'n2' } };
    await client.ok('PATCH', `${path}/status`, nominated, { contentType: STRATEGIC });
    await client.ok('POST', `${path}/binding`, bindingTo('n1'));
    const { status } = await client.ok('GET', path);
    const { lastTransitionTime, ...condition } = status.conditions[0];
    assert.match(lastTransitionTime, /Z$/);
    assert.deepEqual(
      [status.nominatedNodeName, condition, status.conditions.length],
      [undefined, { type: 'PodScheduled', status: 'True', lastProbeTime: null }, 1],
    );
  },

  'a pod is bound only once': async (client) => {
    const path = await podPath(client);
    await client.ok('POST', `${path}/binding`, bindingTo('n1'));
    const { status, body } = await client.call('POST', `${path}/binding`, bindingTo('n2'));
    assert.equal(status, 409);
    assert.deepEqual(
      [body.message, body.details],
      [
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
        { name: 'p', kind: 'pods/binding' },
      ],
    );
  },

  'the uid and the version of a binding are preconditions': async (client) => {
    const path = await podPath(client);
    const { uid, resourceVersion, namespace } = (await client.ok('GET', path)).metadata;
    const bound = async (fields: object): Promise<[number, string]> => {
      const binding = bindingTo('n1');
      const metadata = { ...binding.metadata, ...fields };
      const { status, body } = await client.call('POST', `${path}/binding`, { ...binding, metadata });
      return [status, body.message];
    };
    const refused = (field: string, given: string, stored: string): [number, string] => [
      409,
      `Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/${namespace}/p, ` +
        `ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${field} in precondition: ${given}, ` +
        `${field} in object meta: ${stored}`,
    ];
    assert.deepEqual(await bound({ uid: 'x', resourceVersion: '1' }), refused('UID', 'x', uid));
    assert.deepEqual(await bound({ resourceVersion: '1' }), refused('ResourceVersion', '1', resourceVersion));
    assert.deepEqual(await bound({ uid, resourceVersion }), [201, undefined]);
  },

  'a dry run binds nothing': async (client) => {
    const path = await podPath(client);
    assert.equal((await client.call('POST', `${path}/binding?dryRun=All`, bindingTo('n1'))).status, 201);
    assert.equal((await client.ok('GET', path)).spec.nodeName, undefined);
  },

  'an impossible binding is refused': async (client) => {
    const path = await podPath(client);
    const missing = await client.call('POST', `${path.slice(0, -1)}q/binding`, {
      ...bindingTo('n1'),
      metadata: { name: 'q' },
    });
    assert.deepEqual([missing.status, missing.body.message], [404, 'pods "q" not found']);
    const other = await client.call('POST', `${path}/binding`, { ...bindingTo('n1'), metadata: { name: 'q' } });
    assert.deepEqual([other.status, other.body.message], [400, 'name in URL does not match name in Binding object']);
    const nowhere = await client.call('POST', `${path}/binding`, { metadata: { name: 'p' }, target: {} });
    assert.deepEqual([nowhere.status, nowhere.body.message], [500, 'target.name: Required value']);
    const kind = await client.call('POST', `${path}/binding`, {
      ...bindingTo('n'),
      target: { kind: 'Foo', name: 'n' },
    });
    assert.deepEqual(
      [kind.status, kind.body.message],
      [500, 'target.kind: Unsupported value: "Foo": supported values: "Node", "<empty>"'],
    );
  },

  'a binding accepts POST only': async (client) => {
    const path = await podPath(client);
    assert.equal((await client.call('GET', `${path}/binding`)).status, 405);
    assert.equal((await client.call('PUT', `${path}/binding`, bindingTo('n1'))).status, 405);
  },
};
