/** `npm run prepack`: what is installed, as `dist`. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeProgram } from './bundle.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

/** What `endpointd version` tells. Without git the image's build or nobody does. */
function writeCommit(): void {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, stdio: 'pipe' });
    writeFileSync(join(DIST, 'commit'), commit);
  } catch {
    // A copy of the sources without their history.
  }
}

rmSync(DIST, { recursive: true, force: true });
await writeProgram(DIST);
writeCommit();
