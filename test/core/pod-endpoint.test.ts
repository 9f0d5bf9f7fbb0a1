import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podAbsence, podEndpoint, podReady, wantedFamily } from '../../src/core/pod-endpoint.ts';
import type { PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { makePod, makeService } from '../support/records.ts';

// Inclusion and readiness

type Outcome = 'ready' | 'not ready' | 'absent';

for (const phase of ['Running', 'Unknown', 'Pending']) {
  const rows: [deleting: boolean, ready: boolean, publish: boolean, Outcome][] = [
    [false, true, false, 'ready'],
    [false, true, true, 'ready'],
    [false, false, false, 'not ready'],
    [false, false, true, 'ready'],
    [true, true, false, 'absent'],
    [true, false, false, 'absent'],
    [true, true, true, 'ready'],
    [true, false, true, 'ready'],
  ];
  for (const [deleting, ready, publish, expected] of rows) {
    const words = [phase, deleting && 'terminating', ready && 'ready', publish && 'published'].filter(Boolean);
    test(`${words.join(', ')} pod is ${expected}`, () => {
      assert.equal(outcome(makePod('p', { phase, deleting, ready }), publish), expected);
    });
  }
}

for (const phase of ['Failed', 'Succeeded']) {
  test(`${phase} pod is absent, whatever its other fields are`, () => {
    for (const deleting of [true, false]) {
      for (const publish of [true, false]) {
        assert.equal(outcome(makePod('p', { phase, deleting }), publish), 'absent');
      }
    }
  });
}

test('a pod without any IP is absent', () => {
  assert.equal(outcome(makePod('p', { podIP: '', podIPs: [] }), false), 'absent');
});

test('a pod with podIP or podIPs is looked at', () => {
  assert.equal(outcome(makePod('p', { podIP: '10.0.0.1', podIPs: [] }), false), 'ready');
  assert.equal(outcome(makePod('p', { podIP: '10.0.0.1', podIPs: null }), false), 'ready');
  assert.equal(outcome(makePod('p', { podIP: '', podIPs: ['10.0.0.1'] }), false), 'ready');
});

function outcome(pod: PodRecord, publish: boolean): Outcome {
  if (podAbsence(pod, publish) !== null) return 'absent';
  return podReady(pod, publish) ? 'ready' : 'not ready';
}

// Family and address

const V4 = '10.1.2.3';
const V6 = '2000::a00:3';

function addressOf(service: ServiceRecord, pod: PodRecord): string | null {
  return podEndpoint(service, wantedFamily(service), pod).address?.ip ?? null;
}

const families: [
  name: string,
  service: Parameters<typeof makeService>[0],
  podIPs: string[],
  expected: string | null,
][] = [
  ['IPv4 service, single stack', { ipFamilies: ['IPv4'] }, [V4], V4],
  ['IPv4 service, dual stack', { ipFamilies: ['IPv4'] }, [V4, V6], V4],
  ['IPv4 headless, single stack', { ipFamilies: ['IPv4'], clusterIP: 'None' }, [V4], V4],
  ['IPv4 headless, dual stack', { ipFamilies: ['IPv4'], clusterIP: 'None' }, [V4, V6], V4],
  ['IPv6 service, dual stack', { ipFamilies: ['IPv6'], clusterIP: 'fd00::1' }, [V4, V6], V6],
  ['IPv6 headless, dual stack', { ipFamilies: ['IPv6'], clusterIP: 'None' }, [V4, V6], V6],
  ['IPv6 service, IPv6 first', { ipFamilies: ['IPv6'], clusterIP: 'fd00::1' }, [V6, V4], V6],
  ['IPv6-primary dual-stack service', { ipFamilies: ['IPv6', 'IPv4'], clusterIP: 'fd00::1' }, [V4, V6], V6],
  ['IPv6 service where pods have IPv4 only', { ipFamilies: ['IPv6'], clusterIP: 'fd00::1' }, [V4], null],
  ['no families: that of the cluster IP, IPv4', { ipFamilies: [], clusterIP: '10.0.0.1' }, [V6, V4], V4],
  ['no families: that of the cluster IP, IPv6', { ipFamilies: [], clusterIP: 'fd00::1' }, [V4, V6], V6],
  ['no families, headless: that of the pod, IPv4', { ipFamilies: [], clusterIP: 'None' }, [V4, V6], V4],
  ['no families, headless: that of the pod, IPv6', { ipFamilies: [], clusterIP: 'None' }, [V6, V4], V6],
  ['no families, no cluster IP: that of the pod', { ipFamilies: [], clusterIP: '' }, [V6], V6],
  ['no families and none that matches', { ipFamilies: [], clusterIP: 'fd00::1' }, [V4], null],
  ['leading zeros go', {}, ['010.001.002.003'], V4],
  ['IPv4 within IPv6 is IPv4', {}, ['::ffff:10.1.2.3'], V4],
  ['an address that is none is passed over', {}, ['oops', V4], V4],
  ['a forbidden address is passed over', {}, ['169.254.0.1', V4], V4],
];
for (const [name, service, podIPs, expected] of families) {
  test(name, () => assert.equal(addressOf(makeService(service), makePod('p', { podIPs })), expected));
}

test('podIP alone gives the family, never the address', () => {
  assert.equal(addressOf(makeService(), makePod('p', { podIP: V4, podIPs: [] })), null);
  assert.equal(addressOf(makeService(), makePod('p', { podIP: V4, podIPs: null })), V4);
});

test('the address has all its fields', () => {
  assert.deepEqual(podEndpoint(makeService(), 'IPv4', makePod('p', { podIPs: [V4] })), {
    address: {
      ip: V4,
      nodeName: 'node-1',
      targetRef: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'uid-p' },
    },
    problem: null,
  });
});

// Host names

const hostnames: [name: string, pod: Partial<PodRecord>, expected: string | undefined][] = [
  ['hostname, and the subdomain is the service', { hostname: 'web-0', subdomain: 'web' }, 'web-0'],
  ['no hostname', { hostname: '', subdomain: 'web' }, undefined],
  ['another subdomain', { hostname: 'web-0', subdomain: 'other' }, undefined],
  ['no subdomain', { hostname: 'web-0', subdomain: '' }, undefined],
  ['another namespace', { hostname: 'web-0', subdomain: 'web', namespace: 'elsewhere' }, undefined],
];
for (const [name, pod, expected] of hostnames) {
  test(`the hostname: ${name}`, () => {
    assert.equal(podEndpoint(makeService(), 'IPv4', { ...makePod('p'), ...pod }).address?.hostname, expected);
  });
}

// What the API server would reject

const faults: [name: string, pod: Parameters<typeof makePod>[1], kind: string, field: string, message: string][] = [
  ['no address', { podIPs: ['nope'] }, 'bad-address', 'status.podIPs[0].ip', 'not an IP address, left out: "nope"'],
  ['loopback', { podIPs: ['127.0.0.1'] }, 'bad-address', 'status.podIPs[0].ip', 'loopback, left out: "127.0.0.1"'],
  [
    'the second is at fault',
    { podIPs: [V6, '0.0.0.0'] },
    'bad-address',
    'status.podIPs[1].ip',
    'unspecified, left out: "0.0.0.0"',
  ],
  [
    'other family only',
    { podIPs: [V6] },
    'no-address-of-family',
    'status.podIPs',
    `no IPv4 address, left out: "${V6}"`,
  ],
  ['node name', { nodeName: 'Node_1' }, 'bad-address', 'spec.nodeName', 'not a DNS subdomain, left out: "Node_1"'],
  [
    'hostname',
    { hostname: 'a.b', subdomain: 'web' },
    'bad-address',
    'spec.hostname',
    'not a DNS label, left out: "a.b"',
  ],
];
for (const [name, pod, kind, field, message] of faults) {
  test(`a problem is reported: ${name}`, () => {
    const { problem } = podEndpoint(makeService(), 'IPv4', makePod('p', pod));
    assert.deepEqual(problem, { kind, object: 'pod ns/p', field, message });
  });
}

test('an invalid node or hostname is left out, and the address is written', () => {
  const keys = (pod: Parameters<typeof makePod>[1]): string[] =>
    Object.keys(podEndpoint(makeService(), 'IPv4', makePod('p', pod)).address!);
  assert.deepEqual(keys({ nodeName: '' }), ['ip', 'targetRef']);
  assert.deepEqual(keys({ nodeName: 'UPPER' }), ['ip', 'targetRef']);
  assert.deepEqual(keys({ hostname: '-a', subdomain: 'web' }), ['ip', 'nodeName', 'targetRef']);
});

test('the longest hostname and node name that the server takes are written', () => {
  const lengths = (nodeName: string, hostname: string): (number | undefined)[] => {
    const { address } = podEndpoint(makeService(), 'IPv4', makePod('p', { nodeName, hostname, subdomain: 'web' }));
    return [address!.nodeName?.length, address!.hostname?.length];
  };
  assert.deepEqual(lengths('n'.repeat(253), 'h'.repeat(63)), [253, 63]);
  assert.deepEqual(lengths('n'.repeat(254), 'h'.repeat(64)), [undefined, undefined]);
});

test('hostile texts are cut in reports', () => {
  const { problem } = podEndpoint(makeService(), 'IPv4', makePod('p', { podIPs: ['x'.repeat(100_000)] }));
  assert.ok(problem!.message.length < 120);
});
