import assert from 'node:assert/strict';
import { PROTOBUF } from '../../src/kube/media-type.ts';
import type { Case } from './apiserver.ts';
import { MERGE, plain, STRATEGIC, type Client, type Json } from './apiserver-client.ts';

const METADATA_LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const METADATA = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** Endpoints with these names and labels, in a namespace of their own. */
async function withEndpoints(client: Client, objects: Readonly<Record<string, object>>): Promise<string> {
  const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
  for (const [name, labels] of Object.entries(objects)) await client.ok('POST', path, { metadata: { name, labels } });
  return path;
}

function names(list: Json): string[] {
  return list.items.map((item: Json) => item.metadata.name);
}

async function listError(client: Client, query: string): Promise<[number, string, string]> {
  const { status, body } = await client.call('GET', `/api/v1/namespaces/default/endpoints?${query}`);
  return [status, body.reason, body.message];
}

export const LIST_CASES: Readonly<Record<string, Case>> = {
  'an empty list has an empty array': async (client) => {
    const list = await client.ok('GET', await withEndpoints(client, {}));
    assert.match(list.metadata.resourceVersion, /^[0-9]+$/);
    assert.deepEqual(plain(list), { kind: 'EndpointsList', apiVersion: 'v1', metadata: {}, items: [] });
  },

  'items are sorted by name and have no kind': async (client) => {
    const list = await client.ok('GET', await withEndpoints(client, { b: {}, 'a-b': {}, a: {}, 'a.b': {} }));
    assert.deepEqual(plain(list.items), [
      { metadata: { name: 'a' } },
      { metadata: { name: 'a-b' } },
      { metadata: { name: 'a.b' } },
      { metadata: { name: 'b' } },
    ]);
  },

  'the version of a list is at least that of all writes before': async (client) => {
    const path = await withEndpoints(client, { a: {} });
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'b' } });
    const list = await client.ok('GET', path);
    assert.ok(Number(list.metadata.resourceVersion) >= Number(metadata.resourceVersion));
  },

  'one list may have the objects of all namespaces': async (client) => {
    const path = await withEndpoints(client, { unique: { everywhere: 'yes' } });
    const list = await client.ok('GET', '/api/v1/endpoints?labelSelector=everywhere');
    assert.ok(list.items.some((item: Json) => path.includes(`/${item.metadata.namespace}/`)));
  },

  'a list in protobuf equals that in JSON': async (client) => {
    const path = await withEndpoints(client, { a: { b: 'c' }, d: {} });
    await client.ok('PATCH', `${path}/a`, { subsets: [{ addresses: [{ ip: '1.2.3.4' }] }] }, { contentType: MERGE });
    const json = await client.call('GET', path);
    const protobuf = await client.call('GET', path, undefined, { accept: PROTOBUF });
    assert.deepEqual([protobuf.status, protobuf.contentType], [200, PROTOBUF]);
    assert.deepEqual(plain(protobuf.body), plain(json.body));
    assert.equal(protobuf.body.items[0].metadata.uid, json.body.items[0].metadata.uid);
  },

  'a list may have metadata alone, in both encodings': async (client) => {
    const path = await withEndpoints(client, { a: { b: 'c' } });
    for (const type of ['application/json', PROTOBUF]) {
      const { body, contentType } = await client.call('GET', path, undefined, { accept: `${type};${METADATA_LIST}` });
      assert.equal(contentType, type);
      const { kind, apiVersion, items } = body;
      assert.deepEqual([kind, apiVersion], ['PartialObjectMetadataList', 'meta.k8s.io/v1']);
      assert.deepEqual(plain(items[0].metadata), { name: 'a', labels: { b: 'c' } });
      if (type !== PROTOBUF) assert.equal(items[0].kind, 'PartialObjectMetadata');
    }
  },

  'metadata of a list and of an object cannot be mixed up (406)': async (client) => {
    const path = await withEndpoints(client, { a: {} });
    const list = await client.call('GET', path, undefined, { accept: `application/json;${METADATA}` });
    assert.equal(list.status, 406);
    assert.equal(
      list.body.message,
      'you requested PartialObjectMetadata, but the requested object is a list (*core.EndpointsList)',
    );
    const one = await client.call('GET', `${path}/a`, undefined, { accept: `application/json;${METADATA_LIST}` });
    assert.equal(one.status, 406);
    assert.equal(
      one.body.message,
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.Endpoints)',
    );
  },

  'pages are of one version': async (client) => {
    const path = await withEndpoints(client, { a: {}, b: {}, c: {}, d: {}, e: {} });
    const first = await client.ok('GET', `${path}?limit=2`);
    assert.deepEqual([names(first), first.metadata.remainingItemCount], [['a', 'b'], 3]);
    await client.ok('DELETE', `${path}/d`);
    await client.ok('POST', path, { metadata: { name: 'cc' } });
    const token = encodeURIComponent(first.metadata.continue);
    const second = await client.ok('GET', `${path}?limit=2&continue=${token}`);
    assert.deepEqual([names(second), second.metadata.resourceVersion], [['c', 'd'], first.metadata.resourceVersion]);
    assert.equal(second.metadata.remainingItemCount, 1);
    const third = await client.ok('GET', `${path}?limit=2&continue=${encodeURIComponent(second.metadata.continue)}`);
    assert.deepEqual(
      [names(third), third.metadata.continue, third.metadata.remainingItemCount],
      [['e'], undefined, undefined],
    );
  },

  'a page that holds everything has no continuation': async (client) => {
    const list = await client.ok('GET', `${await withEndpoints(client, { a: {}, b: {} })}?limit=2`);
    assert.deepEqual([names(list), list.metadata.continue], [['a', 'b'], undefined]);
  },

  'pages with a selector do not count what remains': async (client) => {
    const path = await withEndpoints(client, { a: { x: '1' }, b: {}, c: { x: '1' }, d: { x: '1' } });
    const first = await client.ok('GET', `${path}?limit=2&labelSelector=x`);
    assert.deepEqual([names(first), first.metadata.remainingItemCount], [['a', 'c'], undefined]);
    assert.notEqual(first.metadata.continue, undefined);
  },

  'with resourceVersion=0 the limit does not count': async (client) => {
    const path = await withEndpoints(client, { a: {}, b: {} });
    const { metadata } = await client.ok('GET', path);
    // Version 0 may be an old state: make sure that the cache has caught up.
    await client.ok('GET', `${path}?resourceVersion=${metadata.resourceVersion}`);
    for (const match of ['', '&resourceVersionMatch=NotOlderThan']) {
      const list = await client.ok('GET', `${path}?limit=1&resourceVersion=0${match}`);
      assert.deepEqual([names(list), list.metadata.continue], [['a', 'b'], undefined]);
    }
  },

  'an exact version gives the objects of that time': async (client) => {
    const path = await withEndpoints(client, { a: {}, b: {} });
    const { resourceVersion } = (await client.ok('GET', path)).metadata;
    await client.ok('DELETE', `${path}/a`);
    await client.ok('PATCH', `${path}/b`, { metadata: { labels: { c: 'd' } } }, { contentType: MERGE });
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'c' } });
    // What need not be older than a version may be an old state: make sure that the cache has caught up.
    await client.ok('GET', `${path}?resourceVersion=${metadata.resourceVersion}`);
    for (const query of [
      `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
      `resourceVersion=${resourceVersion}&limit=10`,
    ]) {
      const then = await client.ok('GET', `${path}?${query}`);
      assert.deepEqual([names(then), then.metadata.resourceVersion], [['a', 'b'], resourceVersion]);
      assert.equal(then.items[1].metadata.labels, undefined);
    }
    const notOlder = await client.ok(
      'GET',
      `${path}?resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`,
    );
    assert.deepEqual(names(notOlder), ['b', 'c']);
    assert.deepEqual(names(await client.ok('GET', `${path}?resourceVersion=${resourceVersion}`)), ['b', 'c']);
  },

  'a version in the future is refused': async (client) => {
    const { status, body, headers } = await client.call(
      'GET',
      '/api/v1/namespaces/default/endpoints?resourceVersion=999999999',
    );
    assert.equal(status, 504);
    assert.match(body.message, /^Timeout: Too large resource version: 999999999, current: [0-9]+$/);
    assert.deepEqual(
      [body.reason, body.details],
      [
        'Timeout',
        {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          retryAfterSeconds: 1,
        },
      ],
    );
    assert.equal(headers['retry-after'], '1');
  },

  'impossible versions and matches are refused': async (client) => {
    const invalid = (problem: string): [number, string, string] => [
      422,
      'Invalid',
      `ListOptions.meta.k8s.io "" is invalid: ${problem}`,
    ];
    const match = 'resourceVersionMatch: Forbidden: resourceVersionMatch';
    assert.deepEqual(
      await listError(client, 'resourceVersionMatch=Exact'),
      invalid(`${match} is forbidden unless resourceVersion is provided`),
    );
    assert.deepEqual(
      await listError(client, 'resourceVersion=0&resourceVersionMatch=Exact'),
      invalid(`${match} "exact" is forbidden for resourceVersion "0"`),
    );
    assert.deepEqual(
      await listError(client, 'sendInitialEvents=true'),
      invalid('sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'),
    );
    assert.deepEqual(await listError(client, 'resourceVersion=abc'), [
      400,
      'BadRequest',
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ]);
    assert.deepEqual(await listError(client, 'limit=x'), [
      400,
      'BadRequest',
      'strconv.ParseInt: parsing "x": invalid syntax',
    ]);
    assert.deepEqual((await listError(client, 'limit=1&continue=xxx')).slice(0, 2), [400, 'BadRequest']);
  },

  'label selectors select': async (client) => {
    const path = await withEndpoints(client, {
      a: { app: 'x', tier: '1' },
      b: { app: 'y' },
      c: { tier: '2' },
      d: { app: '' },
    });
    for (const [selector, expected] of [
      ['app=x', ['a']],
      ['app==y', ['b']],
      ['app!=x', ['b', 'c', 'd']],
      ['app', ['a', 'b', 'd']],
      ['!app', ['c']],
      ['app in (x,y)', ['a', 'b']],
      ['app notin (x, y)', ['c', 'd']],
      ['app=,tier!=9', ['d']],
      ['app=x,tier=1', ['a']],
      ['app=x,tier=2', []],
      ['tier>1', ['c']],
      ['', ['a', 'b', 'c', 'd']],
    ] as const) {
      const list = await client.ok('GET', `${path}?labelSelector=${encodeURIComponent(selector)}`);
      assert.deepEqual(names(list), expected, selector);
    }
  },

  'field selectors select': async (client) => {
    const path = await withEndpoints(client, { a: {}, b: {} });
    const ns = path.split('/')[4]!;
    for (const [selector, expected] of [
      ['metadata.name=a', ['a']],
      ['metadata.name!=a', ['b']],
      [`metadata.namespace=${ns}`, ['a', 'b']],
      ['metadata.name==a,metadata.name!=b', ['a']],
    ] as const) {
      const list = await client.ok('GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`);
      assert.deepEqual(names(list), expected, selector);
    }
  },

  'field selectors of pods select': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
    for (const [name, nodeName] of [
      ['a', 'n1'],
      ['b', 'n2'],
    ] as const) {
      await client.ok('POST', path, {
        metadata: { name },
        spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
      });
    }
    await client.ok(
      'PATCH',
      `${path}/a/status`,
      { status: { phase: 'Running', podIP: '10.2.3.4' } },
      { contentType: STRATEGIC },
    );
    for (const [selector, expected] of [
      ['spec.nodeName=n1', ['a']],
      ['spec.host=n2', ['b']],
      ['spec.host!=n2', ['a']],
      ['status.phase!=Running', ['b']],
      ['status.podIP=10.2.3.4', ['a']],
    ] as const) {
      assert.deepEqual(names(await client.ok('GET', `${path}?fieldSelector=${selector}`)), expected);
    }
  },

  'wrong label selectors are refused': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    const prefix = 'unable to parse requirement: ';
    for (const [selector, message] of [
      ['x in (', `${prefix}found '', expected: ',', ')' or identifier`],
      ['x in a', `${prefix}found 'a' expected: '('`],
      ['x in (a', `${prefix}found '', expected: ',' or ')'`],
      ['x notin (a,', `${prefix}found '', expected: ',', or identifier`],
      ['!', `${prefix}found '', expected: identifier`],
      ['=a', `found '=', expected: !, identifier, or 'end of string'`],
      [',', `found ',', expected: !, identifier, or 'end of string'`],
      ['x==a,', `found '', expected: identifier after ','`],
      ['x=a=b', `found '=', expected: ',' or 'end of string'`],
      ['x in (a)b', `found 'b', expected: ',' or 'end of string'`],
      ['x!a', `${prefix}found '!', expected: in, notin, =, ==, !=, gt, lt`],
      ['x>a', `${prefix}values[0]: Invalid value: "a": for 'Gt', 'Lt' operators, the value must be an integer`],
    ] as const) {
      const { status, body } = await client.call('GET', `${path}?labelSelector=${encodeURIComponent(selector)}`);
      assert.deepEqual([status, body.message], [400, message], selector);
    }
  },

  'label selectors may have empty values and operators as words': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    await client.ok('POST', path, { metadata: { name: 'empty', labels: { x: '' } } });
    await client.ok('POST', path, { metadata: { name: 'in', labels: { in: 'in', x: '7' } } });
    for (const [selector, expected] of [
      ['x=', ['empty']],
      ['x in ()', ['empty']],
      ['x in (7,,8)', ['empty', 'in']],
      ['in in (in)', ['in']],
      ['x>6,x<8', ['in']],
      ['!in', ['empty']],
      ['in!=in', ['empty']],
    ] as const) {
      const list = await client.ok('GET', `${path}?labelSelector=${encodeURIComponent(selector)}`);
      assert.deepEqual(names(list), expected, selector);
    }
  },

  'label selectors compare whole numbers of 64 bits alone': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    const values = ['', '1.36', '0x10', '1e3', '007', '9007199254740993', '9223372036854775808'];
    for (const [at, x] of values.entries())
      await client.ok('POST', path, { metadata: { name: `e${at}`, labels: { x } } });
    for (const [selector, expected] of [
      ['x>1', ['e4', 'e5']],
      ['x<100', ['e4']],
      ['x>9007199254740992', ['e5']],
      ['x<9007199254740993', ['e4']],
      ['x<9223372036854775807', ['e4', 'e5']],
    ] as const) {
      const list = await client.ok('GET', `${path}?labelSelector=${encodeURIComponent(selector)}`);
      assert.deepEqual(names(list), expected, selector);
    }
    const { status } = await client.call('GET', `${path}?labelSelector=${encodeURIComponent('x>9223372036854775808')}`);
    assert.equal(status, 400);
  },

  'unreadable selectors are refused': async (client) => {
    assert.deepEqual(await listError(client, `labelSelector=${encodeURIComponent('a b c')}`), [
      400,
      'BadRequest',
      "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
    ]);
    assert.deepEqual(await listError(client, 'fieldSelector=foo%3Dbar'), [
      400,
      'BadRequest',
      '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ]);
    for (const [resource, field] of [
      ['pods', 'spec.foo'],
      ['services', 'spec.host'],
    ] as const) {
      const { body } = await client.call('GET', `/api/v1/${resource}?fieldSelector=${field}%3Dbar`);
      assert.equal(body.message, `field label not supported: ${field}`);
    }
    assert.deepEqual(await listError(client, 'fieldSelector=foo'), [
      400,
      'BadRequest',
      "invalid selector: 'foo'; can't understand 'foo'",
    ]);
  },
};
