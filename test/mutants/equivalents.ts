/**
 * Mutants that no test can kill, since nobody can tell them from the program. Each is found by its file, the function that
 * it is in, the text that goes and the text that comes, as the tool prints them.
 */
import type { Mutant } from './find-mutants.ts';

export interface Equivalent {
  readonly file: string;
  readonly within: string;
  readonly original: string;
  readonly replacement: string;
  readonly reason: string;
}

export const EQUIVALENTS: readonly Equivalent[] = [];

export function isEquivalent(mutant: Mutant, listed: readonly Equivalent[]): boolean {
  return listed.some((entry) => matches(entry, mutant));
}

/** Entries about code that is there no more. */
export function staleEntries(listed: readonly Equivalent[], mutants: readonly Mutant[]): Equivalent[] {
  return listed.filter((entry) => !mutants.some((mutant) => matches(entry, mutant)));
}

function matches(entry: Equivalent, mutant: Mutant): boolean {
  return (
    entry.file === mutant.file &&
    entry.within === mutant.within &&
    entry.original === mutant.original &&
    entry.replacement === mutant.replacement
  );
}
