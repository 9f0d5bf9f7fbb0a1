/** The cost of growth, as tables and as a page. */
import { renderPage, type Section } from '../../src/page/page.ts';
import type { LinePlot, Series } from '../../src/page/plot.ts';
import { formatCount, plural } from '../../src/lib/figures.ts';
import { type MarkResult, runsText, type Verdict } from '../marks/mark-result.ts';
import { PROGRAMS } from '../peers/scenario.ts';
import { PAIRS_FOR_INTERVAL } from '../support/statistics.ts';
import type { BenchTable } from '../support/table.ts';
import { AXES, AXIS, flipsOf, shapeText, type AxisName, type Point } from './axes.ts';
import {
  byteCost,
  excessOf,
  FLAT_SHARE,
  flatnessOf,
  merged,
  type Flatness,
  type FlatnessVerdict,
  type GrowthRun,
  type MergedRun,
  type Step,
} from './flatness.ts';

export interface Growth {
  readonly format: 1;
  readonly command: string;
  readonly commit: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly startedAt: string;
  readonly endedAt: string;
  /** The number of flips at each point, but for those of `flipsOf`. */
  readonly flips: number;
  readonly runs: readonly GrowthRun[];
  readonly notRun: readonly NotRun[];
}

export interface NotRun extends Point {
  /** The error that ended it; absent = it was left out. */
  readonly why?: string;
}

export function notRunText({ shape, why }: NotRun): string {
  return `${shapeText(shape)}${why === undefined ? '' : ` (${why})`}`;
}

const COLUMNS = [
  'controller',
  '',
  'flips',
  'CPU a flip, ms',
  'its rounds',
  'beyond its bytes',
  'written a flip, kB',
  'writes a flip',
  'p50, ms',
  'p99, ms',
  'CPU of the start, s',
  'peak, MB',
  'at the end, MB',
];

/** One table for each axis, with medians over the rounds. */
export function growthTables(growth: Growth): BenchTable[] {
  const { runs } = growth;
  const flatness = ownFlatness(growth);
  return AXES.flatMap((axis) => {
    const of = merged(runs).filter((run) => run.axis === axis);
    if (of.length === 0) return [];
    const found = flatness.find((each) => each.axis === axis);
    const wrong = of.flatMap((run) => run.wrong.map((what) => `WRONG at ${run.at}, ${run.peer}: ${what}`));
    const verdict = found === undefined ? 'fewer than two points do not tell whether it is flat' : verdictText(found);
    const note = [verdict, ...wrong].join('. ');
    const columns = COLUMNS.with(1, axis);
    return [{ title: AXIS[axis].title, note, columns, rows: rowsOf(of, growth) }];
  });
}

/** Of endpointd. */
function ownFlatness({ runs }: Growth): readonly Flatness[] {
  return flatnessOf(told(runs).filter(({ peer }) => peer === 'endpointd'));
}

/** N stands for how many rounds there are. */
const VERDICTS: Readonly<Record<FlatnessVerdict, string>> = {
  flat: 'flat, whichever of N rounds are compared,',
  'not flat': 'NOT flat, whichever of N rounds are compared,',
  'within the noise': 'within the noise, because N rounds do not agree whether it is flat,',
  'flat in one round': 'flat in one round, which shows no noise,',
  'not flat in one round': 'NOT flat in one round, which shows no noise,',
};

function verdictText(flatness: Flatness): string {
  const {
    verdict,
    worst,
    furthest,
    drift,
    driftRange,
    step,
    ends: [first, last],
    rounds,
  } = flatness;
  const isOnce = rounds < 2;
  const single = isOnce ? '' : `, of a single round ${percent(furthest.share)} (at ${furthest.at})`;
  const between = isOnce ? '' : `, of single rounds ${driftRange.map(percent).join(' to ')}`;
  return `${VERDICTS[verdict].replace('N rounds', plural(rounds, 'round'))} over a factor of ${last / first}: the largest difference from what the bytes of a flip explain is ${percent(worst)}${single}; from first to last it is ${percent(drift)}${between}. The mark for both is ${FLAT_SHARE * 100} % either way, from first to last over three decades${step === null ? '' : `. ${stepText(step, isOnce)}`}`;
}

/** The largest difference that the line through the bytes cannot explain away. */
function stepText({ between: [from, to], share, range }: Step, isOnce: boolean): string {
  const rounds = isOnce ? '' : `, of single rounds ${range.map(percent).join(' to ')}`;
  return `Of neighbours that write the same number of bytes, ${from} and ${to} are furthest apart: ${percent(share)}${rounds}`;
}

/** One mark for each axis: measured only if the axis was, from end to end. */
export function growthMarks(growth: Growth): MarkResult[] {
  const flatness = ownFlatness(growth);
  return AXES.map((axis): MarkResult => {
    const { title, steps } = AXIS[axis];
    const [first, last] = [steps[0]!, steps.at(-1)!];
    const [from, to] = [first, last].map(formatCount);
    const mark = {
      by: 'growth',
      what: `CPU of a flip within ${FLAT_SHARE * 100} %, its bytes aside, from ${from} to ${to} ${title}`,
    };
    const found = flatness.find((one) => one.axis === axis && one.ends[0] === first && one.ends[1] === last);
    if (found === undefined) return { ...mark, got: '-', verdict: 'not measured', runs: runsText(0, growth.endedAt) };
    const { worst, drift, furthest, driftRange, step, rounds } = found;
    const neighbours = step === null ? '' : `; of neighbours with the same bytes ${percent(step.share)}`;
    const single = `; of single rounds ${percent(furthest.share)}, ${driftRange.map(percent).join(' to ')}`;
    const got = `at most ${percent(worst)}, from first to last ${percent(drift)}${rounds < 2 ? '' : single}${neighbours}`;
    return { ...mark, got, verdict: markVerdict(found), runs: runsText(rounds, growth.endedAt) };
  });
}

function markVerdict({ verdict, rounds }: Flatness): Verdict {
  const isFew = rounds < PAIRS_FOR_INTERVAL;
  const of: Readonly<Record<FlatnessVerdict, Verdict>> = {
    flat: isFew ? 'reached in few runs' : 'reached',
    'not flat': isFew ? 'missed in few runs' : 'not reached',
    'within the noise': 'within the noise',
    'flat in one round': 'reached in one run',
    'not flat in one round': 'missed in one run',
  };
  return of[verdict];
}

function rowsOf(of: readonly MergedRun[], { runs: all, flips }: Growth): string[][] {
  return of.map((run) => {
    const cost = byteCost(told(all).filter(({ peer }) => peer === run.peer));
    const made = String(flipsOf(run.peer, flips));
    if (!isTold(run)) return [run.peer, String(run.at), made, 'WRONG', ...COLUMNS.slice(4).map(() => '-')];
    return [
      run.peer,
      String(run.at),
      made,
      run.cpuAFlip.toFixed(2),
      run.rounds < 2 ? '' : run.cpuRange.map((ms) => ms.toFixed(2)).join(' to '),
      percent(excessOf(run.cpuAFlip, run.bytesAFlip, cost)),
      (run.bytesAFlip / 1000).toFixed(1),
      run.writesAFlip.toFixed(2),
      run.p50.toFixed(1),
      run.p99.toFixed(1),
      run.startCpu.toFixed(1),
      run.peakMB.toFixed(0),
      run.steadyMB.toFixed(0),
    ];
  });
}

function told(runs: readonly GrowthRun[]): MergedRun[] {
  return merged(runs).filter(isTold);
}

function isTold({ rounds }: MergedRun): boolean {
  return rounds > 0;
}

function percent(share: number): string {
  return `${share < 0 ? '' : '+'}${(share * 100).toFixed(0)} %`;
}

function flipsText({ flips, runs }: Growth): string {
  const peers = [...new Set(runs.map(({ peer }) => peer))];
  return peers.map((peer) => `${flipsOf(peer, flips)} of ${peer}`).join(', ');
}

export function growthPage(growth: Growth): string {
  const flatness = ownFlatness(growth);
  const count = (of: FlatnessVerdict): number => flatness.filter(({ verdict }) => verdict === of).length;
  const [flat, once, unsure] = [count('flat'), count('flat in one round'), count('within the noise')];
  const wrong = growth.runs.some((run) => run.wrong.length > 0);
  const { command, commit, machine, versions, startedAt, endedAt } = growth;
  const facts = {
    command,
    commit,
    when: `${startedAt} to ${endedAt}`,
    ...machine,
    ...versions,
    flips: flipsText(growth),
  };
  return renderPage({
    title: 'What a change costs while the cluster grows',
    headline: {
      figure: `${flat} of ${flatness.length}`,
      words: [
        `axes are flat: a flip costs within ${FLAT_SHARE * 100} % of what its bytes explain`,
        ...(once === 0 ? [] : [`${once} more in one round`]),
        ...(unsure === 0 ? [] : [`${unsure} within the noise`]),
      ].join('; '),
      tone: wrong ? 'bad' : flatness.length === 0 ? 'plain' : flat === flatness.length ? 'good' : 'unsure',
    },
    facts: Object.entries(facts).map(([name, value]) => ({ name, value })),
    notices: growth.notRun.map((one) => `Not run: ${notRunText(one)}.`),
    sections: growthSections(growth),
  });
}

/** One section for each axis. */
export function growthSections(growth: Growth): Section[] {
  return growthTables(growth).map((table) => sectionOf(growth, table));
}

function sectionOf(growth: Growth, table: BenchTable): Section {
  const { title, note } = table;
  const axis = AXES.find((each) => AXIS[each].title === title)!;
  const bad = note.includes('WRONG') || note.includes('NOT flat');
  return { title: `Growth: ${title}`, note, tone: bad ? 'bad' : 'plain', plots: growthPlots(growth, axis), table };
}

/** The picture in README: the axis along which the two controllers differ most, if both were measured there. */
export function growthPicture(growth: Growth): LinePlot {
  const axis = growth.runs.some((run) => run.axis === 'size') ? 'size' : growth.runs[0]!.axis;
  const [cpu] = growthPlots(growth, axis);
  return cpu!;
}

/** CPU, latency and memory along one axis. The first plot also shows the cost that the bytes explain. */
function growthPlots({ runs }: Growth, axis: AxisName): LinePlot[] {
  const all = told(runs);
  const of = all.filter((run) => run.axis === axis).toSorted((a, b) => a.at - b.at);
  const peers = PROGRAMS.filter((peer) => of.some((run) => run.peer === peer));
  const seriesOf = (yOf: (run: GrowthRun) => number, suffix = '', thin = false): Series[] =>
    peers.map((peer) => ({
      name: `${peer}${suffix}`,
      colour: PROGRAMS.indexOf(peer),
      thin,
      points: of.filter((run) => run.peer === peer).map((run) => [run.at, yOf(run)] as const),
    }));
  const plot = (title: string, label: string, series: Series[], scale: 'linear' | 'log'): LinePlot => ({
    kind: 'lines',
    title,
    x: { label: AXIS[axis].title, scale: 'log' },
    y: { label, scale },
    series,
  });
  const cost = byteCost(all.filter(({ peer }) => peer === 'endpointd'));
  const explained: Series = {
    name: 'by its bytes alone',
    colour: PROGRAMS.length,
    points: of
      .filter(({ peer }) => peer === 'endpointd')
      .map(({ at, bytesAFlip }) => [at, cost.ms + (cost.msAKilobyte * bytesAFlip) / 1000] as const),
  };
  return [
    plot('CPU a flip', 'ms', [...seriesOf(({ cpuAFlip }) => cpuAFlip), explained], peers.length > 1 ? 'log' : 'linear'),
    plot(
      'from the change to the slice',
      'ms',
      [...seriesOf(({ p50 }) => p50, ', p50'), ...seriesOf(({ p99 }) => p99, ', p99', true)],
      'log',
    ),
    plot(
      'peak memory',
      'MB',
      seriesOf(({ peakMB }) => peakMB),
      'log',
    ),
  ];
}
