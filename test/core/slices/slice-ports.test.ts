import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedSlicePorts, NO_SLICE_PORTS, podSlicePorts } from '../../../src/core/slices/slice-ports.ts';
import type { ContainerPort, ServicePort, SlicePort } from '../../../src/kube/types.ts';
import { makePod, makeService, makeServicePort } from '../../support/records.ts';

function check(
  name: string,
  servicePorts: readonly Partial<ServicePort>[],
  podPorts: readonly ContainerPort[],
  expected: readonly SlicePort[],
): void {
  test(`the ports of a pod in slices: ${name}`, () => {
    const service = makeService({ ports: servicePorts.map((port) => makeServicePort(port)) });
    assert.deepEqual(podSlicePorts(service, makePod('p', { ports: podPorts })).ports, expected);
  });
}

const http: ContainerPort = { name: 'http', containerPort: 8080, protocol: 'TCP' };

check(
  'a number, whatever the pod offers',
  [{ name: 'a', targetPort: 80 }],
  [],
  [{ name: 'a', protocol: 'TCP', port: 80 }],
);
check('a name', [{ name: 'a', targetPort: 'http' }], [http], [{ name: 'a', protocol: 'TCP', port: 8080 }]);
check('the name is always written', [{ targetPort: 80 }], [], [{ name: '', protocol: 'TCP', port: 80 }]);
check('a name that the pod does not offer', [{ targetPort: 'grpc' }], [http], []);
check('a name of another protocol', [{ targetPort: 'http', protocol: 'UDP' }], [http], []);
check(
  'appProtocol',
  [{ targetPort: 80, appProtocol: 'h2c' }],
  [],
  [{ name: '', protocol: 'TCP', port: 80, appProtocol: 'h2c' }],
);
check(
  'an empty appProtocol is one',
  [{ targetPort: 80, appProtocol: '' }],
  [],
  [{ name: '', protocol: 'TCP', port: 80, appProtocol: '' }],
);
check('no ports, as of a headless service', [], [http], []);
check(
  'some of them, in the order of names',
  [
    { name: 'b', targetPort: 'http' },
    { name: 'c', targetPort: 'none' },
    { name: 'a', targetPort: 1 },
  ],
  [http],
  [
    { name: 'a', protocol: 'TCP', port: 1 },
    { name: 'b', protocol: 'TCP', port: 8080 },
  ],
);

test('without named target ports all pods have the same ports', () => {
  const service = makeService();
  assert.deepEqual(fixedSlicePorts(service), podSlicePorts(service, makePod('p')));
  assert.equal(fixedSlicePorts(makeService({ ports: [makeServicePort({ targetPort: 'http' })] })), null);
  assert.deepEqual(fixedSlicePorts(makeService({ ports: [] })), NO_SLICE_PORTS);
});
