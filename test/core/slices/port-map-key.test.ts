import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portMapKey, slicePortsInOrder } from '../../../src/core/slices/port-map-key.ts';
import type { SlicePort } from '../../../src/kube/types.ts';

const http: SlicePort = { name: 'http', protocol: 'TCP', port: 80 };
const dns: SlicePort = { name: 'dns', protocol: 'UDP', port: 53 };

function check(
  name: string,
  a: readonly SlicePort[] | null | undefined,
  b: readonly SlicePort[],
  equal: boolean,
): void {
  test(`the key of the ports: ${name}`, () => assert.equal(portMapKey(a) === portMapKey(b), equal));
}

check('no list is an empty one', undefined, [], true);
check('null is an empty list', null, [], true);
check('the order does not matter', [http, dns], [dns, http], true);
check(
  'an absent name is an empty one',
  [{ protocol: 'TCP', port: 80 }],
  [{ name: '', protocol: 'TCP', port: 80 }],
  true,
);
check('the default protocol is TCP', [{ name: 'http', port: 80 }], [http], true);
check('a port without anything is not no port', [{}], [], false);
check('another name', [http], [{ ...http, name: 'web' }], false);
check('another protocol', [http], [{ ...http, protocol: 'UDP' }], false);
check('another number', [http], [{ ...http, port: 81 }], false);
check('a number and none', [http], [{ name: 'http', protocol: 'TCP' }], false);
check('an appProtocol and none', [http], [{ ...http, appProtocol: 'h2c' }], false);
check('an empty appProtocol and none', [http], [{ ...http, appProtocol: '' }], false);
check('one port more', [http], [http, dns], false);

test('the key sorts ports by name, protocol and number', () => {
  const ports = [
    { name: 'b', protocol: 'TCP', port: 1 },
    { name: 'a', protocol: 'UDP', port: 1 },
    { name: 'a', protocol: 'TCP', port: 20 },
    { protocol: 'UDP', port: 1 },
    { name: 'a', protocol: 'TCP', port: 3 },
  ];
  assert.deepEqual(
    slicePortsInOrder(ports).map((port) => `${port.name ?? ''}/${port.protocol}/${port.port}`),
    ['/UDP/1', 'a/TCP/3', 'a/TCP/20', 'a/UDP/1', 'b/TCP/1'],
  );
});
