/** The answer of `endpointd tune` as a page: what to set, what it gains, other settings, and the evidence. */
import { formatDuration } from '../lib/duration.ts';
import { plural } from '../lib/figures.ts';
import { printableJson } from '../lib/printable.ts';
import type { Page, Section } from '../page/page.ts';
import type { HeatPlot, LinePlot } from '../page/plot.ts';
import { WRITES_BY_MS } from '../twin/figures.ts';
import { type Answer, ERROR_MAX, UNCHECKED } from './answer.ts';
import {
  type Confirmation,
  isAbout,
  isRefuted,
  NOT_MEASURED,
  recommendedOf,
  type TriedFigure,
} from './confirmation.ts';
import { flagLines } from './flag-lines.ts';
import type { Outcome } from './outcome.ts';
import type { Recommendation } from './recommend.ts';
import {
  BACK_TEST_TITLE,
  backTestRows,
  bindingLines,
  changeColumns,
  changeRows,
  CHECK_COLUMNS,
  checkRows,
  CONFIRMATION_COLUMNS,
  CONFIRMATION_LIMIT,
  CONFIRMATION_RATIO,
  confirmationRows,
  confirmationText,
  frontierColumns,
  frontierRows,
  hasRefuted,
  milliseconds,
  NUMBER_COLUMNS,
  numberRows,
  otherNotes,
  outcomeRows,
  p99Text,
  questionText,
  REFUTED,
  runsText,
  SEARCH_DRAWS,
  unmetText,
  validText,
  versionsOf,
} from './report-text.ts';

export function answerPage(answer: Answer): Page {
  const { recommendation, refusals, assumptions, backTest } = answer;
  const best = recommendation?.best ?? null;
  return {
    title: `endpointd tune: ${answer.from.name}`,
    headline: headlineOf(answer, best),
    facts: [
      { name: 'played', value: questionText(answer) },
      { name: 'objective', value: answer.objective },
      ...versionsOf(answer),
    ],
    notices: backTest === null ? [UNCHECKED, ...refusals] : refusals,
    sections: [
      ...(recommendation === null ? [] : recommendationSections(answer, recommendation)),
      ...(answer.confirmation === null ? [] : [confirmationSection(answer, answer.confirmation)]),
      ...(backTest === null ? [] : [backTestSection(backTest)]),
      {
        title: 'Where the numbers are from',
        tone: 'plain',
        note: otherNotes(answer).join(' '),
        table: { columns: NUMBER_COLUMNS, rows: numberRows(answer) },
      },
      {
        title: 'What this stands on',
        tone: 'plain',
        note: '',
        table: { columns: ['assumption'], rows: assumptions.map((assumption) => [assumption]) },
      },
      {
        title: 'As data',
        tone: 'plain',
        note: 'The whole answer: the data that -o json prints.',
        entries: [dataEntry(answer)],
      },
    ],
  };
}

function headlineOf(answer: Answer, best: Outcome | null): Page['headline'] {
  const { today, refusals } = answer;
  if (best === null) {
    const words = refusals.length > 0 ? 'the prediction is not to be believed' : 'nothing meets the objective';
    return { figure: 'nothing', words, tone: 'unsure' };
  }
  const flags = flagLines(best.settings, today);
  if (flags.length === 0) return { figure: 'no change', words: "today's flags are as good as any", tone: 'good' };
  if (hasRefuted(answer)) return { figure: 'refuted', words: REFUTED, tone: 'bad' };
  return { figure: plural(flags.length, 'flag'), words: flags.join(' '), tone: 'good' };
}

function recommendationSections(answer: Answer, recommendation: Recommendation): Section[] {
  const { today: flags } = answer;
  const { today, best, nearest, changes } = recommendation;
  const shown = best ?? nearest;
  return [
    {
      title: best === null ? 'The nearest setting' : hasRefuted(answer) ? 'What was recommended' : 'What to set',
      tone: best === null ? 'unsure' : hasRefuted(answer) ? 'bad' : 'good',
      note: [...(best === null ? [unmetText(nearest)] : []), ...flagLines(shown.settings, flags)].join(' '),
      table: { columns: CHECK_COLUMNS, rows: checkRows(today, shown) },
    },
    ...(changes.length === 0
      ? []
      : [
          {
            title: 'What each flag brings',
            tone: 'plain' as const,
            note: 'Each time the flag that brings most.',
            table: { columns: changeColumns(recommendation), rows: changeRows(recommendation) },
          },
        ]),
    {
      title: 'Today and then',
      tone: 'plain',
      note: [...bindingLines(recommendation), ...(best === null ? [] : [validText(answer, recommendation)])].join(' '),
      table: { columns: ['', 'today', 'then'], rows: outcomeRows(today, shown) },
      plots: [...distributionPlots(recommendation, shown), writesPlot(today, shown)],
    },
    otherSettings(answer, recommendation),
  ];
}

function otherSettings(answer: Answer, recommendation: Recommendation): Section {
  const section = { title: 'Other settings', tone: 'plain' as const, note: runsText(recommendation) };
  if (recommendation.frontier.length === 0) return section;
  return {
    ...section,
    note: `The ${p99Text(recommendation)} by batch period and syncs, all else as above; and what no other setting beats in both its p99 and its writes. ${SEARCH_DRAWS} ${section.note}`,
    plots: [gridPlot(recommendation), frontierPlot(recommendation)],
    table: { columns: frontierColumns(recommendation), rows: frontierRows(answer, recommendation) },
  };
}

/** Of additions and of removals, where there are any. */
function distributionPlots({ today, additionsTo }: Recommendation, then: Outcome): LinePlot[] {
  const object = additionsTo === 'slices' ? 'slice' : 'Endpoints';
  return [
    ...distributionPlot(
      [`From a pod that is ready to its ${object}`, 'additions'],
      today.distribution,
      then.distribution,
    ),
    ...distributionPlot(
      [`From a pod that goes to its ${object}`, 'removals'],
      today.removalDistribution,
      then.removalDistribution,
    ),
  ];
}

/** [] = there are no such changes. */
function distributionPlot(
  [title, changes]: readonly [string, string],
  today: readonly number[],
  then: readonly number[],
): LinePlot[] {
  if (today.length === 0) return [];
  const series = (name: string, distribution: readonly number[]): LinePlot['series'][number] => ({
    name,
    points: distribution.map((ms, i) => [Math.max(1, ms), i + 1]),
  });
  return [
    {
      kind: 'lines',
      title,
      x: { label: 'ms', scale: 'log' },
      y: { label: `% of the ${changes}`, scale: 'linear' },
      stepped: true,
      series: [series('today', today), series('then', then)],
    },
  ];
}

function writesPlot(today: Outcome, then: Outcome): LinePlot {
  const series = (name: string, { writesByTime }: Outcome): LinePlot['series'][number] => ({
    name,
    points: writesByTime.map((rate, i) => [(i * WRITES_BY_MS) / 1000, rate]),
  });
  return {
    kind: 'lines',
    title: 'Writes over time',
    x: { label: 's', scale: 'linear' },
    y: { label: 'writes/s', scale: 'linear' },
    series: [series('today', today), series('then', then)],
  };
}

function gridPlot(recommendation: Recommendation): HeatPlot {
  const { batchesMs, syncs, p99Ms } = recommendation.grid;
  return {
    kind: 'heat',
    title: `${p99Text(recommendation)} by batch period and syncs`,
    x: { label: 'batch period', names: batchesMs.map(formatDuration) },
    y: { label: 'syncs', names: syncs.map(String) },
    cells: p99Ms.map((row) => row.map((ms) => ({ text: milliseconds(ms), value: ms }))),
  };
}

function frontierPlot(recommendation: Recommendation): LinePlot {
  const figure = p99Text(recommendation);
  return {
    kind: 'lines',
    title: `Writes against the ${figure}`,
    x: { label: `${figure}, ms`, scale: 'log' },
    y: { label: 'writes/s', scale: 'linear' },
    stepped: true,
    dotted: true,
    series: [
      {
        name: 'the best settings',
        points: recommendation.frontier.map(({ p99Ms, writesPerSecond }) => [Math.max(1, p99Ms), writesPerSecond]),
      },
    ],
  };
}

function confirmationSection(answer: Answer, confirmation: Confirmation): Section {
  const { tried } = confirmation;
  const figures = tried[0]?.figures ?? [];
  const recommended = answer.recommendation === null ? null : recommendedOf(answer.recommendation);
  const isRecommended = isAbout(confirmation, recommended);
  const nameOf = (i: number): string =>
    isRecommended ? (i === 0 ? 'recommended' : `the next best (${i})`) : `tried (${i + 1})`;
  return {
    title: 'Tried for real',
    tone: !isRecommended ? 'plain' : isRefuted(confirmation, recommended) ? 'bad' : 'good',
    note: `${confirmationText(confirmation)} ${CONFIRMATION_LIMIT} ${CONFIRMATION_RATIO}`,
    table: { columns: CONFIRMATION_COLUMNS, rows: confirmationRows(answer, confirmation) },
    plots: [
      {
        kind: 'bars',
        title: "Tried over today's, with the 95 % interval",
        y: { label: 'ratio', scale: 'log' },
        series: tried.map((_, i) => nameOf(i)),
        groups: figures.map(({ text }, f) => ({
          name: text,
          values: tried.map(({ figures: own }) => ratioOf(own[f]!)),
          ranges: tried.map(({ figures: own }) => [own[f]!.look.low, own[f]!.look.high]),
        })),
      },
    ],
  };
}

/** What was not measured has no bar. */
function ratioOf({ verdict, look }: TriedFigure): number {
  return verdict === NOT_MEASURED ? Number.NaN : look.ratio;
}

function backTestSection({ comparisons, worst }: NonNullable<Answer['backTest']>): Section {
  return {
    title: 'The back-test',
    tone: typeof worst === 'number' && worst <= ERROR_MAX ? 'good' : 'bad',
    note: `${BACK_TEST_TITLE}.`,
    table: { columns: ['', 'measured', 'predicted', 'error'], rows: backTestRows(comparisons) },
  };
}

function dataEntry(answer: Answer): NonNullable<Section['entries']>[number] {
  return {
    title: 'JSON',
    aside: '',
    changes: [{ field: 'answer', before: null, after: printableJson(answer, 0), note: '' }],
  };
}
