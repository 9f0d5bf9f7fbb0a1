/** Which seeds a random test plays, and how many: one way for all of them (CONTRIBUTING.md "Seeds"). */

export interface Seeds {
  readonly first: number;
  readonly count: number;
}

/** `SEED=n` is that seed alone, `RUNS=n` so many from the first. */
export function seeds(defaults: Seeds): Seeds {
  const seed = numberOf('SEED');
  return { first: seed ?? defaults.first, count: numberOf('RUNS') ?? (seed === null ? defaults.count : 1) };
}

export interface PropertyRuns {
  readonly seed: number;
  readonly numRuns: number;
}

/** For fast-check: `SEED=n` is where its cases begin, `RUNS=n` so many of them. */
export function propertyRuns(numRuns: number, seed = 1): PropertyRuns {
  return { seed: numberOf('SEED') ?? seed, numRuns: numberOf('RUNS') ?? numRuns };
}

/** `MINUTES=n`; by default 0: once through. */
export function minutes(): number {
  return numberOf('MINUTES') ?? 0;
}

/** @throws Error that names the variable */
function numberOf(variable: 'SEED' | 'RUNS' | 'MINUTES'): number | null {
  const text = process.env[variable] ?? '';
  if (text === '') return null;
  const number = Number(text);
  if (!(number >= 0)) throw new Error(`${variable}: a number was expected, not ${JSON.stringify(text)}`);
  return number;
}
