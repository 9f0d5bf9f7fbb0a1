/** The page of a folder of runs, as `bench -- cells --report` writes it. */
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { calibrationPath, readCalibration } from './calibration-file.ts';
import { dataPath, type Measurement, readData, runsOf, WORLDS } from './data.ts';
import { resultOf } from './marks.ts';
import { cellsPage, type WorldResults } from './page.ts';
import { heldOutCells, referenceCell } from './plan.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = resolve(ROOT, 'bench/cells');

/**
 * Of all worlds, with the times and the seed of the measurement.
 * @param repeats so many runs of each cell, the first ones
 * @returns null = no held-out cell was run with the versions of its calibration
 */
export function cellsReport(
  measurement: Omit<Measurement, 'world'>,
  folder: string,
  repeats = Infinity,
): string | null {
  const results = WORLDS.flatMap((world) => resultsOf({ ...measurement, world }, folder, repeats));
  if (results.length === 0) return null;
  const flags = [
    '--report',
    `--seed=${measurement.seed}`,
    ...(resolve(folder) === FOLDER ? [] : [`--data=${relative(ROOT, folder)}`]),
    ...(repeats === Infinity ? [] : [`--repeats=${repeats}`]),
  ];
  return cellsPage(results, flags.join(' '));
}

/** [] = no held-out cell was run with the versions of the calibration. */
function resultsOf(measurement: Measurement, folder: string, repeats: number): WorldResults[] {
  const { world } = measurement;
  const data = readData(dataPath(folder));
  const plans = heldOutCells();
  const played = new Set(runsOf(data, measurement, null).map(({ cell }) => cell));
  // A world that was not run needs no calibration.
  if (!plans.some(({ name }) => played.has(name))) return [];
  const { versions, idleMs, calibration } = readCalibration(calibrationPath(folder, world), measurement, null);
  const runs = runsOf(data, measurement, versions);
  const results = plans
    .map((plan) => ({ plan, own: runs.filter(({ cell, repeat }) => cell === plan.name && repeat < repeats) }))
    .filter(({ own }) => own.length > 0)
    .map(({ plan, own }) => resultOf(plan, own, world, calibration, idleMs));
  const references = runs.filter(({ cell }) => cell === referenceCell().name);
  return results.length === 0 ? [] : [{ world, versions, calibration, idleMs, results, references }];
}
