import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyPod,
  createMembership,
  memberNames,
  type Membership,
  setSpec,
  subsetsOf,
  takeProblems,
} from '../../../src/core/endpoints/membership.ts';
import type { PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { makePod, makeService, makeServicePort } from '../../support/records.ts';
import { subsetText } from '../../support/subset-text.ts';

const config = { tolerateUnreadyEndpointsAnnotation: false };

function membershipOf(service: ServiceRecord, pods: readonly PodRecord[]): Membership {
  const membership = createMembership(service, config);
  for (const pod of pods) applyPod(membership, pod.name, pod);
  return membership;
}

function texts(membership: Membership): string[] {
  return subsetsOf(membership).map(subsetText);
}

/** Pods a, b, c, ... at 10.0.0.1, 10.0.0.2, ... */
function podAt(name: string, fields: Parameters<typeof makePod>[1] = {}): PodRecord {
  return makePod(name, { uid: name, podIPs: [`10.0.0.${name.charCodeAt(0) - 96}`], ...fields });
}

test('a service without pods has no subsets', () => assert.deepEqual(texts(membershipOf(makeService(), [])), []));

test('ready and unready pods are in two sorted lists', () => {
  const membership = membershipOf(makeService(), [podAt('c'), podAt('b', { ready: false }), podAt('a')]);
  assert.deepEqual(texts(membership), ['10.0.0.1@a 10.0.0.3@c !10.0.0.2@b -> 8080/TCP']);
});

test('subsets follow pods that come, turn, move and go', () => {
  const membership = membershipOf(makeService(), []);
  applyPod(membership, 'a', podAt('a', { ready: false }));
  assert.deepEqual(texts(membership), ['!10.0.0.1@a -> 8080/TCP']);
  applyPod(membership, 'a', podAt('a'));
  assert.deepEqual(texts(membership), ['10.0.0.1@a -> 8080/TCP']);
  applyPod(membership, 'a', podAt('a', { podIPs: ['10.9.9.9'] }));
  assert.deepEqual(texts(membership), ['10.9.9.9@a -> 8080/TCP']);
  applyPod(membership, 'a', podAt('a', { uid: 'again' }));
  assert.deepEqual(texts(membership), ['10.0.0.1@again -> 8080/TCP']);
  applyPod(membership, 'a', podAt('a', { deleting: true }));
  assert.deepEqual(texts(membership), []);
  applyPod(membership, 'a', null);
  assert.deepEqual(texts(membership), []);
  assert.deepEqual([...memberNames(membership)], []);
});

test('a change returns the record before', () => {
  const membership = membershipOf(makeService(), []);
  const first = podAt('a');
  const second = podAt('a', { ready: false });
  assert.equal(applyPod(membership, 'a', first), null);
  assert.equal(applyPod(membership, 'a', second), first);
  assert.equal(applyPod(membership, 'a', null), second);
  assert.equal(applyPod(membership, 'a', null), null);
});

test('one number for both protocols makes two ports', () => {
  const ports = [makeServicePort({ protocol: 'TCP' }), makeServicePort({ protocol: 'UDP' })];
  assert.deepEqual(texts(membershipOf(makeService({ ports }), [podAt('a')])), ['10.0.0.1@a -> 8080/UDP 8080/TCP']);
});

test('two service ports with the same fields are one port', () => {
  const ports = [makeServicePort({ port: 80 }), makeServicePort({ port: 81 })];
  assert.deepEqual(texts(membershipOf(makeService({ ports }), [podAt('a')])), ['10.0.0.1@a -> 8080/TCP']);
});

test('the appProtocol is copied, also an empty one', () => {
  const ports = [makeServicePort({ appProtocol: '' })];
  const [subset] = subsetsOf(membershipOf(makeService({ ports }), [podAt('a')]));
  assert.deepEqual(subset!.ports, [{ port: 8080, protocol: 'TCP', appProtocol: '' }]);
});

test('target port 0, of a service without defaults, is no port', () => {
  const ports = [makeServicePort({ targetPort: 0 })];
  assert.deepEqual(texts(membershipOf(makeService({ ports }), [podAt('a')])), ['10.0.0.1@a ->']);
});

test('a headless service without ports has addresses alone', () => {
  const membership = membershipOf(makeService({ ports: [], clusterIP: 'None' }), [
    podAt('a'),
    podAt('b', { ready: false }),
  ]);
  assert.deepEqual(texts(membership), ['10.0.0.1@a !10.0.0.2@b ->']);
});

test('without ports a service has addresses from the moment that it is headless', () => {
  const membership = membershipOf(makeService({ ports: [] }), [podAt('a')]);
  setSpec(membership, makeService({ ports: [], clusterIP: 'None' }));
  assert.deepEqual(texts(membership), ['10.0.0.1@a ->']);
});

test('a service without ports that is not headless has no subsets', () => {
  assert.deepEqual(texts(membershipOf(makeService({ ports: [], clusterIP: '10.0.0.1' }), [podAt('a')])), []);
  assert.deepEqual(texts(membershipOf(makeService({ ports: [], clusterIP: '' }), [podAt('a')])), []);
});

// Named target ports

const named = makeService({ ports: [makeServicePort({ name: 'http', targetPort: 'http' })] });

function offering(name: string, containerPort: number, fields: Parameters<typeof makePod>[1] = {}): PodRecord {
  return podAt(name, { ports: [{ name: 'http', containerPort, protocol: 'TCP' }], ...fields });
}

test('a named port whose number differs between pods makes several subsets', () => {
  const membership = membershipOf(named, [
    offering('a', 8080),
    offering('b', 9090),
    offering('c', 8080, { ready: false }),
  ]);
  assert.deepEqual(texts(membership).sort(), [
    '10.0.0.1@a !10.0.0.3@c -> http:8080/TCP',
    '10.0.0.2@b -> http:9090/TCP',
  ]);
});

test('a pod without the named port is left out', () => {
  assert.deepEqual(texts(membershipOf(named, [offering('a', 8080), podAt('b')])), ['10.0.0.1@a -> http:8080/TCP']);
});

test('a rolling update of a named port ends with one subset', () => {
  const membership = membershipOf(named, [offering('a', 8080), offering('b', 8080)]);
  applyPod(membership, 'c', offering('c', 9090));
  assert.equal(texts(membership).length, 2);
  applyPod(membership, 'a', null);
  applyPod(membership, 'b', null);
  assert.deepEqual(texts(membership), ['10.0.0.3@c -> http:9090/TCP']);
});

test('a port of all pods and a port of some are two subsets', () => {
  const ports = [
    makeServicePort({ name: 'http', targetPort: 8080 }),
    makeServicePort({ name: 'metrics', port: 81, targetPort: 'metrics' }),
  ];
  const withMetrics = podAt('b', { ports: [{ name: 'metrics', containerPort: 9090, protocol: 'TCP' }] });
  const membership = membershipOf(makeService({ ports }), [podAt('a'), withMetrics]);
  assert.deepEqual(texts(membership).sort(), [
    '10.0.0.1@a 10.0.0.2@b -> http:8080/TCP',
    '10.0.0.2@b -> metrics:9090/TCP',
  ]);
});

// Changes of the service

test('subsets follow service ports that are added and removed', () => {
  const p = (name: string, number: number): ReturnType<typeof makeServicePort> =>
    makeServicePort({ name, port: number, targetPort: number });
  const membership = membershipOf(makeService({ ports: [p('a', 1)] }), [podAt('a')]);
  assert.deepEqual(texts(membership), ['10.0.0.1@a -> a:1/TCP']);
  setSpec(membership, makeService({ ports: [p('a', 1), p('b', 2)] }));
  assert.equal(subsetsOf(membership)[0]!.ports!.length, 2);
  setSpec(membership, makeService({ ports: [p('b', 2)] }));
  assert.deepEqual(texts(membership), ['10.0.0.1@a -> b:2/TCP']);
});

test('publishing unready pods lists them, and terminating ones, as ready', () => {
  const membership = membershipOf(makeService(), [podAt('a', { ready: false }), podAt('b', { deleting: true })]);
  assert.deepEqual(texts(membership), ['!10.0.0.1@a -> 8080/TCP']);
  setSpec(membership, makeService({ publishNotReadyAddresses: true }));
  assert.deepEqual(texts(membership), ['10.0.0.1@a 10.0.0.2@b -> 8080/TCP']);
});

test('the old annotation, if honoured, is as good as the field', () => {
  const annotations = { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': 'true' };
  const membership = createMembership(makeService({ annotations }), { tolerateUnreadyEndpointsAnnotation: true });
  applyPod(membership, 'a', podAt('a', { ready: false, deleting: true }));
  assert.deepEqual(texts(membership), ['10.0.0.1@a -> 8080/TCP']);
});

test('the family of the addresses follows the service', () => {
  const membership = membershipOf(makeService(), [podAt('a', { podIPs: ['10.0.0.1', 'fd00::1'] })]);
  setSpec(membership, makeService({ ipFamilies: ['IPv6'] }));
  assert.deepEqual(texts(membership), ['fd00::1@a -> 8080/TCP']);
});

test('a change that says nothing about addresses or ports rebuilds nothing', () => {
  const membership = membershipOf(makeService(), [podAt('a')]);
  const before = subsetsOf(membership);
  setSpec(membership, makeService({ labels: { a: 'b' }, resourceVersion: '2', selector: { app: 'web', x: 'y' } }));
  assert.equal(subsetsOf(membership), before);
});

// What stays identical

test('a pod without news keeps the same list', () => {
  const membership = membershipOf(makeService(), [podAt('a'), podAt('b')]);
  const before = subsetsOf(membership);
  applyPod(membership, 'a', podAt('a', { resourceVersion: '2', readyTime: 7 }));
  assert.equal(subsetsOf(membership), before);
});

test('a pod that turns and turns back keeps the same subsets', () => {
  const membership = membershipOf(makeService(), [podAt('a'), podAt('b')]);
  const before = subsetsOf(membership);
  applyPod(membership, 'a', podAt('a', { ready: false }));
  applyPod(membership, 'a', podAt('a'));
  assert.equal(subsetsOf(membership), before);
});

test('a pod that turns keeps its address object, and so do all others', () => {
  const membership = membershipOf(makeService(), [podAt('a'), podAt('b')]);
  const [before] = subsetsOf(membership);
  applyPod(membership, 'a', podAt('a', { ready: false }));
  const [after] = subsetsOf(membership);
  assert.equal(after!.notReadyAddresses![0], before!.addresses![0]);
  assert.equal(after!.addresses![0], before!.addresses![1]);
  assert.equal(before!.addresses!.length, 2, 'what was handed out is not changed');
});

test('of several subsets only the changed one is new', () => {
  const membership = membershipOf(named, [offering('a', 8080), offering('b', 9090)]);
  const before = subsetsOf(membership);
  applyPod(membership, 'a', offering('a', 8080, { ready: false }));
  assert.equal(subsetsOf(membership).filter((subset) => before.includes(subset)).length, 1);
});

test('several subsets may have a bound, and are laid out again below it', () => {
  const membership = membershipOf(named, [offering('a', 8080), offering('b', 9090), offering('c', 9090)]);
  assert.throws(() => subsetsOf(membership, 2), /more than 250000 addresses/);
  assert.equal(subsetsOf(membership, 3).length, 2);
  applyPod(membership, 'd', offering('d', 9090));
  assert.throws(() => subsetsOf(membership, 3), /more than 250000 addresses/);
  applyPod(membership, 'a', null);
  assert.deepEqual(
    subsetsOf(membership, 2).map(({ addresses }) => addresses!.map(({ ip }) => ip)),
    [['10.0.0.2', '10.0.0.3', '10.0.0.4']],
    'the pods of one subset have no bound',
  );
});

// Pods that no API server makes

test('of two pods with one IP and uid the first name counts, and not ready wins', () => {
  const one = makePod('one', { uid: '', hostname: 'one', subdomain: 'web', ready: false });
  const two = makePod('two', { uid: '', hostname: 'two', subdomain: 'web' });
  const membership = membershipOf(makeService(), [two, one]);
  assert.deepEqual(texts(membership), ['!10.0.0.1#one@ -> 8080/TCP']);
  applyPod(membership, 'one', null);
  assert.deepEqual(texts(membership), ['10.0.0.1#two@ -> 8080/TCP']);
});

test('a second pod with the uid of the first comes and goes', () => {
  const membership = membershipOf(makeService(), [podAt('a')]);
  assert.deepEqual(texts(membership), ['10.0.0.1@a -> 8080/TCP']);
  applyPod(membership, 'b', podAt('b', { uid: 'a' }));
  assert.deepEqual(texts(membership), ['10.0.0.1@a 10.0.0.2@a -> 8080/TCP']);
  applyPod(membership, 'b', null);
  assert.deepEqual(texts(membership), ['10.0.0.1@a -> 8080/TCP']);
});

// Problems

test('a problem is told once, and again only when it is another one', () => {
  const membership = membershipOf(makeService(), []);
  const kinds = (): string[] => takeProblems(membership).map(({ message }) => message);
  applyPod(membership, 'a', podAt('a', { podIPs: ['x'] }));
  assert.deepEqual(kinds(), ['not an IP address, left out: "x"']);
  applyPod(membership, 'a', podAt('a', { podIPs: ['x'], resourceVersion: '2' }));
  assert.deepEqual(kinds(), []);
  applyPod(membership, 'a', podAt('a', { podIPs: ['y'] }));
  assert.deepEqual(kinds(), ['not an IP address, left out: "y"']);
});

test('problems that nobody reads do not pile up', () => {
  const membership = membershipOf(makeService(), []);
  for (let i = 0; i < 1000; i++) applyPod(membership, `p${i}`, makePod(`p${i}`, { podIPs: ['x'] }));
  assert.equal(takeProblems(membership).length, 100);
});

test('many problems of one kind leave room for those of another', () => {
  const membership = membershipOf(makeService({ ipFamilies: ['IPv6'] }), []);
  for (let i = 0; i < 150; i++) applyPod(membership, `p${i}`, makePod(`p${i}`, { podIPs: ['10.0.0.1'] }));
  applyPod(membership, 'last', makePod('last', { podIPs: ['fe80::1'] }));
  const kinds = Map.groupBy(takeProblems(membership), ({ kind }) => kind);
  assert.deepEqual(
    [...kinds].map(([kind, { length }]) => [kind, length]),
    [
      ['no-address-of-family', 100],
      ['bad-address', 1],
    ],
  );
});

test('a bad annotation is told once', () => {
  const annotations = { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': 'maybe' };
  const membership = createMembership(makeService({ annotations }), { tolerateUnreadyEndpointsAnnotation: true });
  setSpec(membership, makeService({ annotations, resourceVersion: '2' }));
  assert.deepEqual(
    takeProblems(membership).map(({ kind }) => kind),
    ['bad-annotation'],
  );
});

test('an annotation that becomes bad is told, and so is another bad one', () => {
  const withAnnotation = (value: string) =>
    makeService({ annotations: { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': value } });
  const membership = createMembership(withAnnotation('true'), { tolerateUnreadyEndpointsAnnotation: true });
  const messages: string[] = [];
  for (const value of ['maybe', 'often']) {
    setSpec(membership, withAnnotation(value));
    messages.push(...takeProblems(membership).map(({ message }) => message));
  }
  assert.deepEqual(messages, ['not a boolean, ignored: "maybe"', 'not a boolean, ignored: "often"']);
});
