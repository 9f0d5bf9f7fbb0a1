import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portHash, portsInOrder, subsetHash, subsetsInOrder } from '../../../src/core/endpoints/hash-order.ts';
import type { EndpointPort } from '../../../src/kube/types.ts';

// What the Go code computes (docs/spec/endpoints.md "Repacking: golden vectors").
const h2c = 'kubernetes.io/h2c';
const ports: [EndpointPort, string][] = [
  [{ port: 8080, protocol: 'UDP' }, '59aa40b466adb81c6e00232f1f0ba361'],
  [{ port: 8080, protocol: 'TCP' }, 'b09ff368df0fc81442c7b7a3ab2dbca5'],
  [{ name: 'http', port: 80, protocol: 'TCP' }, '754b003f50f133a539c60d18cfb30a55'],
  [{ name: 'https', port: 443, protocol: 'TCP' }, 'a1d3cd184f85589179025a8360efcc75'],
  [{ name: 'http', port: 8080, protocol: 'TCP' }, '25304a33da9e6ece350a4142a45f5b75'],
  [{ name: 'https', port: 8443, protocol: 'TCP' }, 'ff1a33bac4ac0f54ddfa86bb65936e0d'],
  [{ name: 'https', port: 8443, protocol: 'TCP', appProtocol: h2c }, 'f39f05385df1c5146bde870d0bd7c0e6'],
  [{ name: 'metrics', port: 9090, protocol: 'TCP' }, 'acb9f0fb3b50ab7d3c1c06ab8db97acc'],
  [{ name: 'dns', port: 53, protocol: 'UDP' }, 'cf684d8c2a0def1ba31f64600b9051ae'],
  [{ name: 'dns-tcp', port: 53, protocol: 'TCP' }, 'bb9cc7b3d27ae737aec8326acc3af680'],
  [{ name: 'grpc', port: 50051, protocol: 'TCP', appProtocol: h2c }, 'ddfc3789ae239a95ac8359f80229bf1d'],
  [{ port: 80, protocol: 'TCP' }, '19cbad1834a78abad87a093580858485'],
  [{ name: 'port0', port: 8080, protocol: 'TCP' }, '862194fe8857a76cf7d019569a3274e8'],
  [{ name: 'port1', port: 8088, protocol: 'TCP' }, '78f99ce39195061215b01ce0b96f98b5'],
];
for (const [port, hash] of ports) {
  test(`the hash of port ${port.name ?? ''}:${port.port}/${port.protocol} ${port.appProtocol ?? ''} is upstream's`, () => {
    assert.equal(portHash(port), hash);
  });
}

const http = { name: 'http', port: 8080, protocol: 'TCP' };
const first = {
  ip: '10.0.0.1',
  nodeName: 'node-1',
  targetRef: { kind: 'Pod', namespace: 'ns', name: 'p1', uid: 'u-1' },
};
const second = {
  ip: '10.0.0.2',
  hostname: 'web-0',
  nodeName: 'node-2',
  targetRef: { kind: 'Pod', namespace: 'ns', name: 'p2', uid: 'u-2' },
};

test("the hash of a subset is upstream's", () => {
  assert.equal(subsetHash({ addresses: [first], ports: [http] }), '27de10b1c430c7fd58e286d1f3479ceb');
});

test("the hash of a subset without ports is upstream's", () => {
  assert.equal(subsetHash({ addresses: [first] }), '41a7687b6ed7b07649dd5a17f9075aea');
});

test("the hash of a subset with every kind of list is upstream's", () => {
  const m = { name: 'm', port: 9, protocol: 'UDP', appProtocol: 'x' };
  const subset = { addresses: [first], notReadyAddresses: [second], ports: [http, m] };
  assert.equal(subsetHash(subset), 'fa4bca08c7f5839c8e473bf137d47d26');
});

test('an empty list hashes like an absent one', () => {
  const subset = { addresses: [first], notReadyAddresses: [], ports: [] };
  assert.equal(subsetHash(subset), subsetHash({ addresses: [first] }));
});

test('an empty nodeName does not hash like an absent one', () => {
  assert.notEqual(
    subsetHash({ addresses: [{ ip: '10.0.0.1', nodeName: '' }] }),
    subsetHash({ addresses: [{ ip: '10.0.0.1' }] }),
  );
});

test('ports are sorted by their hashes', () => {
  const names = ['http', 'https', 'metrics'].map(
    (name) => ports.find(([port]) => port.name === name && port.port > 999)![0],
  );
  assert.deepEqual(
    portsInOrder(names).map((port) => port.name),
    ['http', 'metrics', 'https'],
  );
});

test('the order of subsets does not depend on the order given', () => {
  const subsets = ports.map(([port]) => ({ addresses: [first], ports: [port] }));
  const reversed = Object.freeze(subsets.toReversed());
  assert.deepEqual(subsetsInOrder(reversed), subsetsInOrder(subsets));
});
