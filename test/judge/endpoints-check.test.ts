import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectedEndpoints, wrongEndpoints } from '../../src/judge/endpoints-check.ts';
import type { KubeObject } from '../../src/kube/types.ts';

const SERVICE: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'web', uid: 's', labels: { app: 'web' } },
  spec: {
    type: 'ClusterIP',
    clusterIP: '10.96.0.9',
    ipFamilies: ['IPv4'],
    selector: { app: 'web' },
    ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }],
  },
};
const POD: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name: 'web-1', uid: 'p', labels: { app: 'web' } },
  spec: { nodeName: 'node-1', containers: [{ name: 'web' }] },
  status: {
    phase: 'Running',
    podIP: '10.64.0.1',
    podIPs: [{ ip: '10.64.0.1' }],
    conditions: [{ type: 'Ready', status: 'True' }],
  },
};
const LABELS = { app: 'web', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
const ADDRESS = {
  ip: '10.64.0.1',
  nodeName: 'node-1',
  targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'p' },
};
const PORTS = [{ port: 8080, protocol: 'TCP' }];

const EXPECTED = expectedEndpoints([SERVICE], [POD]);

function endpoints(name: string, subsets: object[], labels: Record<string, string> = LABELS): KubeObject {
  return { apiVersion: 'v1', kind: 'Endpoints', metadata: { namespace: 'shop', name, labels }, subsets };
}

test("an object with the oracle's contents is right", () => {
  assert.deepEqual(wrongEndpoints(EXPECTED, [endpoints('web', [{ addresses: [ADDRESS], ports: PORTS }])]), []);
});

test('another address, another state or another label is wrong', () => {
  const wrong = [
    endpoints('web', [{ addresses: [{ ...ADDRESS, ip: '10.64.0.2' }], ports: PORTS }]),
    endpoints('web', [{ notReadyAddresses: [ADDRESS], ports: PORTS }]),
    endpoints('web', [{ addresses: [ADDRESS], ports: PORTS }], { ...LABELS, extra: 'yes' }),
  ];
  for (const object of wrong) assert.deepEqual(wrongEndpoints(EXPECTED, [object]), ['shop/web']);
});

test('a missing object is wrong', () => {
  assert.deepEqual(wrongEndpoints(EXPECTED, []), ['shop/web']);
});

test('without a Service only objects with the mark of this controller are wrong', () => {
  const web = endpoints('web', [{ addresses: [ADDRESS], ports: PORTS }]);
  assert.deepEqual(wrongEndpoints(EXPECTED, [web, endpoints('mine', []), endpoints('theirs', [], {})]), ['shop/mine']);
});
