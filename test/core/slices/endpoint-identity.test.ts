import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointContentEqual, endpointIdentity, sameEndpoint } from '../../../src/core/slices/endpoint-identity.ts';
import type { Endpoint } from '../../../src/kube/types.ts';

const base: Endpoint = {
  addresses: ['10.0.0.1'],
  conditions: { ready: true, serving: true, terminating: false },
  hostname: 'h',
  nodeName: 'n1',
  zone: 'a',
  targetRef: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u' },
};

function same(name: string, a: Endpoint, b: Endpoint, expected: { identity: boolean; content: boolean }): void {
  test(name, () => {
    assert.equal(endpointIdentity(a) === endpointIdentity(b), expected.identity);
    assert.equal(sameEndpoint(a, b), expected.identity);
    assert.equal(sameEndpoint(b, a), expected.identity);
    assert.equal(endpointContentEqual(a, b), expected.content);
    assert.equal(endpointContentEqual(b, a), expected.content);
  });
}

same('an equal copy', base, structuredClone(base), { identity: true, content: true });
same(
  'addresses in another order',
  { addresses: ['10.0.0.1', '10.0.0.2'] },
  { addresses: ['10.0.0.2', '10.0.0.1'] },
  { identity: true, content: true },
);
same('another address', base, { ...base, addresses: ['10.0.0.2'] }, { identity: false, content: true });
same('an address more', base, { ...base, addresses: ['10.0.0.1', '10.0.0.2'] }, { identity: false, content: true });
same('no address', base, { ...base, addresses: [] }, { identity: false, content: true });
same('another hostname', base, { ...base, hostname: 'i' }, { identity: false, content: true });
same(
  'an empty hostname is none',
  { addresses: [] },
  { addresses: [], hostname: '' },
  { identity: true, content: true },
);
same(
  'another target',
  base,
  { ...base, targetRef: { ...base.targetRef, name: 'q' } },
  { identity: false, content: false },
);
same(
  'a target of another namespace',
  base,
  { ...base, targetRef: { ...base.targetRef, namespace: 'other' } },
  { identity: false, content: false },
);
same(
  'the pod came back with its name and IP, but another uid',
  base,
  { ...base, targetRef: { ...base.targetRef, uid: 'v' } },
  { identity: true, content: false },
);
same(
  'the resourceVersion of the target',
  base,
  { ...base, targetRef: { ...base.targetRef, resourceVersion: '7' } },
  { identity: true, content: true },
);
same(
  'a target without names and no target',
  { addresses: ['10.0.0.1'] },
  { addresses: ['10.0.0.1'], targetRef: {} },
  { identity: true, content: false },
);
same(
  'a target with an empty namespace and one without',
  { addresses: ['10.0.0.1', 'fd00::1'], targetRef: { name: 'p' } },
  { addresses: ['10.0.0.1', 'fd00::1'], targetRef: { name: 'p', namespace: '' } },
  { identity: true, content: true },
);
same('another node', base, { ...base, nodeName: 'n2' }, { identity: true, content: false });
same('another zone', base, { ...base, zone: 'b' }, { identity: true, content: false });
same(
  'a condition that is absent and one that is false',
  base,
  { ...base, conditions: { ready: true, serving: true } },
  { identity: true, content: false },
);
same(
  'no conditions and empty ones',
  { addresses: [] },
  { addresses: [], conditions: {} },
  { identity: true, content: true },
);
same('hints', base, { ...base, hints: { forZones: [{ name: 'a' }] } }, { identity: true, content: true });
