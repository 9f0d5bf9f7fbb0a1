import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveTargetPort, resolveTargetPorts, servicePortsEqual } from '../../src/core/target-port.ts';
import { makePod, makeServicePort } from '../support/records.ts';

const pod = makePod('p', {
  ports: [
    { name: 'http', containerPort: 8080, protocol: 'TCP' },
    { name: 'dns', containerPort: 53, protocol: 'TCP' },
    { name: 'dns', containerPort: 5353, protocol: 'UDP' },
    { name: 'http', containerPort: 9999, protocol: 'TCP' },
  ],
});

const cases: [name: string, targetPort: number | string, protocol: string, expected: number | null][] = [
  ['a number needs no container port', 1234, 'TCP', 1234],
  ['a name', 'http', 'TCP', 8080],
  ['the first of two ports with the name', 'http', 'TCP', 8080],
  ['the protocol must match too', 'dns', 'UDP', 5353],
  ['a name with another protocol only', 'http', 'UDP', null],
  ['a name that the pod has not', 'grpc', 'TCP', null],
  ['protocols are compared as they are, without defaults', 'http', '', null],
];
for (const [name, targetPort, protocol, expected] of cases) {
  test(name, () => {
    const servicePort = makeServicePort({ targetPort, protocol });
    assert.equal(resolveTargetPort(servicePort, pod), expected);
    assert.deepEqual(resolveTargetPorts([servicePort], pod), [expected]);
  });
}

test('thousands of ports are resolved in one pass, the same way', () => {
  const ports = Array.from({ length: 3000 }, (_, i) => ({
    name: `p${i % 2000}`,
    containerPort: i + 1,
    protocol: i % 2 === 0 ? 'TCP' : 'UDP',
  }));
  const many = makePod('many', { ports });
  const servicePorts = ports.map(({ name }, i) => makeServicePort({ name, targetPort: i % 5 === 0 ? i : name }));
  const some = servicePorts.slice(0, 300);
  assert.deepEqual(
    resolveTargetPorts(servicePorts, many).slice(0, 300),
    some.map((port) => resolveTargetPort(port, many)),
  );
});

const changes: [name: string, change: Parameters<typeof makeServicePort>[0], equal: boolean][] = [
  ['the port of the service itself', { port: 81 }, true],
  ['its name', { name: 'web' }, false],
  ['its protocol', { protocol: 'UDP' }, false],
  ['the target port', { targetPort: 9090 }, false],
  ['an appProtocol', { appProtocol: 'h2c' }, false],
  ['an empty appProtocol', { appProtocol: '' }, false],
];
for (const [name, change, equal] of changes) {
  test(`${name} ${equal ? 'changes nothing for' : 'is another list of ports on'} the pods`, () => {
    assert.equal(servicePortsEqual([makeServicePort()], [makeServicePort(change)]), equal);
    // One of two, whichever.
    const other = makeServicePort({ name: 'other' });
    assert.equal(servicePortsEqual([makeServicePort(), other], [makeServicePort(change), other]), equal);
    assert.equal(servicePortsEqual([other, makeServicePort()], [other, makeServicePort(change)]), equal);
  });
}

test('one more port makes another list, and a copy does not', () => {
  assert.equal(servicePortsEqual([makeServicePort()], [makeServicePort(), makeServicePort({ name: 'b' })]), false);
  assert.equal(servicePortsEqual([makeServicePort()], [makeServicePort()]), true);
});
