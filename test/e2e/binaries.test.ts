import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MODULE = join(import.meta.dirname, 'binaries.ts');

/** What kubeBinaries() gives in a process with this environment, as JSON or as the text of its error. */
async function binaries(env: NodeJS.ProcessEnv): Promise<string> {
  const script = `import(${JSON.stringify(MODULE)}).then((m) => m.kubeBinaries()).then(
    (found) => console.log(JSON.stringify(found)), (error) => console.log(error.message))`;
  const { stdout } = await run(process.execPath, ['-e', script], { env, timeout: 60_000 });
  return stdout.trim();
}

test('without Go and without binaries the error says what to install', async () => {
  const cache = await mkdtemp(join(tmpdir(), 'endpointd-'));
  try {
    const message = await binaries({ PATH: '/nonexistent', XDG_CACHE_HOME: cache });
    assert.match(
      message,
      /^etcd is missing and could not be built: install Go 1\.26 or newer .*or set KUBEBUILDER_ASSETS/,
    );
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
});

test('programs in KUBEBUILDER_ASSETS are used first', async () => {
  const assets = await mkdtemp(join(tmpdir(), 'endpointd-'));
  try {
    const names = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];
    for (const name of names) await writeFile(join(assets, name), '');
    const found = JSON.parse(await binaries({ PATH: '/nonexistent', KUBEBUILDER_ASSETS: assets })) as object;
    assert.deepEqual(
      Object.values(found),
      names.map((name) => join(assets, name)),
    );
  } finally {
    await rm(assets, { recursive: true, force: true });
  }
});

const KEY = createHash('sha256')
  .update(readFileSync(join(import.meta.dirname, 'go.mod')))
  .digest('hex')
  .slice(0, 16);

/** The lock of builds in a new cache directory, touched so long ago. */
async function lockIn(cache: string, secondsAgo: number, pid: number | null): Promise<string> {
  const lock = join(cache, 'endpointd', 'kube', KEY, 'building');
  await mkdir(lock, { recursive: true });
  if (pid !== null) await writeFile(join(lock, 'pid'), String(pid));
  await writeFile(join(lock, '..', 'etcd.part-1'), 'half of it');
  const then = Date.now() / 1000 - secondsAgo;
  await utimes(lock, then, then);
  return lock;
}

for (const [left, pid] of [
  ['before it said whose it is', null],
  ['by a process whose pid another one has', process.pid],
] as const) {
  test(`a lock of builds that was left ${left} is taken over`, async () => {
    const cache = await mkdtemp(join(tmpdir(), 'endpointd-'));
    try {
      const lock = await lockIn(cache, 90, pid);
      assert.match(await binaries({ PATH: '/nonexistent', XDG_CACHE_HOME: cache }), /^etcd is missing/);
      assert.deepEqual(await readdir(join(lock, '..')), []);
    } finally {
      await rm(cache, { recursive: true, force: true });
    }
  });
}

test('a lock of builds that is held is waited for', async () => {
  const cache = await mkdtemp(join(tmpdir(), 'endpointd-'));
  try {
    const lock = await lockIn(cache, 0, process.pid);
    const built = binaries({ PATH: '/nonexistent', XDG_CACHE_HOME: cache });
    const first = await Promise.race([built, sleep(2000, 'none yet')]);
    assert.equal(first, 'none yet');
    await rm(lock, { recursive: true });
    assert.match(await built, /^etcd is missing/);
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
});
