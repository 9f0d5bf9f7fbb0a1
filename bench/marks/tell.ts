/** What a bench that plays no scenario does with its tables and marks. */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { machineOf } from '../peers/machine.ts';
import { remakeKept } from '../peers/kept-results.ts';
import { commitText } from '../support/commit.ts';
import type { Size } from '../support/micro-bench.ts';
import { type BenchTable, table } from '../support/table.ts';
import { type BenchMark, type BenchMarks, keepMarks } from './data.ts';

export interface Teller {
  /** Prints a table at once, because the bench may go on for minutes. */
  readonly show: (shown: BenchTable) => void;
  /** The bench has ended: prints its marks, writes all to the FILE of `--json`, and with `--results` keeps it. */
  readonly end: (marks: readonly BenchMark[]) => void;
}

/**
 * To be made before the bench begins, because that may take minutes.
 * @param bench as `BenchMarks` has it
 * @param rest what the command line has behind the name of the bench, without what the bench itself reads
 * @throws Error if that is anything but `--results` and `--json=FILE`, or if a tiny run is to be kept
 */
export function createTeller(bench: string, size: Size, rest: readonly string[]): Teller {
  const { results, json } = parseArgs({
    args: [...rest],
    options: { results: { type: 'boolean', default: false }, json: { type: 'string' } },
  }).values;
  if (results && size === 'tiny') throw new Error('what a tiny run has measured is not kept');
  const tables: BenchTable[] = [];
  return {
    show(shown) {
      tables.push(shown);
      const { title, columns, rows, note } = shown;
      console.log(`\n${title}\n${table(columns, rows)}${note === '' ? '' : `\n${note}`}`);
    },
    end(marks) {
      for (const { what, got, verdict } of marks) console.log(`mark: ${what}: ${got}: ${verdict}`);
      if (!results && json === undefined) return;
      const endedAt = new Date().toISOString().slice(0, '2026-11-26T23:30'.length);
      const own: BenchMarks = { bench, commit: commitText(), endedAt, machine: machineOf(), marks, tables };
      if (results) {
        keepMarks(own);
        remakeKept();
      }
      if (json !== undefined) writeFileSync(json, `${JSON.stringify(own, null, 2)}\n`);
    },
  };
}
