/** What the testbed does when a program that it has started ends by itself. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { createApiClient } from '../../src/node/api-client.ts';
import { startController } from '../../src/testbed/controller-process.ts';
import { createFixedObjects, replay } from '../../src/testbed/replay.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { createStoryCluster } from '../../src/testbed/story-cluster.ts';
import { startEndpointd } from '../../src/testbed/test-programs.ts';
import { profileStory, STORY_PROFILES } from '../../src/twin/profiles.ts';
import { MAIN } from '../support/installed.ts';

const PROFILE = { ...STORY_PROFILES[0]!, namespaces: 1, services: [{ count: 1, pods: 2 }], minutes: 0.1 };
const ENDED = { message: /^serve has ended with status -1:/ };

test('a story is given up when the API server ends', { timeout: 60_000 }, async (t) => {
  const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0'], MAIN);
  const client = createApiClient({ url: serve.url }, 8);
  t.after(async () => {
    await client.close();
    await serve.stop();
  });
  const server = { client, kubeconfigPath: serve.kubeconfig, failed: serve.failed };
  const cluster = createStoryCluster(profileStory(PROFILE, 1));
  await createFixedObjects(server, cluster);
  const replayed = replay(server, cluster, () => {
    process.kill(serve.pid, 'SIGKILL');
    return startEndpointd(server, []);
  });
  await assert.rejects(replayed, ENDED);
  await assert.rejects(createFixedObjects(server, cluster), ENDED);
});

test('what cannot be started fails, and is stopped at once', { timeout: 10_000 }, async (t) => {
  const before = process.execPath;
  process.execPath = join(tmpdir(), 'no-such-program');
  t.after(() => void (process.execPath = before));
  const cannot = { message: /^spawn .*no-such-program ENOENT$/ };
  await assert.rejects(startServe(), cannot);
  const controller = startController([]);
  await assert.rejects(controller.failed, cannot);
  await controller.stop();
});

test('an API server that does not start leaves neither a directory nor a listener', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'no-serve-'));
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = directory;
  t.after(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    rmSync(directory, { recursive: true });
  });
  const listeners = process.listenerCount('exit');
  await assert.rejects(startServe(['--no-such-flag'], MAIN), { message: /^serve has ended with status 2:/ });
  const left = readdirSync(directory).filter((name) => name.startsWith('endpointd-'));
  assert.deepEqual([left, process.listenerCount('exit')], [[], listeners]);
});
