/** `endpointd tune` without reading and printing: a question with a story becomes an answer. */
import { plural } from '../lib/figures.ts';
import { NEWEST_KUBE_MINOR, type Run } from '../twin/run.ts';
import { type Answer, ASSUMPTIONS, CHANGES_MIN, ERROR_MAX, OTHERS_FASTER, UNCHECKED } from './answer.ts';
import { type BackTest, backTest, FITTED, type Known, type NumberName } from './back-test.ts';
import { absenceDoubt, type Comparison, type Evidence, evidenceBetween } from './evidence.ts';
import { changesMin, changesOfParts, isOfLatencies, type Objective, partsOf } from './objective.ts';
import type { Measured } from './measured.ts';
import { calibrationNumbers, type KnownNumber, type Start, startOf, unsureOf, withFit } from './numbers.ts';
import type { Question, Unsure } from './bounds.ts';
import { recommend, type Recommendation } from './recommend.ts';
import { latenciesOf } from '../twin/figures.ts';
import { checkStory, isChange, type Story } from '../twin/story.ts';

export interface TuneInput {
  /** The run of today's settings, of what the controller writes itself. A fit begins at its calibration. */
  readonly run: Run;
  /** How far the numbers of its calibration may be off, as far as neither metrics nor a fit tell them. */
  readonly unsure: Unsure;
  /** null = the story is no recording. */
  readonly evidence: Evidence | null;
  /** Reasons in the recording not to believe it: gaps, refused resources, other programs. */
  readonly doubts: readonly string[];
  /** What else is to be told of the recording. */
  readonly notes: readonly string[];
  /** The numbers that metrics tell. */
  readonly measured: Measured;
  /** Today's flags and the watchers, with their sources. */
  readonly given: readonly KnownNumber[];
  /** The source of the calibration, if nothing is fitted. */
  readonly calibrationFrom: string;
  /** The source of the cores, if no metrics tell them. */
  readonly coresFrom: string;
  readonly nodes: number;
  readonly endpointsWatchers: number;
  readonly objective: Objective;
  readonly program: string;
  /** The version of the recorder; null = the story is no recording. */
  readonly recordedBy: string | null;
}

/** What is known before any other setting is looked at. */
export interface Asked {
  /** The question, with the calibration that was fitted and the bounds that the back-test has raised. */
  readonly question: Question;
  /** Why nothing is to be recommended; [] = something may be. */
  readonly refusals: readonly string[];
  readonly tested: BackTest | null;
  readonly start: Start;
  /** In the story, of those that the controller looks at. */
  readonly changes: number;
}

/**
 * Fits the calibration, and looks whether it can be believed.
 * @param progress called with the number of runs of the fit so far, where it may take long
 */
export function ask(input: TuneInput, progress: (runs: number) => void = () => undefined): Asked {
  const { evidence, measured, nodes, endpointsWatchers, objective } = input;
  const { story, controller, settings } = input.run;
  checkStory(story);
  const given = startOf(input.run, measured, input.unsure);
  let runs = 0;
  const running = (): void => {
    // A fit of fewer events is over at once.
    if (story.changes.length >= CHANGES_MIN) progress(++runs);
  };
  const tested =
    evidence === null
      ? null
      : backTest({ ...input.run, calibration: given.calibration }, evidence, given.known, objective, running);
  const start = tested === null ? given : withFit(given, tested);
  const calibration = tested?.calibration ?? start.calibration;
  const changes = story.changes.filter((change) => isChange(change, controller)).length;
  const absence = evidence === null ? null : absenceDoubt(evidence, settings);
  const refusals = [
    ...input.doubts,
    ...(absence === null ? [] : [absence]),
    ...measured.doubts,
    ...(tested === null ? [] : weaknesses(changes, tested.worst, controller)),
    ...(evidence === null ? [] : tooFewChanges(objective, story, evidence)),
  ];
  // The cluster's slices are packed by today's limit, whichever is tried.
  const endpointsPerSliceAtStart = settings.endpointsPerSlice;
  const run = { ...input.run, calibration, endpointsPerSliceAtStart, endpointsRatio: tested?.endpointsRatio };
  const raises = tested?.raises ?? [];
  const { unsure, alternatives } = start;
  const question = { run, objective, nodes, endpointsWatchers, unsure, alternatives, raises };
  return { question, refusals, tested, start, changes };
}

/** @param progress called with what has been done so far, for people */
export function tune(input: TuneInput, progress: (done: string) => void): Answer {
  const { evidence, measured, nodes, endpointsWatchers, objective, program, recordedBy } = input;
  const { story, controller, settings, seed, kubeMinor = NEWEST_KUBE_MINOR } = input.run;
  const { question, refusals, tested, start, changes } = ask(input, (runs) => progress(`fit: ${plural(runs, 'run')}`));
  const { calibration } = question.run;
  const recommendation =
    refusals.length > 0
      ? null
      : recommend(question, (looks) => progress(`search: ${plural(looks, 'look')} at settings`));
  return {
    tuneVersion: 1,
    program,
    from: { name: story.name, isRecording: evidence !== null, recordedBy, minutes: story.durationMs / 60_000, changes },
    controller,
    kubeMinor,
    nodes,
    endpointsWatchers,
    seed,
    objective: objective.text,
    today: settings,
    calibration,
    unsure: unsureOf(calibration, start),
    backTest:
      tested === null
        ? null
        : { comparisons: tested.comparisons, worst: tested.worst === Infinity ? 'no-prediction' : tested.worst },
    refusals,
    recommendation,
    confirmation: null,
    numbers: [
      ...input.given,
      ...calibrationNumbers(calibration, start, measured, sourcesOf(input, tested), input.coresFrom),
    ],
    notes: [
      ...(tested === null ? [UNCHECKED] : []),
      ...input.notes,
      ...measured.notes,
      ...guesses(tested, start.known),
      ...(recommendation === null ? [] : unknownFigures(recommendation)),
    ],
    assumptions: [
      ...ASSUMPTIONS,
      ...(controller === 'endpointd' ? [] : [OTHERS_FASTER]),
      ...(tested === null ? [] : corrections(tested.comparisons)),
    ],
  };
}

/** By how much bytes are corrected, because the slices of the cluster were not as full as those that are played. */
function corrections(comparisons: readonly Comparison[]): string[] {
  return comparisons.flatMap(({ unit, output, measured, predicted }) => {
    const ratio = (measured / predicted).toFixed(2);
    if (unit !== 'endpoints' || ratio === '1.00') return [];
    return [
      `Recorded writes of ${output} had ${measured.toFixed(1)} endpoints on average, and ${predicted.toFixed(1)} were predicted: bytes and apiserver-cpu count ${ratio} times as many as are played, under each setting.`,
    ];
  });
}

/** Where the numbers are from that nobody has measured. */
function sourcesOf({ calibrationFrom }: TuneInput, tested: BackTest | null): Readonly<Record<NumberName, string>> {
  const of = (name: NumberName): string => {
    if (tested === null) return calibrationFrom;
    const isFitted = name !== 'CPU' && !tested.untold.includes(name);
    return isFitted
      ? 'fitted on the first half of the recording'
      : `${calibrationFrom}: the recording does not tell it`;
  };
  return Object.fromEntries(FITTED.map(({ name }) => [name, of(name)])) as Record<NumberName, string>;
}

function guesses(tested: BackTest | null, known: Known): string[] {
  if (tested?.untold.includes('API latency') !== true || known['API latency'] !== undefined) return [];
  return [
    'the recording does not tell the API latency, which other waits hide, such as those for tokens: --apiserver-metrics tells it',
  ];
}

/**
 * Which figures of the objective rest on too few changes. Both halves of a recording are needed, the second one tells. A
 * worst figure needs as many in one of its parts, too.
 */
function tooFewChanges({ constraints, goal }: Objective, { durationMs }: Story, evidence: Evidence): string[] {
  const { samples: second } = evidenceBetween(evidence, durationMs / 2, durationMs);
  const parts = partsOf({ durationMs });
  return [...constraints, { ...goal, most: 0 }].flatMap(({ expression, text, most }) => {
    if (!isOfLatencies(expression)) return [];
    const { output, kinds } = expression;
    const needed = changesMin(expression, most);
    const tooFew = (of: string, count: number): string[] =>
      count >= needed ? [] : [`${of} ${count} changes for ${text}, and fewer than ${needed} say too little`];
    const ofHalf = tooFew('the second half of the recording has', latenciesOf(second[output], kinds).length);
    if (ofHalf.length > 0 || !expression.isWorst || parts.length === 0) return ofHalf;
    const busiest = Math.max(...changesOfParts(parts, evidence.samples[output], kinds));
    return tooFew('no five minutes of the recording have more than', busiest);
  });
}

/** The worst figures that no five minutes have enough changes for. */
function unknownFigures({ today, nearest }: Recommendation): string[] {
  return today.checks.flatMap(({ text, value }, i) => {
    const few = `no five minutes have enough changes for ${text}`;
    if (Number.isNaN(nearest.checks[i]!.value))
      return [`${few}: there is no such figure, and nothing meets an objective that asks for it`];
    return Number.isNaN(value) ? [`under today's flags ${few}`] : [];
  });
}

/** Not every recording tells which controller has written it. */
function weaknesses(changes: number, worst: number | null, controller: string): string[] {
  const reasons: string[] = [];
  if (changes < CHANGES_MIN)
    reasons.push(`the recording has ${changes} changes, and fewer than ${CHANGES_MIN} say too little`);
  if (worst === null) reasons.push('nothing that was written in the second half of the recording can be compared');
  else if (worst > ERROR_MAX) {
    const off =
      worst === Infinity
        ? 'has nothing of a figure that was measured'
        : `is off by ${Math.round(100 * worst)} %, and more than ${Math.round(100 * ERROR_MAX)} % is not to be believed`;
    reasons.push(
      `the prediction for today's flags of ${controller} ${off}: if another controller ran meanwhile, name it with --controller`,
    );
  }
  return reasons;
}
