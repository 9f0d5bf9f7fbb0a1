/** The runs as data, and the figures made from them. Plain data in and out. */
import { isDeepStrictEqual } from 'node:util';
import { median } from '../../src/lib/percentile.ts';
import { type MarkResult, runsText, verdictOver } from '../marks/mark-result.ts';
import {
  isBeyondNoise,
  PAIRS_FOR_INTERVAL,
  pooledPercentile,
  ratioOver,
  spread,
  type Ratio,
} from '../support/statistics.ts';
import {
  type ComparedScenario,
  ECHO,
  ENDPOINTD,
  ENDPOINTD_AGAIN,
  ENDPOINTD_OTHERWISE,
  MANAGER,
  type Mark,
  type PeerName,
} from './scenario.ts';
import type { RunResult } from './stage.ts';
import { CL2_FIGURES, CPU_SECONDS_OF, FIGURES, type RunSamples } from './window.ts';
import { type Basis, basisOf, fewText, POOLED } from './basis.ts';
import { withDerived } from './derived.ts';

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
  /** What a fixed loop took at its begin; absent = the command is of an older bench. It tells apart no measurements. */
  readonly loopMs?: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly size: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly startedAt: string;
  readonly endedAt: string;
  /** What was done with its runs by hand, and why; absent = nothing. */
  readonly note?: string;
}

export interface ScenarioText {
  readonly name: string;
  readonly what: string;
}

export interface Row {
  readonly figure: string;
  /** Of each peer's runs, as `figureOver`; NaN = none has it. */
  readonly values: Readonly<Record<PeerName, number>>;
  /** What a p99 rests on, by peer; `subjectBasis`: by all runs of the subject. */
  readonly bases: Readonly<Record<PeerName, Basis | null>>;
  readonly subjectBasis: Basis | null;
  /** The ratio of the subject, by all its runs, to the base. */
  readonly ratio: Ratio;
  /** The subject by all its runs, those of an A/A pair too. */
  readonly subject: number;
  /** The ratio of the second series of the subject to the first; null = there is no A/A pair. */
  readonly again: Ratio | null;
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
  /** What the scenario itself sets, `name=value` each, as the command line has left it. */
  readonly settings: readonly string[];
  /** For how many seconds changes were made by the command line; null = as long as the scenario says. */
  readonly seconds: string | null;
  readonly endsAtJudge: boolean;
}

/** Compares all scenarios that were run. @param known by the scenario's name */
export function compareAll(
  { runs: kept, scenarios, commands }: Results,
  known: Readonly<Record<string, ComparedScenario>>,
): readonly Comparison[] {
  const runs = [...Map.groupBy(kept, ({ scenario }) => scenario).values()].flatMap(withDerived);
  return scenarios.flatMap((scenario) => {
    const of = runs.filter((run) => run.scenario === scenario.name);
    const [first] = of;
    if (first === undefined) return [];
    const own = commands[first.command]!;
    // A mark may look at another scenario. If that was measured otherwise, the two cannot be compared.
    const alike = runs.filter(({ command }) => isSameMeasurement(commands[command]!, own));
    const about = known[scenario.name] ?? {};
    const { what = scenario.what } = about;
    const measured = isMarked(own) ? about : { ...about, marks: [] };
    return [compare({ ...scenario, what }, of, measured, { all: alike, said: own.settings })];
  });
}

/**
 * Marks are of the full size, without flags that change what is measured. For how long it is measured changes none, though
 * the warm-up is as long in proportion: so the mark says for how long.
 */
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

/** @param all the runs of every scenario, because a mark may look at another one; `said`: by the command line */
function compare(
  scenario: ScenarioText,
  runs: readonly RunRecord[],
  { marks = [], endsAtRest = false, endsAtJudge = false, settings = {}, base: against = MANAGER }: ComparedScenario,
  { all, said }: { readonly all: readonly RunRecord[]; readonly said: Command['settings'] },
): Comparison {
  // The peers run in turns, so which of them was first tells nothing.
  const order = [against, ENDPOINTD_OTHERWISE, ENDPOINTD, ENDPOINTD_AGAIN];
  const placeOf = (peer: PeerName): number => (order.includes(peer) ? order.indexOf(peer) : order.length);
  const peers = [...new Set(runs.map(({ peer }) => peer))].toSorted((a, b) => placeOf(a) - placeOf(b));
  const compared = peers.filter((peer) => peer !== ECHO && peer !== ENDPOINTD_AGAIN);
  const others = compared.filter((peer) => peer !== ENDPOINTD);
  const base = others[0] ?? compared[0] ?? peers[0]!;
  const subject = compared.includes(ENDPOINTD) ? ENDPOINTD : (others[1] ?? base);
  const told: RunsOf = (peer, other = scenario.name) =>
    all.filter((run) => run.scenario === other && seriesOf(peer).includes(run.peer));
  const counts = Object.fromEntries(peers.map((peer) => [peer, countsOf(runs.filter((run) => run.peer === peer))]));
  const { seconds } = said;
  const fewest = Math.min(...Object.values(counts).map(({ right }) => right));
  return {
    scenario,
    peers,
    base,
    subject,
    runs: counts,
    rows: rowsOf(runs, peers, base, subject)
      .filter(({ figure }) => !(endsAtRest && OF_WALL.has(figure)))
      .map((row) => (endsAtJudge && OF_JUDGE.has(row.figure) ? Object.assign({}, row, UNTOLD) : row)),
    seconds: seconds ?? null,
    endsAtJudge,
    settings: Object.entries(settings).map(([name, value]) => `${name}=${inForce(value, said[name])}`),
    wrong: runs.flatMap(({ peer, round, wrong }) => wrong.map((what) => `${peer}, round ${round + 1}: ${what}`)),
    marks: marks.map((mark) => ({
      by: scenario.name,
      what: mark.what,
      runs: [runsText(fewest, runs.at(-1)!.startedAt), ...(seconds === undefined ? [] : [`${seconds} s each`])].join(
        ', ',
      ),
      ...judged(mark, runs, told),
    })),
  };
}

/** @param said what the command line has put in the place of a scenario's value, or behind its flags */
function inForce(value: unknown, said: string | undefined): string {
  if (Array.isArray(value)) return [...(value as readonly string[]), ...(said === undefined ? [] : [said])].join(',');
  return said ?? String(value);
}

/** Judges a mark by all runs of its programs, those of an A/A pair too, and again by resamples of the rounds. */
function judged(mark: Mark, runs: readonly RunRecord[], told: RunsOf): Pick<MarkResult, 'got' | 'verdict'> {
  const figures = new Map<string, Judged>();
  const lookAt = (rounds: readonly number[]): ReturnType<Mark['look']> =>
    mark.look((peer, figure, other) => {
      const key = [peer, figure, other].join(' ');
      const one = figures.get(key) ?? judgedOf(told(peer, other), figure);
      figures.set(key, one);
      return one.over(rounds);
    });
  // A round whose runs ended wrong has no say.
  const rounds = [...new Set(runs.map(({ round }) => round))].filter((round) => lookAt([round]) !== null);
  const seen = lookAt(rounds);
  if (seen === null) return { got: '-', verdict: 'not measured' };
  const few = new Set([...figures.values()].map(({ basisIn }) => fewText(basisIn(rounds))));
  few.delete('');
  const got = few.size === 0 ? seen.got : `${seen.got} ${[...few].join(' and ')}`;
  return { got, verdict: verdictOver(rounds, (drawn) => lookAt(drawn)?.reached ?? null) };
}

/** A figure that a mark looks at. */
interface Judged {
  readonly over: ReturnType<typeof figureOver>;
  readonly basisIn: (rounds: readonly number[]) => Basis | null;
}

function judgedOf(runs: readonly RunRecord[], figure: string): Judged {
  const right = rightWith(runs, figure);
  return {
    over: figureOver(runs, figure),
    basisIn: (rounds) =>
      basisOf(
        right.filter(({ round }) => rounds.includes(round)),
        figure,
      ),
  };
}

/** The wall time, and what is divided by it. */
const OF_WALL: ReadonlySet<string> = new Set(['wall', 'serverShare']);

/** What is mostly the work of the bench if a short measure ends when its judge has found all right. */
const OF_JUDGE: ReadonlySet<string> = new Set([...OF_WALL, 'rightMs', 'lostMs']);
const UNTOLD: Pick<Row, 'ratio' | 'counts'> = {
  ratio: { value: Number.NaN, low: Number.NaN, high: Number.NaN, pairs: 0 },
  counts: 'no',
};

function countsOf(runs: readonly RunRecord[]): { all: number; right: number } {
  return { all: runs.length, right: runs.filter(({ wrong }) => wrong.length === 0).length };
}

/** The peers whose runs tell of this one: endpointd's are those of an A/A pair too. */
function seriesOf(peer: PeerName): readonly PeerName[] {
  return peer === ENDPOINTD ? [ENDPOINTD, ENDPOINTD_AGAIN] : [peer];
}

/** All runs that tell of the peer. */
type RunsOf = (peer: PeerName, scenario?: string) => readonly RunRecord[];

/**
 * The figure of the right ones of these runs, over the rounds that are asked for: a p99 and the longest of all their
 * samples together, any other figure as the median. NaN = there are none.
 */
function figureOver(runs: readonly RunRecord[], figure: string): (rounds: readonly number[]) => number {
  const right = rightWith(runs, figure);
  const pool = POOLED[figure];
  const byRound = (of: (run: RunRecord) => readonly number[]): Map<number, number[]> =>
    new Map([...Map.groupBy(right, ({ round }) => round)].map(([round, each]) => [round, each.flatMap(of)]));
  if (pool !== undefined && right.every(({ samples }) => samples[pool.kind] !== undefined))
    return pooledPercentile(
      byRound(({ samples }) => samples[pool.kind]!),
      pool.share,
    );
  const values = byRound(({ figures }) => [figures[figure]!]);
  return (rounds) => median(rounds.flatMap((round) => values.get(round) ?? []));
}

/** The runs that have a say in the figure. */
function rightWith(runs: readonly RunRecord[], figure: string): RunRecord[] {
  return runs.filter(({ wrong, figures }) => wrong.length === 0 && figures[figure] !== undefined);
}

function roundsOf(runs: readonly RunRecord[], figure: string): number[] {
  return [...new Set(rightWith(runs, figure).map(({ round }) => round))];
}

function rowsOf(runs: readonly RunRecord[], peers: readonly PeerName[], base: PeerName, subject: PeerName): Row[] {
  const of = (...names: readonly PeerName[]): readonly RunRecord[] => runs.filter(({ peer }) => names.includes(peer));
  const [theirs, ours] = [of(base), of(...seriesOf(subject))];
  const over = (some: readonly RunRecord[], figure: string): number => figureOver(some, figure)(roundsOf(some, figure));
  return Object.keys(FIGURES).flatMap((figure) => {
    const values = Object.fromEntries(peers.map((peer) => [peer, over(of(peer), figure)]));
    if (Object.values(values).every(Number.isNaN)) return [];
    const basis = (some: readonly RunRecord[]): Basis | null => basisOf(rightWith(some, figure), figure);
    const bases = Object.fromEntries(peers.map((peer) => [peer, basis(of(peer))]));
    const ratio = ratioBetween(ours, theirs, figure);
    const again = peers.includes(ENDPOINTD_AGAIN) ? ratioBetween(of(ENDPOINTD_AGAIN), of(ENDPOINTD), figure) : null;
    const each = (some: readonly RunRecord[]): number[] => rightWith(some, figure).map((run) => run.figures[figure]!);
    const noise = [spread(each(theirs)), spread(each(ours)), distance(again)].reduce(worse);
    const seconds = CPU_SECONDS_OF[figure];
    const isEnough = seconds === undefined || [theirs, ours].every((some) => over(some, seconds) >= CPU_SECONDS_MIN);
    // The longest is one sample, and resamples of the rounds mostly have the same one.
    const isTold = isEnough && POOLED[figure]?.share !== 1 && !CL2_FIGURES.has(figure);
    const counts = base === subject || !isTold || !isBeyondNoise(ratio, noise) ? 'no' : enough(ratio);
    const subjectBasis = basis(ours);
    return [{ figure, values, bases, subjectBasis, ratio, subject: over(ours, figure), again, noise, counts }];
  });
}

/** A run whose other half is wrong has no pair. */
function ratioBetween(ours: readonly RunRecord[], theirs: readonly RunRecord[], figure: string): Ratio {
  const there = new Set(roundsOf(theirs, figure));
  const rounds = roundsOf(ours, figure).filter((round) => there.has(round));
  return ratioOver(rounds, figureOver(ours, figure), figureOver(theirs, figure));
}

/** The bound of the interval that is further from 1, as a factor of at least 1; NaN = there is none. */
function distance(again: Ratio | null): number {
  return again === null ? Number.NaN : Math.max(again.high, 1 / again.low);
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
export function pooled(runs: readonly RunRecord[], scenario: string, peer: PeerName, kind: keyof RunSamples): number[] {
  return runs
    .filter((run) => run.scenario === scenario && run.peer === peer && run.wrong.length === 0)
    .flatMap((run) => run.samples[kind] ?? []);
}
