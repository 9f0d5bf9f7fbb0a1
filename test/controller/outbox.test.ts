import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createOutbox, type StepOutbox } from '../../src/controller/outbox.ts';
import { httpRequest } from '../suites/transport.ts';
import { answered } from '../support/answers.ts';

/** An outbox with one request, which has the id 1. */
function withRequest(stream: boolean): StepOutbox<string> {
  const outbox = createOutbox<string>();
  const { id: _, ...request } = httpRequest({ stream });
  assert.equal(outbox.send('watch', request), 1);
  outbox.effects = [];
  return outbox;
}

const answer = (status: number): ReturnType<typeof answered> => ({ ...answered(status, ''), id: 1 });

for (const [what, stream, status, isOpen] of [
  ['a stream that is opened', true, 200, true],
  ['a stream that is opened with another success', true, 206, true],
  ['a stream that is refused', true, 410, false],
  ['a request without a stream', false, 200, false],
] as const) {
  it(`${what} is ${isOpen ? 'kept until its end' : 'over with its answer'}`, () => {
    const outbox = withRequest(stream);
    assert.equal(outbox.takeEvent(answer(status)), 'watch');
    assert.equal(outbox.takeEvent({ type: 'chunk', id: 1, bytes: new Uint8Array() }), isOpen ? 'watch' : undefined);
    assert.equal(outbox.takeEvent({ type: 'ended', id: 1, error: null }), isOpen ? 'watch' : undefined);
    assert.equal(outbox.requests.size, 0);
    outbox.cancel(1);
    assert.deepEqual(outbox.effects, []);
  });
}

it('what still comes of a cancelled request is ignored', () => {
  const outbox = withRequest(true);
  outbox.cancel(1);
  outbox.cancel(1);
  assert.deepEqual(outbox.effects, [{ type: 'cancel', id: 1 }]);
  assert.equal(outbox.takeEvent(answer(200)), undefined);
});
