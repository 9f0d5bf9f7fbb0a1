/** What becomes of the embedded API server's thread. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApiServerThread } from '../../src/node/apiserver-thread.ts';

/** A thread that says where it serves, and then does something else. */
function entryThat(does: string): URL {
  const ready = "parentPort.postMessage({ url: 'http://127.0.0.1:1', port: 1 })";
  return new URL(`data:text/javascript,import { parentPort } from 'node:worker_threads'; ${ready}; ${does}`);
}

test('a thread that throws after its start has failed with that error', async () => {
  const { failed } = await startApiServerThread(
    { seed: 1 },
    entryThat("setTimeout(() => { throw new Error('full') })"),
  );
  await assert.rejects(failed, /^Error: full$/);
});

test('a thread that only ends has failed with its status', async () => {
  const { failed } = await startApiServerThread({ seed: 1 }, entryThat('setTimeout(() => process.exit(3))'));
  await assert.rejects(failed, /^Error: the thread of the API server has ended with status 3$/);
});

test('a thread that is closed has not failed', async () => {
  const { failed, close } = await startApiServerThread({ seed: 1 });
  await close();
  assert.equal(await Promise.race([failed, sleep(50, 'nothing')]), 'nothing');
});

test('a thread that ends before it serves does not start', async () => {
  const started = startApiServerThread({ seed: 1 }, new URL('data:text/javascript,process.exit(4)'));
  await assert.rejects(started, /^Error: the thread of the API server has ended with status 4$/);
});
