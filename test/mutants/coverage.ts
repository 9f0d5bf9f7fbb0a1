/** Which characters of a script V8 has run. */

/** The part of a V8 coverage report that matters here. */
export interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

/** Starts and ends by turns: what is between them was run. */
export type RunRanges = readonly number[];

/** Ranges of a report lie in each other; the innermost one says whether a character was run. */
export function runRanges(script: ScriptCoverage): RunRanges {
  const ranges = script.functions
    .flatMap((each) => each.ranges)
    .sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const edges: number[] = [];
  let on = false;
  let at = 0;
  const turn = (offset: number, run: boolean): void => {
    at = offset;
    if (run === on) return;
    // A range without length says nothing.
    if (edges.at(-1) === offset) edges.pop();
    else edges.push(offset);
    on = run;
  };
  const open: (typeof ranges)[number][] = [];
  const close = (until: number): void => {
    while (open.length > 0 && open.at(-1)!.endOffset <= until) {
      const end = open.pop()!.endOffset;
      turn(Math.max(at, end), open.length > 0 && open.at(-1)!.count > 0);
    }
  };
  for (const range of ranges) {
    close(range.startOffset);
    open.push(range);
    turn(range.startOffset, range.count > 0);
  }
  close(Infinity);
  return edges;
}

export function wasRun(ranges: RunRanges, offset: number): boolean {
  let before = 0;
  while (before < ranges.length && ranges[before]! <= offset) before++;
  return before % 2 === 1;
}
