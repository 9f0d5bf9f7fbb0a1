/**
 * `npm run test:kube [-- FILE...]`: the tests against a real API server, two files at once. A file that fails runs once more,
 * alone: a test that fails for want of CPU, or by a loop of kube-apiserver that no test controls, shall not refuse a change
 * that it says nothing about. Each such file is named at the end, with both results.
 */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import process from 'node:process';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** The slowest test builds the programs: nine minutes on two cores. */
const MS_MAX = 2_400_000;

/** Runs `files` to their end, told on standard output. Returns those that failed. */
async function failing(files: readonly string[], concurrency: number): Promise<string[]> {
  const failed = new Set<string>();
  const events = run({ files: [...files], concurrency, timeout: MS_MAX, forceExit: true });
  // A process that dies has no summary: its failure names its file. That of a test may name another one, which has the suite.
  let success = false;
  events.on('test:summary', (summary) => {
    if (summary.file === undefined) success = summary.success;
    else if (!summary.success) failed.add(summary.file);
  });
  events.on('test:fail', ({ file }) => void (file !== undefined && files.includes(file) && failed.add(file)));
  for await (const text of events.compose(new spec())) process.stdout.write(text);
  assert.ok(success || failed.size > 0, 'a run that failed has a file that failed');
  return [...failed].toSorted();
}

const named = process.argv.slice(2).map((path) => resolve(path));
const files = named.length > 0 ? named : globSync(join(import.meta.dirname, '*.kube.ts')).toSorted();
assert.ok(files.length > 0);
const first = await failing(files, 2);
const again = first.length > 0 ? await failing(first, 1) : [];
for (const file of first) {
  const alone = again.includes(file) ? 'failed alone too' : 'passed alone: find out why it failed first';
  process.stdout.write(`${relative(process.cwd(), file)} failed, and ${alone}\n`);
}
process.exitCode = again.length > 0 ? 1 : 0;
