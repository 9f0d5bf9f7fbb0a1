/** `npm run test:upstream`: Kubernetes' own tests, with endpointd in place of the controllers. */
import { mkdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { adaptModules } from './adapt.ts';
import type { TestResult } from './go-test.ts';
import { runE2e } from './e2e.ts';
import { runIntegration } from './integration.ts';
import type { Run } from './part.ts';
import { runReconcile } from './reconcile.ts';
import { BIN } from '../support/installed.ts';

const PARTS: Readonly<Record<string, (run: Run) => Promise<TestResult[]>>> = {
  integration: runIntegration,
  reconcile: runReconcile,
  e2e: runE2e,
};

async function prepare(): Promise<Run> {
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'endpointd', 'upstream');
  const logs = join(cache, 'logs');
  await rm(logs, { recursive: true, force: true });
  await mkdir(logs, { recursive: true });
  return {
    directory: import.meta.dirname,
    goMod: await adaptModules(join(cache, 'modules')),
    logs,
    cache,
    env: {
      ENDPOINTD_COMMAND: JSON.stringify([process.execPath, BIN]),
      ENDPOINTD_STARTS: join(logs, 'starts'),
    },
  };
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !Object.hasOwn(PARTS, name));
  if (unknown.length > 0) {
    process.stderr.write(`unknown part ${unknown.join(', ')}. Allowed: ${Object.keys(PARTS).join(', ')}.\n`);
    return 2;
  }
  const run = await prepare();
  let failed = 0;
  for (const name of names.length > 0 ? names : Object.keys(PARTS)) {
    const results = await PARTS[name]!(run);
    for (const { suite, name: test, outcome } of results) {
      if (outcome !== 'pass') process.stdout.write(`${outcome} ${suite} ${test}\n`);
    }
    const count = (outcome: string): number => results.filter((each) => each.outcome === outcome).length;
    failed += count('fail');
    process.stdout.write(`${name}: ${count('pass')} passed, ${count('fail')} failed, ${count('skip')} skipped\n`);
  }
  process.stdout.write(`Logs: ${run.logs}\n`);
  return failed === 0 ? 0 : 1;
}

process.exit(await main(process.argv.slice(2)));
