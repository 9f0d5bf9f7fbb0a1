/** Plays a story in virtual time, with given settings on a given machine. The same input gives the same ledger. */
import { setTokens, tokensAt } from '../lib/token-bucket.ts';
import { at, createAgenda, play } from './agenda.ts';
import { createArrivals, createLatency } from './api-latency.ts';
import { createFamilyDraw, createRanks, type DrawRank } from './draw.ts';
import { createEndpointdModel } from './endpointd-model.ts';
import { createKubeModel } from './kube-model.ts';
import { createLedger, type Ledger, type Output } from './ledger.ts';
import { createCores } from './processors.ts';
import type { Calibration, Controller, Costs, Settings } from './settings.ts';
import type { Story } from './story.ts';
import type { Model, ModelBucket, World } from './world.ts';

export interface Run {
  readonly story: Story;
  readonly controller: Controller;
  readonly settings: Settings;
  readonly calibration: Calibration;
  readonly seed: number;
  /** `--max-endpoints-per-slice` of the slices that are there at the start; absent = that of the settings. */
  readonly endpointsPerSliceAtStart?: number;
  /** The minor version of kube-controller-manager. */
  readonly kubeMinor?: number;
  /**
   * The tokens of a controller that was at work before the story begins: the fewest with which it can have made these writes,
   * or (`as left`) as many as a first play leaves at the end of the story. Absent = it has just been started, and has all.
   */
  readonly tokensAtStart?: 'as left' | WriteTimes;
  /** Absent = by the seed. */
  readonly rankOf?: DrawRank;
}

/** When objects were written, milliseconds since the start, in order. */
export type WriteTimes = Readonly<Record<Output, readonly { readonly atMs: number }[]>>;

/** The minor versions of kube-controller-manager that the model knows. */
export const [OLDEST_KUBE_MINOR, NEWEST_KUBE_MINOR] = [31, 36];

/** How long a run goes on after its last change, so that waiting changes can be written. */
const AFTERWARDS_MS = 600_000;

export function runModel(run: Run): Ledger {
  const { tokensAtStart } = run;
  if (tokensAtStart === undefined) return begin(run, allTokens).end();
  if (tokensAtStart !== 'as left') return begin(run, fewestTokens(tokensAtStart)).end();
  const fresh = begin(run, allTokens);
  // Where no write waits for a token, it does not matter how many there are at the start.
  if (!fresh.ledger.reached.has('tokens')) return fresh.end();
  const again = begin(run, (_bucket, i) => fresh.tokensLeft[i]!).end();
  // What the first play has reached may have decided how many were left.
  for (const limit of fresh.ledger.reached) again.reached.add(limit);
  return again;
}

/** How many tokens a bucket has at the start. */
type TokensAtStart = (bucket: ModelBucket, i: number) => number;

const allTokens: TokensAtStart = ({ tokens }) => tokens.burst;

/** A bucket never has less than nothing: before each write at least as many were there, or had come, as are taken by then. */
function fewestTokens(writes: WriteTimes): TokensAtStart {
  return ({ tokens: { intervalMs }, outputs }) => {
    if (intervalMs === 0) return 0;
    const times = outputs.flatMap((output) => writes[output].map(({ atMs }) => atMs)).toSorted((a, b) => a - b);
    return times.reduce((fewest, atMs, i) => Math.max(fewest, i + 1 - atMs / intervalMs), 0);
  };
}

interface Play {
  /** Until the end of the story. */
  readonly ledger: Ledger;
  /** For each bucket: the tokens at the end of the story. */
  readonly tokensLeft: readonly number[];
  /** Plays until all that waits is written. */
  readonly end: () => Ledger;
}

/** Plays the story. */
function begin(run: Run, tokensOf: TokensAtStart): Play {
  const { story, controller, settings, calibration, seed, kubeMinor = NEWEST_KUBE_MINOR } = run;
  const { endpointsPerSliceAtStart = settings.endpointsPerSlice, rankOf = createRanks(seed) } = run;
  const agenda = createAgenda();
  const cores = createCores(agenda, calibration.cores);
  const ledger = createLedger(story.objects);
  // The slices that are there at the start are packed by this one.
  if (run.endpointsPerSliceAtStart === undefined) ledger.reached.add('endpointsPerSlice');
  const { watchLagMs } = calibration;
  const world: World = {
    agenda,
    cores,
    story,
    settings,
    endpointsPerSliceAtStart,
    costs: scaled(calibration.costs[controller], calibration.cpuFactor),
    watchLagMs,
    latencyOf: createLatency(calibration, seed),
    arrivalsOf: createArrivals(calibration, seed),
    rankOf,
    firstFamilyOf: createFamilyDraw(seed),
    kubeMinor,
    ledger,
  };
  const model = controller === 'endpointd' ? createEndpointdModel(world) : createKubeModel(world);
  for (const [i, bucket] of model.buckets.entries()) setTokens(bucket.tokens, tokensOf(bucket, i), agenda.nowMs);
  deliver(world, model);
  play(agenda, story.durationMs);
  return {
    ledger,
    // A write that waits for a token has taken it already. It is none of the time before.
    tokensLeft: model.buckets.map(({ tokens }) => Math.max(0, tokensAt(tokens, story.durationMs))),
    end: () => {
      play(agenda, story.durationMs + AFTERWARDS_MS);
      model.close();
      for (const [second, ms] of cores.busyMs.entries()) if (ms > 0) ledger.cpu.push({ atMs: 1000 * second, ms });
      return ledger;
    },
  };
}

/** Delivers one event after the other. The heap only holds the next one. */
function deliver({ agenda, story: { changes }, watchLagMs }: World, model: Model): void {
  let next = 0;
  const add = (): void => {
    if (next < changes.length) at(agenda, changes[next]!.atMs + watchLagMs, take);
  };
  const take = (): void => {
    const change = changes[next++]!;
    add();
    model.take(change);
  };
  add();
}

/** The costs multiplied by `factor`. */
export function scaled(costs: Costs, factor: number): Costs {
  return Object.fromEntries(Object.entries(costs).map(([name, ms]) => [name, ms * factor])) as unknown as Costs;
}
