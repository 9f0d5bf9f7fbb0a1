/** What each answer of the API server to a write means. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classify, outcomeOf } from '../../../src/controller/writes/write-outcome.ts';
import { createInterner } from '../../../src/lib/interner.ts';
import type { TransportEvent } from '../../../src/ports/transport.ts';
import type { PlannedWrite } from '../../../src/shard/protocol.ts';
import { answered, failedWith, NAMESPACE_ENDS, refusedWith } from '../../support/answers.ts';

/** `class`, and what else is so. */
function verdictOf(event: TransportEvent, isCreate = false): string {
  const { failure, mustRead, withoutEvent } = classify(event, isCreate);
  return [failure.class, ...(mustRead ? ['must read'] : []), ...(withoutEvent ? ['without event'] : [])].join(' ');
}

const PROXY_503 = {
  ...refusedWith(503),
  contentType: 'text/plain',
  body: Buffer.from('upstream connect error or disconnect/reset before headers'),
};

const WEBHOOK_500 = refusedWith(
  500,
  'InternalError',
  'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: context deadline exceeded',
);
const PROXY_500 = { ...WEBHOOK_500, contentType: 'text/plain', body: Buffer.from('failed calling webhook') };

describe('a failure', () => {
  const CASES: readonly (readonly [string, TransportEvent, string, string?])[] = [
    ['409', refusedWith(409), 'conflict must read without event'],
    [
      '404: of a create the namespace is missing',
      refusedWith(404),
      'conflict must read without event',
      'forbidden without event',
    ],
    ['403', refusedWith(403), 'forbidden'],
    ['429', refusedWith(429), 'throttled without event'],
    ['400', refusedWith(400), 'invalid'],
    ['405', refusedWith(405), 'invalid'],
    ['406', refusedWith(406), 'invalid'],
    ['413', refusedWith(413), 'invalid'],
    ['415', refusedWith(415), 'invalid'],
    ['422', refusedWith(422), 'invalid'],
    ['401', refusedWith(401), 'server'],
    ['500: it may have been done', refusedWith(500), 'server must read'],
    ['500 of a webhook that could not be asked: it was not done', WEBHOOK_500, 'server'],
    ['500 of a proxy with such a text: it may have been done', PROXY_500, 'server must read'],
    ['504: it may have been done', refusedWith(504), 'server must read'],
    ['503: it was not', refusedWith(503), 'server'],
    ['503 of a proxy: it may have been done', PROXY_503, 'server must read'],
    ['500 of etcd for what is too large', refusedWith(500, '', 'etcdserver: request is too large'), 'invalid'],
    ['refused connection', failedWith('refused', false), 'unreachable without event'],
    ['cut connection', failedWith('reset', true), 'unreachable must read without event'],
    ['no answer in time', failedWith('timeout', true), 'server must read without event'],
    ['no connection in time', failedWith('timeout', false), 'unreachable without event'],
  ];
  for (const [name, event, ofUpdate, ofCreate = ofUpdate] of CASES) {
    it(`${name}: the failure is ${ofUpdate}`, () => {
      assert.equal(verdictOf(event), ofUpdate);
      assert.equal(verdictOf(event, true), ofCreate);
    });
  }

  it('a failure without a message is told by its code and reason', () => {
    const event = answered(500, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 500 });
    assert.match(classify(event).failure.message, /500/);
  });

  it('what a webhook says of each address is cut', () => {
    const long = classify(refusedWith(403, '', `denied: ${'10.0.0.1 is bad, '.repeat(100_000)}`));
    assert.match(long.failure.message, /^denied: 10\.0\.0\.1 is bad, .*\.\.\.$/);
    assert.equal(long.failure.message.length, 2051);
  });
});

function write(verb: PlannedWrite['verb']): PlannedWrite {
  return {
    id: 1,
    verb,
    name: 'web',
    uid: 'u',
    resourceVersion: '5',
    phase: 1,
    waits: false,
    family: '',
    body: new Uint8Array(0),
  };
}

describe('the answer to a delete', () => {
  const SUCCESS = { kind: 'Status', apiVersion: 'v1', status: 'Success' };
  const resultOf = (event: TransportEvent, isOvertaken = false): string => {
    const { result, mustRead } = outcomeOf(write('delete'), event, isOvertaken, createInterner());
    return `${result}${mustRead ? ' must read' : ''}`;
  };

  for (const code of [200, 202]) {
    it(`${code} as the answer to a delete: the delete is done`, () =>
      assert.equal(resultOf(answered(code, SUCCESS)), 'applied'));
    it(`${code} with a page that is not of the API: the outcome is unknown`, () =>
      assert.notEqual(resultOf(answered(code, 'sign in')), 'applied'));
  }
  it('404 as the answer to a delete: the object is gone already', () =>
    assert.equal(resultOf(refusedWith(404, 'NotFound')), 'applied'));
  it('200 to a delete after a list was asked for: the outcome is unknown', () =>
    assert.equal(resultOf(answered(200, SUCCESS), true), 'unknown must read'));
});

describe('the answer to a create', () => {
  it('409 to a create: the name is taken, nothing was done, the object is looked at', () => {
    const { result, mustRead, isConflict } = outcomeOf(write('create'), refusedWith(409), false, createInterner());
    assert.deepEqual([result, mustRead, isConflict], ['refused', true, true]);
  });

  it('403 in a namespace that ends: a create is not missed, an update has failed', () => {
    const meaningOf = (verb: PlannedWrite['verb']): unknown[] => {
      const { result, namespaceEnds, failure } = outcomeOf(write(verb), NAMESPACE_ENDS, false, createInterner());
      return [result, namespaceEnds, failure?.class];
    };
    assert.deepEqual(meaningOf('create'), ['refused', true, undefined]);
    assert.deepEqual(meaningOf('update'), ['refused', false, 'forbidden']);
  });

  it('201 with another object: the outcome of the create is unknown', () => {
    const other = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'other', namespace: 'a', uid: 'u' } };
    const { result, mustRead } = outcomeOf(write('create'), answered(201, other), false, createInterner());
    assert.deepEqual([result, mustRead], ['unknown', true]);
  });
});
