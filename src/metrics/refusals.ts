/** Which requests an API server has refused because it cannot keep up. */

/**
 * What an API server answers that has too much to do, shuts down, or waits for etcd in vain. 500 is none: a webhook that fails for
 * an object of another controller is one, too.
 */
const CODES: readonly string[] = ['429', '503', '504'];

/** For people. */
export const REFUSAL_CODES = CODES.join(', ');

/** How many requests were refused, by code. */
export type Refused = Readonly<Record<string, number>>;

/** @param countOf how many requests had an answer with this code */
export function refusedOf(countOf: (code: string) => number): Refused {
  return Object.fromEntries(CODES.map((code) => [code, countOf(code)] as const).filter(([, count]) => count > 0));
}

/** Such as `25 (429), 3 (503)`; '' = none was refused. */
export function refusalsText(refused: Refused): string {
  return Object.entries(refused)
    .map(([code, count]) => `${count} (${code})`)
    .join(', ');
}
