import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Compiles the program anew, because what lies in `dist` may be of any commit. */
export function compileProgram(): void {
  execFileSync('npm', ['run', '--silent', 'prepack'], { cwd: ROOT, stdio: 'inherit' });
}
