/** What a bench does with its marks: it prints them, and with `--results` keeps them. */
import { machineOf } from '../peers/machine.ts';
import { remakeKept } from '../peers/kept-results.ts';
import { commitText } from '../support/commit.ts';
import type { Size } from '../support/micro-bench.ts';
import { type BenchMark, keepMarks } from './data.ts';

/**
 * What a bench is to call with its marks. To be made before it begins, because it may take minutes.
 * @param rest what the command line has behind the name of the bench
 * @throws Error if that is anything but `--results`, or if a tiny run is to be kept
 */
export function createMarksTeller(
  bench: string,
  size: Size,
  rest: readonly string[],
): (marks: readonly BenchMark[]) => void {
  const unknown = rest.find((argument) => argument !== '--results');
  if (unknown !== undefined) throw new Error(`there is no flag ${unknown}; --results keeps the marks`);
  const isKept = rest.length > 0;
  if (isKept && size === 'tiny') throw new Error('the marks of a tiny run are not kept');
  return (marks) => {
    for (const { what, got, verdict } of marks) console.log(`mark: ${what}: ${got}: ${verdict}`);
    if (!isKept) return;
    const endedAt = new Date().toISOString().slice(0, '2026-11-26T23:30'.length);
    keepMarks({ bench, commit: commitText(), endedAt, machine: machineOf(), marks });
    remakeKept();
  };
}
