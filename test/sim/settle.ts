/**
 * How soon all is right again after the last happening of a story, by the kind of trouble that there was. A promise to
 * operators, in virtual time: the bounds follow from the pauses that the code knows (reconnecting, back-off, silence).
 */

/**
 * change: the inputs changed. foreign: somebody else wrote our objects. altered: admission changed what we wrote. restart:
 * the process or a thread ended. network: connections, lost answers, 5xx. refused: writes were refused for their content or
 * for rights. silent: a stream said nothing, or nothing whole. poison: planning ended the thread, or hung. orphan: somebody
 * else made Endpoints without a Service.
 */
export type Trouble =
  | 'change'
  | 'foreign'
  | 'altered'
  | 'restart'
  | 'network'
  | 'refused'
  | 'silent'
  | 'poison'
  | 'restored'
  | 'nodeGone'
  | 'orphan';

const RIGHT_WITHIN_MS: Readonly<Record<Trouble, number>> = {
  change: 10_000,
  foreign: 40_000,
  altered: 310_000,
  restart: 30_000,
  network: 130_000,
  refused: 310_000,
  silent: 660_000,
  poison: 310_000,
  restored: 170_000,
  nodeGone: 10_000,
  orphan: 40_000,
};

/** The sum of the writes that a bucket may still owe: small worlds, but slow buckets. */
const BACKLOG_MS = 30_000;

/**
 * For so long the pods of a node that was deleted, and Endpoints without a Service, may stay, from the moment at which the
 * controller is told.
 */
export function graceMs(troubles: ReadonlySet<Trouble>): number {
  return troubles.has('nodeGone') || troubles.has('orphan') ? 60_000 : 0;
}

/** @param lagMs the most that an API server lags behind the others */
export function rightWithinMs(troubles: Iterable<Trouble>, lagMs: number): number {
  const all = new Set(troubles);
  let ms = RIGHT_WITHIN_MS.change;
  for (const trouble of all) ms = Math.max(ms, RIGHT_WITHIN_MS[trouble]);
  ms += graceMs(all);
  // A planner that was spoilt throws at the next plan, which a refused write may make minutes later.
  if (all.has('poison') && all.has('refused')) ms += RIGHT_WITHIN_MS.poison;
  return ms + BACKLOG_MS + 2 * lagMs;
}
