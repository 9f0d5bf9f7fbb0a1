import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeByOracle } from '../support/kube-proto.ts';
import { fieldManagers } from '../../src/kube/managed-fields.ts';
import { DecodeError } from '../../src/kube/protobuf.ts';

const OBJECT = {
  metadata: {
    name: 'web',
    labels: { app: 'web' },
    managedFields: [
      {
        manager: 'endpointd',
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-01T00:00:05Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:metadata': { 'f:labels': { '.': {} } } },
      },
      { manager: 'kubectl-edit', operation: 'Update', apiVersion: 'v1', time: '2026-01-01T00:01:00Z' },
    ],
  },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
};
const MANAGERS = [
  { manager: 'endpointd', time: 1_767_225_605 },
  { manager: 'kubectl-edit', time: 1_767_225_660 },
];
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

describe('field managers', () => {
  it('field managers are read from protobuf and JSON alike', () => {
    assert.deepEqual(fieldManagers('protobuf', encodeByOracle('Endpoints', OBJECT)), MANAGERS);
    assert.deepEqual(fieldManagers('json', json(OBJECT)), MANAGERS);
  });

  it('an object without managedFields has no field managers', () => {
    const bare = { metadata: { name: 'web' } };
    assert.deepEqual(fieldManagers('protobuf', encodeByOracle('Endpoints', bare)), []);
    assert.deepEqual(fieldManagers('json', json(bare)), []);
    assert.deepEqual(fieldManagers('json', json({})), []);
  });

  it('an absent manager or time is empty', () => {
    const entry = { metadata: { managedFields: [{ operation: 'Update' }] } };
    const nothing = [{ manager: '', time: 0 }];
    assert.deepEqual(fieldManagers('protobuf', encodeByOracle('Endpoints', entry)), nothing);
    for (const odd of [entry.metadata.managedFields[0], null, 7, { manager: 1, time: 'soon' }]) {
      assert.deepEqual(fieldManagers('json', json({ metadata: { managedFields: [odd] } })), nothing);
    }
  });

  it('bytes that are no object are an error', () => {
    const bytes = encodeByOracle('Endpoints', OBJECT);
    assert.throws(() => fieldManagers('protobuf', bytes.subarray(0, 40)), DecodeError);
    assert.throws(() => fieldManagers('json', Buffer.from('{')), DecodeError);
    assert.deepEqual(fieldManagers('json', json({ metadata: null })), []);
  });
});
