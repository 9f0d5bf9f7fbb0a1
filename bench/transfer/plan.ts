/**
 * The settings between which an operator changes, and the workloads that run under each. The marks in `marks.ts` and all
 * that is here were committed before the first run.
 */
import { type CellPlan, settings, WORKLOADS } from '../cells/plan.ts';
import type { StoryProfile } from '../../src/twin/profiles.ts';
import type { Output } from '../../src/twin/ledger.ts';
import type { Settings } from '../../src/twin/settings.ts';

/** Settings with a name for the tables. */
export interface Choice {
  readonly name: string;
  readonly settings: Settings;
}

/** The defaults are too few tokens for `flap` and `mixed`. */
export const CHOICES: readonly Choice[] = [
  { name: 'defaults', settings: settings(5, 0, 20, 30) },
  { name: 'fast', settings: settings(15, 0, 500, 500) },
  { name: 'batched', settings: settings(5, 500, 100, 150) },
  { name: 'careful', settings: { ...settings(1, 100, 50, 100), endpointsPerSlice: 50 } },
];

/** Those of the cells, with more flips where a minute would not have the changes that `tune` asks for. */
export const TRANSFER_WORKLOADS: readonly StoryProfile[] = WORKLOADS.map((workload) =>
  workload.name === 'mixed' ? Object.assign({}, workload, { flipsPerSecond: 12 }) : workload,
);

/** One choice under one workload: a run of the processes, and its recording. */
export interface TransferPlan extends Pick<CellPlan, 'name' | 'workload' | 'settings'> {
  readonly choice: string;
}

/**
 * The name decides the story, so each choice has one of its own: when an operator sets another one, the cluster does not
 * do the same once more.
 */
export function plansOf(workload: StoryProfile, choices: readonly Choice[]): TransferPlan[] {
  return choices.map((choice) => ({
    name: `${workload.name}, ${choice.name}`,
    choice: choice.name,
    workload,
    settings: choice.settings,
  }));
}

interface TransferFigure {
  readonly name: string;
  readonly figure: 'p50' | 'p99' | 'writes';
  readonly output: Output;
  /** As in an objective. */
  readonly text: string;
  /** Far from any figure that is not saturated, as an operator's limit is. */
  readonly limit: string;
}

export const FIGURES = [
  { name: 'p50 of slices', figure: 'p50', output: 'slices', text: 'p50(add)', limit: '1s' },
  { name: 'p99 of slices', figure: 'p99', output: 'slices', text: 'p99(add)', limit: '1s' },
  { name: 'writes of slices', figure: 'writes', output: 'slices', text: 'writes(slices)', limit: '1000/s' },
  { name: 'p50 of Endpoints', figure: 'p50', output: 'endpoints', text: 'p50(add, endpoints)', limit: '1s' },
  { name: 'p99 of Endpoints', figure: 'p99', output: 'endpoints', text: 'p99(add, endpoints)', limit: '1s' },
  { name: 'writes of Endpoints', figure: 'writes', output: 'endpoints', text: 'writes(endpoints)', limit: '1000/s' },
] as const satisfies readonly TransferFigure[];

export type FigureName = (typeof FIGURES)[number]['name'];

/** The default objective, with a limit for each of the figures: `tune` tells the figure and the bound of each limit. */
export const OBJECTIVE = [...FIGURES.map(({ text, limit }) => `${text}<=${limit}`), 'min bytes'].join(', ');
