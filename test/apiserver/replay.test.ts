/**
 * Random writes, and after them: a watch from any version, applied to the list of that version, gives the list of now.
 * That holds for every encoding, selector and page size, and is what every client builds on.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { apply, createApiServer, type ApiServer } from '../../src/apiserver/server.ts';
import { decodeBare } from '../../src/kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../../src/kube/media-type.ts';
import { createWatchReader } from '../../src/kube/watch-framing.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { propertyRuns } from '../support/runs.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- answers of a server under test have no type to rely on
type Json = any;

const SEED = 20_261_121;
const PATH = '/api/v1/namespaces/default/endpoints';

function call(server: ApiServer, method: string, path: string, body?: object): Json {
  const reply = apply(server, 0, {
    method,
    path,
    headers: { accept: JSON_TYPE, contentType: method === 'PATCH' ? 'application/merge-patch+json' : JSON_TYPE },
    body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
  });
  assert.ok('body' in reply);
  return JSON.parse(Buffer.from(reply.body).toString());
}

type Action = { readonly type: 'put' | 'delete'; readonly name: string; readonly label: string; readonly ip: number };

const action: fc.Arbitrary<Action> = fc.record({
  type: fc.constantFrom('put', 'put', 'put', 'delete'),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  label: fc.constantFrom('x', 'y'),
  ip: fc.integer({ min: 1, max: 3 }),
});

function perform(server: ApiServer, { type, name, label, ip }: Action): void {
  if (type === 'delete') call(server, 'DELETE', `${PATH}/${name}`);
  else {
    const subsets = [{ addresses: [{ ip: `10.0.0.${ip}` }] }];
    call(server, 'PUT', `${PATH}/${name}`, { metadata: { name, labels: { label } }, subsets });
  }
}

/** name -> version, subsets and labels. */
type World = Map<string, string>;

function worldOf(items: readonly Json[]): World {
  return new Map(items.map((item) => [item.metadata.name as string, stateOf(item)]));
}

function stateOf({ metadata, subsets }: Json): string {
  return JSON.stringify([metadata.resourceVersion, metadata.labels, subsets]);
}

function listAll(server: ApiServer, query: string, limit: number): Json[] {
  const items: Json[] = [];
  let page = call(server, 'GET', `${PATH}?${query}&limit=${limit}`);
  for (;;) {
    items.push(...page.items);
    if (page.metadata.continue === undefined) return items;
    page = call(
      server,
      'GET',
      `${PATH}?limit=${limit}&continue=${encodeURIComponent(page.metadata.continue)}&${query.replace(/resourceVersion[^&]*/g, '')}`,
    );
  }
}

function replay(server: ApiServer, world: World, query: string, accept: string): void {
  const headers = { accept, contentType: '' };
  const reply = apply(server, 0, { method: 'GET', path: `${PATH}?watch=1&${query}`, headers, body: null });
  assert.ok('watch' in reply);
  const reader = createWatchReader(accept);
  for (const frame of reply.watch.take(1e9)) reader.push(frame);
  for (let frame = reader.next(); frame !== null; frame = reader.next()) {
    const { object } = frame;
    const value: Json =
      object.encoding === 'json' ? object.value : decodeBare(object.apiVersion, object.kind, object.bytes);
    const { name } = value.metadata;
    assert.equal(world.has(name), frame.type !== 'ADDED', `${frame.type} ${name}`);
    if (frame.type === 'DELETED') world.delete(name);
    else world.set(name, stateOf(value));
  }
  reply.watch.close();
}

test('a list of any version, with the watch from it, gives the list of now', () => {
  fc.assert(
    fc.property(
      fc.array(action, { minLength: 1, maxLength: 30 }),
      fc.nat(),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom('', 'labelSelector=label%3Dx', 'fieldSelector=metadata.name%3Da', 'labelSelector=label!%3Dx'),
      fc.constantFrom(JSON_TYPE, PROTOBUF),
      (actions, cut, limit, selector, accept) => {
        const prng = createPrng(1);
        const server = createApiServer({ random: () => nextFloat(prng) });
        const before = actions.slice(0, cut % (actions.length + 1));
        for (const each of before) perform(server, each);
        const list = call(server, 'GET', `${PATH}?${selector}`);
        const version: string = list.metadata.resourceVersion;
        for (const each of actions.slice(before.length)) perform(server, each);
        const then = listAll(server, `resourceVersion=${version}&${selector}`, limit);
        const world = worldOf(then);
        assert.deepEqual(world, worldOf(list.items));
        replay(server, world, `resourceVersion=${version}&${selector}`, accept);
        assert.deepEqual(world, worldOf(listAll(server, selector, limit)));
      },
    ),
    propertyRuns(300, SEED),
  );
});
