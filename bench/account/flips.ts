/**
 * The account of a flip: the cost of one pod that turns ready or unready to a running controller, at a rate at which
 * each flip wakes it anew. It is measured soon after the start, and again after thousands of flips, when the compilers
 * have done their work. Each flip is one event of a pod, two writes, and their events.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readinessConditions } from '../../src/workload/objects.ts';
import { patchStatus } from '../../src/workload/request.ts';
import { flipPlan, openLoop, shuffledBySeed, type Flip } from '../peers/drive.ts';
import type { ServerKind } from '../peers/server.ts';
import { converged, deleteOutputs, stopOutputs, watchOutputs, writesOf, type Outputs } from '../support/outputs.ts';
import type { Teller } from '../marks/tell.ts';
import type { Size } from '../support/micro-bench.ts';
import { SEED } from '../support/records.ts';
import { minus, secondsOf, startProcess, THREADS, type Controller, type Seconds, type Stage } from './process.ts';
import { sharesOf } from './profile.ts';

const CONVERGE_MS_MAX = 300_000;
/** How many flips are measured, and how many a second. */
const MEASURED = { tiny: { count: 6, rate: 50 }, full: { count: 750, rate: 50 } };
const BETWEEN: Readonly<Record<ServerKind, typeof MEASURED>> = {
  embedded: { tiny: { count: 6, rate: 400 }, full: { count: 12_000, rate: 400 } },
  // Two cores have no room for more beside kube-apiserver and etcd.
  kube: { tiny: { count: 6, rate: 100 }, full: { count: 6000, rate: 100 } },
};
/** If nothing was written for so long, all flips are done. */
const QUIET_MS = 500;

interface Pace {
  readonly count: number;
  readonly rate: number;
}

interface Window {
  /** CPU milliseconds of a flip, by thread. */
  readonly flip: Seconds;
  /** Milliseconds of the main thread for a flip, by part; null = no profile was taken. */
  readonly parts: ReadonlyMap<string, number> | null;
}

/** Shows CPU milliseconds of a flip by thread and by part of the main thread. */
export async function accountOfFlips(stage: Stage, size: Size, kind: ServerKind, show: Teller['show']): Promise<void> {
  const { rate, count } = MEASURED[size];
  const between = BETWEEN[kind][size];
  const note = `${rate} flips a second, ${count} of them; warm: after ${between.count} at ${between.rate} a second`;
  const plain = await play(stage, size, between, false);
  const profiled = await play(stage, size, between, true);
  const titles = ['after the start', 'warm'];
  const rows = plain.map(({ flip }, i) => [titles[i]!, ...figures(THREADS.map((thread) => flip[thread]))]);
  show({ title: 'A flip, CPU ms', columns: ['', ...THREADS, 'together'], rows, note });
  const names = new Set(profiled.flatMap(({ parts }) => [...parts!.keys()]));
  const parts = [...names]
    .map((name) => ({ name, ms: profiled.map(({ parts: of }, i) => (of!.get(name) ?? 0) * plain[i]!.flip.main) }))
    .toSorted((a, b) => b.ms[1]! - a.ms[1]!)
    .map(({ name, ms }) => [name].concat(ms.map((each) => each.toFixed(3))));
  show({ title: 'A flip, the main thread by a profile, CPU ms', columns: ['', ...titles], rows: parts, note });
}

async function play(stage: Stage, size: Size, between: Pace, withProfile: boolean): Promise<Window[]> {
  await deleteOutputs(stage.client, stage.cluster.namespaces);
  const controller = await startProcess(stage, []);
  const outputs = await watchOutputs(stage.client);
  try {
    controller.run();
    await Promise.race([converged(outputs, stage.expected, CONVERGE_MS_MAX), controller.ended]);
    await quiet(outputs);
    const pods = shuffledBySeed(stage.cluster.pods, SEED);
    const flip = async ({ count, rate }: Pace): Promise<void> => {
      const plan = flipPlan(pods, count, rate);
      await openLoop(plan.length, rate, (i) => turn(stage, plan[i]!));
      await quiet(outputs);
    };
    const measured = (): Promise<Window> =>
      measure(controller, MEASURED[size].count, withProfile, () => flip(MEASURED[size]));
    const first = await measured();
    await flip(between);
    return [first, await measured()];
  } finally {
    stopOutputs(outputs);
    await controller.kill();
  }
}

async function measure(
  controller: Controller,
  count: number,
  withProfile: boolean,
  work: () => Promise<void>,
): Promise<Window> {
  if (withProfile) await controller.profile();
  const before = secondsOf(controller.pid);
  await Promise.race([work(), controller.ended]);
  const taken = minus(secondsOf(controller.pid), before);
  const each = (seconds: number): number => (1000 * seconds) / count;
  return {
    flip: { main: each(taken.main), 'V8 helpers': each(taken['V8 helpers']), others: each(taken.others) },
    parts: withProfile ? sharesOf(await controller.profiled()) : null,
  };
}

export async function turn({ client }: Stage, { pod, ready }: Flip<Stage['cluster']['pods'][number]>): Promise<void> {
  const conditions = readinessConditions(ready, Math.floor(Date.now() / 1000));
  await client.send(patchStatus('Pod', pod.app.namespace, pod.name, { conditions }));
}

async function quiet(outputs: Outputs): Promise<void> {
  const writes = (): number => {
    const { endpoints, slices } = writesOf(outputs);
    return endpoints + slices;
  };
  for (let before = -1; before !== writes(); await sleep(QUIET_MS)) before = writes();
}

function figures(each: readonly number[]): string[] {
  return [...each, each.reduce((sum, one) => sum + one, 0)].map((one) => one.toFixed(2));
}
