/**
 * The account of a flip: the cost of one pod that turns ready or unready to a running controller, at a rate at which
 * each flip wakes it anew. It is measured soon after the start, and again after thousands of flips, when the compilers
 * have done their work. Each flip is one event of a pod, two writes, and their events.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readinessConditions } from '../../src/workload/objects.ts';
import { patchStatus } from '../../src/workload/request.ts';
import { flipPlan, openLoop, shuffledBySeed, type Flip } from '../peers/drive.ts';
import { heldByEndpoints } from '../peers/scenarios/flips.ts';
import type { ServerKind } from '../peers/server.ts';
import { converged, deleteOutputs, stopOutputs, watchOutputs, writesOf, type Outputs } from '../support/outputs.ts';
import type { Teller } from '../marks/tell.ts';
import type { Size } from '../support/micro-bench.ts';
import { SEED } from '../support/records.ts';
import { minus, secondsOf, startProcess, THREADS, type Controller, type Seconds, type Stage } from './process.ts';
import { sharesOf } from './profile.ts';

const CONVERGE_MS_MAX = 300_000;

interface Pace {
  readonly count: number;
  readonly rate: number;
}

/** The flips that are measured, and those between the two measures, which warm the process up. */
interface Flips {
  readonly measured: Pace;
  readonly between: Pace;
}

const TINY_OF_SMALL: Flips = { measured: { count: 6, rate: 50 }, between: { count: 6, rate: 400 } };

/** In services of 5 pods, by API server. Two cores have no room for more than 100 a second beside kube-apiserver and etcd. */
export const OF_SMALL: Readonly<Record<ServerKind, Readonly<Record<Size, Flips>>>> = {
  embedded: {
    tiny: TINY_OF_SMALL,
    full: { measured: { count: 750, rate: 50 }, between: { count: 12_000, rate: 400 } },
  },
  kube: { tiny: TINY_OF_SMALL, full: { measured: { count: 750, rate: 50 }, between: { count: 6000, rate: 100 } } },
};

/** In a service of 5,000 pods. */
export const OF_HUGE: Readonly<Record<Size, Flips>> = {
  tiny: { measured: { count: 6, rate: 50 }, between: { count: 6, rate: 50 } },
  full: { measured: { count: 100, rate: 5 }, between: { count: 400, rate: 10 } },
};

/** If nothing was written for so long, all flips are done. */
const QUIET_MS = 500;

interface Window {
  /** CPU milliseconds of a flip, by thread. */
  readonly flip: Seconds;
  /** Milliseconds of the main thread for a flip, by part; null = no profile was taken. */
  readonly parts: ReadonlyMap<string, number> | null;
}

/** Shows CPU milliseconds of a flip by thread and by part of the main thread. */
export async function accountOfFlips(stage: Stage, flips: Flips, show: Teller['show']): Promise<void> {
  const { measured, between } = flips;
  const { services, pods } = stage.cluster;
  const what = `A flip, services of ${pods.length / services.length} pods`;
  const each = `${measured.rate} flips a second, ${measured.count} of them`;
  const note = `${each}; warm: after ${between.count} at ${between.rate} a second`;
  const plain = await play(stage, flips, false);
  const profiled = await play(stage, flips, true);
  const titles = ['after the start', 'warm'];
  const rows = plain.map(({ flip }, i) => [titles[i]!, ...figures(THREADS.map((thread) => flip[thread]))]);
  show({ title: `${what}: CPU ms`, columns: ['', ...THREADS, 'together'], rows, note });
  const names = new Set(profiled.flatMap(({ parts }) => [...parts!.keys()]));
  const parts = [...names]
    .map((name) => ({ name, ms: profiled.map(({ parts: of }, i) => (of!.get(name) ?? 0) * plain[i]!.flip.main) }))
    .toSorted((a, b) => b.ms[1]! - a.ms[1]!)
    .map(({ name, ms }) => [name].concat(ms.map((each) => each.toFixed(3))));
  show({ title: `${what}, the main thread by a profile: CPU ms`, columns: ['', ...titles], rows: parts, note });
}

async function play(stage: Stage, { measured, between }: Flips, withProfile: boolean): Promise<Window[]> {
  await deleteOutputs(stage.client, stage.cluster.namespaces);
  const controller = await startProcess(stage, []);
  const outputs = await watchOutputs(stage.client);
  try {
    controller.run();
    await Promise.race([converged(outputs, stage.expected, CONVERGE_MS_MAX), controller.ended]);
    await quiet(outputs);
    const { pods: all, services } = stage.cluster;
    const pods = shuffledBySeed(services.length === 1 ? heldByEndpoints(all) : all, SEED);
    const flip = async ({ count, rate }: Pace): Promise<void> => {
      const plan = flipPlan(pods, count, rate);
      await openLoop(plan.length, rate, (i) => turn(stage, plan[i]!));
      await quiet(outputs);
    };
    const look = (): Promise<Window> => measure(controller, measured.count, withProfile, () => flip(measured));
    const first = await look();
    await flip(between);
    return [first, await look()];
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
