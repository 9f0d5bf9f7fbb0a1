/** Plays a story in virtual time, with given settings on a given machine. The same input gives the same ledger. */
import { at, createAgenda, play } from './agenda.ts';
import { createArrivals, createLatency } from './api-latency.ts';
import { createFamilyDraw, createRanks, type DrawRank } from './draw.ts';
import { createEndpointdModel } from './endpointd-model.ts';
import { between } from './figures.ts';
import { createKubeModel } from './kube-model.ts';
import { createLedger, type Ledger, type Output, perOutput, type Spent } from './ledger.ts';
import { type Cores, createCores } from './processors.ts';
import type { Program } from '../metrics/program-of.ts';
import type { Calibration, Costs, Settings } from './settings.ts';
import type { Story } from './story.ts';
import type { Model, WaitingServices, World } from './world.ts';
import { createWriteTokens, isSameWith, startWith, type TokenCounts, tokensLeft } from './write-tokens.ts';

export interface Run {
  readonly story: Story;
  readonly controller: Program;
  readonly settings: Settings;
  readonly calibration: Calibration;
  readonly seed: number;
  /** `--max-endpoints-per-slice` of the slices that are there at the start; absent = that of the settings. */
  readonly endpointsPerSliceAtStart?: number;
  /**
   * How many times as many endpoints a written object has as it is played with: the slices of a cluster need not be as full at
   * the start. They count for bytes and for what the API servers compute, and change no latency. Absent = as many.
   */
  readonly endpointsRatio?: Readonly<Record<Output, number>>;
  /** The minor version of kube-controller-manager. */
  readonly kubeMinor?: number;
  /**
   * The tokens of a controller that was at work before the story begins; `as left` = as many as a first play leaves at the end of
   * the story, and with them what waits there. Absent = it has just been started, and has all.
   */
  readonly tokensAtStart?: 'as left' | TokenCounts;
  /** What waits at the start, where the tokens are told by a number; absent = nothing. */
  readonly waitingAtStart?: WaitingServices;
  /** Absent = by the seed. */
  readonly rankOf?: DrawRank;
}

/** The minor versions of kube-controller-manager that the model knows. */
export const [OLDEST_KUBE_MINOR, NEWEST_KUBE_MINOR] = [31, 36];

/** How long a run goes on after its last change, so that waiting changes can be written. */
const AFTERWARDS_MS = 600_000;

export function runModel(run: Run): Ledger {
  const ledger = ledgerOf(run);
  const { endpointsRatio } = run;
  if (endpointsRatio === undefined) return ledger;
  const writes = perOutput((output) => {
    const ratio = endpointsRatio[output];
    if (ratio === 1) return ledger.writes[output];
    return ledger.writes[output].map((write) => Object.assign({}, write, { endpoints: ratio * write.endpoints }));
  });
  return { ...ledger, writes };
}

function ledgerOf(run: Run): Ledger {
  const { tokensAtStart } = run;
  if (tokensAtStart !== 'as left') return begin(run, tokensAtStart, run.waitingAtStart).end();
  const fresh = begin(run);
  // That no write waits for a token does not tell it: the first play may have lived on the burst that it began with.
  if (fresh.isSameWithTokensLeft && !fresh.isBehind()) return fresh.end();
  const again = begin(run, fresh.tokensLeft, fresh.waiting());
  const { story } = run;
  const cpu = again.cpu();
  const ledger = again.end();
  // What the first play has reached may have decided what was left.
  for (const limit of fresh.ledger.reached) ledger.reached.add(limit);
  // What waited before the story is written in it, so what is written after it is of the time that follows.
  const writes = perOutput((output) => between(ledger.writes[output], 0, story.durationMs));
  return { ...ledger, writes, cpu };
}

interface Play {
  /** Until the end of the story. */
  readonly ledger: Ledger;
  /** At the end of the story. */
  readonly tokensLeft: TokenCounts;
  /** Of a play that began with full buckets: whether it is the same if it begins with those. */
  readonly isSameWithTokensLeft: boolean;
  readonly isBehind: () => boolean;
  /** Ends the play. */
  readonly waiting: () => WaitingServices;
  /** So far. */
  readonly cpu: () => Spent[];
  /** Plays until all that waits is written. */
  readonly end: () => Ledger;
}

/** Plays the story. @param tokensAtStart absent = all */
function begin(run: Run, tokensAtStart?: TokenCounts, waitingAtStart = NOTHING_WAITS): Play {
  const { story, controller, settings, calibration, seed, kubeMinor = NEWEST_KUBE_MINOR } = run;
  const { endpointsPerSliceAtStart = settings.endpointsPerSlice, rankOf = createRanks(seed) } = run;
  const agenda = createAgenda();
  const cores = createCores(agenda, calibration.cores);
  const ledger = createLedger(story.objects);
  // The slices that are there at the start are packed by this one.
  if (run.endpointsPerSliceAtStart === undefined) ledger.reached.add('endpointsPerSlice');
  const { watchLagMs } = calibration;
  const tokens = createWriteTokens(run);
  if (tokensAtStart !== undefined) startWith(tokens, tokensAtStart);
  const world: World = {
    agenda,
    cores,
    story,
    settings,
    endpointsPerSliceAtStart,
    costs: scaled(calibration.costs[controller], calibration.cpuFactor),
    tokens,
    watchLagMs,
    latencyOf: createLatency(calibration, seed),
    arrivalsOf: createArrivals(calibration, seed),
    rankOf,
    firstFamilyOf: createFamilyDraw(seed),
    kubeMinor,
    waitingAtStart,
    ledger,
  };
  const model = controller === 'endpointd' ? createEndpointdModel(world) : createKubeModel(world);
  deliver(world, model);
  play(agenda, story.durationMs);
  const left = tokensLeft(tokens, story.durationMs);
  return {
    ledger,
    tokensLeft: left,
    isSameWithTokensLeft: isSameWith(tokens, left),
    isBehind: model.isBehind,
    waiting: model.waiting,
    cpu: () => spentOn(cores),
    end: () => {
      play(agenda, story.durationMs + AFTERWARDS_MS);
      model.close();
      ledger.cpu.push(...spentOn(cores));
      return ledger;
    },
  };
}

const NOTHING_WAITS: WaitingServices = { endpoints: [], slices: [] };

function spentOn({ busyMs }: Cores): Spent[] {
  return busyMs.flatMap((ms, second) => (ms > 0 ? [{ atMs: 1000 * second, ms }] : []));
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
