import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podEndpoints } from '../../../src/core/slices/pod-endpoints.ts';
import type { Endpoint, IpFamily, PodRecord } from '../../../src/kube/types.ts';
import { makePod, makeService } from '../../support/records.ts';

const V4 = '10.1.2.3';
const V6 = 'fd00::3';
const BOTH: readonly IpFamily[] = ['IPv4', 'IPv6'];

function ofPod(pod: Parameters<typeof makePod>[1], families = BOTH, publishNotReady = false, zone = '') {
  return podEndpoints(makeService(), families, publishNotReady, makePod('p', { podIPs: [V4, V6], ...pod }), zone);
}

const WHOLE: Endpoint = {
  addresses: [V4],
  conditions: { ready: true, serving: true, terminating: false },
  targetRef: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'uid-p' },
  nodeName: 'node-1',
};

test('a pod has one endpoint for each family, with all known fields and no others', () => {
  assert.deepEqual(ofPod({}), { ipv4: WHOLE, ipv6: { ...WHOLE, addresses: [V6] }, problem: null });
});

test('a pod has endpoints of wanted families only', () => {
  assert.deepEqual(ofPod({}, ['IPv4']), { ipv4: WHOLE, ipv6: null, problem: null });
  assert.deepEqual(ofPod({}, ['IPv6']), { ipv4: null, ipv6: { ...WHOLE, addresses: [V6] }, problem: null });
});

test('a pod without an address of a family has no endpoint there, and no problem', () => {
  assert.deepEqual(ofPod({ podIPs: [V4] }), { ipv4: WHOLE, ipv6: null, problem: null });
  assert.deepEqual(ofPod({ podIPs: [V4] }, ['IPv6']), { ipv4: null, ipv6: null, problem: null });
});

test('podIP alone gives no address', () => {
  assert.equal(ofPod({ podIP: V4, podIPs: [] }).ipv4, null);
});

test('an endpoint has all addresses of a family, each once, canonical', () => {
  const { ipv4, ipv6 } = ofPod({ podIPs: ['010.1.2.3', 'FD00:0::3', '10.9.9.9', '::ffff:10.1.2.3'] });
  assert.deepEqual(ipv4!.addresses, [V4, '10.9.9.9']);
  assert.deepEqual(ipv6!.addresses, [V6]);
});

// Conditions

const conditions: [
  pod: Partial<PodRecord>,
  publish: boolean,
  ready: boolean,
  serving: boolean,
  terminating: boolean,
][] = [
  [{ ready: true }, false, true, true, false],
  [{ ready: false }, false, false, false, false],
  [{ ready: true, deleting: true }, false, false, true, true],
  [{ ready: false, deleting: true }, false, false, false, true],
  [{ ready: true }, true, true, true, false],
  [{ ready: false }, true, true, false, false],
  [{ ready: true, deleting: true }, true, true, true, true],
  [{ ready: false, deleting: true }, true, true, false, true],
];
for (const [pod, publish, ready, serving, terminating] of conditions) {
  const words = [pod.ready! ? 'ready' : 'unready', pod.deleting && 'terminating', publish && 'published'];
  test(`the conditions: ${words.filter(Boolean).join(', ')}`, () => {
    assert.deepEqual(ofPod({ ready: pod.ready!, deleting: pod.deleting ?? false }, BOTH, publish).ipv4!.conditions, {
      ready,
      serving,
      terminating,
    });
  });
}

// Node, zone, hostname

test('an absent zone or node is left out', () => {
  assert.deepEqual(ofPod({}, BOTH, false, 'zone-a').ipv4, { ...WHOLE, zone: 'zone-a' });
  const { nodeName: _, ...nodeless } = WHOLE;
  assert.deepEqual(ofPod({ nodeName: '' }).ipv4, nodeless);
});

test('a hostname counts in the service that is its subdomain', () => {
  assert.equal(ofPod({ hostname: 'web-0', subdomain: 'web' }).ipv4!.hostname, 'web-0');
  assert.equal(ofPod({ hostname: 'web-0', subdomain: 'other' }).ipv4!.hostname, undefined);
  assert.equal(ofPod({ hostname: 'web-0', subdomain: 'web', namespace: 'other' }).ipv4!.hostname, undefined);
  assert.equal(ofPod({ hostname: '', subdomain: 'web' }).ipv4!.hostname, undefined);
});

// What the API server would reject with the whole slice (D13)

const faults: [
  name: string,
  podIPs: readonly string[],
  left: readonly (string | undefined)[],
  message: string | null,
][] = [
  ['no address at all', ['nope', V4], [V4, undefined], 'not an IP address, left out: "nope"'],
  ['unspecified', ['0.0.0.0', V6], [undefined, V6], 'unspecified, left out: "0.0.0.0"'],
  ['loopback', [V4, '::1'], [V4, undefined], 'loopback, left out: "::1"'],
  ['link-local', ['169.254.7.7', V6], [undefined, V6], 'link-local, left out: "169.254.7.7"'],
  ['link-local multicast', ['224.0.0.5'], [undefined, undefined], 'link-local multicast, left out: "224.0.0.5"'],
];
for (const [name, podIPs, left, message] of faults) {
  test(`the address: ${name}`, () => {
    const { ipv4, ipv6, problem } = ofPod({ podIPs });
    assert.deepEqual([ipv4?.addresses[0], ipv6?.addresses[0]], left);
    assert.equal(problem?.kind, 'bad-address');
    assert.equal(problem.object, 'pod ns/p');
    assert.equal(problem.message, message);
  });
}

test('a bad address of a family that is not wanted is ignored', () => {
  assert.equal(ofPod({ podIPs: [V4, '::1'] }, ['IPv4']).problem, null);
});

test('a bad hostname or node name is left out, and the endpoint stays', () => {
  const bad = ofPod({ hostname: 'A.b', subdomain: 'web' });
  assert.deepEqual([bad.ipv4, bad.problem?.field], [WHOLE, 'spec.hostname']);
  const { nodeName: _, ...nodeless } = WHOLE;
  const node = ofPod({ nodeName: 'Node_1' });
  assert.deepEqual([node.ipv4, node.problem?.field], [nodeless, 'spec.nodeName']);
});
