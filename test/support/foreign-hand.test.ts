import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, createApiServer } from '../../src/apiserver/server.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { create, type WorkloadRequest } from '../../src/workload/request.ts';
import { FOREIGN_DEEDS, foreignChange, type ForeignChange, type ForeignDeed } from './foreign-hand.ts';

const SLICE: KubeObject = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    namespace: 'default',
    name: 'web-abc',
    uid: 'u',
    resourceVersion: '7',
    labels: { 'kubernetes.io/service-name': 'web' },
  },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
  ports: null,
};
const PATH = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

function doing(deed: ForeignDeed): ForeignChange {
  return foreignChange(createPrng(1), [SLICE], [deed])!;
}

test('without slices the hand does nothing', () => {
  assert.equal(foreignChange(createPrng(1), []), null);
});

test('every deed goes to the slice itself, and a copy goes to its collection', () => {
  for (const deed of FOREIGN_DEEDS) {
    const { object, request } = doing(deed);
    assert.equal(object, 'default/web-abc');
    assert.equal(request.path, deed === 'copy' ? PATH : `${PATH}/web-abc`, deed);
  }
});

test('deeds add a stranger, remove an endpoint, and change a state and a hint', () => {
  const endpoints = (deed: ForeignDeed): unknown => (doing(deed).request.body as KubeObject)['endpoints'];
  const [endpoint] = SLICE['endpoints'] as object[];
  assert.deepEqual(endpoints('add-endpoint'), [endpoint, { addresses: ['192.0.2.1'], conditions: { ready: true } }]);
  assert.deepEqual(endpoints('drop-endpoint'), []);
  assert.deepEqual(endpoints('turn-conditions'), [{ addresses: ['10.0.0.1'], conditions: { ready: false } }]);
  assert.deepEqual(endpoints('hint'), [{ ...endpoint, hints: { forZones: [{ name: 'zone-of-somebody' }] } }]);
});

test('a copy has a name of its own, and no fields of the server', () => {
  assert.deepEqual(doing('copy').request.body, {
    ...SLICE,
    metadata: { namespace: 'default', generateName: 'web-abc-', labels: SLICE.metadata.labels },
  });
});

test('a server accepts every deed', () => {
  const prng = createPrng(1);
  const server = createApiServer({ random: () => nextFloat(prng) });
  const send = ({ method, path, body, contentType }: WorkloadRequest): number =>
    apply(server, 0, {
      method,
      path,
      headers: { accept: 'application/json', contentType },
      body: Buffer.from(JSON.stringify(body)),
    }).status;
  for (const deed of FOREIGN_DEEDS) {
    const { uid: _, resourceVersion: __, ...metadata } = SLICE.metadata;
    assert.equal(send(create({ ...SLICE, metadata: { ...metadata, name: `web-${deed}` } })), 201);
    const slice = { ...SLICE, metadata: { ...SLICE.metadata, name: `web-${deed}` } };
    assert.ok(send(foreignChange(prng, [slice], [deed])!.request) < 300, deed);
  }
});
