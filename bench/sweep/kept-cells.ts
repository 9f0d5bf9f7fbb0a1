/** The kept runs of `bench -- cells` as a sweep: one workload on one kind of server, with one row for each setting. */
import { join } from 'node:path';
import { type CellRun, readData, type World } from '../cells/data.ts';
import { calibrationCells, type CellPlan, heldOutCells } from '../cells/plan.ts';
import { formatDuration } from '../../src/lib/duration.ts';
import { plural } from '../../src/lib/figures.ts';
import { median } from '../../src/lib/percentile.ts';
import { keyText, type SweepRun } from './grid.ts';
import type { Sweep } from './report.ts';

/**
 * @param folder with the `data.json` of the cells
 * @throws Error if it has no such run
 */
export function sweepOfCells(folder: string, workload: string, server: World['server'], command: string): Sweep {
  const plans = [...calibrationCells(), ...heldOutCells()].filter((plan) => plan.workload.name === workload);
  const byName = new Map(plans.map((plan) => [plan.name, plan]));
  const kept = readData(join(folder, 'data.json')).runs.filter((run) => run.world.server === server);
  const runs = kept.flatMap((run) => {
    const plan = byName.get(run.cell);
    return plan === undefined ? [] : [{ run, sweepRun: sweepRunOf(run, plan) }];
  });
  if (runs.length === 0) throw new Error(`${folder} has no runs of ${JSON.stringify(workload)} on ${server}`);
  // Runs of several programs do not mix. Of these the report shows the last one.
  const settings = [
    ...Map.groupBy(
      runs.map(({ sweepRun }) => sweepRun),
      keyText,
    ).values(),
  ];
  const each = (of: (run: CellRun) => string): string => [...new Set(runs.map(({ run }) => of(run)))].join('; ');
  return {
    format: 1,
    command,
    // The page of the cells says which of them are not repeatable, and which have another limit of endpoints a slice.
    scenario: `${workload}, of the cells in ${folder}, medians of ${runsText(settings.map(({ length }) => length))} of each setting`,
    commit: each(({ versions }) => versions),
    machine: { cores: each(({ machine }) => String(machine.cores)) },
    versions: {},
    runs: settings.map(medianOf),
    notRun: [],
  };
}

/** @param counts the numbers of runs of the settings */
function runsText(counts: readonly number[]): string {
  const [fewest, most] = [Math.min(...counts), Math.max(...counts)];
  return fewest === most ? plural(most, 'run') : `${fewest} to ${plural(most, 'run')}`;
}

function medianOf(runs: readonly SweepRun[]): SweepRun {
  const [first] = runs;
  const figures = Object.keys(first!.figures).map((name) => [name, median(runs.map((run) => run.figures[name]!))]);
  return { ...first!, figures: Object.fromEntries(figures) };
}

function sweepRunOf(run: CellRun, { settings, workload }: CellPlan): SweepRun {
  const { endpoints, slices } = run.measured;
  const seconds = run.measuredMs / 1000;
  return {
    scenario: workload.name,
    size: 'full',
    seed: run.seed,
    peer: run.world.controller,
    program: run.versions,
    server: run.world.server,
    syncs: settings.serviceEndpointSyncs,
    batch: formatDuration(settings.slicesBatchMs),
    qps: settings.qps,
    startedAt: run.at,
    figures: {
      slicesP50: slices.p50,
      slicesP99: slices.p99,
      writes: endpoints.writes + slices.writes,
      controllerCpu: run.machine.controllerCpu * seconds,
      wall: seconds,
    },
    wrong: [],
  };
}
