/** How long the API server takes for writes, by verb. */
import type { Grown } from '../metrics/two-looks.ts';

/** The verbs of these controllers. They patch nothing, and read without tokens. */
export const WRITES = ['POST', 'PUT', 'DELETE'] as const;
type Verb = (typeof WRITES)[number];

/** By verb. */
export type Weights = Readonly<Record<Verb, number>>;

export const TOKEN_WAITS = 'rest_client_rate_limiter_duration_seconds_sum';
export const API_TIMES = 'rest_client_request_duration_seconds';

/** The writes of a process with one verb. */
export interface Writes {
  readonly verb: Verb;
  readonly count: number;
  /** From writes to their answers, together. */
  readonly seconds: number;
}

/** client-go counts the wait for a token as part of a request (rest/request.go of 0.36). endpointd does not. */
export function writesBetween(difference: Grown, hasTokenWaits: boolean): Writes[] {
  return WRITES.map((verb) => {
    const waited = hasTokenWaits ? difference(TOKEN_WAITS, { verb }) : 0;
    const seconds = Math.max(0, difference(`${API_TIMES}_sum`, { verb }) - waited);
    return { verb, count: difference(`${API_TIMES}_count`, { verb }), seconds };
  }).filter(({ count }) => count > 0);
}

/** The mean, with each verb as often as `weights` say; null = as often as the process made it. */
export function apiSecondsOf(writes: readonly Writes[], weights: Weights | null): number | null {
  const weightOf = ({ verb, count }: Writes): number => (weights === null ? count : weights[verb]);
  const total = writes.reduce((sum, one) => sum + weightOf(one), 0);
  return total > 0 ? writes.reduce((sum, one) => sum + (weightOf(one) * one.seconds) / one.count, 0) / total : null;
}
