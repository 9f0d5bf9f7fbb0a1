import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

const RUN = join(import.meta.dirname, 'run.ts');

const SOURCES: Readonly<Record<string, string>> = {
  'well.mjs': `import { test } from 'node:test';
    test('passes', () => {});`,
  'once.mjs': `import assert from 'node:assert/strict';
    import { existsSync, writeFileSync } from 'node:fs';
    import { test } from 'node:test';
    test('fails once', () => {
      const second = existsSync('seen');
      writeFileSync('seen', '');
      assert.ok(second);
    });`,
  'suite.mjs': `import assert from 'node:assert/strict';
    import { test } from 'node:test';
    test('fails', () => assert.fail());`,
  'always.mjs': `import './suite.mjs';`,
  'dies.mjs': `process.exit(3);`,
  'killed.mjs': `import './suite.mjs';
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500);
    await new Promise(() => {});`,
  'hangs.mjs': `import { test } from 'node:test';
    test('begins', () => {});
    test('hangs', () => new Promise((resolve) => setTimeout(resolve, 60_000)));`,
};

interface Ran {
  readonly status: number | null;
  /** What is said of files that failed. */
  readonly told: readonly string[];
}

/** @param signal is sent to the run alone, when the first test has passed */
async function ran(names: readonly string[], signal?: NodeJS.Signals): Promise<Ran> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-'));
  try {
    for (const [name, source] of Object.entries(SOURCES)) writeFileSync(join(directory, name), source);
    // NODE_TEST_CONTEXT would make the tests report to the test runner above us.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const child = spawn(process.execPath, [RUN, ...names], { cwd: directory, env, timeout: 60_000 });
    if (signal !== undefined) child.stdout.once('data', () => void child.kill(signal));
    const said = text(child.stderr);
    child.stdout.resume();
    const [status] = (await once(child, 'close')) as [number | null];
    const told = (await said).split('\n').filter((line) => /^\S+ failed, /.test(line));
    return { status, told };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test('a file that fails once is named, and fails no run', async () => {
  assert.deepEqual(await ran(['well.mjs', 'once.mjs']), {
    status: 0,
    told: [
      'once.mjs failed, and runs once more, alone',
      'once.mjs failed, and passed alone: find out why it failed first',
    ],
  });
});

test('a file that fails twice, or dies, fails the run', async () => {
  const names = ['always.mjs', 'dies.mjs', 'killed.mjs'];
  assert.deepEqual(await ran([...names, 'once.mjs']), {
    status: 1,
    told: [
      ...[...names, 'once.mjs'].map((name) => `${name} failed, and runs once more, alone`),
      ...names.map((name) => `${name} failed, and failed alone too`),
      'once.mjs failed, and passed alone: find out why it failed first',
    ],
  });
});

test('a file that passes is not named', async () => {
  assert.deepEqual(await ran(['well.mjs']), { status: 0, told: [] });
});

test('a signal ends the run, and names the file that was running', async () => {
  assert.deepEqual(await ran(['hangs.mjs'], 'SIGTERM'), {
    status: 143,
    told: ['hangs.mjs failed, or has not ended before the signal'],
  });
});
