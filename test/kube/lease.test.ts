/** What is read of a Lease, whatever somebody has put into it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSameRecord, leaseAnnotation, leaseOf, type LeaseRecord } from '../../src/kube/lease.ts';

const KEY = { namespace: 'kube-system', name: 'endpointd' };
const METADATA = { ...KEY, resourceVersion: '7' };
const NOBODY: LeaseRecord = { holder: '', durationSeconds: 0, acquireTime: '', renewTime: '', transitions: 0 };

const read = (fields: object): LeaseRecord => leaseOf({ kind: 'Lease', metadata: METADATA, ...fields }, KEY).record;

describe('a Lease', () => {
  it('a Lease is held by its holder for its duration', () => {
    const spec = {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:02.000000Z',
      leaseTransitions: 3,
    };
    assert.deepEqual(read({ spec }), {
      holder: 'a',
      durationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:02.000000Z',
      transitions: 3,
    });
  });

  for (const [name, spec] of Object.entries({ null: null, text: 'a', 'a list': [], absent: undefined })) {
    it(`a Lease whose spec is ${name} is held by nobody`, () => assert.deepEqual(read({ spec }), NOBODY));
  }

  it('a Lease with fields of other types is held by nobody', () => {
    assert.deepEqual(read({ spec: { holderIdentity: 1, leaseDurationSeconds: '15', renewTime: {} } }), NOBODY);
  });

  it('a Lease without annotations tells of no take-over', () => {
    const lease = leaseOf({ kind: 'Lease', metadata: { ...METADATA, annotations: null } }, KEY);
    assert.equal(leaseAnnotation(lease, 'endpointd/took-over-from'), '');
  });

  it('an object of another name, kind or without a version is an error', () => {
    for (const [object, message] of [
      [{ kind: 'Lease', metadata: { ...METADATA, name: 'other' } }, /not the Lease kube-system\/endpointd/],
      [{ kind: 'Lock', metadata: METADATA }, /not the Lease kube-system\/endpointd/],
      [{ kind: 'Lease', metadata: null }, /not the Lease kube-system\/endpointd/],
      [{ kind: 'Lease', metadata: KEY }, /the Lease kube-system\/endpointd has no resourceVersion/],
    ] as const) {
      assert.throws(() => leaseOf(object, KEY), message);
    }
  });
});

describe('two records', () => {
  const record: LeaseRecord = { holder: 'a', durationSeconds: 15, acquireTime: 'x', renewTime: 'y', transitions: 1 };

  it('two records are the same if every field is', () => assert.equal(isSameRecord(record, { ...record }), true));

  for (const other of [
    { holder: 'b' },
    { durationSeconds: 16 },
    { acquireTime: 'z' },
    { renewTime: 'z' },
    { transitions: 2 },
  ]) {
    const [field] = Object.keys(other);
    it(`two records differ if ${field} differs`, () => {
      assert.equal(isSameRecord(record, { ...record, ...other }), false);
    });
  }
});
