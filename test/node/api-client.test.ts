/** How the plain client's watches end, and when they go on. */
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { ApiError, createApiClient, type ApiWatch } from '../../src/node/api-client.ts';
import { until } from '../support/until.ts';

interface World {
  readonly watch: ApiWatch;
  /** The versions after which the watches were opened. */
  readonly asked: readonly string[];
  /** The versions of the events. */
  readonly seen: readonly string[];
}

/** A watch after version 5. Each answer is for the next request; the last one is for all that follow. */
async function watching(t: TestContext, ...answers: ((response: ServerResponse) => void)[]): Promise<World> {
  const [asked, seen]: string[][] = [[], []];
  const server = createServer((request, response) => {
    asked!.push(new URL(request.url!, 'http://here').searchParams.get('resourceVersion')!);
    answers[Math.min(asked!.length, answers.length) - 1]!(response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const client = createApiClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, 1);
  t.after(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const watch = client.watch('/api/v1/endpoints', '5', (_, { metadata }) => seen!.push(metadata.resourceVersion!));
  return { watch, asked: asked!, seen: seen! };
}

function event(resourceVersion: string): string {
  return `${JSON.stringify({ type: 'MODIFIED', object: { metadata: { name: 'web', resourceVersion } } })}\n`;
}

const TOO_OLD = `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old' } })}\n`;

test('a watch that the server ends in good order goes on after its last event', async (t) => {
  const { promise: goesOn, resolve } = Promise.withResolvers<void>();
  const { watch, asked, seen } = await watching(
    t,
    (response) => response.end(event('6') + event('8')),
    (response) => response.end(),
    (response) => {
      response.write(event('9'));
      resolve();
    },
  );
  await goesOn;
  await until(() => seen.length === 3);
  watch.stop();
  await watch.ended;
  assert.deepEqual(
    [asked, seen],
    [
      ['5', '8', '8'],
      ['6', '8', '9'],
    ],
  );
});

test('a watch ends with an error where its last version is too old to go on', async (t) => {
  const { watch, asked } = await watching(
    t,
    (response) => response.end(event('6')),
    (response) => response.end(TOO_OLD),
  );
  await assert.rejects(
    watch.ended,
    (error) => error instanceof ApiError && /resourceVersion=6: .*410/.test(String(error)),
  );
  assert.deepEqual(asked, ['5', '6']);
});

test('a watch ends with an error where the server refuses it, or is cut off', async (t) => {
  const refused = await watching(t, (response) => response.writeHead(410).end('too old'));
  await assert.rejects(refused.watch.ended, /resourceVersion=5: 410 too old/);
  const cut = await watching(t, (response) => {
    response.write(event('6'), () => response.destroy());
  });
  await assert.rejects(cut.watch.ended);
  assert.deepEqual([cut.asked, cut.seen], [['5'], ['6']]);
});

test('a watch that waits to go on can be stopped', async (t) => {
  const { promise: asks, resolve } = Promise.withResolvers<void>();
  const { watch } = await watching(t, (response) => {
    response.end();
    resolve();
  });
  await asks;
  watch.stop();
  await watch.ended;
});
