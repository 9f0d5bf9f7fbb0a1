/** Pods turn ready and unready: at a steady rate, in one huge service, and all at once. */
import { chosen, changesOf, closedLoop, flips, shuffledBySeed, type BySize } from '../drive.ts';
import type { PodModel } from '../../../src/workload/cluster.ts';
import { COALESCING_MARKS, floorMark, shareMark, type Scenario, type Stage } from '../scenario.ts';
import { FLIGHTS, running } from './bursts.ts';
import { halfUpdated, HUGE, SPREAD, unready } from './profiles.ts';

export const CHURN_RATES = { tiny: 40, small: 50, full: 50 };
export const CHURN_SECONDS = { tiny: 0.5, small: 10, full: 20 };
const HUGE_RATES = { tiny: 20, small: 5, full: 5 };
const HUGE_SECONDS = { tiny: 0.5, small: 10, full: 20 };
/** 300 flips. V8 goes on compiling behind them (docs/account.md "A flip"). */
const HUGE_WARM_SECONDS = { tiny: 0.5, small: 10, full: 60 };
/** Of the time of the measure. */
const WARM_SHARE = 0.25;
/** How many addresses of a service an Endpoints object holds. */
const ADDRESSES_HELD = 1000;

export const CHURN: Scenario = {
  name: 'churn',
  what: '50 pods a second turn ready or unready, in services of 5',
  pairSeconds: 105,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  echo: true,
  story: (stage) => steadyFlips(stage, CHURN_RATES, CHURN_SECONDS),
  marks: [
    floorMark('CPU a flip', 'cpuAChange', 1.5, 0.5, 'ms'),
    floorMark('p50 to the slice', 'slicesP50', 1.5, 0, 'ms'),
  ],
};

export const HUGE_FLIPS: Scenario = {
  name: 'huge',
  what: 'a pod of a service of 5,000 turns ready or unready',
  pairSeconds: 105,
  server: 'kube',
  outset: 'right',
  profile: HUGE,
  leavesInputs: true,
  echo: true,
  story: (stage) => steadyFlips(stage, HUGE_RATES, HUGE_SECONDS),
  marks: [
    shareMark('CPU a flip', 'cpuAChange', 1 / 60, '1/60'),
    floorMark('p50 to the slice', 'slicesP50', 1.5, 0, 'ms'),
  ],
};

export const HUGE_WARM: Scenario = {
  name: 'huge-warm',
  what: 'a pod of a service of 5,000 turns ready or unready, after a minute of such flips',
  pairSeconds: 180,
  server: 'kube',
  outset: 'right',
  profile: HUGE,
  leavesInputs: true,
  story: (stage) => steadyFlips(stage, HUGE_RATES, HUGE_SECONDS, HUGE_WARM_SECONDS),
};

export const TWO_NUMBERS: Scenario = {
  name: 'two-numbers',
  what: 'the same as huge, half-way through a roll-out: a named port with two numbers',
  pairSeconds: 75,
  server: 'kube',
  outset: 'right',
  profile: halfUpdated(HUGE),
  leavesInputs: true,
  story: (stage) => steadyFlips(stage, HUGE_RATES, HUGE_SECONDS),
};

export const READY: Scenario = {
  name: 'ready',
  what: '10,000 pods are patched to ready, 48 patches under way',
  pairSeconds: 45,
  server: 'kube',
  outset: 'right',
  additionsOnly: true,
  profile: unready(SPREAD),
  story: allReady,
  marks: COALESCING_MARKS,
};

/**
 * The pods that an Endpoints object of a huge service holds: those with the lowest addresses, in the order of texts. With
 * two numbers of a named port there are two subsets, and each holds its part of the addresses. How many moves a little
 * as pods turn, so a tenth is left out.
 */
export function heldByEndpoints<T extends Pick<PodModel, 'address' | 'revision'>>(pods: readonly T[]): T[] {
  const subsets = [...Map.groupBy(pods, ({ revision }) => revision % 2).values()];
  const each = subsets.length === 1 ? ADDRESSES_HELD : (ADDRESSES_HELD / subsets.length) * 0.9;
  return subsets.flatMap((subset) => subset.toSorted((a, b) => (a.address < b.address ? -1 : 1)).slice(0, each));
}

/**
 * Measures after a warm-up, as after weeks: the code of one peer is only compiled as it is used.
 * @param warmTimes absent = a quarter of the measure
 */
export async function steadyFlips(stage: Stage, rates: BySize, times: BySize, warmTimes?: BySize): Promise<void> {
  const { settings, cluster } = stage;
  const pods = shuffledBySeed(
    cluster.services.length === 1 ? heldByEndpoints(cluster.pods) : cluster.pods,
    settings.seed,
  );
  const { rate, count } = changesOf(settings, rates, times);
  await running(stage);
  stage.step('warm-up');
  const warm = 2 * Math.ceil((warmTimes === undefined ? count * WARM_SHARE : rate * warmTimes[settings.size]) / 2);
  await flips(stage, pods, warm, rate);
  await stage.seen();
  await stage.rest();
  stage.step('flips');
  await stage.measure(async () => {
    await flips(stage, pods.slice(warm / 2).concat(pods), count, rate);
    await stage.seen();
  });
}

async function allReady(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const flight = chosen(settings.flight, settings.size, FLIGHTS);
  await running(stage);
  stage.step('patches');
  await stage.measure(async () => {
    await closedLoop(shuffledBySeed(cluster.pods, settings.seed), flight, (pod, dueMs) => stage.turn(pod, true, dueMs));
    await stage.seen();
  });
}
