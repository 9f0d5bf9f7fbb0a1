/** The calibration of a world as a file, which says of which measurement it is. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatDuration } from '../../src/lib/duration.ts';
import { parseCalibration } from '../../src/tune/calibration.ts';
import type { Calibration } from '../../src/twin/settings.ts';
import type { Measurement, World } from './data.ts';

export interface CellCalibration {
  readonly of: Measurement;
  readonly versions: string;
  /** The median of a controller without a batch period that waits for nothing. */
  readonly idleMs: number;
  readonly calibration: Calibration;
}

export function calibrationPath(folder: string, { server, controller }: World): string {
  return join(folder, `${server}-${controller}.json`);
}

export function writeCalibration(path: string, calibration: CellCalibration): void {
  writeFileSync(path, `${JSON.stringify(calibration, null, 2)}\n`);
}

/**
 * @param versions of what is about to run. null = nothing is run, so they may be any.
 * @throws Error if there is no such file, or it is of another measurement or other versions
 */
export function readCalibration(path: string, of: Measurement, versions: string | null): CellCalibration {
  const cure = '--calibrate with the same flags comes first';
  if (!existsSync(path)) throw new Error(`${path} is not there: ${cure}`);
  const file = JSON.parse(readFileSync(path, 'utf8')) as Partial<CellCalibration>;
  if (file.of === undefined) throw new Error(`${path} does not say of which measurement it is: ${cure}`);
  const found = file as CellCalibration;
  const made = factsOf(found.of, found.versions);
  const others = factsOf(of, versions ?? found.versions).flatMap(([name, asked], i) => {
    const [, had] = made[i]!;
    return had === asked ? [] : [`${name} ${had}, and ${asked} is asked for`];
  });
  if (others.length > 0) throw new Error(`${path} was made with ${others.join('; with ')}: ${cure}`);
  return { ...found, calibration: parseCalibration(found.calibration).calibration };
}

/** By their flags, as texts. */
function factsOf({ world, warmUpMs, measuredMs, seed }: Measurement, versions: string): [string, string][] {
  return [
    ['--server', world.server],
    ['--controller', world.controller],
    ['--warm-up', formatDuration(warmUpMs)],
    ['--measure', formatDuration(measuredMs)],
    ['--seed', String(seed)],
    ['versions', versions],
  ];
}
