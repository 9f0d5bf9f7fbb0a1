import assert from 'node:assert/strict';
import { it } from 'node:test';
import { getOrDeleteEndpoints, onlySelfReviews, readOnly } from '../../src/node/read-only-transport.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

it('a read-only transport lets GET through, and nothing else', () => {
  const sent: string[] = [];
  const transport = readOnly({ send: ({ method }: HttpRequest) => void sent.push(method), cancel() {} });
  const request = { id: 1, pool: 'read', path: '/api/v1/pods', accept: '', contentType: '', body: null } as const;
  const send = (method: HttpRequest['method']): void =>
    transport.send({ ...request, method, stream: false, timeoutMs: 1000 });
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    assert.throws(() => send(method), { message: `${method} /api/v1/pods from a process that only reads` });
  }
  send('GET');
  assert.deepEqual(sent, ['GET']);
});

it('a transport for reviews of oneself lets these through, and nothing else', () => {
  const sent: string[] = [];
  const transport = onlySelfReviews({ send: ({ path }: HttpRequest) => void sent.push(path), cancel() {} });
  const request = { id: 1, pool: 'read', accept: '', contentType: '', body: null, stream: false } as const;
  const send = (path: string): void => transport.send({ ...request, method: 'POST', path, timeoutMs: 1000 });
  for (const path of [
    '/api/v1/pods',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x',
  ]) {
    assert.throws(() => send(path), { message: `POST ${path} is no review of oneself` });
  }
  send('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews');
  send('/apis/authentication.k8s.io/v1/selfsubjectreviews');
  assert.equal(sent.length, 2);
});

it('a transport that deletes Endpoints lets no other write through', () => {
  const sent: string[] = [];
  const transport = getOrDeleteEndpoints({ send: ({ path }: HttpRequest) => void sent.push(path), cancel() {} });
  const rest = {
    id: 1,
    pool: 'write',
    accept: '',
    contentType: '',
    body: null,
    stream: false,
    timeoutMs: 1000,
  } as const;
  const send = (method: HttpRequest['method'], path: string): void => transport.send({ ...rest, method, path });
  const one = '/api/v1/namespaces/shop/endpoints/web';
  assert.throws(() => send('PUT', one));
  assert.throws(() => send('DELETE', '/api/v1/namespaces/shop/endpoints'));
  assert.throws(() => send('DELETE', '/api/v1/namespaces/shop/services/web'));
  send('DELETE', one);
  send('GET', '/api/v1/services');
  assert.deepEqual(sent, [one, '/api/v1/services']);
});
