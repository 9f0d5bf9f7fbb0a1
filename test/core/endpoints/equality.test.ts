import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subsetsEqual } from '../../../src/core/endpoints/equality.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../../src/kube/types.ts';

const reference = { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u', resourceVersion: '1' };
const address: EndpointAddress = { ip: '10.0.0.1', hostname: 'h', nodeName: 'n', targetRef: reference };
const port: EndpointPort = { name: 'a', port: 80, protocol: 'TCP', appProtocol: 'x' };

function withAddress(change: Partial<EndpointAddress>): EndpointSubset[] {
  return [{ addresses: [{ ...address, ...change }] }];
}
function withPort(change: Partial<EndpointPort>): EndpointSubset[] {
  return [{ ports: [{ ...port, ...change }] }];
}
function withReference(change: object): EndpointSubset[] {
  return [{ notReadyAddresses: [{ ...address, targetRef: { ...reference, ...change } }] }];
}

const rows: [name: string, a: EndpointSubset[], b: EndpointSubset[], expected: boolean][] = [
  ['nothing', [], [], true],
  ['absent and empty lists', [{}], [{ addresses: [], notReadyAddresses: [], ports: [] }], true],
  ['a subset more', [{}], [], false],
  ['the same', withAddress({}), withAddress({}), true],
  ['another ready IP', withAddress({}), withAddress({ ip: '10.0.0.2' }), false],
  ['ready and not', [{ addresses: [address] }], [{ notReadyAddresses: [address] }], false],
  ['another not ready IP', [{ notReadyAddresses: [address] }], [{ notReadyAddresses: [{ ip: '9.9.9.9' }] }], false],
  ['an address more', [{ addresses: [address] }], [{ addresses: [address, address] }], false],
  ['another hostname', withAddress({}), withAddress({ hostname: 'i' }), false],
  ['an empty hostname is none', withAddress({ hostname: '' }), withAddress({ hostname: undefined }), true],
  ['another node', withAddress({}), withAddress({ nodeName: 'm' }), false],
  ['an empty node is not none', withAddress({ nodeName: '' }), withAddress({ nodeName: undefined }), false],
  ['a reference and none', withAddress({}), withAddress({ targetRef: undefined }), false],
  ['only the resourceVersion of the pod differs', withReference({}), withReference({ resourceVersion: '2' }), true],
  ['the resourceVersion of the pod went', withReference({}), withReference({ resourceVersion: undefined }), true],
  ['another uid', withReference({}), withReference({ uid: 'v' }), false],
  ['another pod', withReference({}), withReference({ name: 'q' }), false],
  ['another namespace', withReference({}), withReference({ namespace: 'other' }), false],
  ['another kind', withReference({}), withReference({ kind: 'Node' }), false],
  ['an API version', withReference({}), withReference({ apiVersion: 'v1' }), false],
  ['a field path', withReference({}), withReference({ fieldPath: 'spec' }), false],
  ['the same port', withPort({}), withPort({}), true],
  ['another port', withPort({}), withPort({ port: 81 }), false],
  ['another port name', withPort({}), withPort({ name: 'b' }), false],
  ['an empty port name is none', withPort({ name: '' }), withPort({ name: undefined }), true],
  ['another protocol', withPort({}), withPort({ protocol: 'UDP' }), false],
  ['another appProtocol', withPort({}), withPort({ appProtocol: 'y' }), false],
  ['an empty appProtocol is not none', withPort({ appProtocol: '' }), withPort({ appProtocol: undefined }), false],
  ['order counts', [{ ports: [port] }, {}], [{}, { ports: [port] }], false],
];
for (const [name, a, b, expected] of rows) {
  test(`${name}: the objects are ${expected ? 'equal' : 'not equal'}`, () => {
    assert.equal(subsetsEqual(a, b), expected);
    assert.equal(subsetsEqual(b, a), expected);
  });
}
