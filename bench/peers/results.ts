/** The runs as data, and the figures made from them. Plain data in and out. */
import { isDeepStrictEqual } from 'node:util';
import { percentile } from '../../src/lib/percentile.ts';
import {
  isBeyondNoise,
  median,
  PAIRS_FOR_INTERVAL,
  ratioOfMedians,
  resamplesOf,
  spread,
  type Ratio,
} from '../support/statistics.ts';
import { type ComparedScenario, ECHO, ENDPOINTD, ENDPOINTD_AGAIN, type Mark, type PeerName } from './scenario.ts';
import type { RunResult } from './stage.ts';
import { CPU_SECONDS_OF, FIGURES } from './window.ts';

export interface RunRecord extends RunResult {
  /** The place of its command in `commands`. */
  readonly command: number;
  readonly scenario: string;
  readonly peer: PeerName;
  /** Runs of one round are a pair. */
  readonly round: number;
  readonly startedAt: string;
  /** How long the whole run took, with its preparations. */
  readonly tookSeconds: number;
}

/** To be raised when older data lack something that a report shows. */
export const RESULTS_FORMAT = 3;

export interface Results {
  readonly format: typeof RESULTS_FORMAT;
  /** The commands that the runs are of, in the order in which they were given. */
  readonly commands: readonly Command[];
  readonly scenarios: readonly ScenarioText[];
  readonly runs: readonly RunRecord[];
}

/** A command that has made runs, and what it measured. */
export interface Command {
  readonly text: string;
  readonly commit: string;
  /** By `programHash`: commits may have the same program. */
  readonly program: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly size: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly startedAt: string;
  readonly endedAt: string;
}

export interface ScenarioText {
  readonly name: string;
  readonly what: string;
}

export interface Row {
  readonly figure: string;
  /** The median of each peer's runs; NaN = none has it. */
  readonly medians: Readonly<Record<PeerName, number>>;
  /** The ratio of the subject to the base. */
  readonly ratio: Ratio;
  /** How much runs of the same peer differ, at least 1; NaN = not known. */
  readonly noise: number;
  /** Whether the difference is beyond noise and interval. `few pairs`: it is, of too few pairs to say so. */
  readonly counts: 'yes' | 'no' | 'few pairs';
}

export interface Comparison {
  readonly scenario: ScenarioText;
  readonly peers: readonly PeerName[];
  /** The two peers of the ratio. */
  readonly base: PeerName;
  readonly subject: PeerName;
  /** Of each peer, and how many of them ended right. */
  readonly runs: Readonly<Record<PeerName, { readonly all: number; readonly right: number }>>;
  readonly rows: readonly Row[];
  /** What was wrong, one line each. */
  readonly wrong: readonly string[];
  readonly marks: readonly MarkResult[];
  /** The settings of the scenario itself, `name=value` each. */
  readonly settings: readonly string[];
}

export interface MarkResult {
  readonly scenario: string;
  readonly what: string;
  readonly got: string;
  readonly verdict: Verdict;
  /** How many runs of the peer with the fewest ended right, and the day of the last. */
  readonly runs: string;
}

/** `within the noise`: other runs of the same programs would say the contrary about as well. */
export type Verdict = 'reached' | 'not reached' | 'within the noise' | 'not measured';

/** Compares all scenarios that were run. @param known by the scenario's name */
export function compareAll(
  { runs, scenarios, commands }: Results,
  known: Readonly<Record<string, ComparedScenario>>,
): readonly Comparison[] {
  return scenarios.flatMap((scenario) => {
    const of = runs.filter((run) => run.scenario === scenario.name);
    const [first] = of;
    if (first === undefined) return [];
    const own = commands[first.command]!;
    // A mark may look at another scenario. If that was measured otherwise, the two cannot be compared.
    const alike = runs.filter(({ command }) => isSameMeasurement(commands[command]!, own));
    const about = known[scenario.name] ?? {};
    return [compare(scenario, of, isMarked(own) ? about : { ...about, marks: [] }, alike)];
  });
}

/** Marks are of the full size, without flags that change what is measured. For how long it is measured changes none. */
function isMarked({ size, settings }: Command): boolean {
  return size === 'full' && Object.keys(settings).every((name) => UNMARKED_SETTINGS.has(name));
}

const UNMARKED_SETTINGS: ReadonlySet<string> = new Set(['size', 'seed', 'seconds']);

/**
 * Adds the runs of a later command. The rounds of a scenario go on if both commands have measured the same program and
 * settings on the same machine; otherwise the later runs take the place of the earlier ones. Scenarios for which the later
 * command had no time stay as they are.
 */
export function addResults(kept: Results, later: Results): Results {
  const isReplaced = (run: RunRecord): boolean =>
    later.runs.some(
      ({ scenario, command }) =>
        scenario === run.scenario && !isSameMeasurement(later.commands[command]!, kept.commands[run.command]!),
    );
  const stay = kept.runs.filter((run) => !isReplaced(run));
  const added = later.runs.map((run) => ({
    ...run,
    command: run.command + kept.commands.length,
    round: run.round + roundsKept(kept, later.commands[run.command]!, run.scenario),
  }));
  const names = new Set(later.scenarios.map(({ name }) => name));
  return withoutIdleCommands({
    format: RESULTS_FORMAT,
    commands: [...kept.commands, ...later.commands],
    scenarios: [...kept.scenarios.filter(({ name }) => !names.has(name)), ...later.scenarios],
    runs: [...stay, ...added],
  });
}

function isSameMeasurement(a: Command, b: Command): boolean {
  const factsOf = ({ program, machine, versions, size, settings }: Command): unknown => [
    program,
    machine,
    versions,
    size,
    settings,
  ];
  return isDeepStrictEqual(factsOf(a), factsOf(b));
}

/** The results without scenarios that are no more. */
export function withScenarios(results: Results, names: readonly string[]): Results {
  return withoutIdleCommands({
    ...results,
    scenarios: results.scenarios.filter(({ name }) => names.includes(name)),
    runs: results.runs.filter(({ scenario }) => names.includes(scenario)),
  });
}

/** A command whose runs were all replaced tells nothing of the others. */
function withoutIdleCommands({ commands, runs, ...rest }: Results): Results {
  const used = commands.map((_, at) => at).filter((at) => runs.some(({ command }) => command === at));
  return {
    ...rest,
    commands: used.map((at) => commands[at]!),
    runs: runs.map((run) => ({ ...run, command: used.indexOf(run.command) })),
  };
}

/** How many rounds of the scenario are kept that further ones of `command` would go on. */
export function roundsKept({ commands, runs }: Results, command: Command, scenario: string): number {
  const rounds = runs
    .filter((run) => run.scenario === scenario && isSameMeasurement(commands[run.command]!, command))
    .map(({ round }) => round + 1);
  return Math.max(0, ...rounds);
}

/** The scenarios for which no time was left. */
export function notRun({ runs, scenarios }: Results): readonly ScenarioText[] {
  return scenarios.filter(({ name }) => !runs.some(({ scenario }) => scenario === name));
}

/** @param all the runs of every scenario, because a mark may look at another one */
function compare(
  scenario: ScenarioText,
  runs: readonly RunRecord[],
  { marks = [], endsAtRest = false, settings = {} }: ComparedScenario,
  all: readonly RunRecord[],
): Comparison {
  const peers = [...new Set(runs.map(({ peer }) => peer))];
  const compared = peers.filter((peer) => peer !== ECHO && peer !== ENDPOINTD_AGAIN);
  const others = compared.filter((peer) => peer !== ENDPOINTD);
  const base = others[0] ?? compared[0] ?? peers[0]!;
  const subject = compared.includes(ENDPOINTD) ? ENDPOINTD : (others[1] ?? base);
  const valuesOf: ValuesOf = (peer, figure, other = scenario.name) =>
    new Map(
      all
        .filter((run) => run.scenario === other && run.wrong.length === 0)
        .filter((run) => run.peer === peer && run.figures[figure] !== undefined)
        .map((run) => [run.round, run.figures[figure]!]),
    );
  const counts = Object.fromEntries(peers.map((peer) => [peer, countsOf(runs.filter((run) => run.peer === peer))]));
  const fewest = Math.min(...Object.values(counts).map(({ right }) => right));
  const day = runs.at(-1)!.startedAt.slice(0, DAY_CHARS);
  return {
    scenario,
    peers,
    base,
    subject,
    runs: counts,
    rows: rowsOf(peers, base, subject, valuesOf).filter(({ figure }) => !(endsAtRest && OF_WALL.has(figure))),
    settings: Object.entries(settings).map(([name, value]) => `${name}=${String(value)}`),
    wrong: runs.flatMap(({ peer, round, wrong }) => wrong.map((what) => `${peer}, round ${round + 1}: ${what}`)),
    marks: marks.map((mark) => ({
      scenario: scenario.name,
      what: mark.what,
      runs: `${fewest}, ${day}`,
      ...judged(mark, runs, valuesOf),
    })),
  };
}

const DAY_CHARS = 10;

/**
 * Judges a mark by the medians of all runs of its programs, those of an A/A pair too, and again by resamples of the rounds.
 */
function judged(mark: Mark, runs: readonly RunRecord[], valuesOf: ValuesOf): Pick<MarkResult, 'got' | 'verdict'> {
  const lookAt = (rounds: readonly number[]): ReturnType<Mark['look']> =>
    mark.look((peer, figure, other) => {
      const peers = peer === ENDPOINTD ? [ENDPOINTD, ENDPOINTD_AGAIN] : [peer];
      const byRound = peers.map((one) => valuesOf(one, figure, other));
      return median(rounds.flatMap((round) => byRound.flatMap((values) => values.get(round) ?? [])));
    });
  const rounds = [...new Set(runs.map(({ round }) => round))];
  const seen = lookAt(rounds);
  if (seen === null) return { got: '-', verdict: 'not measured' };
  const others = resamplesOf(rounds).flatMap((drawn) => lookAt(drawn) ?? []);
  const contrary = others.filter(({ reached }) => reached !== seen.reached).length / others.length;
  const isSure = others.length === 0 || contrary <= CONTRARY_MAX;
  return { got: seen.got, verdict: !isSure ? 'within the noise' : seen.reached ? 'reached' : 'not reached' };
}

/** The share of resamples that may say the contrary: what an interval of 95 % leaves on one side. */
const CONTRARY_MAX = 0.025;

/** The wall time, and what is divided by it. */
const OF_WALL: ReadonlySet<string> = new Set(['wall', 'serverShare']);

function countsOf(runs: readonly RunRecord[]): { all: number; right: number } {
  return { all: runs.length, right: runs.filter(({ wrong }) => wrong.length === 0).length };
}

/** The figures of a peer's right runs, by round. */
type ValuesOf = (peer: PeerName, figure: string, scenario?: string) => ReadonlyMap<number, number>;

function rowsOf(peers: readonly PeerName[], base: PeerName, subject: PeerName, valuesOf: ValuesOf): Row[] {
  return Object.keys(FIGURES).flatMap((figure) => {
    const all = (peer: PeerName, of = figure): number[] => [...valuesOf(peer, of).values()];
    const medians = Object.fromEntries(peers.map((peer) => [peer, median(all(peer))]));
    if (Object.values(medians).every(Number.isNaN)) return [];
    const [theirs, ours] = [valuesOf(base, figure), valuesOf(subject, figure)];
    // A run whose other half is wrong has no pair.
    const rounds = [...ours.keys()].filter((round) => theirs.has(round));
    const ratio = ratioOfMedians(
      rounds.map((round) => ours.get(round)!),
      rounds.map((round) => theirs.get(round)!),
    );
    // Runs of the same program, one after the other in each round, show endpointd's noise best.
    const noise = worse(spread(all(base)), spread([...all(subject), ...all(ENDPOINTD_AGAIN)]));
    const seconds = CPU_SECONDS_OF[figure];
    const isTold =
      seconds === undefined || [base, subject].every((peer) => median(all(peer, seconds)) >= CPU_SECONDS_MIN);
    const counts = base === subject || !isTold || !isBeyondNoise(ratio, noise) ? 'no' : enough(ratio);
    return [{ figure, medians, ratio, noise, counts }];
  });
}

function enough({ pairs }: Ratio): 'yes' | 'few pairs' {
  return pairs < PAIRS_FOR_INTERVAL ? 'few pairs' : 'yes';
}

/** The kernel counts CPU in ticks of 10 ms. Fewer than five ticks tell nothing. */
const CPU_SECONDS_MIN = 0.05;

/** NaN only if both are. */
function worse(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.max(a, b);
}

/** All samples of a peer's right runs, one behind the other. */
export function pooled(
  runs: readonly RunRecord[],
  scenario: string,
  peer: PeerName,
  kind: 'endpoints' | 'slices',
): number[] {
  return runs
    .filter((run) => run.scenario === scenario && run.peer === peer && run.wrong.length === 0)
    .flatMap((run) => run.samples[kind]);
}

/** The p99 of all samples of all runs together. */
export function pooledP99(
  runs: readonly RunRecord[],
  scenario: string,
  peer: PeerName,
  kind: 'endpoints' | 'slices',
): { readonly count: number; readonly ms: number } {
  const samples = pooled(runs, scenario, peer, kind);
  return { count: samples.length, ms: percentile(samples, 0.99) };
}
