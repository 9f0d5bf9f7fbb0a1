/** How changes are sent: at a rate whatever becomes of them, or so many at a time. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import type { PodModel } from '../../src/workload/cluster.ts';
import type { Size, Settings, Stage } from './scenario.ts';

/**
 * Change `i` is due i / rate seconds after the first, and is sent then, however many are under way. Resolves when all are
 * answered.
 */
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

/** `flight` at a time, each when the one before it in its lane is answered. */
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

/**
 * Ready pods turn unready one after the other, at `rate` a second, and each ready again half a second's worth of other pods
 * later: at the end all are as before.
 * @param count even
 */
export async function flips(
  stage: Stage,
  pods: readonly PodModel[],
  count: number,
  rate: number,
  isolated = false,
): Promise<void> {
  const lag = Math.max(1, Math.min(Math.floor(count / 4), Math.round(rate * FLIP_BACK_SECONDS)));
  // Unready ones at even places, and `lag` pairs later the same ones back.
  const plan: { readonly pod: PodModel; readonly ready: boolean }[] = [];
  const half = count / 2;
  for (let i = 0; i < half + lag; i++) {
    if (i < half) plan.push({ pod: pods[i % pods.length]!, ready: false });
    if (i >= lag) plan.push({ pod: pods[(i - lag) % pods.length]!, ready: true });
  }
  await openLoop(plan.length, rate, (i, dueMs) => stage.turn(plan[i]!.pod, plan[i]!.ready, dueMs, isolated));
}

const FLIP_BACK_SECONDS = 1;

/** In an order that the seed decides, so that neighbours are of different services. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const prng = createPrng(seed);
  const mixed = [...items];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = nextInt(prng, i + 1);
    [mixed[i], mixed[j]] = [mixed[j]!, mixed[i]!];
  }
  return mixed;
}

/** The command line's, or what the size says. */
export function chosen(value: number | null, size: Size, bySize: Readonly<Record<Size, number>>): number {
  return value ?? bySize[size];
}

/** An even number of changes for so many seconds. */
export function changesOf({ rate, seconds, size }: Settings, rates: BySize, times: BySize): Paced {
  const perSecond = chosen(rate, size, rates);
  return { rate: perSecond, count: 2 * Math.ceil((perSecond * chosen(seconds, size, times)) / 2) };
}

export type BySize = Readonly<Record<Size, number>>;

export interface Paced {
  readonly rate: number;
  readonly count: number;
}
