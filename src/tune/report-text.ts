/** The answer of `endpointd tune` as text for a terminal. */
import { formatCount, formatDecimalBytes, formatRate, plural } from '../lib/figures.ts';
import { median } from '../lib/percentile.ts';
import { printable } from '../lib/printable.ts';
import { ENCODINGS } from '../recording/sizes.ts';
import { type Answer, ERROR_MAX, UNCHECKED } from './answer.ts';
import { type Confirmation, isRefuted, NOT_MEASURED, recommendedOf } from './confirmation.ts';
import { type Comparison, errorBeyondChance } from './evidence.ts';
import { flagLines, settingText } from './flag-lines.ts';
import { LOAD_MAX } from './limits.ts';
import type { Check } from './bounds.ts';
import type { Outcome } from './outcome.ts';
import type { Output } from '../twin/ledger.ts';
import type { Recommendation } from './recommend.ts';

/** Makes lines of cells in columns. */
export type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => readonly string[];

export function answerText(answer: Answer, table: Table): string {
  const { recommendation } = answer;
  const lines = [
    questionText(answer),
    `objective: ${printable(answer.objective)}`,
    `versions: ${versionsOf(answer)
      .map(({ name, value }) => `${name} ${printable(value)}`)
      .join(', ')}`,
    '',
    ...backTestLines(answer, table),
    ...(recommendation === null ? [] : recommendationLines(answer, recommendation, table)),
    ...(answer.confirmation === null ? [] : confirmationLines(answer, answer.confirmation, table)),
    ...(answer.refusals.length === 0
      ? []
      : ['Nothing is recommended:', ...answer.refusals.map((why) => `  ${printable(why)}`), '']),
    'Where the numbers are from:',
    ...table(NUMBER_COLUMNS, numberRows(answer)),
    ...otherNotes(answer).map((note) => printable(note)),
    '',
    'What this stands on:',
    ...answer.assumptions.map((assumption) => `  ${assumption}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** Those that do not stand in the place of the back-test. */
export function otherNotes({ notes }: Answer): string[] {
  return notes.filter((note) => note !== UNCHECKED).map(noteText);
}

function noteText(note: string): string {
  return `Note: ${note}.`;
}

export const NUMBER_COLUMNS: readonly string[] = ['', 'value', 'up and down', 'from'];

export function numberRows({ numbers }: Answer): string[][] {
  return numbers.map(({ name, value, unsure, from }) => [name, value, unsure, from]);
}

export function questionText({ controller, from, nodes, seed }: Answer): string {
  return `${controller}, ${printable(from.name)}: ${formatCount(from.changes)} changes in ${formatCount(from.minutes)} minutes, ${formatCount(nodes)} nodes, seed ${seed}`;
}

/** Of what has answered, of what has recorded, and of the controller that is played. */
export function versionsOf({ program, from, controller, kubeMinor }: Answer): { name: string; value: string }[] {
  return [
    { name: 'endpointd', value: program },
    ...(from.recordedBy === null ? [] : [{ name: 'recorded by', value: `endpointd ${from.recordedBy}` }]),
    ...(controller === 'endpointd' ? [] : [{ name: controller, value: `as 1.${kubeMinor} does it` }]),
  ];
}

function backTestLines({ backTest }: Answer, table: Table): string[] {
  if (backTest === null) return [noteText(UNCHECKED), ''];
  return [
    `${BACK_TEST_TITLE}:`,
    ...table(['', 'measured', 'predicted', 'error'], backTestRows(backTest.comparisons)),
    '',
  ];
}

export const BACK_TEST_TITLE =
  "Today's flags on the second half of the recording, at most three numbers fitted on the first";

export function backTestRows(comparisons: readonly Comparison[]): string[][] {
  return comparisons.map((one) => [
    `${one.figure} of ${one.output}`,
    figureText(one, one.measured),
    figureText(one, one.predicted),
    errorText(one),
  ]);
}

/** A large share of little is not held against a prediction. */
function errorText(one: Comparison): string {
  if (one.error === Infinity) return 'no prediction';
  if (one.error <= ERROR_MAX) return percent(one.error);
  if (one.unit === 'endpoints') return `${percent(one.error)}: bytes are corrected by it`;
  const beyond = errorBeyondChance(one);
  if (beyond > ERROR_MAX)
    return beyond === one.error ? percent(one.error) : `${percent(one.error)}, and ${percent(beyond)} beyond chance`;
  const { least, most } = one.chance;
  return least < most && Math.abs(one.predicted - one.measured) > one.small
    ? `${percent(one.error)}, but chance alone makes it ${figureText(one, least)} to ${figureText(one, most)}`
    : `${percent(one.error)}, by at most ${figureText(one, one.small)}: small`;
}

function figureText({ unit }: Comparison, value: number): string {
  if (unit === 'ms') return milliseconds(value);
  if (unit === 'endpoints') return value.toFixed(1);
  return unit === 'share' ? percent(value) : formatCount(Math.round(value));
}

const NODES_ASSUMED =
  'No limit depends on the number of nodes: that the API server does not slow down with more of them is assumed.';

/**
 * The load and the number of nodes up to which the answer holds, by ladders of both, which end somewhere. Each ladder leaves
 * the other number as it is today.
 */
export function validText(
  { from, nodes }: Answer,
  { today, loadFactor, nodesMax, goalFactorMax }: Recommendation,
): string {
  if (loadFactor === null) return 'The objective has no limit that more changes or nodes could break.';
  const { changes, minutes } = from;
  const atLeast = (isEnd: boolean): string => (isEnd ? 'at least ' : '');
  const rate = `${formatRate((loadFactor * changes) / (minutes * 60))} changes a second (${formatRate(loadFactor)} x those of today)`;
  const nodesText =
    nodesMax === null ? '' : `${atLeast(nodesMax === Math.floor(nodes * LOAD_MAX))}${formatCount(nodesMax)}`;
  const count =
    nodesMax === null
      ? ''
      : ` with ${plural(nodes, 'node')}, and up to ${nodesText} nodes with the changes of today, but not both at once`;
  const goal = printable(today.checks.at(-1)!.text);
  const holds = [
    ...(today.checks.length > 1 ? ['each limit holds'] : []),
    ...(goalFactorMax === null ? [] : [`${goal} is at most ${goalFactorMax} times its bound of today's load`]),
  ];
  const valid = `Valid up to ${atLeast(loadFactor === LOAD_MAX)}${rate}${count}: ${holds.join(', and ')}.`;
  return nodesMax === null ? `${valid} ${NODES_ASSUMED}` : valid;
}

function recommendationLines(answer: Answer, recommendation: Recommendation, table: Table): string[] {
  const { today, best, nearest, changes } = recommendation;
  const shown = best ?? nearest;
  const recommended = hasRefuted(answer) ? `${REFUTED} What was recommended:` : 'Recommended:';
  const title = best === null ? `${unmetText(nearest)} The nearest setting:` : recommended;
  return [
    title,
    ...(changes.length === 0
      ? ['  the flags of today']
      : flagLines(shown.settings, today.settings).map((line) => `  ${line}`)),
    '',
    ...table(CHECK_COLUMNS, checkRows(today, shown)),
    '',
    ...(changes.length === 0 ? [] : [...table(changeColumns(recommendation), changeRows(recommendation)), '']),
    ...table(['', 'today', 'then'], outcomeRows(today, shown)),
    '',
    ...bindingLines(recommendation),
    ...(best === null ? [] : [validText(answer, recommendation)]),
    '',
    ...frontierLines(answer, recommendation, table),
    '',
  ];
}

/** Of a recommendation that trials have refuted. */
export const REFUTED = 'Trials have refuted a prediction of the recommended flags: do not set them.';

/** Whether the recommended flags were tried for real, and a prediction of them did not hold. */
export function hasRefuted({ confirmation, recommendation }: Answer): boolean {
  return confirmation !== null && recommendation !== null && isRefuted(confirmation, recommendedOf(recommendation));
}

export function runsText({ runs }: Recommendation): string {
  return `${plural(runs, 'setting')} ${runs === 1 ? 'was' : 'were'} tried.`;
}

/** Names the constraints that even the nearest setting does not meet. */
export function unmetText({ checks }: Outcome): string {
  const unmet = checks.filter(({ bound, most }) => !(bound <= most)).map(({ text }) => printable(text));
  return `Nothing meets the objective: not ${unmet.join(' and not ')}.`;
}

/** Each figure with its bound. */
export const CHECK_COLUMNS: readonly string[] = [
  '',
  'today',
  'today, at most in 9 of 10',
  'then',
  'then, at most in 9 of 10',
  'limit',
];

export function checkRows(today: Outcome, shown: Outcome): string[][] {
  return shown.checks.map((check, i) => {
    const { text, value, bound, most } = check;
    const was = today.checks[i]!;
    const values = [was.value, was.bound, value, bound];
    const more = moreDigits(check, values);
    const name = printable(most === Infinity ? `min ${text}` : text);
    const limit = most === Infinity ? '' : figureValue(text, most, more);
    return [name].concat(
      values.map((one) => figureValue(text, one, more)),
      limit,
    );
  });
}

/** Of the flags to change, each with the objective's figures once it and those above it have changed. */
export function changeColumns({ today }: Recommendation): string[] {
  return ['one flag after the other', 'from', 'to', ...today.checks.map(({ text }) => printable(text))];
}

export function changeRows({ today: { checks }, changes }: Recommendation): string[][] {
  const figures = changes.map(({ values }) => values.constraints.concat(values.goal));
  const more = checks.map((check, i) =>
    moreDigits(
      check,
      figures.map((values) => values[i]!),
    ),
  );
  return changes.map(({ setting, flag, from, to }, row) => [
    `--${flag}`,
    settingText(setting, from),
    settingText(setting, to),
    ...figures[row]!.map((value, i) => figureValue(checks[i]!.text, value, more[i])),
  ]);
}

function frontierLines(answer: Answer, recommendation: Recommendation, table: Table): string[] {
  const runs = runsText(recommendation);
  if (recommendation.frontier.length === 0) return [runs];
  return [
    `${runs} ${SEARCH_DRAWS} ${FRONTIER_TITLE}`,
    ...table(frontierColumns(recommendation), spread(frontierRows(answer, recommendation), FRONTIER_ROWS)),
  ];
}

const FRONTIER_TITLE = 'No other one beats these in both its p99 and its writes:';
const FRONTIER_ROWS = 5;

export function frontierColumns(recommendation: Recommendation): string[] {
  return [p99Text(recommendation), 'writes/s', 'flags'];
}

export function p99Text({ additionsTo }: Recommendation): string {
  return `p99 of additions to ${outputText(additionsTo)}`;
}

function outputText(output: Output): string {
  return output === 'slices' ? output : 'Endpoints';
}

export function frontierRows({ today }: Answer, { frontier }: Recommendation): string[][] {
  return frontier.map(({ settings, p99Ms, writesPerSecond }) => [
    milliseconds(p99Ms),
    formatRate(writesPerSecond),
    flagLines(settings, today).join(' ') || "today's",
  ]);
}

/** So many of them at most, with the first and the last, and as many between each two. */
function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.round((i * (all.length - 1)) / (most - 1))]!);
}

/** How many digits more than usual tell each value from the limit: one above it is not to look like it. */
function moreDigits({ text, most }: Check, values: readonly number[]): number {
  const isTold = (value: number, more: number): boolean =>
    value === most || figureValue(text, value, more) !== figureValue(text, most, more);
  let more = 0;
  while (more < MORE_DIGITS_MAX && !values.every((value) => isTold(value, more))) more++;
  // Whole bytes have no digits behind the point.
  return values.every((value) => isTold(value, more)) ? more : 0;
}

const MORE_DIGITS_MAX = 6;

/** The value in a unit that the objective may have; '' = there is none. @param more digits than usual */
function figureValue(text: string, value: number, more = 0): string {
  if (Number.isNaN(value)) return '';
  if (text.startsWith('p')) return milliseconds(value, more);
  if (text.startsWith('later')) return percent(value, more);
  if (text.startsWith('bytes')) return `${formatDecimalBytes(value, 1 + more)}/s`;
  if (text.includes('cpu')) return `${(value / 10).toFixed(1 + more)} % of a core`;
  return `${more === 0 ? formatRate(value) : value.toLocaleString('en-US', { maximumFractionDigits: 1 + more })}/s`;
}

export function outcomeRows(today: Outcome, shown: Outcome): string[][] {
  const rows = today.latencies.flatMap((row, i) => {
    if (row.count === 0) return [];
    const then = shown.latencies[i]!;
    const name = `${row.kind === 'add' ? 'ready' : 'gone'} to ${row.output}`;
    return [
      [`${name}: p50`, milliseconds(row.p50), milliseconds(then.p50)],
      [`${name}: p90`, milliseconds(row.p90), milliseconds(then.p90)],
      [`${name}: p99`, milliseconds(row.p99), milliseconds(then.p99)],
      [`${name}: p99.9`, milliseconds(row.p999), milliseconds(then.p999)],
      [`${name}: later than 1 s`, percent(row.laterThanSecond), percent(then.laterThanSecond)],
    ];
  });
  const both = (name: string, text: (outcome: Outcome) => string): string[] => [name, text(today), text(shown)];
  return [
    ...rows,
    both('writes of slices', (outcome) => `${formatRate(outcome.writesPerSecond.slices)}/s`),
    both('writes of Endpoints', (outcome) => `${formatRate(outcome.writesPerSecond.endpoints)}/s`),
    ...(['slices', 'endpoints'] as const).flatMap((output) =>
      ENCODINGS.map((encoding) =>
        both(
          `${outputText(output)} to all watchers, in ${encoding === 'json' ? 'JSON' : encoding}`,
          ({ bytesPerSecond }) => `${formatDecimalBytes(bytesPerSecond[output][encoding])}/s`,
        ),
      ),
    ),
    both('CPU of the controller', (outcome) => percent(outcome.cpuShare)),
    both('CPU of the API servers for its writes', (outcome) => percent(outcome.apiServerCpuShare)),
    both('changes overtaken by later ones', (outcome) => formatCount(outcome.overtaken)),
  ];
}

/** [] = there are no additions of which it could be told. */
export function bindingLines(recommendation: Recommendation): string[] {
  const [now, ...others] = recommendation.bindings;
  if (Number.isNaN(now!.p99Ms)) return [];
  const figure = p99Text(recommendation);
  const moving = others.filter(({ p99Ms }) => p99Ms < now!.p99Ms * BINDS_BELOW);
  if (moving.length === 0)
    return [`No resource binds: half as much again of any of them moves the ${figure} by less than 5 %.`];
  const texts = moving.map(({ resource, p99Ms }) => `${resource} to ${milliseconds(p99Ms)}`);
  return [`What binds: half as much again moves the ${figure} from ${milliseconds(now!.p99Ms)}: ${texts.join(', ')}.`];
}

/** Why the same flags may have two figures. */
export const SEARCH_DRAWS =
  'These p99s are by the draws of the search, and those of today and then are by further draws, which may only refuse a setting.';

const BINDS_BELOW = 0.95;

/** @param more digits than usual */
export function milliseconds(ms: number, more = 0): string {
  if (Number.isNaN(ms)) return '';
  if (ms === Infinity) return 'never';
  return ms < 1000 ? `${ms.toFixed((ms < 10 ? 1 : 0) + more)} ms` : `${(ms / 1000).toFixed(2 + more)} s`;
}

/** @param more digits than usual */
export function percent(share: number, more = 0): string {
  const percents = 100 * share;
  if (percents > 0 && percents < 0.01) return `${percents.toPrecision(2 + more)} %`;
  return `${percents.toFixed((percents > 0 && percents < 1 ? 2 : 1) + more)} %`;
}

export const CONFIRMATION_COLUMNS: readonly string[] = [
  'flags',
  'figure',
  'today',
  'tried',
  'ratio',
  '95 %',
  'predicted',
  'pairs',
  'the prediction',
];

/** The rows of the trials. Milliseconds and rates are medians of the runs. */
export function confirmationRows({ today }: Answer, { tried }: Confirmation): string[][] {
  return tried.flatMap(({ settings, figures }) =>
    figures.map((figure) => [
      flagLines(settings, today).join(' '),
      printable(figure.text),
      figureValue(figure.text, median(figure.today)),
      figureValue(figure.text, median(figure.tried)),
      figure.verdict === NOT_MEASURED ? '' : figure.look.ratio.toFixed(2),
      figure.look.high === Infinity ? '' : `${figure.look.low.toFixed(2)} to ${figure.look.high.toFixed(2)}`,
      Number.isNaN(figure.predicted) ? '' : figure.predicted.toFixed(2),
      String(figure.tried.length),
      figure.verdict,
    ]),
  );
}

export function confirmationText({ server, version, seconds, changes, lateMs }: Confirmation): string {
  const of = version === null ? '' : `, kube-controller-manager ${printable(version)}`;
  return `Tried for real: ${seconds} s with ${formatCount(changes)} changes, on the ${server} of this machine${of}; 99 % of the changes were made at most ${milliseconds(lateMs)} late.`;
}

export const CONFIRMATION_LIMIT =
  'This checks the order of settings on this machine. Its milliseconds are not those of your cluster. The 95 % are of each figure alone: that all of them hold is less sure.';

/** Why a ratio may differ from that of the figures beside it. */
export const CONFIRMATION_RATIO =
  'A ratio is the geometric mean of those of the pairs, and today and tried are medians of the runs.';

function confirmationLines(answer: Answer, confirmation: Confirmation, table: Table): string[] {
  return [
    confirmationText(confirmation),
    CONFIRMATION_LIMIT,
    CONFIRMATION_RATIO,
    ...table(CONFIRMATION_COLUMNS, confirmationRows(answer, confirmation)),
    '',
  ];
}
