/** What settings of endpointd save in writes, and what that costs in time, beside kube-controller-manager. Plain data. */
import type { Section } from '../../src/page/page.ts';
import { plural } from '../../src/lib/figures.ts';
import { median } from '../../src/lib/percentile.ts';
import { type MarkResult, runsText, type Verdict as MarkVerdict } from '../marks/mark-result.ts';
import { FEW_NOTE, fewText } from '../peers/basis.ts';
import { ENDPOINTD, MANAGER, ratioText } from '../peers/scenario.ts';
import { PAIRS_FOR_INTERVAL, ratioOver, type Ratio } from '../support/statistics.ts';

export interface CoalescingRun {
  readonly scenario: string;
  readonly peer: string;
  readonly round: number;
  readonly startedAt: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

export interface Coalescing {
  readonly format: 1;
  readonly command: string;
  readonly commit: string;
  readonly program: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly startedAt: string;
  readonly endedAt: string;
  /** Flags of endpointd that were tried beside its defaults, those of one setting with blanks between them. */
  readonly settings: readonly string[];
  readonly runs: readonly CoalescingRun[];
  /** What was done beside the runs, and other facts that a reader has to know; absent = nothing. */
  readonly note?: string;
}

/** Those in which a setting has to hold. */
export const COALESCING_SCENARIOS: readonly string[] = ['ready', 'burst', 'ramp', 'scale-up', 'rollout', 'best'];

/** The figures that are compared. */
const COMPARED = ['writes', 'slicesP99', 'endpointsP99', 'sumCpu'] as const;

/** The fewest writes with which any controller shows the changes of both outputs in half of the peer's own p99s. */
const FEWEST_AT_HALF = 'fewestWritesHalf';

/** How many changes the p99s of a run are of. */
const CHANGES = 'changes';

/** The figures of a run that are kept, where it has them. */
export const KEPT_FIGURES: readonly string[] = [...COMPARED, FEWEST_AT_HALF, CHANGES];

type Compared = (typeof COMPARED)[number];

/** A setting worth shipping makes no more writes than kube-controller-manager, and shows changes in half the time. */
const WRITES_MAX = 1;
const P99_MAX = 0.5;

/** Of the peer with these flags. */
export function peerWith(setting: string): string {
  return `${ENDPOINTD} ${setting}`;
}

interface Row {
  readonly setting: string;
  readonly scenario: string;
  readonly ratios: Readonly<Record<Compared, Ratio>>;
  readonly verdict: Verdict;
}

/** `in few runs`: all of them say so, and others may not. */
type Verdict =
  | 'yes'
  | 'no'
  | 'within the noise'
  | 'yes, in few runs'
  | 'no, in few runs'
  | 'yes, in one run'
  | 'no, in one run'
  | 'not measured';

function coalescingRows({ settings, runs }: Coalescing): Row[] {
  const scenarios = [...new Set(runs.map(({ scenario }) => scenario))];
  return ['', ...settings].flatMap((setting) =>
    scenarios.map((scenario): Row => {
      const of = (peer: string): readonly CoalescingRun[] =>
        runs.filter((run) => run.scenario === scenario && run.peer === peer && run.wrong.length === 0);
      const [ours, theirs] = [of(setting === '' ? ENDPOINTD : peerWith(setting)), of(MANAGER)];
      const each = COMPARED.map((figure) => [figure, ratioOf(ours, theirs, figure)]);
      const ratios = Object.fromEntries(each) as Row['ratios'];
      return { setting, scenario, ratios, verdict: verdictOf(ratios) };
    }),
  );
}

/** Of medians over the rounds in which both have the figure. */
function ratioOf(ours: readonly CoalescingRun[], theirs: readonly CoalescingRun[], figure: string): Ratio {
  const [mine, others] = [ours, theirs].map(
    (runs) => new Map(runs.flatMap(({ round, figures }) => (figure in figures ? [[round, figures[figure]!]] : []))),
  ) as [Map<number, number>, Map<number, number>];
  const rounds = [...mine.keys()].filter((round) => others.has(round));
  const over = (values: ReadonlyMap<number, number>) => (drawn: readonly number[]) =>
    median(drawn.map((round) => values.get(round)!));
  return ratioOver(rounds, over(mine), over(others));
}

function verdictOf({ writes, slicesP99 }: Row['ratios']): Verdict {
  const bounds = [
    { ratio: writes, most: WRITES_MAX },
    { ratio: slicesP99, most: P99_MAX },
  ];
  if (bounds.some(({ ratio: { value } }) => Number.isNaN(value))) return 'not measured';
  if (bounds.some(({ ratio }) => Number.isNaN(ratio.low)))
    return bounds.every(({ ratio, most }) => ratio.value <= most) ? 'yes, in one run' : 'no, in one run';
  const isFew = bounds.some(({ ratio: { pairs } }) => pairs < PAIRS_FOR_INTERVAL);
  if (bounds.every(({ ratio, most }) => ratio.high <= most)) return isFew ? 'yes, in few runs' : 'yes';
  if (bounds.some(({ ratio, most }) => ratio.low > most)) return isFew ? 'no, in few runs' : 'no';
  return 'within the noise';
}

export const COLUMNS: readonly string[] = [
  'endpointd with',
  'scenario',
  'writes',
  'p99 of slices',
  'p99 of Endpoints',
  'CPU of controller, API server, etcd',
  'writes <= 1.00 and p99 of slices <= 0.50',
];

export function coalescingTable(coalescing: Coalescing): string[][] {
  return coalescingRows(coalescing).map(({ setting, scenario, ratios, verdict }) =>
    [setting === '' ? 'its defaults' : setting, scenario].concat(
      COMPARED.map((figure) => [textOf(ratios[figure]), fewOf(coalescing, scenario, figure)].join(' ').trimEnd()),
      verdict,
    ),
  );
}

/** How many changes a p99 of a run is of, where they are few; '' = they are many, or were not kept. */
function fewOf({ runs }: Coalescing, scenario: string, figure: string): string {
  if (!figure.endsWith('P99')) return '';
  const counts = runs.flatMap((run) => (run.scenario === scenario ? (run.figures[CHANGES] ?? []) : []));
  return fewText({ changes: Math.min(...counts), of: 'each run' });
}

function textOf({ value, low, high }: Ratio): string {
  const text = ratioText(value);
  return Number.isNaN(low) ? text : `${text} (${ratioText(low)} to ${ratioText(high)})`;
}

/** How few writes allow half of both of kube-controller-manager's p99s, as a share of its writes: by scenario, where it is known. */
function limitsOf({ runs }: Coalescing): readonly { readonly scenario: string; readonly share: number }[] {
  const theirs = runs.filter(
    ({ peer, wrong, figures }) => peer === MANAGER && wrong.length === 0 && FEWEST_AT_HALF in figures,
  );
  return [...Map.groupBy(theirs, ({ scenario }) => scenario)].map(([scenario, of]) => ({
    scenario,
    share: median(of.map(({ figures }) => figures[FEWEST_AT_HALF]! / figures['writes']!)),
  }));
}

/** The settings that hold in every scenario, and those that fail in none. */
function shippable(coalescing: Coalescing): {
  readonly surely: readonly string[];
  readonly perhaps: readonly string[];
} {
  const bySetting = [...Map.groupBy(coalescingRows(coalescing), ({ setting }) => setting)];
  const all = (isOne: (verdict: Verdict) => boolean): string[] =>
    bySetting
      .filter(([, rows]) => rows.every(({ verdict }) => isOne(verdict)))
      .map(([setting]) => (setting === '' ? 'its defaults' : setting));
  return {
    surely: all((verdict) => verdict === 'yes'),
    perhaps: all((verdict) => verdict.startsWith('yes') || verdict === 'within the noise'),
  };
}

/** The mark is that one setting holds in every scenario. So it is missed no more surely than by the setting that comes nearest. */
export function coalescingMark(coalescing: Coalescing): MarkResult {
  const settings = [...Map.groupBy(coalescingRows(coalescing), ({ setting }) => setting)].map(([setting, rows]) => {
    const verdicts = COALESCING_SCENARIOS.map(
      (name) => rows.find(({ scenario }) => scenario === name)?.verdict ?? 'not measured',
    );
    const count = (word: string): number => verdicts.filter((verdict) => verdict.split(',')[0] === word).length;
    return { setting, held: count('yes'), failed: count('no'), verdict: settingVerdict(verdicts), rows };
  });
  const [best] = settings.toSorted(
    (a, b) => BY_SUCCESS.indexOf(a.verdict) - BY_SUCCESS.indexOf(b.verdict) || b.held - a.held || a.failed - b.failed,
  ) as [(typeof settings)[0]];
  const name = best.setting === '' ? 'its defaults' : best.setting;
  return {
    by: 'coalescing',
    what: `one setting with writes <= ${WRITES_MAX.toFixed(2)} and p99 to the slice <= ${P99_MAX.toFixed(2)} of kube-controller-manager's, in each of ${COALESCING_SCENARIOS.join(', ')}`,
    got: `of ${plural(settings.length, 'setting')} ${name} comes nearest: it holds in ${best.held} of ${COALESCING_SCENARIOS.length}, and fails in ${best.failed}`,
    verdict: best.verdict,
    runs: runsText(Math.min(...best.rows.map(({ ratios }) => ratios.writes.pairs)), coalescing.endedAt),
  };
}

const BY_SUCCESS: readonly MarkVerdict[] = [
  'reached',
  'reached in few runs',
  'reached in one run',
  'within the noise',
  'not measured',
  'missed in one run',
  'missed in few runs',
  'not reached',
];

/** What the scenario says that decides: the surest miss, else what is open, else the least sure success. */
function settingVerdict(verdicts: readonly Verdict[]): MarkVerdict {
  const deciding = DECIDING.find(([verdict]) => verdicts.includes(verdict));
  return deciding![1];
}

const DECIDING: readonly (readonly [Verdict, MarkVerdict])[] = [
  ['no', 'not reached'],
  ['no, in few runs', 'missed in few runs'],
  ['no, in one run', 'missed in one run'],
  ['not measured', 'not measured'],
  ['within the noise', 'within the noise'],
  ['yes, in one run', 'reached in one run'],
  ['yes, in few runs', 'reached in few runs'],
  ['yes', 'reached'],
];

export function wrongRuns({ runs }: Coalescing): string[] {
  return runs.flatMap(({ peer, scenario, round, wrong }) =>
    wrong.map((what) => `WRONG: ${scenario}, ${peer}, round ${round + 1}: ${what}`),
  );
}

const P99_SENTENCE = `A p99 is that of one run's changes, and a ratio that of the medians over the runs. One ${FEW_NOTE}. In runs of before 27 November 2026 the number was not kept; the section of the scenario has it.`;

/** What follows from the table, one sentence a line. */
export function coalescingNotes(coalescing: Coalescing): string[] {
  const { surely, perhaps } = shippable(coalescing);
  const limits = limitsOf(coalescing).map(({ scenario, share }) => `${scenario} ${share.toFixed(2)}`);
  const named = (settings: readonly string[]): string => (settings.length === 0 ? 'none' : settings.join('; '));
  return [
    `Settings that hold in every scenario: ${named(surely)}. Settings that fail in none: ${named(perhaps)}.`,
    ...(limits.length === 0
      ? []
      : [
          `The fewest writes with which any controller can show the changes of both outputs in half of kube-controller-manager's p99s, as a share of its writes: ${limits.join(', ')}. Above 1 no controller makes as few writes and halves both; one that leaves Endpoints late may.`,
        ]),
    P99_SENTENCE,
    ...wrongRuns(coalescing),
  ];
}

/** The same for a page. */
export function collectingSection(coalescing: Coalescing): Section {
  return {
    title: 'What settings of endpointd that collect changes save in writes, and what that costs in time',
    tone: 'plain',
    note: coalescingNotes(coalescing).join(' '),
    table: { columns: COLUMNS, rows: coalescingTable(coalescing) },
  };
}
