import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sliceFamilies } from '../../../src/core/slices/slice-families.ts';
import { makeService } from '../../support/records.ts';

function check(name: string, ipFamilies: readonly string[], clusterIP: string, expected: readonly string[]): void {
  test(`the families of a service: ${name}`, () =>
    assert.deepEqual(sliceFamilies(makeService({ ipFamilies, clusterIP })), expected));
}

check('IPv4', ['IPv4'], '10.0.0.1', ['IPv4']);
check('IPv6', ['IPv6'], 'fd00::1', ['IPv6']);
check('both', ['IPv4', 'IPv6'], '10.0.0.1', ['IPv4', 'IPv6']);
check('both, the other way round: IPv4 first all the same', ['IPv6', 'IPv4'], 'fd00::1', ['IPv4', 'IPv6']);
check('headless IPv6', ['IPv6'], 'None', ['IPv6']);
check('headless, both', ['IPv4', 'IPv6'], 'None', ['IPv4', 'IPv6']);
check('the families go before the cluster IP', ['IPv4'], 'fd00::1', ['IPv4']);
check('what is no family is none', ['IPv4', 'IPv9'], '10.0.0.1', ['IPv4']);
check('none: that of the cluster IP, IPv4', [], '10.0.0.1', ['IPv4']);
check('none: that of the cluster IP, IPv6', [], 'fd00::1', ['IPv6']);
check('none, headless: both', [], 'None', ['IPv4', 'IPv6']);
check('none, no cluster IP: both', [], '', ['IPv4', 'IPv6']);
