/** Which test file has noticed a mutant, kept between runs: it is tried first then, and mostly notices it again. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export interface Killers {
  /** Path from the root; '' = none is known. */
  of(mutantId: string): string;
  /** @param by the path, a colon, and the test's name */
  note(mutantId: string, by: string): void;
}

export function openKillers(path: string): Killers {
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>) : {};
  return {
    of: (mutantId) => known[mutantId] ?? '',
    note(mutantId, by) {
      known[mutantId] = by.split(': ')[0]!;
      writeFileSync(path, JSON.stringify(known));
    },
  };
}
