/** The measured runs, as a JSON file to which one run after the other is added. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Output } from '../../src/twin/ledger.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import type { ServerKind } from '../peers/server.ts';
import type { CellTimes } from './cell-times.ts';
import { storySeed } from './plan.ts';

/** What runs have in common that are compared with each other. */
export interface Measurement extends CellTimes {
  readonly world: World;
  /** The bench's seed, from which the stories of all cells follow. */
  readonly seed: number;
}

/** One run of one cell on real processes, without its figures. */
export interface PlayedCell extends CellTimes {
  /** The name of the run's plan. */
  readonly cell: string;
  readonly world: World;
  /** The number of the repetition of its cell, from 0. */
  readonly repeat: number;
  /** The seed of the story. All repetitions of a cell play the same story, so that what differs is the machine. */
  readonly seed: number;
  readonly versions: string;
  readonly at: string;
  readonly machine: Machine;
  /** How late the driver has sent its changes, in milliseconds. */
  readonly latenessMs: { readonly p50: number; readonly p99: number };
}

export interface CellRun extends PlayedCell {
  readonly measured: Readonly<Record<Output, MeasuredOutput>>;
}

/** The API server and the controller of a run. */
export interface World {
  readonly server: ServerKind;
  readonly controller: Program;
}

/** The machine during the measured time. */
export interface Machine {
  readonly cores: number;
  /** The busy share of all cores, whichever process used them. */
  readonly busy: number;
  /** The controller's CPU as a share of one core. */
  readonly controllerCpu: number;
  /** The load of the last minute, at the end. */
  readonly load: number;
  /** The niceness of the cell's processes. Processes below 0 have priority over others. */
  readonly nice: number;
}

export interface MeasuredOutput {
  readonly changes: number;
  readonly writes: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export interface CellData {
  readonly version: 1;
  readonly runs: readonly CellRun[];
}

/** Of the folder that the runs are kept in. */
export function dataPath(folder: string): string {
  return join(folder, 'data.json');
}

export function readData(path: string): CellData {
  if (!existsSync(path)) return { version: 1, runs: [] };
  return JSON.parse(readFileSync(path, 'utf8')) as CellData;
}

/** Adds a run. The file is replaced as a whole, so it is never half written. */
export function addRun(path: string, run: CellRun): void {
  const { runs } = readData(path);
  const lines = [...runs, run].map((each) => `    ${JSON.stringify(each)}`);
  writeFileSync(`${path}.new`, `{\n  "version": 1,\n  "runs": [\n${lines.join(',\n')}\n  ]\n}\n`);
  renameSync(`${path}.new`, path);
}

/**
 * The runs of that measurement. A run of other times, of another story or of other versions is another measurement.
 * @param versions null = any
 */
export function runsOf<Run extends PlayedCell>(
  { runs }: { readonly runs: readonly Run[] },
  of: Measurement,
  versions: string | null,
): Run[] {
  return runs.filter(
    (run) =>
      run.world.server === of.world.server &&
      run.world.controller === of.world.controller &&
      run.warmUpMs === of.warmUpMs &&
      run.measuredMs === of.measuredMs &&
      run.seed === storySeed(run.cell, of.seed) &&
      run.versions === (versions ?? run.versions),
  );
}

export const WORLDS: readonly World[] = [
  { server: 'embedded', controller: 'endpointd' },
  { server: 'kube', controller: 'endpointd' },
  { server: 'kube', controller: 'kube-controller-manager' },
];

/** @throws Error if there is no such world */
export function worldOf(server: string, controller: string): World {
  const found = WORLDS.find((world) => world.server === server && world.controller === (controller as Program));
  if (found !== undefined) return found;
  throw new Error(
    `there is no cell of ${controller} on ${server}: ${WORLDS.map((world) => `${world.controller} on ${world.server}`).join(', ')}`,
  );
}
