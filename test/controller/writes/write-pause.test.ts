/** Which answers are about the API server itself: all writes wait then. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createWritePause,
  nextWriteMs,
  noteWriteAnswered,
  noteWriteSent,
  pauseAskedMs,
  pauseSecondsLeft,
} from '../../../src/controller/writes/write-pause.ts';
import { answered, failedWith, refusedWith } from '../../support/answers.ts';

const at = (nowMs: number): { nowMs: number; wallMs: number } => ({ nowMs, wallMs: nowMs });
const log = (): void => undefined;
const LIMITED = { retryAfterSeconds: 3, priorityLevel: 'f0a3f5cf' };

describe('all writes wait', () => {
  it('all writes wait on 429 of priority and fairness, with its header', () => {
    assert.equal(pauseAskedMs(answered(429, 'Too many requests', LIMITED)), 3000);
  });
});

describe('one write alone is concerned', () => {
  it("503 in plain text with the header delays one write: it is a proxy's", () => {
    assert.equal(pauseAskedMs(answered(503, 'no healthy upstream', LIMITED)), null);
  });

  it("429 with a Status delays one write: it is a webhook's", () => {
    assert.equal(pauseAskedMs({ ...refusedWith(429), ...LIMITED }), null);
  });

  it('429 without the header delays one write', () => {
    assert.equal(pauseAskedMs(answered(429, 'Too many requests', { retryAfterSeconds: 3 })), null);
  });

  it('any other code delays one write', () => {
    assert.equal(pauseAskedMs(answered(500, 'Too many requests', LIMITED)), null);
  });

  it('429 or 503 of a server that shuts down delays one write: another may take it', () => {
    assert.equal(pauseAskedMs(answered(429, 'The apiserver is shutting down, please try again later.')), null);
    assert.equal(pauseAskedMs(refusedWith(503, '', 'apiserver is shutting down')), null);
  });
});

for (const [what, answer] of [
  ['has reached nobody', failedWith('refused', false)],
  [
    'a server that shuts down has turned away',
    answered(429, 'The apiserver is shutting down, please try again later.'),
  ],
] as const) {
  it(`a trial that ${what} is followed by another one`, () => {
    const [refused, trial, again] = [{}, {}, {}];
    const pause = createWritePause();
    noteWriteSent(pause, log, refused, at(0));
    noteWriteAnswered(pause, log, refused, answered(429, 'Too many requests', LIMITED), at(0));
    assert.equal(nextWriteMs(pause), 3000);
    noteWriteSent(pause, log, trial, at(3000));
    assert.equal(pauseSecondsLeft(pause, 3000), 3.5, 'until the others go without its answer');
    noteWriteAnswered(pause, log, trial, answer, at(3100));
    assert.equal(nextWriteMs(pause), 4100);
    noteWriteSent(pause, log, again, at(4100));
    noteWriteAnswered(pause, log, again, answered(200, ''), at(4200));
    assert.equal(nextWriteMs(pause), -Infinity);
  });
}

it('a trial that has reached nobody shortens no pause that was asked for meanwhile', () => {
  const [first, second, trial] = [{}, {}, {}];
  const pause = createWritePause();
  for (const write of [first, second]) noteWriteSent(pause, log, write, at(0));
  noteWriteAnswered(pause, log, first, answered(429, 'Too many requests', LIMITED), at(0));
  noteWriteSent(pause, log, trial, at(3000));
  noteWriteAnswered(pause, log, second, answered(429, '', { ...LIMITED, retryAfterSeconds: 30 }), at(3050));
  noteWriteAnswered(pause, log, trial, failedWith('refused', false), at(3100));
  assert.equal(nextWriteMs(pause), 33_050);
});
