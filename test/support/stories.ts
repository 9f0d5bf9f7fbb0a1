import { USUAL_SIZES } from '../../src/twin/profiles.ts';
import type { Calibration } from '../../src/twin/settings.ts';
import { NOTHING, type Published, type Story } from '../../src/twin/story.ts';

const STATES: Readonly<Record<'ready' | 'unready' | 'terminating' | 'gone', Published>> = {
  ready: { endpoints: 1, slices: 1, isReady: true },
  unready: { endpoints: 2, slices: 2, isReady: false },
  terminating: { endpoints: 0, slices: 3, isReady: false },
  gone: NOTHING,
};

/** The API server's time for a write does not depend on the object. */
export const SIZES_ALIKE: Calibration['apiEach'] = { endpoints: 0, slices: 0 };

export interface StoryText {
  readonly services: number;
  /** Of each service, unready at the start; default 10. */
  readonly pods?: number;
  /** When, which pod of all, and what becomes of it. */
  readonly changes: readonly (readonly [atMs: number, pod: number, state: keyof typeof STATES])[];
}

/** Services of one namespace. */
export function story({ services, pods = 10, changes }: StoryText): Story {
  return {
    name: 'a test',
    durationMs: (changes.at(-1)?.[0] ?? 0) + 1000,
    namespaces: [{ services, pods: services * pods }],
    services: Array.from({ length: services }, () => ({
      namespace: 0,
      families: 1,
    })),
    places: Array.from({ length: services * pods }, (_, i) => ({
      service: Math.floor(i / pods),
      start: STATES.unready,
    })),
    changes: changes.map(([atMs, place, state]) => ({
      atMs,
      namespace: 0,
      kind: 'pod',
      places: [{ place, wanted: STATES[state], change: state === 'ready' ? 'adds' : 'removes' }],
      service: -1,
    })),
    objects: USUAL_SIZES,
  };
}
