/** What was measured, as it is kept: a file of JSON that grows by one run after the other. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Output } from '../../src/twin/ledger.ts';
import type { Controller } from '../../src/twin/settings.ts';
import type { ServerKind } from '../peers/server.ts';
import type { CellTimes } from './cell-times.ts';

/** One run of one cell on real processes. */
export interface CellRun {
  /** Of its plan. */
  readonly cell: string;
  readonly world: World;
  /** From 0 for each cell. */
  readonly repeat: number;
  /** Of the story. */
  readonly seed: number;
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly at: string;
  readonly machine: Machine;
  /** How late the driver sent its changes, milliseconds. */
  readonly latenessMs: { readonly p50: number; readonly p99: number };
  readonly measured: Readonly<Record<Output, MeasuredOutput>>;
}

/** On which API server which controller ran. */
export interface World {
  readonly server: ServerKind;
  readonly controller: Controller;
}

/** While it was measured. */
export interface Machine {
  readonly cores: number;
  /** Share of all cores that was busy, whoever had it. */
  readonly busy: number;
  /** Of one core. */
  readonly controllerCpu: number;
  /** Of the last minute, at the end. */
  readonly load: number;
  /** Of the processes of the cell: below 0 they go before others. */
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

export function readData(path: string): CellData {
  if (!existsSync(path)) return { version: 1, runs: [] };
  return JSON.parse(readFileSync(path, 'utf8')) as CellData;
}

/** Whole or not at all. */
export function addRun(path: string, run: CellRun): void {
  const { runs } = readData(path);
  const lines = [...runs, run].map((each) => `    ${JSON.stringify(each)}`);
  writeFileSync(`${path}.new`, `{\n  "version": 1,\n  "runs": [\n${lines.join(',\n')}\n  ]\n}\n`);
  renameSync(`${path}.new`, path);
}

/** Those of that world and of those times: a run of other times is another measurement. */
export function runsOf({ runs }: CellData, { server, controller }: World, times: CellTimes): CellRun[] {
  return runs.filter(
    ({ world, warmUpMs, measuredMs }) =>
      world.server === server &&
      world.controller === controller &&
      warmUpMs === times.warmUpMs &&
      measuredMs === times.measuredMs,
  );
}
