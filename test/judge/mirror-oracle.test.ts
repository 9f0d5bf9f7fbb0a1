import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint, Endpoints, EndpointSlice, EndpointSubset, ObjectMeta } from '../../src/kube/types.ts';
import { judgeMirror, oracleMirror, type ExpectedMirror, type MirrorOptions } from '../../src/judge/mirror-oracle.ts';
import { makeService } from '../support/records.ts';

const SELECTORLESS = makeService({ selector: null });
const OPTIONS: MirrorOptions = { endpointsPerSubsetMax: 1000, all: false };
const HTTP = [{ name: 'http', port: 80, protocol: 'TCP' }];
const HTTPS = [{ name: 'https', port: 443, protocol: 'TCP' }];

function handMade(subsets: readonly EndpointSubset[], metadata: ObjectMeta = {}): Endpoints {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'ns', name: 'web', uid: 'e', ...metadata },
    subsets,
  };
}

function ask(endpoints: Endpoints, options = OPTIONS): ExpectedMirror {
  return oracleMirror(SELECTORLESS, endpoints, options)!;
}

function ips(...texts: string[]): { ip: string }[] {
  return texts.map((ip) => ({ ip }));
}

/** Each group as `<family> <port names>: <addresses, ! = not ready>`. */
function groups(subsets: readonly EndpointSubset[], options = OPTIONS): string[] {
  const stated = ({ addresses, conditions }: Endpoint): string => `${conditions!.ready! ? '' : '!'}${addresses[0]}`;
  return [...ask(handMade(subsets), options).groups].map(
    ([key, endpoints]) =>
      `${key.replaceAll(/\["([a-z]*)",[^\]]*\]/g, '$1')}: ${[...endpoints.values()].map((forms) => forms.map(stated).join('|')).join(' ')}`,
  );
}

describe('what is mirrored', () => {
  test('only Endpoints of a Service without a selector are mirrored', () => {
    const plain = handMade([]);
    assert.equal(oracleMirror(null, plain, OPTIONS), null);
    assert.equal(oracleMirror(SELECTORLESS, null, OPTIONS), null);
    assert.equal(oracleMirror(makeService(), plain, OPTIONS), null);
    assert.notEqual(oracleMirror(makeService({ selector: null, type: 'ExternalName' }), plain, OPTIONS), null);
  });

  test('Endpoints that opt out exactly, or of a leader election, are not mirrored', () => {
    const skip = (value: string): Endpoints =>
      handMade([], { labels: { 'endpointslice.kubernetes.io/skip-mirror': value } });
    const leader = handMade([], { annotations: { 'control-plane.alpha.kubernetes.io/leader': '' } });
    assert.equal(oracleMirror(SELECTORLESS, skip('true'), OPTIONS), null);
    assert.notEqual(oracleMirror(SELECTORLESS, skip('True'), OPTIONS), null);
    assert.equal(oracleMirror(SELECTORLESS, leader, OPTIONS), null);
  });

  test('a mirrored slice has the labels, two of its own, and all but two annotations', () => {
    const { labels, annotations } = ask(
      handMade([], {
        labels: { a: 'b', 'kubernetes.io/service-name': 'x' },
        annotations: {
          c: 'd',
          'endpoints.kubernetes.io/last-change-trigger-time': 't',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      }),
    );
    assert.deepEqual(labels, {
      a: 'b',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    });
    assert.deepEqual(annotations, { c: 'd' });
  });

  test('subsets with equal addresses are one, and so are those with equal ports', () => {
    const [one, two] = [ips('10.0.0.1'), ips('10.0.0.2')];
    assert.deepEqual(groups([]), []);
    assert.deepEqual(
      groups([
        { addresses: one, ports: HTTP },
        { addresses: one, ports: HTTPS },
      ]),
      ['IPv4 http https: 10.0.0.1'],
    );
    assert.deepEqual(
      groups([
        { addresses: one, ports: HTTP },
        { addresses: two, ports: HTTP },
      ]),
      ['IPv4 http: 10.0.0.1 10.0.0.2'],
    );
    assert.deepEqual(
      groups([
        { addresses: one, ports: HTTP },
        { addresses: two, ports: HTTPS },
      ]),
      ['IPv4 http: 10.0.0.1', 'IPv4 https: 10.0.0.2'],
    );
    assert.deepEqual(groups([{ addresses: one }]), ['IPv4 : 10.0.0.1']);
  });

  test('a port with appProtocol is another in each subset, by pointer as upstream', () => {
    const ports = [...HTTP, { name: 'grpc', port: 90, protocol: 'TCP', appProtocol: 'h2c' }];
    assert.deepEqual(
      groups([
        { addresses: ips('10.0.0.1'), ports },
        { addresses: ips('10.0.0.2'), ports },
      ]),
      ['IPv4 http: 10.0.0.1 10.0.0.2', 'IPv4 grpc: 10.0.0.1 10.0.0.2'],
    );
    assert.deepEqual(
      groups([
        { addresses: ips('10.0.0.1'), ports },
        { addresses: ips('10.0.0.2'), notReadyAddresses: ips('10.0.0.1'), ports: ports.slice(1) },
      ]),
      ['IPv4 grpc http: 10.0.0.1', 'IPv4 grpc: 10.0.0.2 !10.0.0.1'],
    );
    const twoStates = [
      { addresses: ips('10.0.0.1'), ports: ports.slice(1) },
      { addresses: ips('10.0.0.2'), notReadyAddresses: ips('10.0.0.1'), ports: ports.slice(1) },
    ];
    assert.deepEqual(groups(twoStates), ['IPv4 grpc: 10.0.0.1|!10.0.0.1 10.0.0.2']);
    const samePort = { addresses: ips('10.0.0.1'), ports };
    assert.deepEqual(groups([samePort, samePort]), ['IPv4 grpc http: 10.0.0.1']);
  });

  test('families are apart, not ready wins, and bad addresses are left out', () => {
    // Such as a loopback address, which the server takes in neither object.
    assert.deepEqual(groups([{ addresses: ips('fd00::1', '10.0.0.1', 'x', '127.0.0.1'), ports: HTTP }]), [
      'IPv4 http: 10.0.0.1',
      'IPv6 http: fd00::1',
    ]);
    assert.deepEqual(groups([{ addresses: ips('10.0.0.1'), notReadyAddresses: ips('10.0.0.1'), ports: HTTP }]), [
      'IPv4 http: !10.0.0.1',
    ]);
  });

  test('up to the limit ready addresses come first, both families together', () => {
    const subset = {
      notReadyAddresses: ips('10.0.0.1'),
      addresses: ips('10.0.0.3', '10.0.0.2', 'fd00::1'),
      ports: HTTP,
    };
    const limited = (max: number): string[] => groups([subset], { endpointsPerSubsetMax: max, all: false });
    assert.deepEqual(limited(2), ['IPv4 http: 10.0.0.2 10.0.0.3']);
    assert.deepEqual(limited(3), ['IPv4 http: 10.0.0.2 10.0.0.3', 'IPv6 http: fd00::1']);
    assert.deepEqual(groups([subset], { endpointsPerSubsetMax: 1, all: true }), [
      'IPv4 http: 10.0.0.2 10.0.0.3 !10.0.0.1',
      'IPv6 http: fd00::1',
    ]);
  });
});

describe('the judgement', () => {
  const TARGET = { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u', apiVersion: 'v1' };
  const expected = ask(
    handMade([{ addresses: [{ ip: '10.0.0.1', hostname: 'h', nodeName: 'n', targetRef: TARGET }], ports: HTTP }]),
  );
  const ENDPOINT = {
    addresses: ['10.0.0.1'],
    conditions: { ready: true },
    hostname: 'h',
    nodeName: 'n',
    targetRef: TARGET,
  };
  const OWNER = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    name: 'web',
    uid: 'e',
    controller: true,
    blockOwnerDeletion: true,
  };

  function slice(fields: Partial<Omit<EndpointSlice, 'metadata'>> = {}, metadata: ObjectMeta = {}): EndpointSlice {
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        namespace: 'ns',
        name: 'web-1',
        labels: { ...expected.labels },
        ownerReferences: [OWNER],
        ...metadata,
      },
      addressType: 'IPv4',
      endpoints: [ENDPOINT],
      ports: HTTP,
      ...fields,
    };
  }

  function reasons(...slices: EndpointSlice[]): string[] {
    return judgeMirror(expected, slices, OPTIONS).map(({ object, reason }) => `${object}: ${reason}`);
  }

  test('the judge wants one slice for each subset and family', () => {
    assert.deepEqual(reasons(slice()), []);
    assert.deepEqual(reasons(), [
      'ns/web: IPv4 ["http","TCP",80,null]: 10.0.0.1 ready hostname h on n for Pod ns/p uv1 is not mirrored',
    ]);
    assert.deepEqual(reasons(slice(), slice({ endpoints: [] }, { name: 'web-2' })), [
      'ns/web-2: another slice has IPv4 ["http","TCP",80,null]',
    ]);
    assert.match(reasons(slice(), slice({ ports: HTTPS }))[0]!, /^ns\/web-1: nothing has IPv4 \["https"/);
  });

  test('the judge refuses endpoints without an original, and slices above the limit', () => {
    const stranger = { addresses: ['10.0.0.9'], conditions: { ready: true } };
    assert.deepEqual(reasons(slice({ endpoints: [ENDPOINT, stranger] })), [
      'ns/web-1: 10.0.0.9 ready should not be there',
    ]);
    const two = ask(handMade([{ addresses: ips('10.0.0.1', '10.0.0.2'), ports: HTTP }]));
    const endpoints = ips('10.0.0.1', '10.0.0.2').map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } }));
    const faults = judgeMirror(two, [slice({ endpoints })], { endpointsPerSubsetMax: 1, all: true });
    assert.deepEqual(
      faults.map(({ reason }) => reason),
      ['2 endpoints'],
    );
  });

  test('the judge compares conditions, zone, labels, annotations and owner', () => {
    const wrong = [
      slice({ endpoints: [{ ...ENDPOINT, conditions: { ready: true, serving: true } }] }),
      slice({ endpoints: [{ ...ENDPOINT, zone: 'a' }] }),
      slice({}, { labels: { ...expected.labels, a: 'b' } }),
      slice({}, { annotations: { a: 'b' } }),
      slice({}, { ownerReferences: [{ ...OWNER, uid: 'old' }] }),
      slice({}, { ownerReferences: [{ ...OWNER, controller: false }] }),
    ];
    for (const each of wrong) assert.equal(reasons(each).length, 1);
    assert.deepEqual(reasons(slice({ endpoints: [{ ...ENDPOINT, hints: { forZones: [{ name: 'a' }] } }] })), []);
  });
});
