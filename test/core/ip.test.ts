import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { forbiddenAddress, parseIp } from '../../src/core/ip.ts';
import { propertyRuns } from '../support/runs.ts';

const canonical: [text: string, family: string, canonical: string][] = [
  ['10.0.0.1', 'IPv4', '10.0.0.1'],
  ['255.255.255.255', 'IPv4', '255.255.255.255'],
  ['010.000.0.001', 'IPv4', '10.0.0.1'],
  ['0000001.2.3.4', 'IPv4', '1.2.3.4'],
  ['::ffff:1.2.3.4', 'IPv4', '1.2.3.4'],
  ['::FFFF:0102:0304', 'IPv4', '1.2.3.4'],
  ['0:0:0:0:0:ffff:192.168.0.1', 'IPv4', '192.168.0.1'],
  ['::', 'IPv6', '::'],
  ['::1', 'IPv6', '::1'],
  ['1::', 'IPv6', '1::'],
  ['2001:DB8::0001', 'IPv6', '2001:db8::1'],
  ['2001:0db8:0:0:0:0:0:0001', 'IPv6', '2001:db8::1'],
  ['fd00:0:1:0:0:1:0:0', 'IPv6', 'fd00:0:1::1:0:0'],
  ['1:0:2:3:4:5:6:7', 'IPv6', '1:0:2:3:4:5:6:7'],
  ['1:0:0:2:0:0:0:3', 'IPv6', '1:0:0:2::3'],
  ['::1.2.3.4', 'IPv6', '::102:304'],
  ['64:ff9b::1.2.3.4', 'IPv6', '64:ff9b::102:304'],
  ['1:2:3:4:5:6:7::', 'IPv6', '1:2:3:4:5:6:7:0'],
  ['::2:3:4:5:6:7:8', 'IPv6', '0:2:3:4:5:6:7:8'],
  ['00001::000002', 'IPv6', '1::2'],
];
for (const [text, family, expected] of canonical) {
  test(`${text} is ${family} ${expected}`, () => assert.deepEqual(parseIp(text), { family, canonical: expected }));
}

for (const text of [
  '',
  'web',
  '<nil>',
  '1.2.3',
  '1.2.3.4.5',
  '1.2.3.256',
  '1.2.3.',
  '.1.2.3',
  '1..2.3',
  '1.2.3.4 ',
  '1.2.3.0x4',
  '-1.2.3.4',
  '10.0.0.1/24',
  ':',
  ':::',
  ':1',
  '1:',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7::8',
  '12345::',
  'g::1',
  'fe80::1%eth0',
  '[::1]',
  '::1.2.3',
  '1.2.3.4::',
  '1:2:3:4:5:6:7:1.2.3.4',
  '1::2:3:4:5:6:7:1.2.3.4',
]) {
  test(`"${text}" is no address`, () => assert.equal(parseIp(text), null));
}

const forbidden: [string, string | null][] = [
  ['0.0.0.0', 'unspecified'],
  ['127.0.0.1', 'loopback'],
  ['127.200.3.4', 'loopback'],
  ['169.254.1.2', 'link-local'],
  ['224.0.0.251', 'link-local multicast'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['ff02::fb', 'link-local multicast'],
  ['10.0.0.0', null],
  ['12.7.0.1', null],
  ['169.25.4.1', null],
  ['224.0.1.1', null],
  ['::2', null],
  ['fe7f::1', null],
  ['fec0::1', null],
  ['ff05::2', null],
  ['ff2::1', null],
];
for (const [text, fault] of forbidden) {
  test(`${text} is ${fault ?? 'allowed'} for endpoints`, () => assert.equal(forbiddenAddress(parseIp(text)!), fault));
}

test('every IPv6 address is printed as the URL standard prints it', () => {
  const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(groups, (parts) => {
      const text = parts.map((part) => part.toString(16)).join(':');
      const parsed = parseIp(text)!;
      if (parsed.family === 'IPv6') assert.equal(`[${parsed.canonical}]`, new URL(`http://[${text}]`).hostname);
      assert.deepEqual(parseIp(parsed.canonical), parsed);
    }),
    propertyRuns(500, 6),
  );
});

test('an address is what Node takes for one, with few exceptions', () => {
  const char = fc.constantFrom(...'0123456789afF.:::'.split(''));
  fc.assert(
    fc.property(fc.string({ unit: char, maxLength: 20 }), (text) => {
      const parsed = parseIp(text);
      if (isIP(text) !== 0) assert.notEqual(parsed, null);
      if (parsed !== null) assert.notEqual(isIP(parsed.canonical), 0);
    }),
    propertyRuns(2000, 7),
  );
});
