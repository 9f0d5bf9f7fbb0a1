import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Pair, TransferRun } from '../../bench/transfer/data.ts';
import { tallyOf, transferMarks, type TransferResult } from '../../bench/transfer/marks.ts';
import { transferPage } from '../../bench/transfer/page.ts';
import {
  CHOICES,
  type FigureName,
  FIGURES,
  OBJECTIVE,
  plansOf,
  TRANSFER_WORKLOADS,
} from '../../bench/transfer/plan.ts';
import { measuredOf, predictFrom } from '../../bench/transfer/predict.ts';
import { runTransferBench } from '../../bench/transfer/run.ts';
import { NOTHING_MEASURED } from '../../src/tune/measured.ts';
import { GUESSED } from '../../src/tune/numbers.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import type { TuneInput } from '../../src/tune/tune.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { runModel } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION } from '../../src/twin/settings.ts';

const WORLD = { server: 'kube', controller: 'kube-controller-manager' } as const;

function allFigures(value: number): Record<FigureName, number> {
  return Object.fromEntries(FIGURES.map(({ name }) => [name, value])) as Record<FigureName, number>;
}

function runOf(cell: string, measured: Partial<Record<FigureName, number>> = {}): TransferRun {
  const [workload, choice] = cell.split(', ');
  return {
    cell,
    workload: workload!,
    choice: choice!,
    world: WORLD,
    repeat: 0,
    seed: 1,
    benchSeed: 1,
    warmUpMs: 20_000,
    measuredMs: 60_000,
    versions: 'kube-controller-manager v1.36.3',
    commit: '0123456',
    at: '2026-11-26T00:00',
    machine: { cores: 2, busy: 0.2, controllerCpu: 0.1, load: 1, nice: 0 },
    latenessMs: { p50: 0, p99: 1 },
    measured: { ...allFigures(10), ...measured },
  };
}

/** @param value of each figure; null = it is refused */
function pairOf(from: TransferRun, to: TransferRun, value: number | null, bound = 20): Pair {
  const refusals = value === null ? ['it is off by 50 %'] : [];
  const predicted = value === null ? null : { values: allFigures(value), bounds: allFigures(bound) };
  return { from, to, commit: '0123456', worst: 0.1, refusals, predicted, byItsChanges: predicted };
}

function resultOf(to: TransferRun, value: number | null, bound = 20): TransferResult {
  const from = runOf('flap, defaults');
  return { pair: pairOf(from, to, value, bound), from, to, flaw: '' };
}

test('each workload runs under four settings, each with a story of its own', () => {
  const plans = TRANSFER_WORKLOADS.flatMap((workload) => plansOf(workload, CHOICES));
  assert.deepEqual([plans.length, new Set(plans.map(({ name }) => name)).size], [12, 12]);
  assert.deepEqual(
    TRANSFER_WORKLOADS.map(({ name }) => name),
    ['flap', 'rollout', 'mixed'],
  );
});

test('the objective has a limit for each figure, in their order', () => {
  const { constraints } = parseObjective(OBJECTIVE);
  assert.deepEqual(
    constraints.map(({ text }) => text.split('<=')[0]),
    FIGURES.map(({ text }) => text),
  );
});

test('a figure off by 31 % is not near, and one above its bound is not held', () => {
  const of = (measured: number, value: number, bound: number): readonly [number, number] => {
    const { near, held } = tallyOf([resultOf(runOf('flap, fast', allFigures(measured)), value, bound)], 'predicted');
    return [near, held];
  };
  assert.deepEqual(
    [of(100, 129, 100), of(100, 131, 99)],
    [
      [6, 6],
      [0, 0],
    ],
  );
});

test('a refused pair has no figures, and its recording gives no answer', () => {
  const to = runOf('flap, fast');
  const refused = [resultOf(to, null)];
  assert.equal(tallyOf(refused, 'predicted').figures, 0);
  const reached = (results: readonly TransferResult[]): boolean[] =>
    transferMarks(results, results.length).map(({ isReached }) => isReached);
  assert.deepEqual(reached(refused), [false, false, false]);
  assert.deepEqual(reached([resultOf(to, 10)]), [true, true, true]);
  assert.deepEqual(reached([resultOf(to, 10, 9)]), [true, false, true]);
  assert.equal(tallyOf([resultOf(to, 10, 25)], 'predicted').width, 2.5);
});

test('a pair of a disturbed run has no say, and too few pairs give no verdict', () => {
  const good = resultOf(runOf('flap, fast'), 10);
  const late = { ...good, flaw: 'disturbed' } as const;
  assert.deepEqual(transferMarks([good, late], 2), []);
  assert.equal(transferMarks([good, good, good, good, late], 5)[0]!.found, '24 of 24 figures, 100 %');
});

test('the page shows what was predicted, its bound, and what was measured', () => {
  const [from, to] = [runOf('flap, defaults'), runOf('flap, fast', { 'p99 of slices': 21 })];
  const page = transferPage({ version: 1, runs: [from, to], pairs: [pairOf(from, to, 10), pairOf(to, from, null)] });
  assert.match(
    page,
    /\| flap \| defaults \| fast \| slices \| 10\.0 \(20\.0\) 10\.0 \| \*\*10\.0\*\* \(\*\*20\.0\*\*\) 21\.0 \|/,
  );
  assert.match(page, /\| flap \| fast \| defaults \| endpoints \| refused; 10\.0 \|/);
  assert.match(page, /- flap, fast: it is off by 50 %\./);
  assert.match(page, /\nToo few pairs have a say for a verdict\.\n/);
  // A run that was repeated is another one.
  const again = { ...to, at: '2026-11-26T01:00' };
  assert.doesNotMatch(
    transferPage({ version: 1, runs: [from, to, again], pairs: [pairOf(from, to, 10)] }),
    /\| flap \|/,
  );
});

/** What a recorder would have measured of this setting. */
function inputOf(choice: number): TuneInput {
  const story = profileStory({ ...TRANSFER_WORKLOADS[0]!, minutes: 1 }, choice);
  const { settings } = CHOICES[choice]!;
  const calibration = { ...DEFAULT_CALIBRATION, apiMs: { median: 6, tail: 4 } };
  const run = { story, controller: WORLD.controller, settings, calibration, seed: 77 };
  return {
    run: { ...run, calibration: DEFAULT_CALIBRATION, seed: 1 },
    unsure: GUESSED,
    evidence: runModel(run),
    doubts: [],
    notes: [],
    measured: NOTHING_MEASURED,
    given: [],
    calibrationFrom: '',
    coresFrom: '',
    nodes: 100,
    endpointsWatchers: 1,
    objective: parseObjective(OBJECTIVE),
    program: 'test',
    recordedBy: 'test',
  };
}

test('a right model predicts another setting within 30 %, and under its bounds', () => {
  const [today, other] = [inputOf(1), inputOf(2)];
  const { settings, story } = other.run;
  const [found] = predictFrom(today, [{ settings, story }]);
  assert.deepEqual(found!.refusals, []);
  const measured = measuredOf(other.evidence!, story.durationMs);
  const [from, to] = [runOf('flap, fast'), runOf('flap, batched', measured)];
  const result = { pair: { from, to, commit: '', ...found! }, from, to, flaw: '' } as const;
  assert.equal(tallyOf([result], 'byItsChanges').near, FIGURES.length, JSON.stringify([found, measured]));
  assert.ok(FIGURES.every(({ name }) => found!.predicted!.bounds[name] >= found!.predicted!.values[name]));
  assert.notDeepEqual(found!.predicted, found!.byItsChanges);
});

test('a workload that is not there is refused with the names of those that are', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'endpointd-transfer-'));
  t.after(() => rmSync(folder, { recursive: true }));
  await assert.rejects(runTransferBench(['--workloads=flat', `--data=${folder}`]), {
    message: 'there is no workload "flat": flap, rollout, mixed',
  });
});
