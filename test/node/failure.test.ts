import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureMessage } from '../../src/node/failure.ts';

// As undici says it of a watch whose API server is killed: truths.kube.ts shows it on a real one.
test('a connection that closes within an answer is reported as such', () => {
  const message = 'Response does not match the HTTP/1.1 protocol (Invalid EOF state)';
  assert.equal(failureMessage(new Error(message)), 'the connection was closed in the middle of an answer');
});

test('an error without a message is named by its code, and many lines become one', () => {
  assert.equal(failureMessage(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), 'ECONNREFUSED');
  assert.equal(failureMessage(new Error('first\n  second ')), 'first second');
  assert.equal(failureMessage('text'), 'text');
});
