import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readOnly } from '../../src/node/read-only-transport.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

it('a transport that only reads lets GET through, and nothing else', () => {
  const sent: string[] = [];
  const transport = readOnly({ send: ({ method }: HttpRequest) => void sent.push(method), cancel() {} });
  const request = { id: 1, lane: 'read', path: '/api/v1/pods', accept: '', contentType: '', body: null } as const;
  const send = (method: HttpRequest['method']): void =>
    transport.send({ ...request, method, stream: false, timeoutMs: 1000 });
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    assert.throws(() => send(method), { message: `${method} /api/v1/pods from a process that only reads` });
  }
  send('GET');
  assert.deepEqual(sent, ['GET']);
});
