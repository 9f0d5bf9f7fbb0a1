/** The commit that a bench measures. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What benches write themselves is no change of what they measure. */
const RESULTS = [
  'bench/RESULTS.md',
  'bench/*.json',
  'bench/*.html',
  'bench/cells/**/data.json',
  'bench/cells/**/CELLS.md',
  'bench/transfer/data.json',
  'bench/transfer/TRANSFER.md',
  'bench/search/data.json',
  'bench/search/SEARCH.md',
  'docs/images/**',
];

/** Its short hash, with `-dirty` behind it if files have changed since. */
export function commitText(): string {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  const others = RESULTS.map((path) => `:(exclude,glob)${path}`);
  const isChanged = git('diff', '--name-only', 'HEAD', '--', '.', ...others) !== '';
  return `${git('describe', '--always')}${isChanged ? '-dirty' : ''}`;
}
