/**
 * The accounts of two kinds of start. One is from nothing. It has the CPU of each thread until the modules are loaded, until
 * the first write, until 200 services are right, and until all are. The other is a restart where all is right already. Both
 * have the same figures for a second start in the same process, the CPU of the compilers on the helper threads, and the
 * parts of the main thread. Linux only.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Teller } from '../marks/tell.ts';
import { converged, deleteOutputs, stopOutputs, watchOutputs, writesOf, type Outputs } from '../support/outputs.ts';
import { turn } from './flips.ts';
import { usageOf } from '../support/process-usage.ts';
import {
  minus,
  NONE,
  secondsOf,
  startProcess,
  sumOf,
  THREADS,
  type Collections,
  type Controller,
  type Seconds,
  type Stage,
} from './process.ts';
import { sharesOf, type CpuProfile } from './profile.ts';

const CONVERGE_MS_MAX = 300_000;
const FIRST_SERVICES = 200;
const POLL_MS = 5;

/** A restart is over when the main thread has worked for less than this share of a second: a profile alone keeps it at work. */
const REST_SHARE = 0.2;
const REST_MS = 1000;

/** A kind of start. */
interface Kind {
  readonly what: string;
  /** The first is until the modules are loaded. */
  readonly phases: readonly string[];
  /** Brings the server's objects into their first state. */
  readonly prepare: (stage: Stage) => Promise<void>;
  /** Resolves when the start is over. Calls `look` at the end of each phase. */
  readonly follow: (stage: Stage, controller: Controller, outputs: Outputs, look: () => void) => Promise<void>;
}

const FROM_NOTHING: Kind = {
  what: 'from nothing',
  phases: ['modules', 'lists, until the first write', `${FIRST_SERVICES} services`, 'the rest'],
  prepare: ({ client, cluster }) => deleteOutputs(client, cluster.namespaces),
  async follow({ cluster, expected, outputsEach }, { ended }, outputs, look) {
    const right = converged(outputs, expected, CONVERGE_MS_MAX);
    const services = Math.min(FIRST_SERVICES, cluster.services.length);
    await Promise.race([wrote(outputs, 1), ended]);
    look();
    await Promise.race([wrote(outputs, outputsEach * services), ended]);
    look();
    await Promise.race([right, ended]);
    look();
  },
};

const RESTART: Kind = {
  what: 'all right already',
  phases: ['modules', 'until it rests'],
  prepare: () => Promise.resolve(),
  async follow(stage, { pid, ended }, outputs, look) {
    // An idle process may still wait for its lists. It has them when it follows a change.
    for (const [i, ready] of [false, true].entries()) {
      await turn(stage, { pod: stage.cluster.pods[0]!, ready });
      await Promise.race([wrote(outputs, (i + 1) * stage.outputsEach), ended]);
    }
    await Promise.race([rested(pid), ended]);
    look();
    const { endpoints, slices } = writesOf(outputs);
    assert.equal(endpoints + slices, 2 * stage.outputsEach, 'a restart where all is right writes nothing else');
  },
};

interface Round {
  readonly phases: readonly Seconds[];
  readonly collections: Collections;
  /** null = no profile was asked for. */
  readonly profile: CpuProfile | null;
  readonly peakMB: number;
}

/** Shows the account of a start from nothing. Afterwards all is right. */
export async function accountOfStart(stage: Stage, show: Teller['show']): Promise<void> {
  await account(FROM_NOTHING, stage, show);
}

/** Makes all right, then shows the account of a restart. */
export async function accountOfRestart(stage: Stage, show: Teller['show']): Promise<void> {
  const controller = await startProcess(stage, []);
  try {
    await playOnce(FROM_NOTHING, stage, controller, false, true);
  } finally {
    await controller.kill();
  }
  await account(RESTART, stage, show);
}

async function account(kind: Kind, stage: Stage, show: Teller['show']): Promise<void> {
  const { services, pods, namespaces } = stage.cluster;
  const what = `${services.length} services, ${pods.length} pods, ${namespaces.length} namespaces, ${kind.what}`;
  console.log(`\n${what}`);
  const plain = await play(kind, stage, [], false);
  const alone = await play(kind, stage, ['--single-threaded-gc'], false);
  const profiled = await play(kind, stage, [], true);
  const titles = ['first time', 'second time'];
  for (const [i, { phases, collections, peakMB }] of plain.entries()) {
    const compilers = alone[i]!.phases;
    const rows = phases.map((seconds, phase) => [kind.phases[phase]!, ...secondsText(seconds, compilers[phase]!)]);
    const all = sumOf(phases);
    rows.push(['all', ...secondsText(all, sumOf(compilers))]);
    const { main, 'V8 helpers': helpers, others } = all;
    const notes = [
      `A pod: ${((1e6 * (main + helpers + others)) / pods.length).toFixed(1)} us`,
      ...Object.entries(collections).map(
        ([name, { count, ms }]) => `Collections, ${name}: ${count} of ${(ms / count).toFixed(2)} ms of wall time each`,
      ),
      `Peak memory so far: ${peakMB.toFixed(0)} MB`,
    ];
    const title = `${what}, ${titles[i]} in the process: CPU seconds`;
    show({ title, columns: ['', ...THREADS, 'together', 'compilers'], rows, note: notes.join('. ') });
  }
  show({
    title: `${what}, the main thread after the modules, by a profile: CPU ms`,
    columns: ['', ...titles],
    rows: partsOf(plain, profiled, titles),
    note: '',
  });
}

/** The shares are of a run with a profile, and the CPU is of a run without one. */
function partsOf(plain: readonly Round[], profiled: readonly Round[], titles: readonly string[]): string[][] {
  const parts = new Map<string, number[]>();
  for (const [i, { profile }] of profiled.entries()) {
    const main = sumOf(plain[i]!.phases.slice(1)).main;
    for (const [part, share] of sharesOf(profile!)) {
      const ms = parts.get(part) ?? titles.map(() => 0);
      ms[i] = share * main * 1000;
      parts.set(part, ms);
    }
  }
  return [...parts]
    .toSorted(([, [a = 0]], [, [b = 0]]) => b - a)
    .map(([part, ms]) => [part].concat(ms.map((each) => each.toFixed(0))));
}

/** Two starts in one process. */
async function play(kind: Kind, stage: Stage, nodeFlags: readonly string[], withProfile: boolean): Promise<Round[]> {
  const controller = await startProcess(stage, nodeFlags);
  try {
    return [
      await playOnce(kind, stage, controller, withProfile, true),
      await playOnce(kind, stage, controller, withProfile, false),
    ];
  } finally {
    await controller.kill();
  }
}

async function playOnce(
  kind: Kind,
  stage: Stage,
  controller: Controller,
  withProfile: boolean,
  isFirst: boolean,
): Promise<Round> {
  const { pid } = controller;
  await kind.prepare(stage);
  const outputs = await watchOutputs(stage.client);
  const looks = isFirst ? [NONE] : [];
  try {
    const look = (): void => void looks.push(secondsOf(pid));
    look();
    if (!isFirst) looks.unshift(looks[0]!);
    if (withProfile) await controller.profile();
    controller.run();
    await kind.follow(stage, controller, outputs, look);
  } finally {
    stopOutputs(outputs);
  }
  const peakMB = usageOf(pid).peakBytes / 1e6;
  const profile = withProfile ? await controller.profiled() : null;
  const collections = await controller.stop();
  return { phases: kind.phases.map((_, i) => minus(looks[i + 1]!, looks[i]!)), collections, profile, peakMB };
}

async function rested(pid: number): Promise<void> {
  let before = secondsOf(pid).main;
  for (;;) {
    await sleep(REST_MS);
    const now = secondsOf(pid).main;
    if (now - before < (REST_SHARE * REST_MS) / 1000) return;
    before = now;
  }
}

async function wrote(outputs: Outputs, count: number): Promise<void> {
  for (;;) {
    const { endpoints, slices } = writesOf(outputs);
    if (endpoints + slices >= count) return;
    await sleep(POLL_MS);
  }
}

/** `compilers`: the seconds of a run whose collector keeps to the main thread, so that its helpers do nothing but compile. */
function secondsText(seconds: Seconds, compilers: Seconds): string[] {
  const each = THREADS.map((thread) => seconds[thread]);
  const together = each.reduce((sum, one) => sum + one, 0);
  return [...each, together, compilers['V8 helpers']].map((one) => one.toFixed(2));
}
