import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { version } from '../node/version.ts';
import { print } from './print.ts';

/** `endpointd version`: what runs, and on what. */
export function printVersion(): Promise<number> {
  print(`endpointd ${version()}\ncommit ${commit()}\nnode ${process.version}\n`);
  return Promise.resolve(0);
}

/** `npm run prepack` writes it beside what it compiles; a checkout asks git. */
function commit(): string {
  try {
    return readFileSync(new URL('../../commit', import.meta.url), 'utf8').trim() || 'unknown';
  } catch {
    return commitOfCheckout();
  }
}

function commitOfCheckout(): string {
  try {
    const quiet = { cwd: import.meta.dirname, stdio: 'pipe' } as const;
    return execFileSync('git', ['rev-parse', 'HEAD'], quiet).toString().trim();
  } catch {
    return 'unknown';
  }
}
