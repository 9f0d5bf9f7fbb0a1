/**
 * Loaded before each file of `npm test` and `npm run test:bench`. The runner limits tests, and no files: what a failed test
 * leaves (a loop, a child, a server) would keep the process of its file alive, and the runner waits for that. Its
 * `--test-force-exit` ends the process before all results are reported.
 */
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/** A minute more than the test that may take longest, on a busy machine. */
const MS_MAX = Number(process.env['TEST_FILE_MS_MAX'] ?? 960_000);

// The runner itself has no such variable.
if (
  isMainThread &&
  process.env['NODE_TEST_CONTEXT'] !== undefined &&
  /\.(?:test|bench)\.ts$/.test(process.argv[1] ?? '')
) {
  const end = (): void => {
    const kept = [...new Set(process.getActiveResourcesInfo())].join(', ');
    console.error(`${process.argv[1]} has not ended after ${MS_MAX} ms, and is ended. This keeps it alive: ${kept}`);
    process.exit(1);
  };
  setTimeout(end, MS_MAX).unref();
}
