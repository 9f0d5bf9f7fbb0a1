import assert from 'node:assert/strict';
import { encodeObject } from '../../src/kube/codec.ts';
import { ACCEPT_METADATA, PROTOBUF } from '../../src/kube/media-type.ts';
import type { Case } from './apiserver.ts';
import { plain, type Client, type Json } from './apiserver-client.ts';

const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ENDPOINTS_WARNING = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice';

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
  "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const NO_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

/** Creates Endpoints that are wrong, and compares the causes as `field: reason: message`. */
async function checkInvalid(client: Client, object: object, expected: readonly string[]): Promise<void> {
  const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
  const { status, body } = await client.call('POST', path, { metadata: { name: 'a' }, ...object });
  assert.equal(status, 422);
  assert.deepEqual(causesOf(body), expected);
}

function causesOf(body: Json): string[] {
  return body.details.causes.map(({ field, reason, message }: Json) => `${field}: ${reason}: ${message}`);
}

function subset(fields: object): object {
  return { subsets: [{ addresses: [{ ip: '10.0.0.1' }], ...fields }] };
}

const value = (field: string, shown: string, problem: string): string =>
  `${field}: FieldValueInvalid: Invalid value: ${shown}: ${problem}`;

export const CREATE_CASES: Readonly<Record<string, Case>> = {
  'the answer is the object as it was stored': async ({ call, namespace }) => {
    const ns = await namespace();
    const { status, body, contentType } = await call('POST', `/api/v1/namespaces/${ns}/endpoints`, {
      metadata: {
        name: 'a',
        labels: { x: 'y' },
        uid: 'mine',
        creationTimestamp: '2020-01-01T00:00:00Z',
        generation: 7,
      },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }],
    });
    assert.deepEqual([status, contentType], [201, 'application/json']);
    assert.deepEqual(plain(body), {
      kind: 'Endpoints',
      apiVersion: 'v1',
      // Nobody counts generations of Endpoints, so what was sent stays.
      metadata: { name: 'a', labels: { x: 'y' }, generation: 7 },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80, protocol: 'TCP' }] }],
    });
    assert.equal(body.metadata.namespace, ns);
    assert.match(body.metadata.uid, UID);
    assert.match(body.metadata.resourceVersion, /^[1-9][0-9]*$/);
    assert.ok(Math.abs(Date.parse(body.metadata.creationTimestamp) - Date.now()) < 60_000);
  },

  'kind and apiVersion may be left out': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const created = await ok('POST', path, { metadata: { name: 'a' } });
    assert.deepEqual([created.kind, created.apiVersion], ['Endpoints', 'v1']);
  },

  'nulls, empty lists and empty maps count as absent': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const created = await ok('POST', path, {
      metadata: { name: 'a', labels: {}, annotations: null, finalizers: [], creationTimestamp: null },
      subsets: [],
    });
    assert.deepEqual(plain(created), { kind: 'Endpoints', apiVersion: 'v1', metadata: { name: 'a' } });
  },

  'a create with a taken name is refused': async ({ ok, call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    await ok('POST', path, { metadata: { name: 'a' } });
    const { status, body } = await call('POST', path, { metadata: { name: 'a' } });
    assert.equal(status, 409);
    assert.deepEqual(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'endpoints "a" already exists',
      reason: 'AlreadyExists',
      details: { name: 'a', kind: 'endpoints' },
      code: 409,
    });
  },

  'a create with a taken name in a named group is refused': async ({ ok, call, namespace }) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${await namespace()}/leases`;
    await ok('POST', path, { metadata: { name: 'a' } });
    const { body } = await call('POST', path, { metadata: { name: 'a' } });
    assert.equal(body.message, 'leases.coordination.k8s.io "a" already exists');
    assert.deepEqual(body.details, { name: 'a', group: 'coordination.k8s.io', kind: 'leases' });
  },

  'generateName gets five characters from the server': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { metadata } = await ok('POST', path, { metadata: { generateName: 'gen-' } });
    assert.match(metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(metadata.generateName, 'gen-');
  },

  'generateName is cut to 58 characters': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { metadata } = await ok('POST', path, { metadata: { generateName: 'x'.repeat(70) } });
    assert.equal(metadata.name.length, 63);
    assert.ok(metadata.name.startsWith('x'.repeat(58)));
  },

  'a name beside generateName is kept, and so is generateName': async ({ ok, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await namespace()}/endpointslices`;
    const { metadata } = await ok('POST', path, {
      metadata: { name: 'svc-abcde', generateName: 'svc-' },
      addressType: 'IPv4',
      endpoints: [],
    });
    assert.deepEqual([metadata.name, metadata.generateName], ['svc-abcde', 'svc-']);
  },

  'a create without any name is refused': async ({ call, namespace }) => {
    const { status, body } = await call('POST', `/api/v1/namespaces/${await namespace()}/endpoints`, { metadata: {} });
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'Endpoints "" is invalid: metadata.name: Required value: name or generateName is required',
    );
    assert.deepEqual(body.details, {
      kind: 'Endpoints',
      causes: [
        {
          reason: 'FieldValueRequired',
          message: 'Required value: name or generateName is required',
          field: 'metadata.name',
        },
      ],
    });
  },

  'a resourceVersion is an error without a reason': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, { metadata: { name: 'a', resourceVersion: '12' } });
    assert.equal(status, 500);
    assert.equal(body.message, 'resourceVersion should not be set on objects to be created');
    assert.equal(body.reason, undefined);
  },

  'a resourceVersion that is no version is dropped': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    for (const resourceVersion of ['0', '00', 'abc', '-1', '99999999999999999999']) {
      const { status, body } = await call('POST', path, { metadata: { generateName: 'a-', resourceVersion } });
      assert.equal(status, 201, resourceVersion);
      assert.match(body.metadata.resourceVersion, /^[1-9][0-9]*$/);
      assert.notEqual(body.metadata.resourceVersion, resourceVersion);
    }
  },

  'a selfLink is not kept': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const selfLink = '/x';
    const created = await ok('POST', path, { metadata: { name: 'a', selfLink } });
    const updated = await ok('PUT', `${path}/a`, { metadata: { name: 'a', selfLink, labels: { b: 'c' } } });
    const { metadata } = await ok('GET', `${path}/a`);
    assert.deepEqual(
      [created.metadata.selfLink, updated.metadata.selfLink, metadata.selfLink],
      Array(3).fill(undefined),
    );
  },

  'a create whose body has another namespace than the path is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, { metadata: { name: 'a', namespace: 'other' } });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.equal(body.message, 'the namespace of the provided object does not match the namespace sent on the request');
  },

  'a create in a missing namespace is refused': async ({ call }) => {
    const { status, body } = await call('POST', '/api/v1/namespaces/none/endpoints', { metadata: { name: 'a' } });
    assert.deepEqual([status, body.reason, body.message], [404, 'NotFound', 'namespaces "none" not found']);
    assert.deepEqual(body.details, { name: 'none', kind: 'namespaces' });
  },

  'a create of an object of another kind is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.equal(
      body.message,
      'Pod in version "v1" cannot be handled as a Endpoints: converting (v1.Pod) to (core.Endpoints): unknown conversion',
    );
  },

  'a create of an object of another version is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, { apiVersion: 'v2', kind: 'Endpoints', metadata: { name: 'a' } });
    assert.equal(status, 400);
    assert.match(
      body.message,
      /^Endpoints in version "v2" cannot be handled as a Endpoints: no kind "Endpoints" is registered/,
    );
  },

  'a text that is no JSON is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, '{bad');
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.match(
      body.message,
      /^the object provided is unrecognized \(must be of type Endpoints\): couldn't get version\/kind/,
    );
  },

  'bytes that are no protobuf are refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, Buffer.from('nonsense'), { contentType: PROTOBUF });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
  },

  'a field of the wrong type is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, { metadata: { name: 'a' }, subsets: 'x' });
    assert.equal(status, 400);
    assert.equal(
      body.message,
      'Endpoints in version "v1" cannot be handled as a Endpoints: json: cannot unmarshal string into Go struct field ' +
        'Endpoints.subsets of type []v1.EndpointSubset',
    );
  },

  'a body of another media type is refused': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { status, body } = await call('POST', path, {}, { contentType: 'application/none' });
    assert.deepEqual([status, body.reason], [415, 'UnsupportedMediaType']);
  },

  'a warning may have letters of any alphabet': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/services`;
    const { status, warnings } = await call('POST', path, {
      metadata: { name: 'a' },
      spec: { ports: [{ port: 80 }], типо: 1 },
    });
    const [warning] = warnings.map((text) => Buffer.from(text, 'latin1').toString());
    assert.deepEqual([status, warning], [201, String.raw`unknown field \"spec.типо\"`]);
  },

  'unknown fields are dropped with a warning': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const { body, warnings } = await call('POST', path, {
      metadata: { name: 'a' },
      subsets: [{ addresses: [{ ip: '1.2.3.4', foo: 1 }] }],
      bar: 3,
    });
    assert.deepEqual(body.subsets, [{ addresses: [{ ip: '1.2.3.4' }] }]);
    assert.equal(body.bar, undefined);
    assert.deepEqual(warnings, [
      ENDPOINTS_WARNING,
      String.raw`unknown field \"subsets[0].addresses[0].foo\"`,
      String.raw`unknown field \"bar\"`,
    ]);
  },

  'fieldValidation=Strict refuses unknown fields, and Ignore drops them silently': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const object = { metadata: { name: 'a' }, bar: 3 };
    const strict = await call('POST', `${path}?fieldValidation=Strict`, object);
    assert.deepEqual([strict.status, strict.body.reason], [400, 'BadRequest']);
    assert.match(strict.body.message, /strict decoding error: unknown field "bar"$/);
    const ignore = await call('POST', `${path}?fieldValidation=Ignore`, object);
    assert.deepEqual([ignore.status, ignore.warnings], [201, [ENDPOINTS_WARNING]]);
  },

  'every answer about Endpoints warns': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    assert.deepEqual((await call('POST', path, { metadata: { name: 'a' } })).warnings, [ENDPOINTS_WARNING]);
    assert.deepEqual((await call('GET', `${path}/a`)).warnings, [ENDPOINTS_WARNING]);
    assert.deepEqual((await call('GET', path)).warnings, [ENDPOINTS_WARNING]);
    assert.deepEqual((await call('GET', `${path}/none`)).warnings, [ENDPOINTS_WARNING]);
    assert.deepEqual((await call('DELETE', `${path}/a`)).warnings, [ENDPOINTS_WARNING]);
  },

  'an object in protobuf is answered in protobuf, with the contents of JSON': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const object = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'a', labels: { b: 'c' }, annotations: { d: 'e' } },
      subsets: [
        {
          addresses: [
            { ip: '10.0.0.1', hostname: 'h', nodeName: 'n', targetRef: { kind: 'Pod', name: 'p', uid: 'u' } },
          ],
          notReadyAddresses: [{ ip: '2001:db8::1' }],
          ports: [{ name: 'p', port: 80, protocol: 'UDP', appProtocol: 'kubernetes.io/h2c' }],
        },
      ],
    };
    const created = await call('POST', path, encodeObject(object), { contentType: PROTOBUF, accept: PROTOBUF });
    assert.deepEqual([created.status, created.contentType], [201, PROTOBUF]);
    assert.deepEqual(plain(created.body), plain(object));
    const json = await call('GET', `${path}/a`);
    assert.deepEqual(plain(json.body), plain(object));
    assert.equal(json.body.metadata.resourceVersion, created.body.metadata.resourceVersion);
  },

  'a write may answer with the metadata alone': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    for (const accept of [ACCEPT_METADATA, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1']) {
      const name = accept === ACCEPT_METADATA ? 'a' : 'b';
      const { status, body } = await call('POST', path, { metadata: { name, labels: { c: 'd' } } }, { accept });
      assert.equal(status, 201);
      assert.deepEqual(plain(body), {
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { name, labels: { c: 'd' } },
      });
      assert.match(body.metadata.uid, UID);
    }
  },

  'metadata: name, labels and annotations have rules': async (client) => {
    const metadata = { name: 'A_', labels: { 'a b': 'c d', x: '-' }, annotations: { 'a b': 'x', '/': '' } };
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    const { status, body } = await client.call('POST', path, { metadata });
    assert.equal(status, 422);
    assert.deepEqual(
      causesOf(body).sort(),
      [
        value('metadata.name', '"A_"', SUBDOMAIN),
        value('metadata.labels', '"a b"', NAME_PART),
        value('metadata.labels', '"c d"', LABEL_VALUE),
        value('metadata.labels', '"-"', LABEL_VALUE),
        value('metadata.annotations', '"a b"', NAME_PART),
        value('metadata.annotations', '"/"', 'prefix part must be non-empty'),
        value('metadata.annotations', '"/"', 'name part must be non-empty'),
        value('metadata.annotations', '"/"', NAME_PART),
      ].sort(),
    );
  },

  'metadata: names and values have a longest length': async (client) => {
    const long = 'x'.repeat(64);
    const metadata = { name: 'a', labels: { [long]: long } };
    await checkInvalid(client, { metadata }, [
      value('metadata.labels', `"${long}"`, 'name part must be no more than 63 bytes'),
      value('metadata.labels', `"${long}"`, 'must be no more than 63 bytes'),
    ]);
  },

  'metadata: a name has a longest length': async (client) => {
    const long = 'x'.repeat(254);
    await checkInvalid(client, { metadata: { name: long } }, [
      value('metadata.name', `"${long}"`, 'must be no more than 253 characters'),
    ]);
  },

  'metadata: annotations may have 256 KiB together': async (client) => {
    const metadata = { name: 'a', annotations: { a: 'x'.repeat(256 * 1024) } };
    await checkInvalid(client, { metadata }, [
      'metadata.annotations: FieldValueTooLong: Too long: may not be more than 262144 bytes',
    ]);
  },

  'one cause is alone in the message, and several are in brackets': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const one = await call('POST', path, { metadata: { name: 'a' }, subsets: [{}] });
    assert.equal(
      one.body.message,
      'Endpoints "a" is invalid: subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`',
    );
    const two = await call('POST', path, { metadata: { name: 'a' }, subsets: [{}, {}] });
    assert.equal(
      two.body.message,
      'Endpoints "a" is invalid: [subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`, ' +
        'subsets[1]: Required value: must specify `addresses` or `notReadyAddresses`]',
    );
  },

  'Endpoints: a subset needs an address': async (client) => {
    await checkInvalid(client, { subsets: [{ ports: [{ port: 80 }] }] }, [
      'subsets[0]: FieldValueRequired: Required value: must specify `addresses` or `notReadyAddresses`',
    ]);
  },

  'Endpoints: invalid addresses are refused': async (client) => {
    const field = 'subsets[0].addresses[0].ip';
    for (const ip of ['', 'foo', '1.2.3', '1.2.3.256', '1:2:3:4:5:6:7', '::1::2', '12345::']) {
      await checkInvalid(client, { subsets: [{ addresses: [{ ip }] }] }, [
        value(field, JSON.stringify(ip), NO_IP),
        value(field, JSON.stringify(ip), 'must be a valid IP address'),
      ]);
    }
  },

  'Endpoints: old spellings of addresses are refused': async (client) => {
    const field = 'subsets[0].addresses[0].ip';
    for (const [ip, problem] of [
      ['010.0.0.1', 'must not have leading 0s'],
      ['::ffff:1.2.3.4', 'must not be an IPv4-mapped IPv6 address'],
    ] as const) {
      await checkInvalid(client, { subsets: [{ addresses: [{ ip }] }] }, [value(field, `"${ip}"`, problem)]);
    }
  },

  'Endpoints: special addresses are refused': async (client) => {
    const field = 'subsets[0].addresses[0].ip';
    const loopback = 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
    const linkLocal = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
    const multicast = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
    for (const [ip, problem] of [
      ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
      ['::', 'may not be unspecified (::)'],
      ['127.8.9.10', loopback],
      ['::1', loopback],
      ['169.254.1.1', linkLocal],
      ['fe80::1', linkLocal],
      ['224.0.0.1', multicast],
      ['ff02::1', multicast],
    ] as const) {
      await checkInvalid(client, { subsets: [{ addresses: [{ ip }] }] }, [value(field, `"${ip}"`, problem)]);
    }
  },

  'Endpoints: unusual addresses are allowed': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const addresses = ['2001:DB8::1', '2001:db8:0:0::2', '224.0.1.1', 'ff05::1', '240.0.0.1', '::1:2'].map((ip) => ({
      ip,
    }));
    const { subsets } = await ok('POST', path, { metadata: { name: 'a' }, subsets: [{ addresses }] });
    assert.deepEqual(subsets, [{ addresses }]);
  },

  'Endpoints: host names are labels': async (client) => {
    await checkInvalid(client, subset({ addresses: [{ ip: '1.2.3.4', hostname: 'A.b' }] }), [
      value('subsets[0].addresses[0].hostname', '"A.b"', LABEL),
    ]);
  },

  'Endpoints: an empty node name differs from an absent one': async (client) => {
    await checkInvalid(client, subset({ notReadyAddresses: [{ ip: '1.2.3.4', nodeName: '' }] }), [
      value('subsets[0].notReadyAddresses[0].nodeName', '""', SUBDOMAIN),
    ]);
  },

  'Endpoints: ports are validated': async (client) => {
    const long = 'a'.repeat(64);
    const ports = [
      { port: 0 },
      { port: 70_000, name: 'X_Y', protocol: 'HTTP', appProtocol: 'a b' },
      { port: 1, name: long },
    ];
    await checkInvalid(client, subset({ ports }), [
      'subsets[0].ports[0].name: FieldValueRequired: Required value',
      value('subsets[0].ports[0].port', '0', 'must be between 1 and 65535, inclusive'),
      value('subsets[0].ports[1].name', '"X_Y"', LABEL),
      value('subsets[0].ports[1].port', '70000', 'must be between 1 and 65535, inclusive'),
      'subsets[0].ports[1].protocol: FieldValueNotSupported: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
      value('subsets[0].ports[1].appProtocol', '"a b"', NAME_PART),
      value('subsets[0].ports[2].name', `"${long}"`, 'must be no more than 63 characters'),
    ]);
  },

  'Endpoints: port names may repeat': async ({ ok, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/endpoints`;
    const ports = [
      { name: 'a', port: 80, protocol: 'TCP' },
      { name: 'a', port: 80, protocol: 'TCP' },
    ];
    const { subsets } = await ok('POST', path, { metadata: { name: 'a' }, ...subset({ ports }) });
    assert.deepEqual(subsets[0].ports, ports);
  },

  'EndpointSlice: the server sets defaults': async ({ ok, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await namespace()}/endpointslices`;
    const created = await ok('POST', path, {
      metadata: { name: 'a' },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], deprecatedTopology: { a: 'b' } }],
      ports: [{ port: 80 }],
    });
    assert.deepEqual(plain(created), {
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1',
      metadata: { name: 'a', generation: 1 },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], conditions: {} }],
      ports: [{ name: '', protocol: 'TCP', port: 80 }],
    });
  },

  'EndpointSlice: empty lists are shown as null': async ({ ok, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await namespace()}/endpointslices`;
    const created = await ok('POST', path, { metadata: { name: 'a' }, addressType: 'IPv4', endpoints: [], ports: [] });
    assert.deepEqual([created.endpoints, created.ports], [null, null]);
  },

  'EndpointSlice: invalid fields are refused': async ({ call, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await namespace()}/endpointslices`;
    const none = await call('POST', path, { metadata: { name: 'a' }, endpoints: [] });
    assert.equal(none.body.message, 'EndpointSlice.discovery.k8s.io "a" is invalid: addressType: Required value');
    assert.deepEqual([none.body.details.group, none.body.details.kind], ['discovery.k8s.io', 'EndpointSlice']);
    const many = await call('POST', path, {
      metadata: { name: 'a' },
      addressType: 'IPv4',
      endpoints: [
        { addresses: [] },
        { addresses: ['2001:db8::1'] },
        { addresses: ['127.0.0.1'], hostname: 'A.b', nodeName: '' },
      ],
      ports: [
        { name: 'a', port: 0 },
        { name: 'a', protocol: 'HTTP', appProtocol: 'a b' },
      ],
    });
    assert.equal(many.status, 422);
    assert.deepEqual(causesOf(many.body), [
      'ports[1].name: FieldValueDuplicate: Duplicate value: "a"',
      'ports[1].protocol: FieldValueNotSupported: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
      value('ports[1].appProtocol', '"a b"', NAME_PART),
      'endpoints[0].addresses: FieldValueRequired: Required value: must contain at least 1 address',
      value('endpoints[1].addresses', '"2001:db8::1"', 'must be an IPv4 address'),
      value('endpoints[2].addresses[0]', '"127.0.0.1"', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'),
      value('endpoints[2].nodeName', '""', SUBDOMAIN),
      value('endpoints[2].hostname', '"A.b"', LABEL),
    ]);
  },
};
