import assert from 'node:assert/strict';
import { PROTOBUF, PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import type { Case } from './apiserver.ts';
import { endpointsPath, MERGE, plain, type Client, type WatchEvent } from './apiserver-client.ts';

const WATCH_LIST = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

async function create(client: Client, path: string, name: string, labels: object = {}): Promise<number> {
  const { metadata } = await client.ok('POST', path, { metadata: { name, labels } });
  return Number(metadata.resourceVersion);
}

async function label(client: Client, path: string, name: string, labels: object): Promise<void> {
  await client.ok('PATCH', `${path}/${name}`, { metadata: { labels } }, { contentType: MERGE });
}

function shown(events: readonly WatchEvent[]): string[] {
  return events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim());
}

async function watchError(client: Client, query: string): Promise<[number, string | undefined, string]> {
  const { status, body } = await client.call('GET', `/api/v1/namespaces/default/endpoints?watch=1&${query}`);
  return [status, body.reason, body.message];
}

export const WATCH_CASES: Readonly<Record<string, Case>> = {
  'a watch from a version has the later changes, in order': async (client) => {
    const path = await endpointsPath(client);
    await create(client, path, 'a');
    const list = await client.ok('GET', path);
    await create(client, path, 'b');
    const watch = await client.watch(`${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
    assert.equal(watch.contentType, 'application/json');
    await label(client, path, 'a', { x: 'y' });
    await client.ok('DELETE', `${path}/b`);
    const events = await watch.take(3);
    watch.close();
    assert.deepEqual(shown(events), ['ADDED b', 'MODIFIED a', 'DELETED b']);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    assert.deepEqual(
      versions,
      [...versions].sort((a, b) => a - b),
    );
    assert.deepEqual(plain(events[1]!.object), {
      kind: 'Endpoints',
      apiVersion: 'v1',
      metadata: { name: 'a', labels: { x: 'y' } },
    });
  },

  'a DELETED object has its last state, at the version of the delete': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a', { x: 'y' });
    const watch = await client.watch(`${path}?watch=1&resourceVersion=${version}`);
    await client.ok('DELETE', `${path}/a`);
    const [event] = await watch.take(1);
    watch.close();
    assert.deepEqual(event!.object.metadata.labels, { x: 'y' });
    assert.ok(Number(event!.object.metadata.resourceVersion) > version);
  },

  'a watch without a version begins with the objects, then has changes': async (client) => {
    const path = await endpointsPath(client);
    await create(client, path, 'a');
    await create(client, path, 'b');
    const watch = await client.watch(`${path}?watch=1`);
    assert.deepEqual(shown(await watch.take(2)).sort(), ['ADDED a', 'ADDED b']);
    await create(client, path, 'c');
    assert.deepEqual(shown(await watch.take(1)), ['ADDED c']);
    watch.close();
  },

  'a watch without a version and with bookmarks marks the end of the objects': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    const watch = await client.watch(`${path}?watch=1&allowWatchBookmarks=true`);
    const [added, bookmark] = await watch.take(2);
    watch.close();
    assert.deepEqual(shown([added!, bookmark!]), ['ADDED a', 'BOOKMARK']);
    assert.ok(Number(bookmark!.object.metadata.resourceVersion) >= version);
  },

  'WatchList: the objects come first, then a marked bookmark, then changes': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    const watch = await client.watch(`${path}?${WATCH_LIST}`);
    const [added, bookmark] = await watch.take(2);
    assert.deepEqual(shown([added!]), ['ADDED a']);
    const { kind, apiVersion, metadata } = bookmark!.object;
    assert.deepEqual([bookmark!.type, kind, apiVersion], ['BOOKMARK', 'Endpoints', 'v1']);
    assert.deepEqual(metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
    assert.ok(Number(metadata.resourceVersion) >= version);
    await create(client, path, 'b');
    let [later] = await watch.take(1);
    // kube-apiserver sends a bookmark at its next tick, when anything has changed since the first one.
    if (later!.type === 'BOOKMARK') {
      assert.equal(later!.object.metadata.annotations, undefined);
      [later] = await watch.take(1);
    }
    assert.deepEqual(shown([later!]), ['ADDED b']);
    watch.close();
  },

  'WatchList: without objects there is a bookmark alone': async (client) => {
    const watch = await client.watch(`${await endpointsPath(client)}?${WATCH_LIST}`);
    const events = await watch.take(1);
    watch.close();
    assert.deepEqual(shown(events), ['BOOKMARK']);
  },

  'WatchList: it may begin at a current version': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    const watch = await client.watch(`${path}?${WATCH_LIST}&resourceVersion=${version}`);
    const events = await watch.take(2);
    watch.close();
    assert.deepEqual(shown(events), ['ADDED a', 'BOOKMARK']);
  },

  'WatchList: it may begin at a future version': async (client) => {
    const watch = await client.watch(`${await endpointsPath(client)}?${WATCH_LIST}&resourceVersion=999999999`);
    const events = await watch.rest();
    assert.deepEqual(
      events.map(({ type }) => type),
      ['ERROR'],
    );
    const { code, reason, details } = events[0]!.object;
    assert.deepEqual([code, reason, details.causes[0].reason], [504, 'Timeout', 'ResourceVersionTooLarge']);
  },

  'WatchList: it may be in protobuf': async (client) => {
    const path = await endpointsPath(client);
    await create(client, path, 'a', { x: 'y' });
    const watch = await client.watch(`${path}?${WATCH_LIST}`, { accept: `${PROTOBUF},application/json` });
    assert.equal(watch.contentType, PROTOBUF_WATCH);
    const [added, bookmark] = await watch.take(2);
    watch.close();
    assert.deepEqual(plain(added!.object), {
      kind: 'Endpoints',
      apiVersion: 'v1',
      metadata: { name: 'a', labels: { x: 'y' } },
    });
    assert.deepEqual([bookmark!.type, bookmark!.object.kind], ['BOOKMARK', 'Endpoints']);
    assert.deepEqual(bookmark!.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
  },

  'WatchList: it may have metadata alone': async (client) => {
    const path = await endpointsPath(client);
    await create(client, path, 'a', { x: 'y' });
    for (const type of ['application/json', PROTOBUF]) {
      const accept = `${type};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
      const watch = await client.watch(`${path}?${WATCH_LIST}`, { accept });
      const events = await watch.take(2);
      watch.close();
      assert.deepEqual(shown(events), ['ADDED a', 'BOOKMARK']);
      for (const { object } of events) {
        assert.deepEqual([object.kind, object.apiVersion], ['PartialObjectMetadata', 'meta.k8s.io/v1']);
      }
      assert.deepEqual(events[0]!.object.metadata.labels, { x: 'y' });
    }
  },

  'impossible combinations are refused': async (client) => {
    const invalid = (problem: string): [number, string, string] => [
      422,
      'Invalid',
      `ListOptions.meta.k8s.io "" is invalid: ${problem}`,
    ];
    assert.deepEqual(
      await watchError(client, 'sendInitialEvents=true'),
      invalid(
        'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    );
    assert.deepEqual(
      await watchError(client, 'resourceVersionMatch=NotOlderThan&resourceVersion=1'),
      invalid(
        'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    );
    assert.deepEqual(await watchError(client, 'timeoutSeconds=x'), [
      400,
      'BadRequest',
      'strconv.ParseInt: parsing "x": invalid syntax',
    ]);
    assert.deepEqual(await watchError(client, 'resourceVersion=abc'), [
      500,
      undefined,
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ]);
  },

  'sendInitialEvents=false starts now': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    // The cache of kube-apiserver, where version 0 begins, may be older than the answer to a write.
    await client.ok('GET', `${path}?resourceVersion=${version}`);
    const query = 'watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0';
    const watch = await client.watch(`${path}?${query}`);
    await create(client, path, 'b');
    assert.deepEqual(shown(await watch.take(1)), ['ADDED b']);
    watch.close();
  },

  'a version in the future is awaited': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    const watch = await client.watch(`${path}?watch=1&resourceVersion=${version + 1_000_000}&timeoutSeconds=1`);
    await create(client, path, 'b');
    assert.deepEqual(await watch.rest(), []);
  },

  'timeoutSeconds ends the stream in order': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    await create(client, path, 'b');
    const watch = await client.watch(`${path}?watch=1&resourceVersion=${version}&timeoutSeconds=3`);
    assert.deepEqual(shown(await watch.rest()), ['ADDED b']);
  },

  'a watch of less than two seconds has no bookmark before its end': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    await create(client, path, 'b');
    const watch = await client.watch(
      `${path}?watch=1&resourceVersion=${version}&timeoutSeconds=1&allowWatchBookmarks=true`,
    );
    assert.deepEqual(shown(await watch.rest()), ['ADDED b']);
  },

  'labels: an object that enters is ADDED, and one that leaves DELETED': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a', { app: 'y' });
    const watch = await client.watch(`${path}?watch=1&labelSelector=app%3Dx&resourceVersion=${version}`);
    await label(client, path, 'a', { app: 'x' });
    await label(client, path, 'a', { other: '1' });
    await label(client, path, 'a', { app: 'y' });
    await label(client, path, 'a', { other: '2' });
    await create(client, path, 'b', { app: 'x' });
    await client.ok('DELETE', `${path}/b`);
    const events = await watch.take(5);
    watch.close();
    assert.deepEqual(shown(events), ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED b', 'DELETED b']);
    // The state before it left, at the version at which it left.
    assert.deepEqual(events[2]!.object.metadata.labels, { app: 'x', other: '1' });
    assert.ok(Number(events[2]!.object.metadata.resourceVersion) > Number(events[1]!.object.metadata.resourceVersion));
  },

  'labels: past changes are selected too': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a', { app: 'y' });
    await label(client, path, 'a', { app: 'x' });
    await create(client, path, 'b', { app: 'y' });
    await label(client, path, 'a', { app: 'y' });
    const watch = await client.watch(`${path}?watch=1&labelSelector=app%3Dx&resourceVersion=${version}`);
    const events = await watch.take(2);
    watch.close();
    assert.deepEqual(shown(events), ['ADDED a', 'DELETED a']);
  },

  'fields: a watch may have the pods of a node': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
    const { metadata } = await client.ok('GET', path);
    const watch = await client.watch(
      `${path}?watch=1&fieldSelector=spec.nodeName%3Dn1&resourceVersion=${metadata.resourceVersion}`,
    );
    for (const [name, nodeName] of [
      ['a', 'n2'],
      ['b', 'n1'],
    ] as const) {
      await client.ok('POST', path, {
        metadata: { name },
        spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
      });
    }
    assert.deepEqual(shown(await watch.take(1)), ['ADDED b']);
    watch.close();
  },

  'a watch may have one object, by its name': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    await create(client, path, 'b');
    const watch = await client.watch(`${path}?fieldSelector=metadata.name%3Da&watch=1&resourceVersion=${version}`);
    await create(client, path, 'c');
    await label(client, path, 'a', { x: 'y' });
    assert.deepEqual(shown(await watch.take(1)), ['MODIFIED a']);
    watch.close();
    // The path of one object is a GET, whatever is asked behind it.
    assert.equal((await client.ok('GET', `${path}/a?watch=1`)).kind, 'Endpoints');
  },

  'a watch may have all namespaces': async (client) => {
    const { metadata } = await client.ok('GET', '/api/v1/endpoints');
    const watch = await client.watch(
      `/api/v1/endpoints?watch=1&labelSelector=case%3Dall&resourceVersion=${metadata.resourceVersion}`,
    );
    await create(client, await endpointsPath(client), 'a', { case: 'all' });
    await create(client, await endpointsPath(client), 'b', { case: 'all' });
    assert.deepEqual(shown(await watch.take(2)), ['ADDED a', 'ADDED b']);
    watch.close();
  },

  'watchers of JSON, protobuf and metadata see the same changes': async (client) => {
    const path = await endpointsPath(client);
    const version = await create(client, path, 'a');
    const query = `${path}?watch=1&resourceVersion=${version}`;
    const watches = await Promise.all(
      ['application/json', PROTOBUF, `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`].map((accept) =>
        client.watch(query, { accept }),
      ),
    );
    await label(client, path, 'a', { x: 'y' });
    await client.ok('DELETE', `${path}/a`);
    const seen = await Promise.all(watches.map((watch) => watch.take(2)));
    for (const watch of watches) watch.close();
    const [json, ...others] = seen.map((events) =>
      events.map(({ type, object }) => [type, plain(object.metadata), object.metadata.resourceVersion]),
    );
    for (const other of others) assert.deepEqual(other, json);
  },
};
