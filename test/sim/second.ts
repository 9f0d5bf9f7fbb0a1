/**
 * A second writer of the same objects through the whole of a story, which knows nothing of the first: another endpointd,
 * both without a Lease, or kube-controller-manager. Two that plan the same come to rest. Two that do not go on for ever, and
 * what each endpointd repairs has a bound.
 */
import { runKubeControllerManager } from './rival.ts';
import type { Run } from './run.ts';
import { drawOptions, FIXED_OPTIONS } from './story.ts';
import { createSim, writesOf, type Sim } from '../support/sim.ts';
import { keyOf } from '../../src/controller/caches/service-state.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';
import { createPrng } from '../../src/lib/prng.ts';

/** `same`: an endpointd with the flags of the first. `other`: one with flags of its own. */
export type SecondKind = 'nobody' | 'same' | 'other' | 'kube-controller-manager';

export interface Second {
  readonly plansTheSame: boolean;
  /** Requests of the second endpointd that changed something. */
  writes(): readonly string[];
  /** Takes the flags that the first has now, if it had those of the first before. */
  follow(): void;
  stop(): void;
}

/** An applied write of an endpointd. */
export interface Applied {
  readonly atMs: number;
  /** The process, the controller and the service. */
  readonly who: string;
  /** Writes of one sync have the same. */
  readonly sync: object;
}

const NOBODY: Second = { plansTheSame: true, writes: () => [], follow() {}, stop() {} };

export function startSecond(run: Run, kind: SecondKind, seed: number): Second {
  const prng = createPrng(seed);
  switch (kind) {
    case 'nobody':
      return NOBODY;
    case 'same':
      return startEndpointd(run, seed, null);
    case 'other': {
      const flags = drawOptions(prng);
      // Larger slices of the other one stay.
      run.maxEndpointsPerSlice = Math.max(run.maxEndpointsPerSlice, flags.maxEndpointsPerSlice!);
      return startEndpointd(run, seed, flags);
    }
    case 'kube-controller-manager': {
      let isOn = true;
      runKubeControllerManager(run, prng, () => isOn);
      const stop = (): void => {
        isOn = false;
      };
      return { ...NOBODY, plansTheSame: false, stop };
    }
  }
}

/** @param own its flags; null = those of the first */
function startEndpointd(run: Run, seed: number, own: Run['flags'] | null): Second {
  let flags = own ?? run.flags;
  const sim = createSim({
    beside: run.sim,
    seed,
    shards: run.world.shards,
    options: { ...FIXED_OPTIONS, ...flags },
  });
  sim.observer = {
    ...sim.observer,
    after: (request, status) => noteApplied(run.applied, 'the second', sim, request, status),
  };
  sim.start();
  return {
    plansTheSame: own === null,
    writes: () => writesOf(sim),
    follow() {
      if (own !== null || flags === run.flags) return;
      flags = run.flags;
      sim.kill();
      sim.start(flags);
    },
    stop: () => sim.kill(),
  };
}

/** @param process its name */
export function noteApplied(
  applied: Applied[],
  process: string,
  sim: Sim,
  { id, pool }: HttpRequest,
  status: number,
): void {
  if (pool !== 'write' || status >= 300) return;
  const purpose = sim.loop?.state.outbox.requests.get(id);
  if (purpose?.for !== 'write') return;
  const { unit } = purpose.queued;
  const who = `${process}: ${unit.controller.name} of ${keyOf(unit.service)}`;
  applied.push({ atMs: sim.nowMs(), who, sync: unit.sync! });
}

/** By then both wait as long as they ever do. */
const FIRST_REPAIRS_MS = 120_000;
const WATCHED_MS = 120_000;
/** One every 10 s of what is missing, one every 30 s of what is wrong, and each may just have begun. */
const REPAIRS_MAX = WATCHED_MS / 10_000 + WATCHED_MS / 30_000 + 2;

/** Nothing else happens while both go on. Returns who repairs too often; null = nobody. */
export function standOff({ sim, applied }: Run): string | null {
  sim.run(FIRST_REPAIRS_MS);
  const fromMs = sim.nowMs();
  sim.run(WATCHED_MS);
  const syncs = new Map<string, Set<object>>();
  for (const { atMs, who, sync } of applied) {
    if (atMs < fromMs) continue;
    syncs.set(who, (syncs.get(who) ?? new Set()).add(sync));
  }
  for (const [who, { size }] of syncs) {
    if (size > REPAIRS_MAX) return `${who} repairs ${size} times in ${WATCHED_MS / 1000} s`;
  }
  return null;
}
