/** `npm run bench -- cells`: the queue model beside real processes. It continues where an earlier run has stopped. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { calibrationText, parseCalibration } from '../../src/tune/calibration.ts';
import { type Calibration, DEFAULT_CALIBRATION } from '../../src/twin/settings.ts';
import { programOf } from '../peers/peers.ts';
import { median } from '../support/statistics.ts';
import { runCell } from './cell.ts';
import { type CellTimes, millisecondsOf } from './cell-times.ts';
import { WRITE_DELAY_MS } from './cell-world.ts';
import { addRun, type CellRun, readData, runsOf, type World, worldOf, WORLDS } from './data.ts';
import { calibrate, calibrationRuns, isDisturbed, resultOf, steadyOf } from './marks.ts';
import { cellsPage, type WorldResults } from './page.ts';
import { calibrationCells, type CellPlan, heldOutCells, referenceCell, shuffledCells } from './plan.ts';

const HELP = `npm run bench -- cells [flags]
Holds the queue model to real processes, cell by cell. First the cells of calibration are run and the model is fitted to them;
that file is to be committed before the held-out cells are run.

  --server=KIND       embedded or kube (embedded)
  --controller=NAME   endpointd or kube-controller-manager (endpointd)
  --warm-up=D         before what counts (20s)
  --measure=D         what counts (60s)
  --repeats=N         runs of each cell (3)
  --calibrate         run the cells of calibration, and fit
  --for=D             begin no run that would not end in time
  --seed=N            of the order and the stories (1)
  --data=FOLDER       where the runs, the calibrations and CELLS.md are (bench/cells)
  --report            only write CELLS.md from the runs of those times`;

const ORDER_SEED = 20_261_122;
/** The reference cell runs before each group of so many others. */
const REFERENCE_EVERY = 8;
/** How long a run takes beside its story. */
const AROUND_MS = 15_000;
const FOLDER = new URL('.', import.meta.url).pathname;

/** The calibration before any measurement. The embedded server waits, and its latency hardly varies. */
const STARTS: Readonly<Record<World['server'], Calibration>> = {
  embedded: { ...DEFAULT_CALIBRATION, apiMs: { median: WRITE_DELAY_MS + 2, tail: 1.5 } },
  kube: DEFAULT_CALIBRATION,
};

interface Options {
  readonly world: World;
  readonly times: CellTimes;
  readonly repeats: number;
  readonly seed: number;
  readonly untilMs: number;
  readonly folder: string;
}

export async function runCellsBench(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      server: { type: 'string', default: 'embedded' },
      controller: { type: 'string', default: 'endpointd' },
      'warm-up': { type: 'string', default: '20s' },
      measure: { type: 'string', default: '60s' },
      repeats: { type: 'string', default: '3' },
      calibrate: { type: 'boolean', default: false },
      for: { type: 'string', default: '24h' },
      seed: { type: 'string', default: '1' },
      data: { type: 'string', default: FOLDER },
      report: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const options: Options = {
    world: worldOf(values.server, values.controller),
    times: { warmUpMs: millisecondsOf(values['warm-up']), measuredMs: millisecondsOf(values.measure) },
    repeats: Number(values.repeats),
    seed: Number(values.seed),
    untilMs: performance.now() + millisecondsOf(values.for),
    folder: resolve(values.data),
  };
  mkdirSync(options.folder, { recursive: true });
  if (values.report) writePage(options);
  else if (values.calibrate) await runCalibration(options);
  else await runHeldOut(options);
}

async function runCalibration(options: Options): Promise<void> {
  const { folder, times, world } = options;
  for (const cell of calibrationCells()) await runOnce(cell, 0, options);
  const found = calibrationRuns(runsOf(readData(dataPath(folder)), world, times));
  if ('missing' in found) {
    console.log(
      `nothing is fitted: of ${found.missing.join('; ')} there is no run that was not disturbed. The next run of this command repeats them.`,
    );
    return;
  }
  const path = calibrationPath(folder, world);
  writeFileSync(path, calibrationText(calibrate(found.runs, world, STARTS[world.server])));
  console.log(`${path} is written: commit it before the held-out cells are run`);
}

async function runHeldOut(options: Options): Promise<void> {
  const { folder, repeats, times, world } = options;
  const isCalibrated = 'runs' in calibrationRuns(runsOf(readData(dataPath(folder)), world, times));
  if (!isCalibrated || !existsSync(calibrationPath(folder, world)))
    throw new Error('nothing is calibrated by runs of these times: --calibrate with the same flags comes first');
  const all = Array.from({ length: repeats }, (_, repeat) => heldOutCells().map((cell) => ({ cell, repeat }))).flat();
  let references = 0;
  for (const [i, { cell, repeat }] of shuffledCells(all, ORDER_SEED).entries()) {
    if (i % REFERENCE_EVERY === 0) await runOnce(referenceCell(), references++, options);
    await runOnce(cell, repeat, options);
  }
  await runOnce(referenceCell(), references, options);
  writePage(options);
}

/** Does nothing if an undisturbed run of the same times exists, or if there is no time left. */
async function runOnce(cell: CellPlan, repeat: number, options: Options): Promise<void> {
  const { folder, world, times, seed, untilMs } = options;
  const path = dataPath(folder);
  const isThere = (run: CellRun): boolean => run.cell === cell.name && run.repeat === repeat && !isDisturbed(run);
  if (runsOf(readData(path), world, times).some(isThere)) return;
  if (performance.now() + times.warmUpMs + times.measuredMs + AROUND_MS > untilMs) return;
  const program = programOf('full');
  try {
    const run = await runCell({ world, plan: cell, repeat, seed: seed + repeat, times, program });
    addRun(path, run);
    const { slices } = run.measured;
    console.log(
      `${cell.name} (${repeat}): slices p50 ${slices.p50} ms, p99 ${slices.p99} ms, ${slices.writes} writes; load ${run.machine.load}`,
    );
  } catch (error) {
    // The next runs are of other processes.
    console.error(`${cell.name} (${repeat}) has failed, and runs again next time: ${String(error)}`);
    process.exitCode = 1;
  }
}

function writePage({ folder, times }: Options): void {
  const results = WORLDS.map((world) => resultsOf(world, times, folder)).filter(
    ({ results: found }) => found.length > 0,
  );
  if (results.length === 0) {
    console.log(`no held-out cell was run for ${times.measuredMs / 1000} s after ${times.warmUpMs / 1000} s`);
    return;
  }
  const page = join(folder, 'CELLS.md');
  writeFileSync(page, cellsPage(results));
  console.log(`${page} is written`);
}

function resultsOf(world: World, times: CellTimes, folder: string): WorldResults {
  const path = calibrationPath(folder, world);
  const isCalibrated = existsSync(path);
  const calibration = isCalibrated ? parseCalibration(JSON.parse(readFileSync(path, 'utf8'))) : STARTS[world.server];
  const runs = runsOf(readData(dataPath(folder)), world, times);
  // The first cell of calibration waits for nothing.
  const [idle] = calibrationCells();
  const idleRuns = steadyOf(runs.filter(({ cell }) => cell === idle!.name));
  const idleMs = median(idleRuns.map(({ measured }) => measured.slices.p50));
  const results = heldOutCells()
    .map((plan) => ({ plan, own: runs.filter(({ cell }) => cell === plan.name) }))
    .filter(({ own }) => own.length > 0)
    .map(({ plan, own }) => resultOf(plan, own, world, calibration, idleMs));
  const references = runs.filter(({ cell }) => cell === referenceCell().name);
  return { world, calibration, isCalibrated, idleMs, results, references };
}

function dataPath(folder: string): string {
  return join(folder, 'data.json');
}

function calibrationPath(folder: string, { server, controller }: World): string {
  return join(folder, `${server}-${controller}.json`);
}
