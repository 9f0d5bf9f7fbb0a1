import assert from 'node:assert/strict';
import { isIP, isIPv4 } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatIp, parseIp } from '../../../src/apiserver/rules/ip.ts';
import { propertyRuns } from '../../support/runs.ts';

const SEED = 20_261_121;

test('addresses read as the platform reads them, and leading zeros are allowed', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[0-9a-f:.]{1,20}$/)), (text) => {
      const ip = parseIp(text);
      if (ip === null) assert.equal(isIP(text), 0);
      else if (!ip.leadingZeros) assert.notEqual(isIP(text), 0);
    }),
    propertyRuns(2000, SEED),
  );
});

test('a canonical address reads back as the same address', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const ip = parseIp(text)!;
      const canonical = formatIp(ip.bytes);
      assert.deepEqual(parseIp(canonical)!.bytes, ip.bytes);
      if (isIPv4(text) || ip.mapped) assert.equal(ip.family, 'IPv4');
      else assert.equal(new URL(`http://[${canonical}]`).hostname, `[${canonical}]`);
    }),
    propertyRuns(1000, SEED),
  );
});

test('an IPv4 address in IPv6 is IPv4', () => {
  assert.deepEqual(parseIp('::ffff:1.2.3.4'), {
    family: 'IPv4',
    bytes: [1, 2, 3, 4],
    leadingZeros: false,
    mapped: true,
  });
});
