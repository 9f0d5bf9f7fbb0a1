import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  createUnknownFields,
  decodeBare,
  decodeEnvelope,
  decodeMessage,
  decodeObject,
  encodeBare,
  EncodeError,
  encodeEnvelope,
  encodeList,
  encodeMessage,
  encodeObject,
} from '../../src/kube/codec.ts';
import { readList } from '../../src/kube/list.ts';
import { PROTOBUF } from '../../src/kube/media-type.ts';
import { DecodeError } from '../../src/kube/protobuf.ts';
import { KINDS, messageOf } from '../../src/kube/schema.ts';
import { decodeByOracle, encodeByOracle, envelopeByOracle } from '../support/kube-proto.ts';
import { generatePod } from '../support/pods.ts';
import { propertyRuns } from '../support/runs.ts';

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

// Bytes of the Go encoder: docs/spec/wire.md "Encoding".
const BOOKMARK = bytesOf(
  '6b3873000a090a0276311203506f6412670a350a0012001a0022002a00320234323800420062210a196b38732e696f2f696e697469616c2d6576656e74732d656e64120474727565121c1a00320042004a0052005800600068008201008a01009a0100c201001a100a001a0022002a0032004a005a0072001a002200',
);
const LEASE_SPEC = '0a00 1000 220b 0880cae2d006 108094ef3a';

test('a core EndpointSubset is written as Go writes it, with its zero values', () => {
  const subset = messageOf('v1', 'Endpoints')!.byNumber[2]!.message!;
  const object = {
    addresses: [{ ip: '10.0.0.1', targetRef: { kind: 'Pod', name: 'a' } }],
    notReadyAddresses: [{ ip: '10.0.0.2', hostname: 'h', nodeName: 'n' }],
    ports: [{ port: 80 }],
  };
  const address = '0a20 0a0831302e302e302e31 1212 0a03506f64 1200 1a0161 2200 2a00 3200 3a00 1a00';
  const notReady = '1210 0a0831302e302e302e32 1a0168 22016e';
  const port = '1a06 0a00 1050 1a00';
  assert.equal(hexOf(encodeMessage(subset, object)), hexOf(bytesOf(address + notReady + port)));
});

test('scalars are written even when they are zero, texts and whole numbers alike', () => {
  const meta = messageOf('v1', 'Pod')!.byNumber[1]!.message!;
  // name, generateName, namespace, selfLink, uid, resourceVersion, generation
  assert.equal(hexOf(encodeMessage(meta, {})), '0a0012001a0022002a0032003800');
});

test('a Go-written bookmark reads as its JSON would, without zero values', () => {
  assert.deepEqual(decodeObject(BOOKMARK), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { resourceVersion: '42', annotations: { 'k8s.io/initial-events-end': 'true' } },
    spec: { containers: [] },
    status: {},
  });
});

test('Go-written empty messages read as the fields that JSON always shows', () => {
  const check = (kind: string, path: number[], hex: string, expected: object): void => {
    let message = messageOf(kind === 'EndpointSlice' ? 'discovery.k8s.io/v1' : 'v1', kind)!;
    for (const number of path) message = message.byNumber[number]!.message!;
    assert.deepEqual(decodeMessage(message, bytesOf(hex)), expected);
  };
  check('Pod', [1], '0a0012001a0022002a00320038004200', {});
  check('Pod', [3, 2], '0a0012001a0022002a003200', { type: '', status: '' });
  check('EndpointSlice', [2], '1200', { addresses: [], conditions: {} });
  check('Endpoints', [2, 1], '0a001a00', { ip: '' });
});

test('an IntOrString is a number or a text', () => {
  const check = (hex: string, targetPort: number | string): void => {
    const port = messageOf('v1', 'Service')!.byNumber[2]!.message!.byNumber[1]!.message!;
    const bytes = bytesOf(`22${(hex.length / 2).toString(16).padStart(2, '0')}${hex}`);
    assert.deepEqual(decodeMessage(port, bytes), { port: 0, targetPort });
    // Around it the zero values of name, protocol, port and nodePort, as Go writes them.
    assert.equal(hexOf(encodeMessage(port, { targetPort })), `0a0012001800${hexOf(bytes)}2800`);
  };
  check('080010903f1a00', 8080);
  check('080110001a0468747470', 'http');
  check('080010001a00', 0);
});

test('an IntOrString whose zeroes are left out is a number', () => {
  const port = messageOf('v1', 'Service')!.byNumber[2]!.message!.byNumber[1]!.message!;
  assert.deepEqual(decodeMessage(port, bytesOf('2202 1050')), { port: 0, targetPort: 80 });
  assert.deepEqual(decodeMessage(port, bytesOf('2200')), { port: 0, targetPort: 0 });
});

test('pointers keep their presence, and a MicroTime keeps its six digits', () => {
  const spec = messageOf('coordination.k8s.io/v1', 'Lease')!.byNumber[2]!.message!;
  const decoded = decodeMessage(spec, bytesOf(LEASE_SPEC));
  assert.deepEqual(decoded, { holderIdentity: '', leaseDurationSeconds: 0, renewTime: '2026-05-28T20:26:40.123456Z' });
  assert.equal(hexOf(encodeMessage(spec, decoded)), LEASE_SPEC.replaceAll(' ', ''));
});

test('an envelope is as Go writes it, with strings 3 and 4', () => {
  const empty = '6b387300 0a0d0a0276311207506f644c697374 1208 0a060a0012001a00 1a00 2200'.replaceAll(' ', '');
  assert.equal(hexOf(encodeEnvelope('v1', 'PodList', bytesOf('0a060a0012001a00'))), empty);
  const { apiVersion, kind, raw } = decodeEnvelope(bytesOf(empty));
  assert.deepEqual({ apiVersion, kind, raw }, { apiVersion: 'v1', kind: 'PodList', raw: { start: 21, end: 29 } });
  assert.throws(() => decodeEnvelope(bytesOf('7b7d')), /no k8s magic/);
});

const ENDPOINTS = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u-1',
    resourceVersion: '7',
    generation: 3,
    creationTimestamp: '2026-08-04T13:01:58Z',
    deletionGracePeriodSeconds: 0,
    labels: { a: '1', b: '' },
    annotations: { note: 'bon appétit' },
    ownerReferences: [{ kind: 'X', name: 'x', uid: 'u', apiVersion: 'v1', controller: false }],
    finalizers: ['example.com/keep'],
  },
  subsets: [
    {
      addresses: [
        { ip: '10.0.0.1', targetRef: { kind: 'Pod', namespace: 'default', name: 'web-1', uid: 'u-2' }, nodeName: '' },
        { ip: '10.0.0.2', hostname: 'hôte', nodeName: 'node-1' },
        { ip: '10.0.0.3', targetRef: {} },
        {
          ip: '10.0.0.4',
          targetRef: { kind: 'Pod', name: 'n'.repeat(100), uid: 'u'.repeat(36) },
          nodeName: 'm'.repeat(253),
        },
        { ip: '10.0.0.5', targetRef: { kind: 'Pod', name: 'ñ', uid: 'u' }, nodeName: 'node-1' },
      ],
      notReadyAddresses: [{ ip: 'fd00::1' }],
      ports: [
        { name: 'http', port: 80, protocol: 'TCP' },
        { port: 0, appProtocol: '' },
      ],
    },
  ],
};

test('Endpoints go both ways whole, even hand-written addresses', () => {
  assert.deepEqual(decodeObject(encodeObject(ENDPOINTS)), ENDPOINTS);
});

test('a targetRef of null, as JSON may have it, counts as absent', () => {
  const withRef = (targetRef: object): object => ({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web' },
    subsets: [{ addresses: [{ ip: '10.0.0.1', ...targetRef }], ports: [{ port: 80 }] }],
  });
  assert.equal(hexOf(encodeBare(withRef({ targetRef: null }))), hexOf(encodeBare(withRef({}))));
  assert.notEqual(hexOf(encodeBare(withRef({ targetRef: {} }))), hexOf(encodeBare(withRef({}))));
});

test('another protobuf library reads what we write, and writes what we read', () => {
  const check = (apiVersion: string, kind: string, fields: object): void => {
    const object = { apiVersion, kind, ...fields };
    assert.deepEqual(withoutZeros(decodeByOracle(kind, encodeBare(object))), withoutZeros(fields));
    const bytes = envelopeByOracle(apiVersion, kind, encodeByOracle(kind, object));
    assert.deepEqual(withoutZeros(decodeObject(bytes)), withoutZeros(object));
  };
  check('v1', 'Endpoints', { metadata: ENDPOINTS.metadata, subsets: ENDPOINTS.subsets });
  check('v1', 'Service', {
    metadata: { name: 'web', namespace: 'default' },
    status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
    spec: {
      ports: [
        { name: 'http', protocol: 'TCP', port: 80, targetPort: 'http', appProtocol: 'kubernetes.io/h2c' },
        { name: 'dns', protocol: 'UDP', port: 53, targetPort: 5353, nodePort: 30_053 },
      ],
      selector: { app: 'web' },
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1', 'fd00::1'],
      type: 'NodePort',
      sessionAffinity: 'None',
      publishNotReadyAddresses: true,
      ipFamilyPolicy: 'PreferDualStack',
      ipFamilies: ['IPv4', 'IPv6'],
      trafficDistribution: 'PreferClose',
    },
  });
  check('discovery.k8s.io/v1', 'EndpointSlice', {
    metadata: { name: 'web-x' },
    addressType: 'IPv4',
    ports: [{ name: '', protocol: 'TCP', port: 80 }, {}],
    endpoints: [
      {
        addresses: ['10.0.0.1'],
        conditions: { ready: false, serving: true },
        deprecatedTopology: { zone: 'a' },
        hints: { forZones: [{ name: 'a' }] },
        zone: 'a',
      },
    ],
  });
  check('v1', 'Node', {
    metadata: { name: 'n' },
    spec: { podCIDR: '10.1.0.0/24', unschedulable: true },
    status: {
      capacity: { cpu: '4', memory: '16Gi' },
      allocatable: { cpu: '3920m' },
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-08-04T13:01:58Z' }],
    },
  });
  check('v1', 'Event', {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Service', name: 'web' },
    reason: 'R',
    message: 'né',
    source: { component: 'endpointd' },
    firstTimestamp: '2026-08-04T13:01:58Z',
    count: 2,
    type: 'Warning',
    eventTime: '2026-08-04T13:01:58.000123Z',
    reportingComponent: 'endpointd',
    reportingInstance: 'x',
  });
  check('v1', 'Status', {
    metadata: { resourceVersion: '3', continue: 'token' },
    status: 'Failure',
    message: 'no',
    reason: 'NotFound',
    details: { name: 'web', kind: 'services', causes: [{ reason: 'a', message: 'b', field: 'c' }] },
    code: 404,
  });
});

test('pods of real size keep all fields of the schema, both ways', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const pod = generatePod(seed);
      const read = decodeBare('v1', 'Pod', encodeByOracle('Pod', pod));
      assert.deepEqual(withoutZeros(read), withoutZeros(withoutSkipped(pod)));
      assert.deepEqual(decodeObject(encodeObject(read)), read);
      const { apiVersion: _, kind: __, ...fields } = read;
      assert.deepEqual(withoutZeros(decodeByOracle('Pod', encodeBare(read))), withoutZeros(fields));
    }),
    propertyRuns(50, 2),
  );
});

test('every kind has a table, and an empty object of it comes back', () => {
  for (const [name, message] of KINDS) {
    const bytes = encodeMessage(message, {});
    assert.deepEqual(decodeMessage(message, bytes), decodeMessage(message, new Uint8Array(0)), name);
  }
});

test('unknown fields are skipped and counted', () => {
  const message = messageOf('v1', 'Endpoints')!;
  const unknown = createUnknownFields();
  const object = decodeMessage(message, bytesOf('0a06 0a0161 920300 1a00 1a00'), 0, 12, unknown);
  assert.deepEqual(object, { metadata: { name: 'a' } });
  assert.deepEqual(unknown, { count: 3, fields: ['ObjectMeta.50', 'Endpoints.3'] });
});

test('the last value of a repeated field counts, zero or not', () => {
  const message = messageOf('v1', 'Pod')!.byNumber[1]!.message!;
  assert.deepEqual(decodeMessage(message, bytesOf('0a0161 0a0162')), { name: 'b' });
  assert.deepEqual(decodeMessage(message, bytesOf('0a0161 0a00')), {});
});

test('managedFields is known and dropped', () => {
  const unknown = createUnknownFields();
  const bytes = encodeByOracle('Endpoints', { metadata: { name: 'a', managedFields: [{ manager: 'kubectl' }] } });
  assert.deepEqual(decodeBare('v1', 'Endpoints', bytes, 0, bytes.length, unknown).metadata, { name: 'a' });
  assert.equal(unknown.count, 0);
});

test('a scalar of null, as JSON may have it, counts as absent', () => {
  const named = (more: object): object => ({ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'web', ...more } });
  const none = hexOf(encodeBare(named({})));
  assert.equal(hexOf(encodeBare(named({ generateName: null, generation: null, deletionTimestamp: null }))), none);
});

test('an error names a field of another wire type', () => {
  // Field 1 of Endpoints is metadata: here a number.
  const bytes = bytesOf('08 05');
  assert.throws(
    () => decodeBare('v1', 'Endpoints', bytes),
    (error) => error instanceof DecodeError && /Endpoints\.metadata: wire type 0/.test(error.message),
  );
});

test('an error names a property of the wrong type', () => {
  const check = (object: object, message: string): void => {
    const encode = (): Uint8Array => encodeObject({ apiVersion: 'v1', kind: 'Endpoints', metadata: {}, ...object });
    assert.throws(encode, (error) => error instanceof EncodeError && error.message === message, message);
  };
  check({ metadata: { name: 5 } }, 'ObjectMeta.name: expected a string, got 5');
  check({ metadata: { labels: { a: 1 } } }, 'ObjectMeta.labels: expected a string at "a", got 1');
  check(
    { metadata: { creationTimestamp: 'now' } },
    'ObjectMeta.creationTimestamp: expected a time in RFC 3339, got "now"',
  );
  check({ subsets: {} }, 'Endpoints.subsets: expected a list, got {}');
  check({ subsets: [{ addresses: [{ ip: 1 }] }] }, 'EndpointAddress.ip: expected a string, got 1');
  check(
    { subsets: [{ addresses: [{ ip: '', targetRef: 'x' }] }] },
    'EndpointAddress.targetRef: expected an object, got "x"',
  );
  check({ subsets: [{ ports: [{ port: 2 ** 31 }] }] }, 'CoreEndpointPort.port: expected an int32, got 2147483648');
  assert.throws(
    () => encodeObject({ apiVersion: 'apps/v1', kind: 'Deployment' }),
    /no protobuf schema for apps\/v1\/Deployment/,
  );
});

test('a time without seconds is the epoch, and an empty one is absent', () => {
  const meta = messageOf('v1', 'Pod')!.byNumber[1]!.message!;
  // creationTimestamp { nanos: 5 }, creationTimestamp {}
  assert.deepEqual(decodeMessage(meta, bytesOf('4202 1005')), { creationTimestamp: '1970-01-01T00:00:00Z' });
  assert.deepEqual(decodeMessage(meta, bytesOf('4200')), {});
});

test('a time that no year holds is a decode error', () => {
  // creationTimestamp { seconds: 2^50 }
  const bytes = bytesOf('4209 08 8080808080808002');
  assert.throws(() => decodeMessage(messageOf('v1', 'Pod')!.byNumber[1]!.message!, bytes), /time out of range/);
});

test('a list is put together from encoded items', () => {
  const items = ['a', 'b'].map((name) => encodeBare({ apiVersion: 'v1', kind: 'Service', metadata: { name } }));
  const body = encodeList(
    'v1',
    'ServiceList',
    { resourceVersion: '9', continue: 'next', remainingItemCount: 0 },
    items,
  );
  assert.deepEqual(decodeObject(body), {
    apiVersion: 'v1',
    kind: 'ServiceList',
    metadata: { resourceVersion: '9', continue: 'next', remainingItemCount: 0 },
    items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }],
  });
  const page = readList(PROTOBUF, body);
  assert.deepEqual(
    [page.kind, page.resourceVersion, page.continueToken, page.items.length],
    ['ServiceList', '9', 'next', 2],
  );
});

test('cut or scribbled bytes give a decode error or some object', () => {
  const whole = encodeObject(decodeBare('v1', 'Pod', encodeByOracle('Pod', generatePod(5))));
  fc.assert(
    fc.property(fc.nat(whole.length), fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255))), (cut, scribbles) => {
      const bytes = whole.slice(0, cut);
      for (const [at, byte] of scribbles) if (at < bytes.length) bytes[at] = byte;
      try {
        decodeObject(bytes);
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
      }
    }),
    propertyRuns(500, 3),
  );
});

/**
 * Zero values and empty lists and maps mean the same as nothing in all of these objects but where a pointer holds them.
 */
function withoutZeros(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutZeros(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, item]): [string, unknown] => [key, withoutZeros(item)])
    .filter(([, item]) => !(item === '' || item === 0 || item === false || (Array.isArray(item) && item.length === 0)));
  return Object.fromEntries(kept);
}

const SKIPPED = new Set([
  'managedFields',
  'volumes',
  'livenessProbe',
  'readinessProbe',
  'securityContext',
  'valueFrom',
]);

function withoutSkipped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutSkipped(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !SKIPPED.has(key));
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutSkipped(item)]));
}
