import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MODULE = join(import.meta.dirname, 'binaries.ts');

/** What kubeBinaries() gives in a process with this environment, as JSON or as the text of its error. */
async function binaries(env: NodeJS.ProcessEnv): Promise<string> {
  const script = `import(${JSON.stringify(MODULE)}).then((m) => m.kubeBinaries()).then(
    (found) => console.log(JSON.stringify(found)), (error) => console.log(error.message))`;
  const { stdout } = await run(process.execPath, ['-e', script], { env });
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
