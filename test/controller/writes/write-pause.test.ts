/** Which answers are about the API server itself: all writes wait then. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pauseAsked } from '../../../src/controller/writes/write-pause.ts';
import { answered, refusedWith } from '../../support/answers.ts';

const LIMITED = { retryAfterSeconds: 3, priorityLevel: 'f0a3f5cf' };

describe('all writes wait', () => {
  it('all writes wait on 429 of priority and fairness, with its header', () => {
    assert.equal(pauseAsked(answered(429, 'Too many requests', LIMITED))?.forMs, 3000);
  });

  it('all writes wait on 429 or 503 of a server that shuts down', () => {
    assert.notEqual(pauseAsked(answered(429, 'The apiserver is shutting down, please try again later.')), null);
    assert.notEqual(pauseAsked(refusedWith(503, '', 'apiserver is shutting down')), null);
  });
});

describe('one write alone is concerned', () => {
  it("503 in plain text with the header delays one write: it is a proxy's", () => {
    assert.equal(pauseAsked(answered(503, 'no healthy upstream', LIMITED)), null);
  });

  it("429 with a Status delays one write: it is a webhook's", () => {
    assert.equal(pauseAsked({ ...refusedWith(429), ...LIMITED }), null);
  });

  it('429 without the header delays one write', () => {
    assert.equal(pauseAsked(answered(429, 'Too many requests', { retryAfterSeconds: 3 })), null);
  });

  it('any other code delays one write', () => {
    assert.equal(pauseAsked(answered(500, 'apiserver is shutting down', LIMITED)), null);
  });
});
