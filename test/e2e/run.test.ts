import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
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
  'always.mjs': `import assert from 'node:assert/strict';
    import { test } from 'node:test';
    test('fails', () => assert.fail());`,
  'dies.mjs': `process.exit(3);`,
};

/** The status of a run of these files, and the lines that tell of those that failed. */
function ran(...names: string[]): { status: number | null; told: string[] } {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-'));
  try {
    for (const name of names) writeFileSync(join(directory, name), SOURCES[name]!);
    // NODE_TEST_CONTEXT would make the tests report to the test runner above us.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const result = spawnSync(process.execPath, [RUN, ...names], {
      cwd: directory,
      encoding: 'utf8',
      env,
      timeout: 60_000,
    });
    return {
      status: result.status,
      told: result.stdout.split('\n').filter((line) => /^\S+ failed, and /.test(line)),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test('a file that fails once is named, and fails no run', () => {
  assert.deepEqual(ran('well.mjs', 'once.mjs'), {
    status: 0,
    told: ['once.mjs failed, and passed alone: find out why it failed first'],
  });
});

test('a file that fails twice, or dies, fails the run', () => {
  assert.deepEqual(ran('always.mjs', 'dies.mjs', 'well.mjs'), {
    status: 1,
    told: ['always.mjs failed, and failed alone too', 'dies.mjs failed, and failed alone too'],
  });
});

test('a file that passes is not named', () => {
  assert.deepEqual(ran('well.mjs'), { status: 0, told: [] });
});
