import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { version } from '../node/version.ts';
import { print } from './print.ts';

/** `endpointd version`: prints the versions of this program and of Node. */
export function printVersion(): Promise<number> {
  print(`endpointd ${version()}\ncommit ${commit()}\nnode ${process.version}\n`);
  return Promise.resolve(0);
}

/** The commit, from a file that `npm run prepack` writes beside the compiled program. In a checkout, git tells it. */
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
