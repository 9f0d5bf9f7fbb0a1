/** The two lists of `retire-endpoints`, page by page, while the server forgets versions and pages are too big. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { busyMs, createPatientAsker } from '../../src/cli/retire/patience.ts';
import { endpointsWithServices } from '../../src/cli/retire/retire-lists.ts';
import type { Asker, Reply } from '../../src/node/asker.ts';

type Answer = (params: URLSearchParams) => Reply;

/** A server that has Services as told, and answers each request for Endpoints by the next of the answers. */
function server(services: readonly string[], answers: readonly Answer[]): { ask: Asker; asked: string[] } {
  const asked: string[] = [];
  let next = 0;
  const ask: Asker = ({ path }) => {
    const { pathname, searchParams } = new URL(path, 'http://test');
    if (pathname.endsWith('/services')) return Promise.resolve(page('ServiceList', services));
    asked.push(decodeURIComponent(searchParams.toString()));
    return Promise.resolve(answers[next++]!(searchParams));
  };
  return { ask, asked };
}

function page(kind: string, names: readonly string[], more = ''): Reply {
  const items = names.map((name) => ({ metadata: { namespace: 'shop', name, resourceVersion: '1', uid: name } }));
  return answer(200, { kind, apiVersion: 'v1', metadata: { resourceVersion: '9', continue: more }, items });
}

function answer(status: number, object: object): Reply {
  const body = Buffer.from(JSON.stringify(object));
  return {
    type: 'response',
    id: 1,
    status,
    contentType: 'application/json',
    body,
    retryAfterSeconds: -1,
    priorityLevel: '',
  };
}

const expired = (token: string): Reply =>
  answer(410, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: { continue: token },
    status: 'Failure',
    reason: 'Expired',
    message: 'The provided continue parameter is too old',
    code: 410,
  });

const TOO_BIG: Reply = { type: 'failure', id: 1, kind: 'too-big', message: 'bigger than 64 MiB', mayHaveArrived: true };

async function read(ask: Asker): Promise<string[]> {
  const all: string[] = [];
  for await (const { endpoints, service } of endpointsWithServices(ask, 'shop', '')) {
    all.push(`${endpoints.name} ${service === null ? 'alone' : 'with its Service'}`);
  }
  return all;
}

describe('the lists of retire-endpoints', () => {
  it('a list goes on behind its last page when its version has been compacted', async () => {
    const { ask, asked } = server(
      ['b', 'c'],
      [
        () => page('PartialObjectMetadataList', ['a', 'b'], 'old'),
        () => expired('new'),
        () => page('PartialObjectMetadataList', ['c']),
      ],
    );
    assert.deepEqual(await read(ask), ['a alone', 'b with its Service', 'c with its Service']);
    assert.deepEqual(asked, ['limit=500', 'limit=500&continue=old', 'limit=500&continue=new']);
  });

  it('a list ends with an error where the server names no way to go on', async () => {
    for (const token of ['', 'old']) {
      const { ask } = server([], [() => page('PartialObjectMetadataList', ['a'], 'old'), () => expired(token)]);
      await assert.rejects(read(ask), {
        message: 'cannot list /api/v1/namespaces/shop/endpoints: The provided continue parameter is too old',
      });
    }
  });

  it('half the objects are asked for when a page is too big', async () => {
    const { ask, asked } = server([], [() => TOO_BIG, () => TOO_BIG, () => page('PartialObjectMetadataList', ['a'])]);
    assert.deepEqual(await read(ask), ['a alone']);
    assert.deepEqual(asked, ['limit=500', 'limit=250', 'limit=125']);
  });

  it('a server that is busy is asked again for the same page', async () => {
    const busy = answer(503, {});
    const { ask, asked } = server([], [() => busy, () => page('PartialObjectMetadataList', ['a'])]);
    assert.deepEqual(await read(createPatientAsker(ask, () => undefined)), ['a alone']);
    assert.deepEqual(asked, ['limit=500', 'limit=500']);
  });

  it('a Retry-After counts up to 32 s', () => {
    const busyFor = (retryAfterSeconds: number): Reply => ({ ...answer(429, {}), retryAfterSeconds }) as Reply;
    assert.deepEqual(
      [-1, 0, 5, 999_999_999].map((seconds) => busyMs(busyFor(seconds))),
      [1000, 1000, 5000, 32_000],
    );
  });

  it('half the objects are asked for at once also by who is patient', async () => {
    const { ask, asked } = server([], [() => TOO_BIG, () => page('PartialObjectMetadataList', ['a'])]);
    assert.deepEqual(await read(createPatientAsker(ask, () => undefined)), ['a alone']);
    assert.deepEqual(asked, ['limit=500', 'limit=250']);
  });
});
