/** Which answers are about the API server itself: all writes wait then. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pauseAsked } from '../../../src/controller/writes/write-pause.ts';
import { answered, refusedWith } from '../../support/answers.ts';

const LIMITED = { retryAfterSeconds: 3, priorityLevel: 'f0a3f5cf' };

describe('all writes wait', () => {
  it('on 429 of priority and fairness, in plain text and with its header', () => {
    assert.equal(pauseAsked(answered(429, 'Too many requests', LIMITED))?.forMs, 3000);
  });

  it('on 429 or 503 of a server that shuts down', () => {
    assert.notEqual(pauseAsked(answered(429, 'The apiserver is shutting down, please try again later.')), null);
    assert.notEqual(pauseAsked(refusedWith(503, '', 'apiserver is shutting down')), null);
  });
});

describe('one write alone is concerned', () => {
  it('by 503 in plain text with the header: a proxy has answered', () => {
    assert.equal(pauseAsked(answered(503, 'no healthy upstream', LIMITED)), null);
  });

  it('by 429 with a Status: a webhook has answered', () => {
    assert.equal(pauseAsked({ ...refusedWith(429), ...LIMITED }), null);
  });

  it('by 429 without the header', () => {
    assert.equal(pauseAsked(answered(429, 'Too many requests', { retryAfterSeconds: 3 })), null);
  });

  it('by any other code', () => {
    assert.equal(pauseAsked(answered(500, 'apiserver is shutting down', LIMITED)), null);
  });
});
