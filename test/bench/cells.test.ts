import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { calibrationPath, readCalibration, writeCalibration } from '../../bench/cells/calibration-file.ts';
import { storyOf } from '../../bench/cells/cell-times.ts';
import { addRun, type CellRun, type Measurement, runsOf } from '../../bench/cells/data.ts';
import { calibrate, calibrationRuns, idleMsOf, marksOf, resultOf } from '../../bench/cells/marks.ts';
import { cellsPage } from '../../bench/cells/page.ts';
import { calibrationCells, type CellPlan, heldOutCells, storySeed } from '../../bench/cells/plan.ts';
import { predict, predictCpu, predictNaively, type Predictions } from '../../bench/cells/predict.ts';
import { runCellsBench } from '../../bench/cells/run.ts';
import { versionsOf } from '../../bench/cells/versions.ts';
import { programOf } from '../../bench/peers/peers.ts';
import type { Output } from '../../src/twin/ledger.ts';
import { type Calibration, DEFAULT_CALIBRATION } from '../../src/twin/settings.ts';
import { SIZES_ALIKE, story } from '../support/stories.ts';

const WORLD = { server: 'embedded', controller: 'endpointd' } as const;
const TIMES = { warmUpMs: 2000, measuredMs: 13_000 };
const MEASUREMENT: Measurement = { ...TIMES, world: WORLD, seed: 1 };
const VERSIONS = 'endpointd 0123456789ab, Node v26.10.0';
const TRUTH: Calibration = { ...DEFAULT_CALIBRATION, apiMs: { median: 20, tail: 1.5 }, apiEach: SIZES_ALIKE };

interface Shown {
  readonly predicted: Predictions;
  readonly controllerCpu: number;
}

const SHOWN = new Map<string, Shown>();

/** What the model says of `TRUTH`: many tests ask for the same cells. */
function shownBy(plan: CellPlan, seed: number): Shown {
  const known = SHOWN.get(plan.name);
  if (known !== undefined) return known;
  const played = storyOf(plan, seed, TIMES);
  const predicted = predict(played, 'endpointd', plan.settings, TRUTH, TIMES);
  const controllerCpu = predictCpu(played, 'endpointd', plan.settings, TRUTH) / played.durationMs;
  const shown = { predicted, controllerCpu };
  SHOWN.set(plan.name, shown);
  return shown;
}

/** A run that shows exactly what the model says of `TRUTH`, but for `factor` in its times and `writesFactor`. */
function runOf(plan: CellPlan, repeat = 0, factor = 1, writesFactor = 1): CellRun {
  const seed = storySeed(plan.name, MEASUREMENT.seed);
  const { predicted, controllerCpu } = shownBy(plan, seed);
  const of = (output: Output): CellRun['measured'][Output] => {
    const { p50, p90, p99, writes } = predicted[output];
    return { changes: 100, writes: writesFactor * writes, p50: factor * p50, p90: factor * p90, p99: factor * p99 };
  };
  return {
    cell: plan.name,
    world: WORLD,
    repeat,
    seed,
    ...TIMES,
    versions: VERSIONS,
    at: '2026-11-22T00:00',
    machine: { cores: 2, busy: 0.5, controllerCpu, load: 1, nice: 0 },
    latenessMs: { p50: 0, p99: 1 },
    measured: { endpoints: of('endpoints'), slices: of('slices') },
  };
}

test('eight settings of three workloads are held out, four of one are calibrated', () => {
  const held = heldOutCells();
  assert.deepEqual([held.length, new Set(held.map(({ name }) => name)).size], [24, 24]);
  const own = calibrationCells();
  assert.deepEqual([own.length, new Set(own.map(({ workload }) => workload.name)).size], [4, 1]);
  const known = new Set(own.map(({ settings }) => JSON.stringify(settings)));
  assert.ok(held.every(({ settings }) => !known.has(JSON.stringify(settings))));
});

test('a right model reaches every mark, and one that is half off reaches none', () => {
  const cells = heldOutCells();
  const missed = (factor: number, writesFactor = factor): string[] =>
    marksOf(
      cells.map((plan) => resultOf(plan, [runOf(plan, 0, factor, writesFactor)], WORLD, TRUTH, 21)),
      WORLD,
    ).flatMap(({ what, isReached }) => (isReached ? [] : [what]));
  assert.deepEqual(missed(1), []);
  assert.deepEqual(missed(1.5), ['p50', 'writes', 'p99', 'skill']);
  assert.deepEqual(missed(1.5, 1), ['p50', 'p99', 'skill']);
});

test('a run of other times, another story or other versions is another measurement', () => {
  const [plan] = heldOutCells();
  const run = runOf(plan!);
  const preview = { ...run, warmUpMs: 500, measuredMs: 3000 };
  const shorter = { ...run, measuredMs: 3000 };
  const elsewhere = { ...run, world: { ...WORLD, server: 'kube' as const } };
  const otherwise = { ...run, seed: storySeed(plan!.name, 2) };
  const newer = { ...run, versions: 'endpointd ba9876543210, Node v26.10.0' };
  const data = { version: 1, runs: [preview, shorter, elsewhere, otherwise, newer, run] } as const;
  assert.deepEqual(runsOf(data, MEASUREMENT, VERSIONS), [run]);
  assert.deepEqual(runsOf(data, MEASUREMENT, null), [newer, run]);
});

test('each cell has a story of its own, which the bench can be told to change', () => {
  const plans = [...calibrationCells(), ...heldOutCells()];
  const seeds = [1, 2].flatMap((seed) => plans.map(({ name }) => storySeed(name, seed)));
  assert.equal(new Set(seeds).size, 56);
});

test('the prediction is of the story that the runs of a cell have played', () => {
  const [plan] = heldOutCells();
  const repeats = [0, 1, 2].map((repeat) => runOf(plan!, repeat));
  assert.equal(new Set(repeats.map(({ seed }) => seed)).size, 1);
  const errorsOf = (runs: readonly CellRun[]): number[] =>
    resultOf(plan!, runs, WORLD, TRUTH, 21).byOutput.flatMap(({ errors }) => Object.values(errors));
  assert.deepEqual(errorsOf(repeats), [0, 0, 0, 0, 0, 0]);
  const [first] = repeats as [CellRun];
  assert.ok(errorsOf([{ ...first, seed: first.seed + 1 }]).every((error) => error > 0));
});

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'endpointd-cells-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('a calibration is refused where times, story or versions are others', (t) => {
  const path = calibrationPath(folderOf(t), WORLD);
  const cure = '--calibrate with the same flags comes first';
  assert.throws(() => readCalibration(path, MEASUREMENT, VERSIONS), { message: `${path} is not there: ${cure}` });
  const calibration = { of: MEASUREMENT, versions: VERSIONS, idleMs: 21, calibration: TRUTH };
  writeCalibration(path, calibration);
  assert.deepEqual(readCalibration(path, MEASUREMENT, VERSIONS), calibration);
  assert.deepEqual(readCalibration(path, MEASUREMENT, null), calibration);
  const refused = (change: Partial<Measurement>, versions: string, why: string): void =>
    assert.throws(() => readCalibration(path, { ...MEASUREMENT, ...change }, versions), {
      message: `${path} was made with ${why}: ${cure}`,
    });
  refused({ warmUpMs: 500 }, VERSIONS, '--warm-up 2s, and 500ms is asked for');
  refused({ seed: 2 }, VERSIONS, '--seed 1, and 2 is asked for');
  refused(
    { measuredMs: 60_000 },
    'endpointd ba9876543210',
    `--measure 13s, and 1m is asked for; with versions ${VERSIONS}, and endpointd ba9876543210 is asked for`,
  );
  writeFileSync(path, JSON.stringify(TRUTH));
  const message = `${path} does not say of which measurement it is: ${cure}`;
  assert.throws(() => readCalibration(path, MEASUREMENT, VERSIONS), { message });
});

test('a report is refused where the calibration is of other times than the runs', async (t) => {
  const folder = folderOf(t);
  const path = calibrationPath(folder, WORLD);
  addRun(join(folder, 'data.json'), runOf(heldOutCells()[0]!));
  const of = { ...MEASUREMENT, warmUpMs: 500 };
  writeCalibration(path, { of, versions: VERSIONS, idleMs: 21, calibration: TRUTH });
  await assert.rejects(runCellsBench([`--data=${folder}`, '--report', '--warm-up=2s', '--measure=13s']), {
    message: `${path} was made with --warm-up 500ms, and 2s is asked for: --calibrate with the same flags comes first`,
  });
});

test('a report of the first runs is printed, and the page stays as it is', async (t) => {
  const folder = folderOf(t);
  const [plan] = heldOutCells();
  for (const repeat of [0, 1]) addRun(join(folder, 'data.json'), runOf(plan!, repeat, 1 + repeat));
  const of = { of: MEASUREMENT, versions: VERSIONS, idleMs: 21, calibration: TRUTH };
  writeCalibration(calibrationPath(folder, WORLD), of);
  const printed = t.mock.method(console, 'log', () => undefined);
  const report = [`--data=${folder}`, '--report', '--warm-up=2s', '--measure=13s'];
  await runCellsBench([...report, '--repeats=1']);
  assert.deepEqual(readdirSync(folder).toSorted(), ['data.json', 'embedded-endpointd.json']);
  assert.match(String(printed.mock.calls[0]!.arguments[0]), / --repeats=1` [^]* Each was run once, /);
  await runCellsBench(report);
  assert.match(readFileSync(join(folder, 'CELLS.md'), 'utf8'), / Each was run twice, [^]* 1 are not repeatable: /);
});

test('versions are those of the program and of Kubernetes, as far as they run', () => {
  const program = programOf('tiny');
  assert.match(versionsOf(WORLD, program), /^endpointd [\da-f]{12}, Node v[\d.]+$/);
  assert.match(
    versionsOf({ server: 'kube', controller: 'kube-controller-manager' }, program),
    /^kube-controller-manager v[\d.]+, kube-apiserver v[\d.]+, Node v[\d.]+$/,
  );
});

test('with fewer than 80 % of the held-out cells the page says there is no verdict', () => {
  const results = heldOutCells().map((plan) => resultOf(plan, [runOf(plan)], WORLD, TRUTH, 21));
  const page = (count: number): string =>
    cellsPage(
      [
        {
          world: WORLD,
          versions: VERSIONS,
          calibration: TRUTH,
          idleMs: 21,
          results: results.map((result, i) =>
            i < count ? result : Object.assign({}, result, { flaw: 'disturbed' } as const),
          ),
          references: [],
        },
      ],
      '--report --seed=1',
    );
  assert.match(page(19), /\n\nToo few cells have a say for a verdict: 19 of 24, and 20 are asked for\.\n\n/);
  assert.match(page(19), /\| p50 \| .* \| median 0\.0 %, worst 0\.0 % \| too few cells \|/);
  assert.doesNotMatch(page(19), /reached/);
  assert.match(page(20), /\| p50 \| .* \| reached \|/);
  assert.deepEqual(marksOf([], WORLD), []);
});

test('the page lists under each mark that is not reached the cells that miss it', () => {
  const late = 'held-out flap: 5 syncs, 0 ms, 20/s, burst 30';
  const idle = 'held-out flap: 5 syncs, 0 ms, 1000/s, burst 1000';
  const factors: Readonly<Record<string, number>> = { [late]: 3, [idle]: 6 };
  const results = heldOutCells().map((plan) =>
    resultOf(plan, [runOf(plan, 0, factors[plan.name] ?? 1)], WORLD, TRUTH, 21),
  );
  const missedBy = (what: string): string[] => {
    const marks = marksOf(results, { ...WORLD, server: 'kube' });
    const { misses } = marks.find((mark) => mark.what === what)!;
    return misses.map(({ plan, of, figure }) => `${plan.name}: ${figure} of ${of.output}`);
  };
  const both = (cell: string, figure: string): string[] => [
    `${cell}: ${figure} of endpoints`,
    `${cell}: ${figure} of slices`,
  ];
  const misses = [idle, late].flatMap((cell) => [both(cell, 'p50'), both(cell, 'p99')]).flat();
  assert.deepEqual(missedBy('skill'), misses);
  assert.deepEqual(missedBy('saturated or not'), [...both(idle, 'p50'), ...both(late, 'p50')]);
  assert.deepEqual(missedBy('p99'), [...both(idle, 'p99'), ...both(late, 'p99')]);
  assert.deepEqual(missedBy('writes'), []);
  const page = cellsPage(
    [{ world: WORLD, versions: VERSIONS, calibration: TRUTH, idleMs: 21, results, references: [] }],
    '--report --seed=1',
  );
  const titles = [...page.matchAll(/^The mark of "(\w+)" is missed by these cells\./gm)].map(([, what]) => what);
  assert.deepEqual(titles, ['p50', 'skill']);
  const { measured, predicted, naiveErrors } = results.find(({ plan }) => plan.name === late)!.byOutput[0]!;
  const [naive, told] = [(100 * naiveErrors.p50).toFixed(0), predicted.p50.toFixed(1)];
  const row = `| flap | 5 syncs, 0 ms, 20/s, burst 30 | p50 of endpoints | 21.0 (${naive} %) | ${told} (67 %) | ${measured.p50.toFixed(1)} |`;
  assert.equal(page.split(row).length, 3, row);
});

test('a cell whose runs differ by more than 30 % is not repeatable', () => {
  const [plan] = heldOutCells();
  const of = (factor: number): string =>
    resultOf(plan!, [runOf(plan!), runOf(plan!, 0, factor)], WORLD, TRUTH, 21).flaw;
  assert.deepEqual([of(1.2), of(1.4)], ['', 'not repeatable']);
});

test('a run with a delayed driver does not count beside one without', () => {
  const [plan] = heldOutCells();
  const late = { ...runOf(plan!, 0, 3), latenessMs: { p50: 1, p99: 200 } };
  const of = (...runs: CellRun[]): readonly [string, number] => {
    const { flaw, byOutput } = resultOf(plan!, runs, WORLD, TRUTH, 21);
    return [flaw, byOutput[0]!.errors.p50];
  };
  assert.equal(of(late)[0], 'disturbed');
  assert.deepEqual(of(late, runOf(plan!)), ['', 0]);
});

test('a run of calibration that was disturbed does not count once there is another', () => {
  const plans = calibrationCells();
  const [first, ...others] = plans.map((plan) => runOf(plan));
  const late = { ...first!, latenessMs: { p50: 1, p99: 200 } };
  assert.deepEqual(calibrationRuns([late, ...others]), { missing: [plans[0]!.name] });
  const found = calibrationRuns([late, first!, ...others]);
  assert.deepEqual('runs' in found && found.runs.map(([, run]) => run), [first, ...others]);
});

test('a cell has no say where a real API server left the machine less than a quarter', () => {
  const [plan] = heldOutCells();
  const run = runOf(plan!);
  const busy = { ...run, machine: { ...run.machine, busy: 0.8 } };
  const flawOn = (server: 'embedded' | 'kube', one: CellRun): string =>
    resultOf(plan!, [one], { server, controller: 'endpointd' }, TRUTH, 21).flaw;
  assert.deepEqual([flawOn('kube', busy), flawOn('kube', run), flawOn('embedded', busy)], ['too busy', '', '']);
});

test('the page says of what size the runs were, and where the marks ask for more', () => {
  const of = (repeats: number, times: typeof TIMES): string => {
    const results = heldOutCells().map((plan) => {
      const runs = Array.from({ length: repeats }, (_, i) => ({ ...runOf(plan, i), ...times }));
      const { byOutput, flaw } = resultOf(plan, [runOf(plan)], WORLD, TRUTH, 21);
      return { plan, runs, byOutput, flaw };
    });
    return cellsPage(
      [{ world: WORLD, versions: VERSIONS, calibration: TRUTH, idleMs: 21, results, references: [] }],
      '--report',
    );
  };
  assert.match(
    of(1, { warmUpMs: 10_000, measuredMs: 30_000 }),
    / Each was run once, for 30 s after 10 s of warm-up \(the marks ask for 3 times, 60 s after 20 s\), from /,
  );
  assert.match(of(3, { warmUpMs: 20_000, measuredMs: 60_000 }), / run 3 times, for 60 s after 20 s of warm-up, from /);
});

type CalibrationRuns = readonly (readonly [CellPlan, CellRun])[];

/** So many runs of each cell, each off by its factor. */
function repeated(...factors: number[]): CalibrationRuns {
  return calibrationCells().flatMap((plan) =>
    factors.map((factor, repeat) => [plan, runOf(plan, repeat, factor)] as const),
  );
}

function calibratedBy(runs: CalibrationRuns): Calibration {
  return calibrate(runs, WORLD, { ...TRUTH, apiMs: { median: 8, tail: 1.5 }, cpuFactor: 4 });
}

/** A fit takes a second, so two tests look at this one. */
let byOneRun: Calibration | undefined;
const calibratedByOneRun = (): Calibration => (byOneRun ??= calibratedBy(repeated(1)));

test('calibration finds numbers that predict the runs', () => {
  const runs = repeated(1);
  assert.equal(idleMsOf(runs), runs[0]![1].measured.slices.p50);
  const found = calibratedByOneRun();
  assert.ok(Math.abs(found.cpuFactor - TRUTH.cpuFactor) < 0.01, `a CPU factor of ${found.cpuFactor}`);
  for (const [plan, { measured, seed }] of runs) {
    const { slices } = predict(storyOf(plan, seed, TIMES), 'endpointd', plan.settings, found, TIMES);
    assert.ok(Math.abs(slices.p50 / measured.slices.p50 - 1) < 0.05, `${plan.name}: ${slices.p50} ms`);
  }
});

test('calibration is fitted to the medians of repeated runs', () => {
  assert.deepEqual(calibratedBy(repeated(1, 0.5, 3)).apiMs, calibratedByOneRun().apiMs);
});

test('the naive prediction is one write for each service and batch period', () => {
  const three = story({
    services: 2,
    changes: [
      [2100, 0, 'ready'],
      [2200, 1, 'ready'],
      [2200, 10, 'ready'],
      [2800, 2, 'ready'],
    ],
  });
  const [{ settings }] = calibrationCells() as [CellPlan];
  const { slices } = predictNaively(three, { ...settings, slicesBatchMs: 500 }, 15, TIMES);
  assert.deepEqual([slices.writes, slices.p50], [3, 515]);
});

test('the naive prediction is one write for each slice with a change in a period', () => {
  const own = story({
    services: 1,
    changes: [
      // The first slice twice, and the second one.
      [2100, 0, 'ready'],
      [2200, 1, 'ready'],
      [2300, 4, 'ready'],
      // A pod goes, and another one takes its room in the second slice.
      [2700, 5, 'gone'],
      [2800, 9, 'gone'],
      [2900, 5, 'ready'],
    ],
  });
  const [{ settings }] = calibrationCells() as [CellPlan];
  const batched = { ...settings, endpointsBatchMs: 500, slicesBatchMs: 500, endpointsPerSlice: 4 };
  const { slices, endpoints } = predictNaively(own, batched, 15, TIMES);
  assert.deepEqual([slices.writes, endpoints.writes], [4, 2]);
  const twoFamilies = { ...own, services: [{ namespace: 0, families: 2 }] };
  const dual = predictNaively(twoFamilies, batched, 15, TIMES);
  assert.deepEqual([dual.slices.writes, dual.endpoints.writes], [8, 2]);
});
