/** The measured runs and the predictions between them, as a JSON file. The recordings are beside it, and are not kept. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { PlayedCell } from '../cells/data.ts';
import type { FigureName } from './plan.ts';

/** Milliseconds, and writes a second. */
export type Figures = Readonly<Record<FigureName, number>>;

export interface TransferRun extends PlayedCell {
  readonly workload: string;
  readonly choice: string;
  /** The bench's, from which the seed of the story follows. */
  readonly benchSeed: number;
  /** Of the program whose recorder has measured it. */
  readonly commit: string;
  readonly measured: Figures;
}

/** What the recording of one run tells of the choice of another run. */
export interface Pair {
  /** `cell` and `at` of the run that `tune` was given, and of the one that it predicts. */
  readonly from: RunId;
  readonly to: RunId;
  /** Of the program that has predicted. */
  readonly commit: string;
  /** The largest error of the back-test; null = it could compare nothing. */
  readonly worst: number | null;
  /** Why nothing is predicted; [] = it is. */
  readonly refusals: readonly string[];
  /** null = it is refused. */
  readonly predicted: Prediction | null;
  /** The same with the changes of the run that is predicted: what is left is the error of the model. null = it is refused. */
  readonly byItsChanges: Prediction | null;
}

export type RunId = Pick<TransferRun, 'cell' | 'at'> & Pick<PlayedCell, 'world'>;

export interface Prediction {
  readonly values: Figures;
  /** The upper 90 % bounds. */
  readonly bounds: Figures;
}

export interface TransferData {
  readonly version: 1;
  readonly runs: readonly TransferRun[];
  readonly pairs: readonly Pair[];
}

export function readTransfer(path: string | URL): TransferData {
  if (!existsSync(path)) return { version: 1, runs: [], pairs: [] };
  return JSON.parse(readFileSync(path, 'utf8')) as TransferData;
}

/** Replaces the file as a whole, so it is never half written. */
export function writeTransfer(path: string, { version, runs, pairs }: TransferData): void {
  const lines = (all: readonly object[]): string => all.map((each) => `\n    ${JSON.stringify(each)}`).join(',');
  const text = `{\n  "version": ${version},\n  "runs": [${lines(runs)}\n  ],\n  "pairs": [${lines(pairs)}\n  ]\n}\n`;
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

export function idOf({ cell, at, world }: RunId): RunId {
  return { cell, at, world };
}

export function isSameRun(a: RunId, b: RunId): boolean {
  return (
    a.cell === b.cell && a.at === b.at && a.world.server === b.world.server && a.world.controller === b.world.controller
  );
}
