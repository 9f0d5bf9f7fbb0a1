/**
 * `npm run test:kube [-- FILE...]`: the tests against a real API server, two files at once. A file that fails runs once more,
 * alone: two files disturb each other on a small machine, and kube-apiserver does work that no test controls. A file that
 * fails twice fails the run. A signal ends the run and its files.
 */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import process from 'node:process';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** Of a test. The longest takes some minutes; two tries of one that hangs have room in the limit of CI. */
const MS_MAX = 1_200_000;

const STATUSES = { SIGINT: 130, SIGTERM: 143 } as const;

const ended = new AbortController();
for (const [name, status] of Object.entries(STATUSES)) {
  process.once(name, () => {
    process.exitCode = status;
    ended.abort();
  });
}

/** Runs `files` to their end, and tells of it on standard output. Returns those that failed. */
async function failing(files: readonly string[], concurrency: number): Promise<string[]> {
  const failed = new Set<string>();
  let success = false;
  const events = run({ files: [...files], concurrency, timeout: MS_MAX, forceExit: true, signal: ended.signal });
  // A test may stand in another file than the one that runs, which the failure of a process names alone.
  events.on('test:fail', ({ entryFile, file }) => void failed.add(entryFile ?? file!));
  events.on('test:summary', (summary) => {
    if (summary.file === undefined) success = summary.success;
  });
  for await (const text of events.compose(new spec())) process.stdout.write(text);
  assert.ok(success || failed.size > 0, 'the run failed, and none of its files');
  return [...failed].toSorted();
}

function tell(file: string, what: string): void {
  process.stderr.write(`${relative(process.cwd(), file)} failed, ${what}\n`);
}

const named = process.argv.slice(2).map((path) => resolve(path));
const files = named.length > 0 ? named : globSync(join(import.meta.dirname, '*.kube.ts')).toSorted();
assert.ok(files.length > 0);
const first = await failing(files, 2);
if (ended.signal.aborted) {
  for (const file of first) tell(file, 'or has not ended before the signal');
} else if (first.length > 0) {
  for (const file of first) tell(file, 'and runs once more, alone');
  const again = await failing(first, 1);
  for (const file of first) {
    tell(file, again.includes(file) ? 'and failed alone too' : 'and passed alone: find out why it failed first');
  }
  if (again.length > 0) process.exitCode ??= 1;
}
