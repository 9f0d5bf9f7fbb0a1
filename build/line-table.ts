/** From a source map to what a line of the log needs of it: which line of the sources a place in a chunk comes from. */
import type { LineTable } from '../src/node/source-lines.ts';

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * @param mappings of a source map of version 3
 * @param sources the paths of its sources, in its order
 */
export function createLineTable(mappings: string, sources: readonly string[]): LineTable {
  const runs: number[] = [];
  let source = 0;
  let sourceLine = 0;
  mappings.split(';').forEach((segments, index) => {
    let column = 0;
    for (const segment of segments.split(',')) {
      const [columnStep = 0, sourceStep = null, lineStep = 0] = decodeVlq(segment);
      column += columnStep;
      if (sourceStep === null) continue;
      source += sourceStep;
      sourceLine += lineStep;
      addRun(runs, [index + 1, column + 1, source, sourceLine + 1]);
    }
  });
  return { sources, runs };
}

/** Nothing is added where the line follows from the run before. */
function addRun(
  runs: number[],
  run: readonly [line: number, column: number, source: number, sourceLine: number],
): void {
  const [line, , source, sourceLine] = run;
  const [beforeLine = 0, , beforeSource = -1, beforeSourceLine = 0] = runs.slice(-4);
  if (source !== beforeSource || sourceLine - beforeSourceLine !== line - beforeLine) runs.push(...run);
}

/** The numbers of a segment: each in groups of five bits, the lowest first, the lowest bit of all the sign. */
function decodeVlq(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const letter of segment) {
    const digit = BASE64.indexOf(letter);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit >= 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}
