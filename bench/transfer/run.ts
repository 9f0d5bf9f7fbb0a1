/**
 * `npm run bench -- transfer`: `tune` is given a recording under one setting and predicts another one, which is then set for
 * real. It continues where an earlier run has stopped.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { createPrng, shuffled } from '../../src/lib/prng.ts';
import type { StoryProfile } from '../../src/twin/profiles.ts';
import { playCell } from '../cells/cell.ts';
import { millisecondsOf } from '../cells/cell-times.ts';
import { type Measurement, runsOf, worldOf } from '../cells/data.ts';
import { isDisturbed } from '../cells/marks.ts';
import { storySeed } from '../cells/plan.ts';
import { versionsOf } from '../cells/versions.ts';
import { programOf } from '../peers/peers.ts';
import { commitText } from '../support/commit.ts';
import { compileProgram } from '../support/compile.ts';
import { idOf, isSameRun, type Pair, readTransfer, type TransferRun, writeTransfer } from './data.ts';
import { transferPage } from './page.ts';
import { type Choice, CHOICES, plansOf, TRANSFER_WORKLOADS, type TransferPlan } from './plan.ts';
import { inputAt, predictFrom, recordedAt } from './predict.ts';

const HELP = `npm run bench -- transfer [flags]
Records each setting under each workload on real processes. Then tune is given each recording and predicts each other setting
of the workload, and both stand side by side in TRANSFER.md. A run takes some 10 s beside its times: twelve runs take some 18
minutes, and the predictions one or two more.

  --server=KIND        embedded or kube (kube)
  --controller=NAME    endpointd or kube-controller-manager (kube-controller-manager)
  --seed=N             of the stories (1)
  --seconds=N          what is recorded, after a third of it as warm-up (60)
  --workloads=A,B      some of flap, rollout, mixed (all)
  --for=D              begin no run that would not end in time
  --data=FOLDER        where the runs, the recordings and TRANSFER.md are (bench/transfer)
  --again              run nothing; predict anew from the recordings that are there
  --report             only write TRANSFER.md`;

const FOLDER = new URL('.', import.meta.url).pathname;
const ORDER_SEED = 20_261_126;
/** How long a run takes beside its story. */
const AROUND_MS = 15_000;

/** What a test makes smaller. */
export interface TransferSize {
  readonly workloads: readonly StoryProfile[];
  readonly choices: readonly Choice[];
  /** null = it is compiled anew. */
  readonly program: URL | null;
}

const FULL: TransferSize = { workloads: TRANSFER_WORKLOADS, choices: CHOICES, program: null };

interface Bench {
  readonly folder: string;
  readonly measurement: Measurement;
  readonly plans: readonly TransferPlan[];
  readonly untilMs: number;
  readonly program: URL;
  readonly versions: string;
  readonly commit: string;
}

export async function runTransferBench(args: readonly string[], size: TransferSize = FULL): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      server: { type: 'string', default: 'kube' },
      controller: { type: 'string', default: 'kube-controller-manager' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '60' },
      workloads: { type: 'string', default: size.workloads.map(({ name }) => name).join(',') },
      for: { type: 'string', default: '24h' },
      data: { type: 'string', default: FOLDER },
      again: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const folder = resolve(values.data);
  mkdirSync(recordingsIn(folder), { recursive: true });
  if (!values.report) {
    const measuredMs = millisecondsOf(`${values.seconds}s`);
    const world = worldOf(values.server, values.controller);
    const measurement = { world, warmUpMs: Math.round(measuredMs / 3), measuredMs, seed: Number(values.seed) };
    const workloads = workloadsOf(values.workloads.split(','), size.workloads);
    const plans = workloads.flatMap((workload) => plansOf(workload, size.choices));
    const untilMs = performance.now() + millisecondsOf(values.for);
    if (size.program === null) compileProgram();
    const program = size.program ?? programOf('full');
    const versions = versionsOf(world, program);
    const bench: Bench = { folder, measurement, plans, untilMs, program, versions, commit: commitText() };
    if (values.again) forgetPairs(bench);
    else for (const plan of shuffled(plans, createPrng(ORDER_SEED))) await runOnce(plan, bench);
    for (const workload of workloads) await predictAll(workload.name, bench);
  }
  writeFileSync(join(folder, 'TRANSFER.md'), transferPage(readTransfer(dataIn(folder))));
  console.log(`${join(folder, 'TRANSFER.md')} is written`);
}

function workloadsOf(names: readonly string[], known: readonly StoryProfile[]): StoryProfile[] {
  return names.map((name) => {
    const found = known.find((workload) => workload.name === name);
    if (found !== undefined) return found;
    throw new Error(`there is no workload ${JSON.stringify(name)}: ${known.map((one) => one.name).join(', ')}`);
  });
}

/** The last run of each plan. */
function lastRuns({ folder, measurement, versions, plans }: Bench): TransferRun[] {
  const runs = runsOf(readTransfer(dataIn(folder)), measurement, versions);
  return plans.flatMap(({ name }) => runs.findLast(({ cell }) => cell === name) ?? []);
}

/** Does nothing if an undisturbed run of the same measurement exists, or if there is no time left. */
async function runOnce(plan: TransferPlan, bench: Bench): Promise<void> {
  const { folder, measurement, untilMs, program, versions, commit } = bench;
  const { world, warmUpMs, measuredMs } = measurement;
  if (lastRuns(bench).some((run) => run.cell === plan.name && !isDisturbed(run))) return;
  if (performance.now() + warmUpMs + measuredMs + AROUND_MS > untilMs) return;
  const path = recordingOf(plan.name, bench);
  const seed = storySeed(plan.name, measurement.seed);
  const order = { world, plan, repeat: 0, seed, times: { warmUpMs, measuredMs }, program, versions };
  try {
    rmSync(`${path}.new`, { force: true });
    const played = await playCell(order, `${path}.new`, { names: 'pseudonyms', isAfterWarmUp: true });
    const { measured } = recordedAt(`${path}.new`, world.controller);
    renameSync(`${path}.new`, path);
    const run = {
      ...played,
      workload: plan.workload.name,
      choice: plan.choice,
      benchSeed: measurement.seed,
      commit,
      measured,
    };
    const data = readTransfer(dataIn(folder));
    writeTransfer(dataIn(folder), { ...data, runs: [...data.runs, run] });
    console.log(
      `${plan.name}: slices p50 ${measured['p50 of slices']} ms, p99 ${measured['p99 of slices']} ms; busy ${run.machine.busy}`,
    );
  } catch (error) {
    // The next runs are of other processes.
    console.error(`${plan.name} has failed, and runs again next time: ${String(error)}`);
    process.exitCode = 1;
  }
}

/** The pairs of these runs whose recordings are there. */
function forgetPairs(bench: Bench): void {
  const path = dataIn(bench.folder);
  const runs = lastRuns(bench).filter(({ cell }) => existsSync(recordingOf(cell, bench)));
  const data = readTransfer(path);
  const isAmong = (id: Pair['from']): boolean => runs.some((run) => isSameRun(run, id));
  const pairs = data.pairs.filter(({ from, to }) => !isAmong(from) || !isAmong(to));
  writeTransfer(path, { ...data, pairs });
}

/** Predicts what is not predicted yet. */
async function predictAll(workload: string, bench: Bench): Promise<void> {
  const { folder, plans, measurement, commit } = bench;
  const { controller } = measurement.world;
  const path = dataIn(folder);
  const runs = lastRuns(bench).filter((run) => run.workload === workload);
  const settings = new Map(plans.map((plan) => [plan.name, plan.settings]));
  for (const from of runs) {
    const { pairs } = readTransfer(path);
    const isThere = (to: TransferRun): boolean =>
      pairs.some((pair) => isSameRun(pair.from, from) && isSameRun(pair.to, to));
    const targets = runs.filter((to) => to !== from && !isThere(to));
    if (targets.length === 0) continue;
    const lost = [from, ...targets].find(({ cell }) => !existsSync(recordingOf(cell, bench)));
    if (lost !== undefined) {
      console.error(`from ${from.cell} nothing is predicted: the recording of ${lost.cell} is gone`);
      continue;
    }
    const input = await inputAt(recordingOf(from.cell, bench), controller, settings.get(from.cell)!);
    const predicted = predictFrom(
      input,
      targets.map(({ cell }) => ({
        settings: settings.get(cell)!,
        story: recordedAt(recordingOf(cell, bench), controller).story,
      })),
    );
    const made = predicted.map((each, i) => Object.assign({ from: idOf(from), to: idOf(targets[i]!), commit }, each));
    const data = readTransfer(path);
    writeTransfer(path, { ...data, pairs: [...data.pairs, ...made] });
    const [first] = predicted;
    console.log(`from ${from.cell}: ${first!.refusals.length > 0 ? first!.refusals.join('; ') : 'predicted'}`);
  }
}

function dataIn(folder: string): string {
  return join(folder, 'data.json');
}

function recordingsIn(folder: string): string {
  return join(folder, 'recordings');
}

function recordingOf(cell: string, { folder, measurement }: Pick<Bench, 'folder' | 'measurement'>): string {
  const { world, measuredMs, seed } = measurement;
  const name = [world.server, world.controller, ...cell.split(', '), `${measuredMs}ms`, seed].join('-');
  return join(recordingsIn(folder), `${name}.rec`);
}
