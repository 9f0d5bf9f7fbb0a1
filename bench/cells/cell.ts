/**
 * Runs one cell on real processes: an API server, the compiled controller, and `endpointd record`, each in a
 * process of its own. This process makes the changes. The figures are those that the recording shows.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, getPriority, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { withRecording } from '../../src/cli/record/recording-file.ts';
import { type Evidence, evidenceBetween } from '../../src/tune/evidence.ts';
import { playedOf } from '../../src/tune/played.ts';
import { latenciesOf, quantile } from '../../src/twin/figures.ts';
import type { Output } from '../../src/twin/ledger.ts';
import type { Story } from '../../src/twin/story.ts';
import { cpuSecondsOf } from '../support/process-usage.ts';
import { type CellTimes, measuredPart, storyOf } from './cell-times.ts';
import { makeRight, openWorld, type Running, settled } from './cell-world.ts';
import type { CellRun, MeasuredOutput, PlayedCell, World } from './data.ts';
import type { CellPlan } from './plan.ts';
import { liveStory, loadStory } from './story-life.ts';

export interface CellOrder {
  readonly world: World;
  readonly plan: Pick<CellPlan, 'name' | 'workload' | 'settings'>;
  readonly repeat: number;
  /** Of the story. */
  readonly seed: number;
  readonly times: CellTimes;
  /** The program of endpointd. */
  readonly program: URL;
  readonly versions: string;
}

/** @throws Error if a process ends by itself, or a request is refused */
export async function runCell(order: CellOrder): Promise<CellRun> {
  const { plan, seed, times } = order;
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-cell-'));
  const path = join(directory, 'cell.rec');
  try {
    const played = await playCell(order, path);
    return { ...played, measured: measuredOf(path, storyOf(plan, seed, times), times) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** How a cell is recorded. */
export interface Recorder {
  readonly names: 'plain' | 'pseudonyms';
  /** Whether the recording begins while changes come already, as that of an operator does. */
  readonly isAfterWarmUp: boolean;
}

/** Plays a cell, and leaves its recording at this path. @throws Error as `runCell` */
export async function playCell(
  { world, plan, repeat, seed, times, program, versions }: CellOrder,
  path: string,
  { names, isAfterWarmUp }: Recorder = { names: 'plain', isAfterWarmUp: false },
): Promise<PlayedCell> {
  const story = storyOf(plan, seed, times);
  const server = await openWorld(world, program);
  try {
    await loadStory(server.client, story);
    await makeRight(server, plan.settings);
    const controller = await server.startController(plan.settings, false);
    const startRecorder = (): Promise<Running> => server.startRecorder(path, names);
    const early = isAfterWarmUp ? null : await startRecorder();
    await settled(server.client);
    const before = usageOf(controller.pid);
    const [{ latenessMs }, recorder] = await Promise.all([
      liveStory(server.client, story, times.warmUpMs + times.measuredMs),
      early ?? sleep(times.warmUpMs).then(startRecorder),
    ]);
    const after = usageOf(controller.pid);
    await recorder.stop();
    await controller.stop();
    return {
      cell: plan.name,
      world,
      repeat,
      seed,
      ...times,
      versions,
      at: new Date().toISOString().slice(0, 16),
      machine: {
        cores: cpus().length,
        busy: round((after.busyMs - before.busyMs) / (after.busyMs + after.idleMs - before.busyMs - before.idleMs), 3),
        controllerCpu: round((after.controllerSeconds - before.controllerSeconds) / ((after.ms - before.ms) / 1000), 3),
        load: round(loadavg()[0]!, 1),
        nice: getPriority(),
      },
      latenessMs: { p50: round(latenessMs.p50, 1), p99: round(latenessMs.p99, 1) },
    };
  } finally {
    await server.stop();
  }
}

function measuredOf(path: string, planned: Story, times: CellTimes): CellRun['measured'] {
  const { story, evidence, doubts, isEnded } = withRecording(path, ({ events }) => playedOf(path, events));
  if (doubts.length > 0) throw new Error(`the recording cannot be believed: ${doubts.join(', ')}`);
  if (!isEnded) throw new Error('the recorder did not end in good order');
  // Lateness is measured by the recorder's clock. The first change of the story is the first change that it has
  // recorded.
  const lateMs = story.changes[0]!.atMs - planned.changes[0]!.atMs;
  const moved = evidenceBetween(evidence, lateMs, Infinity);
  const earlier = <T extends { readonly atMs: number }>(all: readonly T[]): T[] =>
    all.map((one) => ({ ...one, atMs: one.atMs - lateMs }));
  const since = (output: Output): Evidence => ({
    samples: { endpoints: [], slices: [], [output]: earlier(moved.samples[output]) },
    writes: { endpoints: [], slices: [], [output]: earlier(moved.writes[output]) },
  });
  const of = (output: Output): MeasuredOutput => {
    const { samples, writes } = measuredPart(since(output), times);
    const sorted = latenciesOf(samples[output], 'any');
    if (sorted.length === 0) throw new Error(`no change of ${output} was shown: measure for longer`);
    const at = (share: number): number => round(quantile(sorted, share), 2);
    return { changes: sorted.length, writes: writes[output].length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  };
  return { endpoints: of('endpoints'), slices: of('slices') };
}

interface Usage {
  readonly ms: number;
  readonly controllerSeconds: number;
  /** CPU of all cores since the machine's start. */
  readonly busyMs: number;
  readonly idleMs: number;
}

function usageOf(pid: number): Usage {
  let [busyMs, idleMs] = [0, 0];
  for (const { times } of cpus()) {
    busyMs += times.user + times.nice + times.sys + times.irq;
    idleMs += times.idle;
  }
  return { ms: performance.now(), controllerSeconds: cpuSecondsOf(pid), busyMs, idleMs };
}

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
