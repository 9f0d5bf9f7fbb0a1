/** A story that runs: what its happenings may touch. */
import type { Applied } from './second.ts';
import type { Trouble } from './settle.ts';
import type { World } from './story.ts';
import type { Sim } from '../support/sim.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import type { Prng } from '../../src/lib/prng.ts';

export interface Run {
  readonly sim: Sim;
  readonly world: World;
  /** All kinds of trouble in the story. */
  readonly troubles: ReadonlySet<Trouble>;
  /** Flags of the process that runs, or runs next. */
  flags: Partial<ControllerOptions>;
  /** The largest `--max-endpoints-per-slice` so far: larger slices of an earlier process stay. */
  maxEndpointsPerSlice: number;
  /** Of the one server: how often a backup was taken that it is put back to. */
  readonly history: { backups: number };
  /** How many happenings that last hold each effect on. */
  readonly held: Map<string, number>;
  /** Versions of objects that the controller's own writes have made. */
  readonly ownVersions: Set<number>;
  /** Of both processes where there is a second endpointd. */
  readonly applied: Applied[];
}

/** One kind of happening. */
export interface Deed {
  readonly trouble: Trouble;
  /** Shortest and longest; absent = it is over at once. */
  readonly lastsMs?: readonly [number, number];
  /** Does it. @returns one line on what came of it; '' = nothing fitted */
  act(run: Run, prng: Prng, forMs: number): string;
}

export type Deeds = Readonly<Record<string, Deed>>;

/** Turns an effect on, and off again when the last of those that hold it is over. */
export function holdFor(run: Run, effect: string, forMs: number, on: () => void, off: () => void): void {
  const { held, sim } = run;
  held.set(effect, (held.get(effect) ?? 0) + 1);
  on();
  sim.at(sim.nowMs() + forMs, () => {
    const left = held.get(effect)! - 1;
    held.set(effect, left);
    if (left === 0) off();
  });
}

export function isHeld({ held }: Run, effect: string): boolean {
  return (held.get(effect) ?? 0) > 0;
}
