import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { test } from 'node:test';

const LIMIT = new URL('file-limit.ts', import.meta.url).href;

test('a file whose tests are over, and that does not end, is ended and told', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-file-limit-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'endless.test.ts');
  writeFileSync(
    file,
    "import { test } from 'node:test';\ntest('passes', () => void setInterval(() => undefined, 10));\n",
  );
  const options = {
    env: { ...env, TEST_FILE_MS_MAX: '6000', NODE_TEST_CONTEXT: undefined },
    timeout: 60_000,
    killSignal: 'SIGKILL',
  } as const;
  const [code, said] = await new Promise<[unknown, string]>((resolve) => {
    execFile(execPath, ['--import', LIMIT, '--test', file], options, (error, stdout) => resolve([error?.code, stdout]));
  });
  assert.equal(code, 1, said);
  assert.match(said, /✔ passes/);
  assert.match(said, /endless\.test\.ts has not ended after 6000 ms, and is ended\. This keeps it alive: .*Timeout/);
});
