/** `bench -- growth`: the cost of a change while the cluster grows. */
import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { remakeKept } from '../peers/kept-results.ts';
import { commandText } from '../support/command-text.ts';
import { commitText } from '../support/commit.ts';
import { compileProgram } from '../support/compile.ts';
import { parseDuration } from '../../src/lib/duration.ts';
import { errorMessage } from '../../src/lib/error-message.ts';
import { machineOf, versionsOf } from '../peers/machine.ts';
import { inTurn } from '../peers/pair.ts';
import { programOf } from '../peers/peers.ts';
import { table } from '../support/table.ts';
import { AXES, pointsOf, shapeText, type AxisName, type Point } from './axes.ts';
import type { GrowthRun } from './flatness.ts';
import { endpointd, type GrowthPeer, MANAGER, measurePoint } from './measure.ts';
import { growthPage, growthTables, type Growth, type NotRun } from './report.ts';

const ROOT = new URL('../..', import.meta.url);

const HELP = `npm run bench -- growth [pods] [size] [services] [nodes] [flags]
Measures what a flip of a pod costs endpointd while one number of the cluster grows: a real process, on a replay of a cluster that
nothing holds. Flips are made one at a time, so that a loaded machine changes no batch. Without a name: all four.

  --pods-max=N       leave out points of more pods (1000000); one of 1,000,000 takes 5 GB and some two minutes
  --flips=N          that are measured at each point, after as many that are not (1000)
  --manager-max=N    kube-controller-manager beside it, where services have at most so many pods (0: not at all); of 5,000 a flip
                     costs it 0.1 to 0.3 s, and clusters of more than 100,000 pods are left to endpointd
  --rounds=N         all points so many times (1)
  --for=DURATION     begin no point after that: 10m
  --json=FILE        write all runs there, as data
  --page=FILE        write the report there, as one HTML page
  --results          write bench/growth.json, and anew what is made of it
  --help             this`;

export interface GrowthOptions {
  readonly axes: readonly AxisName[];
  readonly podsMax: number;
  readonly flips: number;
  readonly managerMax: number;
  readonly rounds: number;
  readonly forMs: number;
  readonly json: string | null;
  readonly page: string | null;
  readonly results: boolean;
  readonly help: boolean;
}

/** @throws Error that says what is not allowed */
export function parseGrowthFlags(args: readonly string[], tiny: boolean): GrowthOptions {
  const text = { type: 'string' as const };
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'pods-max': text,
      flips: text,
      'manager-max': text,
      rounds: text,
      for: text,
      json: text,
      page: text,
      results: { type: 'boolean' as const },
      help: { type: 'boolean' as const },
    },
  });
  const number = (name: 'pods-max' | 'flips' | 'manager-max' | 'rounds', otherwise: number): number => {
    const said = values[name];
    if (said === undefined) return otherwise;
    if (/^\d+$/.test(said)) return Number(said);
    throw new Error(`--${name}: a number was expected, not ${JSON.stringify(said)}`);
  };
  const axes = positionals.map((said) => {
    const axis = AXES.find((each) => each === said);
    if (axis === undefined) throw new Error(`nothing called ${said} grows: there are ${AXES.join(', ')}`);
    return axis;
  });
  const forMs = values.for === undefined ? Infinity : parseDuration(values.for);
  if (forMs === null) throw new Error(`--for: a duration such as 10m was expected, not ${JSON.stringify(values.for)}`);
  return {
    axes: axes.length === 0 ? AXES : axes,
    podsMax: number('pods-max', 1_000_000),
    flips: 2 * Math.ceil(number('flips', tiny ? 8 : 1000) / 2),
    managerMax: number('manager-max', 0),
    rounds: number('rounds', 1),
    forMs,
    json: values.json ?? null,
    page: values.page ?? null,
    results: values.results === true,
    help: values.help === true,
  };
}

/** @param tiny whether the run is tiny where the flags do not give the size */
export async function runGrowthBench(args: readonly string[], tiny: boolean): Promise<void> {
  const options = parseGrowthFlags(args, tiny);
  if (options.help) return console.log(HELP);
  if (!tiny) compileProgram();
  const { points, leftOut } = pointsOf(options.axes, options.podsMax, tiny);
  for (const { shape } of leftOut) say(`left out by --pods-max: ${shapeText(shape)}`);
  const startedAt = new Date().toISOString();
  const { runs, notRun } = await measureAll(points, options, endpointd(programOf(tiny ? 'tiny' : 'full'), !tiny));
  const growth: Growth = {
    format: 1,
    command: commandText('growth', args),
    commit: commitText(),
    machine: machineOf(),
    versions: versionsOf(),
    startedAt,
    endedAt: new Date().toISOString(),
    flips: options.flips,
    runs,
    notRun: [...leftOut, ...notRun],
  };
  for (const { title, note, columns, rows } of growthTables(growth)) {
    console.log(`\n${title}\n${table(columns, rows)}\n${note}`);
  }
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(growth)}\n`);
  if (options.page !== null) writeFileSync(options.page, growthPage(growth));
  if (options.results) writeGrowth(growth);
  if (runs.some(({ wrong }) => wrong.length > 0) || notRun.some(({ why }) => why !== undefined)) process.exitCode = 1;
}

const MANAGER_PODS_MAX = 100_000;

function writeGrowth(growth: Growth): void {
  writeFileSync(new URL('bench/growth.json', ROOT), `${JSON.stringify(growth)}\n`);
  remakeKept();
}

/**
 * Measures the small points first, because the long ones are left out if time is short. A point that fails takes no other
 * with it.
 */
export async function measureAll(
  points: readonly Point[],
  { flips, managerMax, rounds, forMs }: Pick<GrowthOptions, 'flips' | 'managerMax' | 'rounds' | 'forMs'>,
  peer: GrowthPeer,
  measure = measurePoint,
): Promise<{ runs: GrowthRun[]; notRun: NotRun[] }> {
  const runs: GrowthRun[] = [];
  const notRun: NotRun[] = [];
  const fromMs = performance.now();
  for (let round = 0; round < rounds; round++) {
    for (const point of points.toSorted((a, b) => a.shape.pods - b.shape.pods)) {
      if (performance.now() - fromMs > forMs) {
        notRun.push(point);
        say(`no time is left for ${shapeText(point.shape)}`);
        continue;
      }
      const { pods, podsPerService } = point.shape;
      const peers = podsPerService <= managerMax && pods <= MANAGER_PODS_MAX ? [peer, MANAGER] : [peer];
      for (const each of inTurn(peers, round)) {
        try {
          const run = await measure(each, point, flips);
          say(`${each.name}, ${shapeText(point.shape)}: ${run.cpuAFlip.toFixed(2)} ms CPU a flip`);
          runs.push(run);
        } catch (error) {
          const why = `${each.name}: ${errorMessage(error)}`;
          say(`${shapeText(point.shape)}: ${why}`);
          notRun.push({ ...point, why });
        }
      }
    }
  }
  return { runs, notRun };
}

function say(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
