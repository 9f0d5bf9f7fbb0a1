/** Two ways to send changes: at a rate, however long the answers take, or a number at a time. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng, shuffled } from '../../src/lib/prng.ts';
import type { PodModel } from '../../src/workload/cluster.ts';
import type { Size, Settings, Stage } from './scenario.ts';

/** Sends change `i` at i / rate seconds after the first, however many are under way. Resolves when all are answered. */
export async function openLoop(
  count: number,
  rate: number,
  send: (i: number, dueMs: number) => Promise<void>,
): Promise<void> {
  const fromMs = performance.now();
  const underWay: Promise<void>[] = [];
  for (let i = 0; i < count; i++) {
    const dueMs = fromMs + (i / rate) * 1000;
    const aheadMs = dueMs - performance.now();
    if (aheadMs > 0) await sleep(aheadMs);
    underWay.push(send(i, dueMs));
  }
  await Promise.all(underWay);
}

/** Sends `flight` changes at a time. In each lane the next one follows the answer to the one before. */
export async function closedLoop<T>(
  items: readonly T[],
  flight: number,
  send: (item: T, dueMs: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) await send(items[next++]!, performance.now());
  };
  await Promise.all(Array.from({ length: flight }, lane));
}

export interface Flip<T> {
  readonly pod: T;
  readonly ready: boolean;
}

/**
 * Ready pods turn unready one after the other. Each turns ready again `lag` pods later, or sooner if pods are few. At
 * the end all are as before.
 * @param count an even number; one half turns pods unready
 */
export function flipPlan<T>(pods: readonly T[], count: number, lag: number): Flip<T>[] {
  const half = count / 2;
  const behind = Math.max(1, Math.min(half >>> 1, pods.length >>> 1, lag));
  const plan: Flip<T>[] = [];
  for (let i = 0; i < half + behind; i++) {
    if (i < half) plan.push({ pod: pods[i % pods.length]!, ready: false });
    if (i >= behind) plan.push({ pod: pods[(i - behind) % pods.length]!, ready: true });
  }
  return plan;
}

/** Flips at a fixed rate, however long the answers take. */
export async function flips(
  stage: Stage,
  pods: readonly PodModel[],
  count: number,
  rate: number,
  isolated = false,
): Promise<void> {
  const plan = flipPlan(pods, count, Math.round(rate * FLIP_BACK_SECONDS));
  await openLoop(plan.length, rate, (i, dueMs) => stage.turn(plan[i]!.pod, plan[i]!.ready, dueMs, isolated));
}

const FLIP_BACK_SECONDS = 1;

/** The items in an order drawn by the seed, so that neighbours are of different services. */
export function shuffledBySeed<T>(items: readonly T[], seed: number): T[] {
  return shuffled(items, createPrng(seed));
}

/** The value of the command line, or that of the size. */
export function chosen(value: number | null, size: Size, bySize: Readonly<Record<Size, number>>): number {
  return value ?? bySize[size];
}

/** An even number of changes, for so many seconds. */
export function changesOf({ rate, seconds, size }: Settings, rates: BySize, times: BySize): Paced {
  const perSecond = chosen(rate, size, rates);
  return { rate: perSecond, count: 2 * Math.ceil((perSecond * chosen(seconds, size, times)) / 2) };
}

export type BySize = Readonly<Record<Size, number>>;

export interface Paced {
  readonly rate: number;
  readonly count: number;
}
