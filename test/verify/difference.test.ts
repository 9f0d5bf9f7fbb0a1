/** Two objects compared, field by field, whatever their order. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoint, Endpoints, EndpointSlice } from '../../src/kube/types.ts';
import { differencesOf, identityOf, patternOf, reasonOf, withPortsOnce } from '../../src/verify/difference.ts';

const TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

function endpointsOf(...ips: string[]): Endpoints {
  const addresses = ips.map((ip) => ({ ip }));
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web' },
    subsets: [{ addresses, ports: [{ port: 80 }] }],
  };
}

function sliceOf(...endpoints: Endpoint[]): EndpointSlice {
  const metadata = { name: 'web-1' };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    addressType: 'IPv4',
    endpoints,
    ports: [],
  };
}

const lines = (found: ReturnType<typeof differencesOf>): string[] =>
  found.map(({ name, field, stored, planned }) => `${name} ${field}: ${stored} -> ${planned}`);

describe('the differences of two objects', () => {
  it('an object may have more addresses than a call has arguments', () => {
    const addresses = Array.from({ length: 200_000 }, (_, i) => ({ ip: `10.1.${i >> 8}.${i & 255}` }));
    const many: Endpoints = { ...endpointsOf(), subsets: [{ addresses, ports: [{ port: 80 }] }] };
    assert.equal(differencesOf('Endpoints', 'web', many, endpointsOf()).length, 200_000);
  });

  it('differences are named by address and field', () => {
    assert.deepEqual(lines(differencesOf('Endpoints', 'web', endpointsOf('10.0.0.1'), endpointsOf('10.0.0.2'))), [
      'web subsets.addresses[10.0.0.1]: ready=true, ports=:80/TCP -> null',
      'web subsets.addresses[10.0.0.2]: null -> ready=true, ports=:80/TCP',
    ]);
  });

  it('objects with equal values differ in order alone', () => {
    const found = differencesOf(
      'Endpoints',
      'web',
      endpointsOf('10.0.0.1', '10.0.0.2'),
      endpointsOf('10.0.0.2', '10.0.0.1'),
    );
    assert.deepEqual(lines(found), ['web order: other -> canonical']);
  });

  it('differences leave out the trigger time, which goes along with any write', () => {
    const planned = { ...endpointsOf('10.0.0.1'), metadata: { name: 'web', annotations: { [TIME]: 'now' } } };
    assert.deepEqual(lines(differencesOf('Endpoints', 'web', endpointsOf('10.0.0.1'), planned)), [
      'web order: other -> canonical',
    ]);
  });

  it('two endpoints of one address are told apart', () => {
    const [a, b] = [
      { addresses: ['10.0.0.1'], zone: 'a' },
      { addresses: ['10.0.0.1'], zone: 'b' },
    ];
    assert.deepEqual(lines(differencesOf('EndpointSlice', 'web-1', sliceOf(a, b), sliceOf(b))), [
      'web-1 endpoints[10.0.0.1].zone: a -> b',
      'web-1 endpoints[10.0.0.1]#2: zone=b -> null',
    ]);
  });

  it('ports that differ alike for several addresses are told once', () => {
    const subsets = [443, 80].map((port, i) => ({
      addresses: [1, 2].map((j) => ({ ip: `2001:db8::${i}:${j}`, nodeName: 'a' })),
      ports: [{ port }],
    }));
    const planned = structuredClone(subsets);
    planned[0]!.ports = [{ port: 8443 }];
    planned[1]!.addresses = [{ ip: '2001:db8::1:1', nodeName: 'b' }];
    planned[1]!.ports = [{ port: 8080 }];
    const found = differencesOf(
      'Endpoints',
      'web',
      { ...endpointsOf(), subsets },
      { ...endpointsOf(), subsets: planned },
    );
    const told = withPortsOnce(found);
    assert.deepEqual(lines(told), [
      'web subsets.addresses[2001:db8::0:1 and 1 more].ports: :443/TCP -> :8443/TCP',
      'web subsets.addresses[2001:db8::1:1].ports: :80/TCP -> :8080/TCP',
      'web subsets.addresses[2001:db8::1:1].nodeName: a -> b',
      'web subsets.addresses[2001:db8::1:2]: ready=true, ports=:80/TCP, nodeName=a -> null',
    ]);
    assert.equal(reasonOf(told[0]!), 'Endpoints: subsets.addresses[*].ports differs');
  });

  it('differences of a slice to be created do not depend on its name', () => {
    const [a, b] = ['web-x', 'web-y'].map((name) => differencesOf('EndpointSlice', name, null, sliceOf())[0]!);
    assert.equal(identityOf(a!), identityOf(b!));
    assert.equal(a!.planned, 'IPv4, 0 endpoints');
  });

  it('a whole object is the same difference whatever it holds meanwhile', () => {
    const [one, two] = [endpointsOf('10.0.0.1'), endpointsOf('10.0.0.1', '10.0.0.2')];
    const identity = (stored: Endpoints | null, planned: Endpoints | null): string =>
      identityOf(differencesOf('Endpoints', 'web', stored, planned)[0]!);
    assert.equal(identity(null, one), identity(null, two));
    assert.equal(identity(one, null), identity(two, null));
    assert.notEqual(identity(null, one), identity(one, null));
  });

  it('differences are grouped by field and kind, not by address', () => {
    const field = 'endpoints[2001:db8::1]#2.conditions.ready';
    assert.equal(patternOf(field), 'endpoints[*].conditions.ready');
    assert.equal(patternOf('metadata.labels[a.b/c]'), 'metadata.labels[a.b/c]');
    const difference = { kind: 'EndpointSlice', name: 'web-1', field, stored: 'true', planned: 'false' } as const;
    assert.equal(reasonOf(difference), 'EndpointSlice: endpoints[*].conditions.ready differs');
    assert.equal(reasonOf({ ...difference, stored: null }), 'EndpointSlice: endpoints[*].conditions.ready is missing');
    assert.equal(reasonOf({ ...difference, field: '', planned: null }), 'EndpointSlice is not to be there');
  });
});
