/** Lines of the sources, where the program runs from the chunks that `npm run prepack` makes of them. */
import { readFileSync } from 'node:fs';

/** Beside a chunk, as JSON. */
export interface LineTable {
  /** Paths from the root, as `src/cli/run.ts`. */
  readonly sources: readonly string[];
  /**
   * Four numbers a run: the line and the column in the chunk where it begins, its source, the line there. The lines that
   * follow in the chunk follow there too, until the next run. Lines and columns count from 1.
   */
  readonly runs: readonly number[];
}

export interface SourceLine {
  readonly source: string;
  readonly line: number;
}

const PLACE = /(file:[^\s()]+):(\d+):(\d+)/g;
const RUN_NUMBERS = 4;

const tables = new Map<string, LineTable | null>();

/**
 * The line of a source that a place in a chunk comes from; null = a file without a table.
 * @param url of the file that runs
 */
export function sourceLine(url: string, line: number, column: number): SourceLine | null {
  let table = tables.get(url);
  if (table === undefined) tables.set(url, (table = url.endsWith('.js') ? readTable(url) : null));
  return table === null ? null : lookUp(table, line, column);
}

/** The stack of an error with the places in the sources, as `src/cli/run.ts:12`. */
export function withSourceLines(stack: string): string {
  return stack.replaceAll(PLACE, (place: string, url: string, line: string, column: string) => {
    const said = sourceLine(url, Number(line), Number(column));
    return said === null ? place : `${said.source}:${said.line}`;
  });
}

/** The message of an error may have anything that looks like a URL. */
function readTable(url: string): LineTable | null {
  try {
    return JSON.parse(readFileSync(new URL(`${url}.lines`), 'utf8')) as LineTable;
  } catch {
    return null;
  }
}

function lookUp({ sources, runs }: LineTable, line: number, column: number): SourceLine | null {
  let low = 0;
  let high = runs.length / RUN_NUMBERS;
  while (low < high) {
    const middle = (low + high) >> 1;
    const atLine = runs[RUN_NUMBERS * middle]!;
    if (atLine < line || (atLine === line && runs[RUN_NUMBERS * middle + 1]! <= column)) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return null;
  const [runLine, , source, first] = runs.slice(RUN_NUMBERS * (low - 1), RUN_NUMBERS * low);
  return { source: sources[source!]!, line: first! + line - runLine! };
}
