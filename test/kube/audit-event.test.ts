import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAuditLine } from '../../src/kube/audit-event.ts';

const EVENT = {
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  stage: 'ResponseComplete',
  verb: 'get',
  user: { username: 'alice' },
  userAgent: 'kubectl/v1.36.3',
  objectRef: { resource: 'endpoints', namespace: 'shop', name: 'web', apiVersion: 'v1' },
  requestReceivedTimestamp: '2026-11-22T08:00:00.000000Z',
};

describe('a line of an audit log', () => {
  it('a line of an audit log is an event', () => {
    assert.deepEqual(readAuditLine(JSON.stringify(EVENT)), [
      {
        stage: 'ResponseComplete',
        verb: 'get',
        user: 'alice',
        userAgent: 'kubectl/v1.36.3',
        resource: 'endpoints',
        apiGroup: '',
        namespace: 'shop',
        name: 'web',
        time: '2026-11-22T08:00:00.000000Z',
      },
    ]);
  });

  it('an event names the impersonated user, as whom the request is allowed', () => {
    const [event] = readAuditLine(JSON.stringify({ ...EVENT, impersonatedUser: { username: 'bob' } }))!;
    assert.equal(event!.user, 'bob');
  });

  it('a line may be a list of events, as the webhook backend sends it', () => {
    const list = { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items: [EVENT, EVENT] };
    assert.equal(readAuditLine(JSON.stringify(list))?.length, 2);
  });

  it('a cut line, other JSON and an event without a stage are no event', () => {
    const lines = [
      JSON.stringify(EVENT).slice(0, 40),
      'null',
      '{"level":"info"}',
      JSON.stringify({ ...EVENT, apiVersion: 'v1' }),
      JSON.stringify({ ...EVENT, stage: undefined }),
      '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[null]}',
    ];
    assert.deepEqual(
      lines.map(readAuditLine),
      lines.map(() => null),
    );
  });
});
