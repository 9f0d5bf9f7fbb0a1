/** `npm run bench -- cells`: the queue model beside real processes. It continues where an earlier run has stopped. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { createPrng, shuffled } from '../../src/lib/prng.ts';
import { formatDuration } from '../../src/lib/duration.ts';
import { type Calibration, DEFAULT_CALIBRATION } from '../../src/twin/settings.ts';
import { SIZES_ALIKE } from '../../test/support/stories.ts';
import { programOf } from '../peers/peers.ts';
import { compileProgram } from '../support/compile.ts';
import { calibrationPath, readCalibration, writeCalibration } from './calibration-file.ts';
import { runCell } from './cell.ts';
import { millisecondsOf } from './cell-times.ts';
import { WRITE_DELAY_MS } from './cell-world.ts';
import { addRun, type CellRun, dataPath, type Measurement, readData, runsOf, type World, worldOf } from './data.ts';
import { calibrate, calibrationRuns, idleMsOf, isDisturbed } from './marks.ts';
import { calibrationCells, type CellPlan, heldOutCells, referenceCell, storySeed } from './plan.ts';
import { cellsReport } from './report.ts';
import { versionsOf } from './versions.ts';

const HELP = `npm run bench -- cells [flags]
Holds the queue model to real processes, cell by cell. First the cells of calibration are run and the model is fitted to them;
that file is to be committed before the held-out cells are run. It holds for the times, the seed and the versions that it was
made with. All runs of a cell play the same story.

  --server=KIND       embedded or kube (embedded)
  --controller=NAME   endpointd or kube-controller-manager (endpointd)
  --warm-up=D         before what counts (20s)
  --measure=D         what counts (60s)
  --repeats=N         runs of each cell, of those of calibration too (3)
  --calibrate         run the cells of calibration, and fit
  --for=D             begin no run that would not end in time
  --seed=N            of the stories (1)
  --data=FOLDER       where the runs, the calibrations and CELLS.md are (bench/cells)
  --report            only write CELLS.md from the runs of those times and that seed; with --repeats=N: print it, by the first
                      N runs of each cell alone`;

const ORDER_SEED = 20_261_122;
/** The reference cell runs before each group of so many others. */
const REFERENCE_EVERY = 8;
/** How long a run takes beside its story. */
const AROUND_MS = 15_000;
const FOLDER = new URL('.', import.meta.url).pathname;
const REPEATS = 3;

/** The calibration before any measurement. The embedded server waits, and its latency hardly varies. */
const STARTS: Readonly<Record<World['server'], Calibration>> = {
  embedded: { ...DEFAULT_CALIBRATION, apiMs: { median: WRITE_DELAY_MS + 2, tail: 1.5 }, apiEach: SIZES_ALIKE },
  kube: DEFAULT_CALIBRATION,
};

interface Options {
  readonly measurement: Measurement;
  /** null = nobody has said. */
  readonly repeats: number | null;
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
      repeats: { type: 'string' },
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
    measurement: {
      world: worldOf(values.server, values.controller),
      warmUpMs: millisecondsOf(values['warm-up']),
      measuredMs: millisecondsOf(values.measure),
      seed: Number(values.seed),
    },
    repeats: values.repeats === undefined ? null : Number(values.repeats),
    untilMs: performance.now() + millisecondsOf(values.for),
    folder: resolve(values.data),
  };
  mkdirSync(options.folder, { recursive: true });
  if (values.report) {
    report(options);
    return;
  }
  compileProgram();
  const program = programOf('full');
  const running = { ...options, program, versions: versionsOf(options.measurement.world, program) };
  if (values.calibrate) await runCalibration(running);
  else await runHeldOut(running);
}

interface Running extends Options {
  readonly program: URL;
  readonly versions: string;
}

async function runCalibration(running: Running): Promise<void> {
  const { folder, measurement, versions } = running;
  const { world } = measurement;
  for (const { cell, repeat } of ordered(calibrationCells(), running)) await runOnce(cell, repeat, running);
  const found = calibrationRuns(runsOf(readData(dataPath(folder)), measurement, versions));
  if ('missing' in found) {
    console.log(
      `nothing is fitted: of ${found.missing.join('; ')} there is no run that was not disturbed. The next run of this command repeats them.`,
    );
    return;
  }
  const path = calibrationPath(folder, world);
  const calibration = calibrate(found.runs, world, STARTS[world.server]);
  writeCalibration(path, { of: measurement, versions, idleMs: idleMsOf(found.runs), calibration });
  console.log(`${path} is written: commit it before the held-out cells are run`);
}

async function runHeldOut(running: Running): Promise<void> {
  const { folder, measurement, versions } = running;
  readCalibration(calibrationPath(folder, measurement.world), measurement, versions);
  let references = 0;
  for (const [i, { cell, repeat }] of ordered(heldOutCells(), running).entries()) {
    if (i % REFERENCE_EVERY === 0) await runOnce(referenceCell(), references++, running);
    await runOnce(cell, repeat, running);
  }
  await runOnce(referenceCell(), references, running);
  report({ ...running, repeats: null });
}

/** All repetitions of the cells, in an order of its own for each. */
function ordered(
  cells: readonly CellPlan[],
  { repeats }: Running,
): { readonly cell: CellPlan; readonly repeat: number }[] {
  return Array.from({ length: repeats ?? REPEATS }, (_, repeat) =>
    shuffled(cells, createPrng(ORDER_SEED + repeat)).map((cell) => ({ cell, repeat })),
  ).flat();
}

/** Does nothing if an undisturbed run of the same measurement exists, or if there is no time left. */
async function runOnce(cell: CellPlan, repeat: number, running: Running): Promise<void> {
  const { folder, measurement, untilMs, program, versions } = running;
  const { world, warmUpMs, measuredMs } = measurement;
  const path = dataPath(folder);
  const isThere = (run: CellRun): boolean => run.cell === cell.name && run.repeat === repeat && !isDisturbed(run);
  if (runsOf(readData(path), measurement, versions).some(isThere)) return;
  if (performance.now() + warmUpMs + measuredMs + AROUND_MS > untilMs) return;
  try {
    const seed = storySeed(cell.name, measurement.seed);
    const run = await runCell({
      world,
      plan: cell,
      repeat,
      seed,
      times: { warmUpMs, measuredMs },
      program,
      versions,
    });
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

function report({ folder, measurement, repeats }: Options): void {
  const text = cellsReport(measurement, folder, repeats ?? Infinity);
  if (text === null) {
    const { warmUpMs, measuredMs, seed } = measurement;
    console.log(
      `no held-out cell was run for ${formatDuration(measuredMs)} after ${formatDuration(warmUpMs)} with --seed=${seed} and the versions of its calibration`,
    );
    return;
  }
  if (repeats !== null) {
    console.log(text);
    return;
  }
  const page = join(folder, 'CELLS.md');
  writeFileSync(page, text);
  console.log(`${page} is written`);
}
