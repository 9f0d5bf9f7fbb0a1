/**
 * The stories of docs/spec/endpointslice.md "Mirroring", "Mirroring: golden vectors", and of upstream's tests of its
 * reconciler.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MirrorConfig, MirrorFacts } from '../../../src/core/mirroring/plan.ts';
import type { EndpointSlice, EndpointSubset, ObjectMeta } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import {
  applySliceWrite,
  mirroredEndpoints,
  mirrorSlice,
  planMirrorWith,
  sliceWriteText,
} from '../../support/mirror-text.ts';

interface Case {
  readonly subsets: readonly string[];
  readonly endpoints?: ObjectMeta;
  readonly stored?: readonly (string | EndpointSlice)[];
  readonly config?: Partial<MirrorConfig>;
  readonly writes: readonly string[];
  readonly facts?: Partial<MirrorFacts>;
  /** `kind field: message` */
  readonly problems?: readonly string[];
}

function check(
  name: string,
  { subsets, endpoints = {}, stored = [], config = {}, writes, facts, problems }: Case,
): void {
  test(name, () => {
    const input = deepFreeze({
      endpoints: mirroredEndpoints(subsets, endpoints),
      stored: stored.map((slice) => (typeof slice === 'string' ? mirrorSlice(slice) : slice)),
      config: { endpointsPerSubsetMax: 1000, all: false, ...config },
    });
    const plan = planMirrorWith(input);
    assert.deepEqual(plan.writes.map(sliceWriteText), writes);
    if (facts !== undefined) assert.deepEqual({ ...plan.facts, ...facts }, plan.facts);
    assert.deepEqual(
      plan.problems.map((problem) => {
        assert.equal(problem.object, 'endpoints ns/web');
        return `${problem.kind} ${problem.field}: ${problem.message}`;
      }),
      problems ?? [],
    );
    const after = plan.writes.reduce<readonly EndpointSlice[]>(applySliceWrite, input.stored);
    assert.deepEqual(planMirrorWith({ ...input, stored: after }).writes, []);
  });
}

const numbered = (count: number, mark = ''): string =>
  Array.from({ length: count }, (_, i) => `${mark}10.0.${i >> 8}.${i & 255}`).join(' ');

const WEB = 'http:80/TCP https:443/UDP';
const APP = 'http:3000/TCP https:3001/UDP';
const NONE: Partial<MirrorFacts> = {
  endpoints: 0,
  slices: 0,
  slicesDesired: 0,
  added: 0,
  updated: 0,
  removed: 0,
  skipped: 0,
};

check('no subsets: no slices', { subsets: [], writes: [], facts: NONE });
check('a subset without addresses: no slices', { subsets: ['-> http:80/TCP'], writes: [], facts: NONE });
check('slices go with the last address', {
  subsets: ['-> http:80/TCP'],
  stored: ['a IPv4 10.0.0.1 -> http:80/TCP'],
  writes: ['2 delete a'],
  facts: { ...NONE },
});
check('one subset, port and address', {
  subsets: ['10.0.0.1#pod-1 -> http:80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1#pod-1 -> http:80/TCP'],
  facts: { endpoints: 1, slices: 1, slicesDesired: 1, added: 1, updated: 0, removed: 0, skipped: 0 },
});
check('Endpoints that are being deleted get no new slices', {
  subsets: ['10.0.0.1 -> http:80/TCP'],
  endpoints: { deletionTimestamp: '2026-01-01T00:00:00Z' },
  writes: [],
  facts: { slices: 0 },
});
check('Endpoints that are being deleted have their slices updated and recycled', {
  subsets: ['10.0.0.1 10.0.0.2 -> http:80/TCP', '10.0.0.3 -> 90/TCP'],
  endpoints: { deletionTimestamp: '2026-01-01T00:00:00Z' },
  stored: ['a IPv4 10.0.0.1 -> http:80/TCP', 'b IPv4 10.0.0.3 -> 91/TCP'],
  writes: ['1 update a IPv4 10.0.0.1 10.0.0.2 -> http:80/TCP', '1 update b IPv4 10.0.0.3 -> 90/TCP'],
  facts: { slices: 2 },
});
check('two ports and two addresses are one slice', {
  subsets: [`10.0.0.1 10.0.0.2 -> ${WEB}`],
  writes: [`1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> ${WEB}`],
  facts: { endpoints: 2, slices: 1, slicesDesired: 1, added: 2 },
});
check('ready and not ready', {
  subsets: [`10.0.0.2 !10.0.0.1 -> ${WEB}`],
  writes: [`1 create web-new01 IPv4 10.0.0.2 !10.0.0.1 -> ${WEB}`],
});
check('an address without ports', { subsets: ['10.0.0.1 ->'], writes: ['1 create web-new01 IPv4 10.0.0.1 ->'] });

check('two subsets, another port, the same address: one slice with both ports', {
  subsets: ['10.0.0.1 -> a:80/TCP', '10.0.0.1 -> b:90/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> a:80/TCP b:90/TCP'],
});
check('two subsets, the same port, another address: one slice with two endpoints', {
  subsets: ['10.0.0.1 -> a:80/TCP', '10.0.0.2 -> a:80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> a:80/TCP'],
});
check('two subsets, another port and another address: two slices', {
  subsets: [`10.0.0.1 10.0.0.2 -> ${WEB}`, `10.0.1.1 10.0.1.2 10.0.1.3 -> ${APP}`],
  writes: [
    `1 create web-new01 IPv4 10.0.1.1 10.0.1.2 10.0.1.3 -> ${APP}`,
    `1 create web-new02 IPv4 10.0.0.1 10.0.0.2 -> ${WEB}`,
  ],
  facts: { endpoints: 5, slices: 2, slicesDesired: 2, added: 5 },
});
check('an address that is ready and not ready for the same port is not ready', {
  subsets: ['10.0.0.1 -> 80/TCP', '!10.0.0.1 -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 !10.0.0.1 -> 80/TCP'],
});

check('ports that differ only in what the server fills in are one slice', {
  subsets: ['10.0.0.1 -> 80/', '10.0.0.2 -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> 80/TCP'],
});

check('an empty slice is filled', {
  subsets: [`10.0.0.1 10.0.0.2 -> ${WEB}`, `10.0.1.1 -> ${APP}`],
  stored: [`a IPv4 -> ${WEB}`],
  writes: [`1 create web-new01 IPv4 10.0.1.1 -> ${APP}`, `1 update a IPv4 10.0.0.1 10.0.0.2 -> ${WEB}`],
  facts: { endpoints: 3, slices: 2, slicesDesired: 2, added: 3, updated: 0, removed: 0 },
});
check('a slice with some of the addresses is completed', {
  subsets: [`10.0.0.1#pod-1 10.0.0.2#pod-2 -> ${WEB}`, `10.0.1.1 10.0.1.2 10.0.1.3 -> ${APP}`],
  stored: [`a IPv4 !10.0.0.2#pod-2 10.0.0.3#pod-1 -> ${WEB}`],
  writes: [
    `1 create web-new01 IPv4 10.0.1.1 10.0.1.2 10.0.1.3 -> ${APP}`,
    `1 update a IPv4 10.0.0.2#pod-2 10.0.0.1#pod-1 -> ${WEB}`,
  ],
  facts: { endpoints: 5, slices: 2, slicesDesired: 2, added: 4, updated: 1, removed: 1 },
});
check('a slice that is right is left alone', {
  subsets: [`10.0.0.1#pod-1 10.0.0.2@u -> ${WEB}`, `10.0.1.1 -> ${APP}`],
  stored: [`a IPv4 10.0.0.2@u 10.0.0.1#pod-1 -> https:443/UDP http:80/TCP`],
  writes: [`1 create web-new01 IPv4 10.0.1.1 -> ${APP}`],
  facts: { endpoints: 3, slices: 2, added: 1, updated: 0, removed: 0 },
});
check('an address comes, another goes, another becomes ready', {
  subsets: ['10.0.0.1 10.0.0.2 10.0.0.4 -> 80/TCP'],
  stored: ['a IPv4 10.0.0.2 10.0.0.3 !10.0.0.1 -> 80/TCP'],
  writes: ['1 update a IPv4 10.0.0.2 10.0.0.1 10.0.0.4 -> 80/TCP'],
  facts: { added: 1, updated: 1, removed: 1 },
});

check('IPv4 and IPv6 addresses of one subset are two slices', {
  subsets: ['10.0.0.1 fd00::1 -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> 80/TCP', '1 create web-new02 IPv6 fd00::1 -> 80/TCP'],
  facts: { endpoints: 2, slices: 2, slicesDesired: 2, added: 2 },
});
check('two subsets of both families', {
  subsets: [`10.0.0.2 2001:db8::7 -> ${WEB}`, `10.0.1.1 10.0.1.2 2001:db8::8 -> ${APP}`],
  writes: [
    `1 create web-new01 IPv4 10.0.1.1 10.0.1.2 -> ${APP}`,
    `1 create web-new02 IPv4 10.0.0.2 -> ${WEB}`,
    `1 create web-new03 IPv6 2001:db8::8 -> ${APP}`,
    `1 create web-new04 IPv6 2001:db8::7 -> ${WEB}`,
  ],
  facts: { endpoints: 5, slices: 4, slicesDesired: 4, added: 5 },
});
check('IPv6 alone', {
  subsets: [`2001:db8::1 -> ${WEB}`, `2001:db8::2 -> ${APP}`],
  writes: [`1 create web-new01 IPv6 2001:db8::2 -> ${APP}`, `1 create web-new02 IPv6 2001:db8::1 -> ${WEB}`],
});
check('the slice of a family goes with its last address', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  stored: ['a IPv4 10.0.0.1 -> 80/TCP', 'b IPv6 fd00::1 fd00::2 -> 80/TCP', 'c IPv6 fd00::3 -> 80/TCP'],
  writes: ['2 delete b', '2 delete c'],
  facts: { endpoints: 1, slices: 1, slicesDesired: 1, added: 0, removed: 3 },
});
check('addresses are written canonically; IPv4 inside IPv6 is IPv4', {
  subsets: ['010.0.0.01 ::ffff:10.0.0.2 FD00:0::1 -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> 80/TCP', '1 create web-new02 IPv6 fd00::1 -> 80/TCP'],
});
check('one address in two spellings is one endpoint, and not ready wins', {
  subsets: ['10.0.0.1 !010.0.0.1 -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 !10.0.0.1 -> 80/TCP'],
  facts: { endpoints: 1, added: 1, skipped: 0 },
});

check('some invalid addresses are left out', {
  subsets: [`2001:db8::1 this-is-not-an-ip -> ${WEB}`, `this-is-also-not-an-ip 2001:db8::2 2001:db8::3 -> ${APP}`],
  writes: [
    `1 create web-new01 IPv6 2001:db8::2 2001:db8::3 -> ${APP}`,
    `1 create web-new02 IPv6 2001:db8::1 -> ${WEB}`,
  ],
  facts: { endpoints: 3, slices: 2, slicesDesired: 2, added: 3, skipped: 2 },
  problems: [
    'mirror-bad-address subsets[0].addresses[1].ip, subsets[1].addresses[0].ip: Skipped 2 invalid IP addresses when mirroring to EndpointSlices',
  ],
});
check('invalid addresses alone: nothing is written', {
  subsets: [`bad1 !bad2 -> ${WEB}`, `bad3 bad4 bad5 -> ${APP}`],
  writes: [],
  facts: { ...NONE, skipped: 5 },
  problems: [
    'mirror-bad-address subsets[0].addresses[0].ip, subsets[0].notReadyAddresses[0].ip, subsets[1].addresses[0].ip, ...: Skipped 5 invalid IP addresses when mirroring to EndpointSlices',
  ],
});
check('an address that the API server would refuse in a slice does not spoil the others', {
  subsets: ['10.0.0.1 127.0.0.1 169.254.1.1 224.0.0.1 0.0.0.0 ::1 fe80::1 -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> 80/TCP'],
  facts: { endpoints: 1, skipped: 6 },
  problems: [
    'mirror-bad-address subsets[0].addresses[1].ip, subsets[0].addresses[2].ip, subsets[0].addresses[3].ip, ...: Skipped 6 invalid IP addresses when mirroring to EndpointSlices',
  ],
});

check('1,000 addresses are one slice', {
  subsets: [`${numbered(1000)} -> 80/TCP`],
  writes: [`1 create web-new01 IPv4 ${numbered(1000).split(' ').sort().join(' ')} -> 80/TCP`],
  facts: { endpoints: 1000, slices: 1, slicesDesired: 1, skipped: 0 },
});
check('of 1,001 addresses 1,000 are mirrored, and there is one event', {
  subsets: [`${numbered(1001)} -> 80/TCP`],
  writes: [`1 create web-new01 IPv4 ${numbered(1001).split(' ').sort().slice(0, 1000).join(' ')} -> 80/TCP`],
  facts: { endpoints: 1000, slices: 1, slicesDesired: 1, skipped: 1 },
  problems: [
    'mirror-truncated subsets[0]: A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ],
});
check('the limit is for each subset', {
  subsets: [`10.0.0.1 10.0.0.2 -> ${WEB}`, `10.0.1.1 10.0.1.2 10.0.1.3 -> ${APP}`],
  config: { endpointsPerSubsetMax: 2 },
  writes: [
    `1 create web-new01 IPv4 10.0.1.1 10.0.1.2 -> ${APP}`,
    `1 create web-new02 IPv4 10.0.0.1 10.0.0.2 -> ${WEB}`,
  ],
  facts: { endpoints: 4, slices: 2, slicesDesired: 2, added: 4, skipped: 1 },
  problems: [
    'mirror-truncated subsets[1]: A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ],
});
check('the limit is for what subsets of the same port are together', {
  subsets: ['10.0.0.1 10.0.0.2 -> 80/TCP', '10.0.0.9 -> 90/TCP', '10.0.0.3 -> 80/TCP'],
  config: { endpointsPerSubsetMax: 2 },
  writes: ['1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> 80/TCP', '1 create web-new02 IPv4 10.0.0.9 -> 90/TCP'],
  facts: { skipped: 1 },
  problems: [
    'mirror-truncated subsets[0], subsets[2]: A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ],
});
check('both families share the limit, ready addresses first', {
  subsets: ['!10.0.0.1 10.0.0.2 fd00::1 -> 80/TCP'],
  config: { endpointsPerSubsetMax: 2 },
  writes: ['1 create web-new01 IPv4 10.0.0.2 -> 80/TCP', '1 create web-new02 IPv6 fd00::1 -> 80/TCP'],
  facts: { endpoints: 2, slices: 2, slicesDesired: 2, skipped: 1 },
  problems: [
    'mirror-truncated subsets[0]: A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ],
});
check('an invalid address takes no place, and the number skipped is of both kinds', {
  subsets: ['10.0.0.1 10.0.0.1x 10.0.0.2 10.0.0.3 -> 80/TCP'],
  config: { endpointsPerSubsetMax: 2 },
  writes: ['1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> 80/TCP'],
  facts: { skipped: 2 },
  problems: [
    'mirror-bad-address subsets[0].addresses[1].ip: Skipped 1 invalid IP addresses when mirroring to EndpointSlices',
    'mirror-truncated subsets[0]: A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were skipped',
  ],
});
check('an invalid address beyond the limit is not looked at', {
  subsets: ['10.0.0.1 10.0.0.2 bad -> 80/TCP'],
  config: { endpointsPerSubsetMax: 2 },
  writes: ['1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> 80/TCP'],
  facts: { skipped: 1 },
  problems: [
    'mirror-truncated subsets[0]: A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ],
});

check('a slice of other Endpoints of that name is written once', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  endpoints: { uid: 'uid-again' },
  stored: ['a IPv4 10.0.0.1 -> 80/TCP'],
  writes: ['1 update a IPv4 10.0.0.1 -> 80/TCP'],
  facts: { slices: 1, added: 0, updated: 0, removed: 0 },
});
check('a slice with an annotation more is written once', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  stored: [mirrorSlice('a IPv4 10.0.0.1 -> 80/TCP', { annotations: { foo: 'bar' } })],
  writes: ['1 update a IPv4 10.0.0.1 -> 80/TCP'],
});
check('a label more on the Endpoints: one update', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  endpoints: { labels: { foo: 'bar' } },
  stored: ['a IPv4 10.0.0.1 -> 80/TCP'],
  writes: ['1 update a IPv4 10.0.0.1 -> 80/TCP'],
});
check('Endpoints that carry a reserved label cause no write at every sync', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  endpoints: { labels: { 'endpointslice.kubernetes.io/managed-by': 'me', 'kubernetes.io/service-name': 'you' } },
  stored: ['a IPv4 10.0.0.1 -> 80/TCP'],
  writes: [],
});
check('a trigger time on the Endpoints causes no write', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  endpoints: { annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' } },
  stored: ['a IPv4 10.0.0.1 -> 80/TCP'],
  writes: [],
});
check('null lists are empty lists', {
  subsets: ['10.0.0.1 ->'],
  stored: [{ ...mirrorSlice('a IPv4 10.0.0.1 ->'), ports: null }],
  writes: [],
});
check('a slice with null for its endpoints is filled', {
  subsets: ['10.0.0.1 ->'],
  stored: [{ ...mirrorSlice('a IPv4 ->'), endpoints: null }],
  writes: ['1 update a IPv4 10.0.0.1 ->'],
});

check('two ports of one name for the same address are in two slices, as the server refuses them in one', {
  subsets: ['10.0.0.1 -> http:80/TCP', '10.0.0.1 -> http:8080/TCP https:443/TCP'],
  writes: [
    '1 create web-new01 IPv4 10.0.0.1 -> http:80/TCP https:443/TCP',
    '1 create web-new02 IPv4 10.0.0.1 -> http:8080/TCP',
  ],
  facts: { endpoints: 2, slices: 2, slicesDesired: 2 },
});
// Upstream keys ports by a struct in which appProtocol is a pointer.
check('a port with appProtocol that two subsets share is mirrored apart from their other ports', {
  subsets: ['10.0.0.1 10.0.0.2 -> u1:1/TCP u2:2/TCP u3:3/TCP=x', '10.0.0.3 -> u1:1/TCP u2:2/TCP u3:3/TCP=x'],
  writes: [
    '1 create web-new01 IPv4 10.0.0.1 10.0.0.2 10.0.0.3 -> u1:1/TCP u2:2/TCP',
    '1 create web-new02 IPv4 10.0.0.1 10.0.0.2 10.0.0.3 -> u3:3/TCP=x',
  ],
});
check('a port with appProtocol stays with the other ports of its subset, also if another subset has it alone', {
  subsets: ['10.0.0.1 -> u1:1/TCP u2:2/TCP u3:3/TCP=x', '10.0.0.2 -> u3:3/TCP=x'],
  writes: [
    '1 create web-new01 IPv4 10.0.0.1 -> u1:1/TCP u2:2/TCP u3:3/TCP=x',
    '1 create web-new02 IPv4 10.0.0.2 -> u3:3/TCP=x',
  ],
});
check('an empty appProtocol is one too', {
  subsets: ['10.0.0.1 -> u1:1/TCP u2:2/TCP=', '10.0.0.2 -> u2:2/TCP='],
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> u1:1/TCP u2:2/TCP=', '1 create web-new02 IPv4 10.0.0.2 -> u2:2/TCP='],
});
check('of an address that equal ports of two subsets list in two states the later subset by hash counts: ready', {
  subsets: ['10.0.0.1 10.0.0.2 -> u3:3/TCP=x', '!10.0.0.1 !10.0.0.3 -> u3:3/TCP=x'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 !10.0.0.3 10.0.0.2 -> u3:3/TCP=x'],
});
check('of an address that equal ports of two subsets list in two states the later subset by hash counts: not ready', {
  subsets: ['10.0.0.1 10.0.0.7 -> u3:3/TCP=x', '!10.0.0.1 !10.0.0.3 -> u3:3/TCP=x'],
  writes: ['1 create web-new01 IPv4 !10.0.0.1 10.0.0.7 !10.0.0.3 -> u3:3/TCP=x'],
});
check('the same port with appProtocol twice for the same address is one', {
  subsets: ['10.0.0.1 -> u1:1/TCP u3:3/TCP=x', '10.0.0.1 -> u1:1/TCP u3:3/TCP=x u3:3/TCP=x'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> u1:1/TCP u3:3/TCP=x'],
});
check('merged subsets of equal ports that are above the limit together have several slices', {
  subsets: ['10.0.0.1 10.0.0.2 -> u3:3/TCP=x', '10.0.0.3 -> u3:3/TCP=x'],
  stored: ['a IPv4 10.0.0.1 10.0.0.3 -> u3:3/TCP=x', 'b IPv4 10.0.0.2 -> u3:3/TCP=x'],
  config: { endpointsPerSubsetMax: 2 },
  writes: [],
  facts: { endpoints: 3, slices: 2, slicesDesired: 2, skipped: 0 },
});
check('only the subset above the limit is named, not one with an equal port', {
  subsets: ['10.0.0.3 -> u3:3/TCP=x', '10.0.0.1 10.0.0.2 -> u3:3/TCP=x'],
  config: { endpointsPerSubsetMax: 1 },
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> u3:3/TCP=x', '1 create web-new02 IPv4 10.0.0.3 -> u3:3/TCP=x'],
  problems: [
    'mirror-truncated subsets[1]: A max of 1 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ],
});

check('of several slices for the same ports one that is right is kept', {
  subsets: ['10.0.0.1 -> http:80/TCP'],
  stored: ['a IPv4 10.0.0.2 -> http:80/TCP', 'b IPv4 10.0.0.1 -> http:80/TCP', 'c IPv4 10.0.0.1 -> http:80/TCP'],
  writes: ['2 delete a', '2 delete c'],
  facts: { endpoints: 1, slices: 1, added: 0, updated: 0, removed: 0 },
});
check('of several slices for the same ports, all of them wrong, the first by name is kept', {
  subsets: ['10.0.0.1 10.0.0.2 -> 80/TCP'],
  stored: ['b IPv4 10.0.0.2 -> 80/TCP', 'a IPv4 10.0.0.1 -> 80/TCP'],
  writes: ['1 update a IPv4 10.0.0.1 10.0.0.2 -> 80/TCP', '2 delete b'],
  facts: { slices: 1, added: 1, removed: 0 },
});
check('a slice whose ports are wanted no more is deleted', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  stored: ['a IPv4 10.0.0.1 -> 80/TCP', 'b IPv4 10.0.0.1 -> 90/TCP'],
  writes: ['2 delete b'],
  facts: { slices: 1 },
});
check('slices are deleted in the order of their names', {
  subsets: [],
  stored: ['a IPv4 10.0.0.1 -> 80/TCP', 'b IPv4 10.0.0.1 -> 90/TCP', 'c IPv4 10.0.0.1 -> 80/TCP'],
  writes: ['2 delete a', '2 delete b', '2 delete c'],
});
check('other ports: the slice is recycled in one write', {
  subsets: ['10.0.0.1 -> 90/TCP'],
  stored: ['a IPv4 10.0.0.1 -> 80/TCP'],
  writes: ['1 update a IPv4 10.0.0.1 -> 90/TCP'],
  facts: { slices: 1 },
});
check('with creates of both families pending each recycles a slice of its own family', {
  subsets: ['10.0.0.1 fd00::1 -> 90/TCP'],
  stored: ['a IPv6 fd00::1 -> 80/TCP', 'b IPv4 10.0.0.1 -> 80/TCP'],
  writes: ['1 update b IPv4 10.0.0.1 -> 90/TCP', '1 update a IPv6 fd00::1 -> 90/TCP'],
});
check('recycled slices keep their addresses when two subsets change their ports', {
  subsets: ['10.0.0.1 -> 81/TCP', '10.0.0.2 -> 91/TCP'],
  stored: ['a IPv4 10.0.0.2 -> 90/TCP', 'b IPv4 10.0.0.1 -> 80/TCP'],
  writes: ['1 update b IPv4 10.0.0.1 -> 81/TCP', '1 update a IPv4 10.0.0.2 -> 91/TCP'],
});
check('a slice of an address type that is never wanted goes', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  stored: ['a IP 10.0.0.1 -> 80/TCP', 'b FQDN example.com -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> 80/TCP', '2 delete a', '2 delete b'],
});
check('a slice that is being deleted is absent, a finalizer cannot block the Endpoints', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  stored: [mirrorSlice('a IPv4 10.0.0.1 -> 80/TCP', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  writes: ['1 create web-new01 IPv4 10.0.0.1 -> 80/TCP'],
  facts: { slices: 1, added: 1 },
});
check('hints that somebody else put in are left alone until something is written', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  stored: [
    {
      ...mirrorSlice('a IPv4 -> 80/TCP'),
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true }, hints: { forZones: [{ name: 'a' }] } }],
    },
  ],
  writes: [],
});
check('conditions other than ready are taken back', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  stored: [
    {
      ...mirrorSlice('a IPv4 -> 80/TCP'),
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true, serving: true } }],
    },
  ],
  writes: ['1 update a IPv4 10.0.0.1 -> 80/TCP'],
  facts: { updated: 1 },
});

check('an address that moves to another port is there before it leaves', {
  subsets: ['10.0.0.1 -> 80/TCP', '10.0.0.2 10.0.0.3 -> 90/TCP'],
  stored: ['a IPv4 10.0.0.1 10.0.0.2 -> 80/TCP', 'b IPv4 10.0.0.3 -> 90/TCP'],
  writes: ['2 update a IPv4 10.0.0.1 -> 80/TCP', '1 update b IPv4 10.0.0.3 10.0.0.2 -> 90/TCP'],
});
check('an address that moves to a port of its own is there before it leaves', {
  subsets: ['10.0.0.1 -> 80/TCP', '10.0.0.2 -> 90/TCP'],
  stored: ['a IPv4 10.0.0.1 10.0.0.2 -> 80/TCP'],
  writes: ['1 create web-new01 IPv4 10.0.0.2 -> 90/TCP', '2 update a IPv4 10.0.0.1 -> 80/TCP'],
});

const ALL = { endpointsPerSubsetMax: 2, all: true };
check('all: what is above the limit goes into further slices', {
  subsets: ['10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 -> 80/TCP'],
  config: ALL,
  writes: [
    '1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> 80/TCP',
    '1 create web-new02 IPv4 10.0.0.3 10.0.0.4 -> 80/TCP',
    '1 create web-new03 IPv4 10.0.0.5 -> 80/TCP',
  ],
  facts: { endpoints: 5, slices: 3, slicesDesired: 3, added: 5, skipped: 0 },
});
check('all: nothing but invalid addresses is skipped', {
  subsets: ['10.0.0.1 10.0.0.2 10.0.0.3 bad -> 80/TCP'],
  config: ALL,
  writes: ['1 create web-new01 IPv4 10.0.0.1 10.0.0.2 -> 80/TCP', '1 create web-new02 IPv4 10.0.0.3 -> 80/TCP'],
  facts: { skipped: 1 },
  problems: [
    'mirror-bad-address subsets[0].addresses[3].ip: Skipped 1 invalid IP addresses when mirroring to EndpointSlices',
  ],
});
check('all: a change touches one slice', {
  subsets: ['10.0.0.1 10.0.0.2 !10.0.0.3 10.0.0.4 -> 80/TCP'],
  config: ALL,
  stored: ['a IPv4 10.0.0.1 10.0.0.4 -> 80/TCP', 'b IPv4 10.0.0.3 10.0.0.2 -> 80/TCP'],
  writes: ['1 update b IPv4 !10.0.0.3 10.0.0.2 -> 80/TCP'],
  facts: { slices: 2, slicesDesired: 2, added: 0, updated: 1, removed: 0 },
});
check('all: the first address to go moves nobody', {
  subsets: ['10.0.0.2 10.0.0.3 10.0.0.4 -> 80/TCP'],
  config: ALL,
  stored: ['a IPv4 10.0.0.1 10.0.0.2 -> 80/TCP', 'b IPv4 10.0.0.3 10.0.0.4 -> 80/TCP'],
  writes: ['1 update a IPv4 10.0.0.2 -> 80/TCP'],
  facts: { removed: 1 },
});
check('all: an empty slice goes, the others stay', {
  subsets: ['10.0.0.1 -> 80/TCP'],
  config: ALL,
  stored: ['a IPv4 10.0.0.1 -> 80/TCP', 'b IPv4 10.0.0.2 -> 80/TCP'],
  writes: ['2 delete b'],
  facts: { slices: 1, removed: 1 },
});
check('all switched off: the first slice is kept up to the limit, the others go', {
  subsets: ['10.0.0.1 10.0.0.2 10.0.0.3 -> 80/TCP'],
  config: { endpointsPerSubsetMax: 2 },
  stored: ['a IPv4 10.0.0.1 10.0.0.3 -> 80/TCP', 'b IPv4 10.0.0.2 -> 80/TCP'],
  writes: ['1 update a IPv4 10.0.0.1 10.0.0.2 -> 80/TCP', '2 delete b'],
  problems: [
    'mirror-truncated subsets[0]: A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ],
});

test('a new slice is whole', () => {
  const targetRef = { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u', apiVersion: 'v1', resourceVersion: '3' };
  const subsets: EndpointSubset[] = [
    {
      addresses: [
        { ip: '10.0.0.1', hostname: 'h', nodeName: 'n', targetRef },
        { ip: '10.0.0.2', hostname: '', nodeName: '' },
      ],
      ports: [
        { name: 'web', port: 80, protocol: 'TCP', appProtocol: 'http' },
        { port: 53, protocol: 'UDP' },
      ],
    },
  ];
  const { writes } = planMirrorWith({ endpoints: deepFreeze({ ...mirroredEndpoints([]), subsets }) });
  assert.deepEqual(writes, [
    {
      verb: 'create',
      name: 'web-new01',
      uid: '',
      resourceVersion: '',
      phase: 1,
      waits: false,
      family: 'IPv4',
      object: {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: 'web-new01',
          generateName: 'web-',
          namespace: 'ns',
          labels: {
            'kubernetes.io/service-name': 'web',
            'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
          },
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'Endpoints',
              name: 'web',
              uid: 'uid-web',
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
        addressType: 'IPv4',
        endpoints: [
          { addresses: ['10.0.0.1'], conditions: { ready: true }, hostname: 'h', nodeName: 'n', targetRef },
          { addresses: ['10.0.0.2'], conditions: { ready: true } },
        ],
        ports: [
          { name: '', protocol: 'UDP', port: 53 },
          { name: 'web', protocol: 'TCP', port: 80, appProtocol: 'http' },
        ],
      },
    },
  ]);
});

test('updates and deletes carry uid and resourceVersion, and keep finalizers', () => {
  const { writes } = planMirrorWith({
    endpoints: mirroredEndpoints(['10.0.0.1 -> 80/TCP', '10.0.0.9 -> 90/TCP']),
    stored: deepFreeze([
      mirrorSlice('a IPv4 10.0.0.2 -> 80/TCP', { resourceVersion: '7', finalizers: ['example.com/f'] }),
      mirrorSlice('b IPv4 10.0.0.9 -> 91/TCP', { generateName: 'web-' }),
      mirrorSlice('c IPv4 10.0.0.9 -> 92/TCP'),
    ]),
  });
  assert.deepEqual(
    writes.map(({ verb, name, uid, resourceVersion, object }) => ({
      write: `${verb} ${name} ${uid} ${resourceVersion}`,
      inside:
        object === null ? '-' : `${object.metadata.name} ${object.metadata.uid} ${object.metadata.resourceVersion}`,
      finalizers: object?.metadata.finalizers,
      generateName: object?.metadata.generateName,
    })),
    [
      { write: 'update a uid-a 7', inside: 'a uid-a 7', finalizers: ['example.com/f'], generateName: undefined },
      { write: 'update b uid-b 5', inside: 'b uid-b 5', finalizers: undefined, generateName: 'web-' },
      { write: 'delete c uid-c 5', inside: '-', finalizers: undefined, generateName: undefined },
    ],
  );
});

test('the name of a slice that is being deleted is not drawn again', () => {
  const suffixes = ['one', 'one', 'two'].values();
  const { writes } = planMirrorWith({
    endpoints: mirroredEndpoints(['10.0.0.1 -> 80/TCP']),
    stored: [mirrorSlice('web-one IPv4 10.0.0.1 -> 80/TCP', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    suffix: () => suffixes.next().value!,
  });
  assert.deepEqual(writes.map(sliceWriteText), ['1 create web-two IPv4 10.0.0.1 -> 80/TCP']);
});

test('two new slices have different names', () => {
  const suffixes = ['one', 'one', 'two'].values();
  const { writes } = planMirrorWith({
    endpoints: mirroredEndpoints(['10.0.0.1 fd00::1 -> 80/TCP']),
    suffix: () => suffixes.next().value!,
  });
  assert.deepEqual(
    writes.map(({ name }) => name),
    ['web-one', 'web-two'],
  );
});

test('a maximum below one is refused', () => {
  const endpoints = mirroredEndpoints(['10.0.0.1 -> 80/TCP']);
  assert.throws(
    () => planMirrorWith({ endpoints, config: { endpointsPerSubsetMax: 0, all: true } }),
    /assertion failed/,
  );
});

test('endpoints have the zones of their nodes if that is asked for (D26)', () => {
  const zones = new Map([['node-1', 'zone-a']]);
  const endpoints = mirroredEndpoints([]);
  endpoints.subsets = [
    {
      addresses: [
        { ip: '10.0.0.1', nodeName: 'node-1' },
        { ip: '10.0.0.2', nodeName: 'node-2' },
        { ip: 'fd00::3', nodeName: 'node-1' },
        { ip: '10.0.0.4' },
      ],
      ports: [{ port: 80 }],
    },
  ];
  const { writes, facts } = planMirrorWith({ endpoints, zones });
  const zonesOf = writes.map(({ object }) => object!.endpoints!.map(({ zone }) => zone));
  assert.deepEqual(zonesOf, [['zone-a', undefined, undefined], ['zone-a']]);
  assert.deepEqual(facts.nodes, ['node-1', 'node-2']);
  const stored = writes.reduce<readonly EndpointSlice[]>(applySliceWrite, []);
  assert.deepEqual(planMirrorWith({ endpoints, zones, stored }).writes, []);
  // One slice has nothing on that node: it is left alone.
  const moved = planMirrorWith({ endpoints, zones: new Map([...zones, ['node-2', 'zone-b']]), stored });
  assert.equal(moved.writes.length, 1);
  const without = planMirrorWith({ endpoints, stored });
  assert.deepEqual(
    without.writes.flatMap(({ object }) => object!.endpoints!.map((endpoint) => 'zone' in endpoint)),
    [false, false, false, false],
  );
  assert.equal('nodes' in without.facts, false);
});
