/**
 * The results of a run: how long each change took until an object showed it, and what was written. A change that
 * another one of the same place overtook before any write has no time of its own. It is counted.
 */

import { APART_MS_MAX } from '../recording/measure.ts';
import type { Encoding, SizeLine } from '../recording/sizes.ts';

export type Output = 'endpoints' | 'slices';
export const OUTPUTS: readonly Output[] = ['endpoints', 'slices'];
/** An object that shows a change so long after it was undone shows another one, as in a recording. */
export const UNDONE_MS_MAX = APART_MS_MAX;

export function perOutput<T>(of: (output: Output) => T): Record<Output, T> {
  return { endpoints: of('endpoints'), slices: of('slices') };
}

/** `add`: an address becomes ready. `remove`: it is no longer ready. */
export type ChangeKind = 'add' | 'remove';

export interface Sample {
  /** When the change was acknowledged, milliseconds since the start. */
  readonly atMs: number;
  readonly kind: ChangeKind;
  readonly latencyMs: number;
}

/** The bytes that the API server sends to a watcher for each change of an object. */
export type ObjectSizes = Readonly<Record<Output, Readonly<Record<Encoding, SizeLine>>>>;

/** A write that the API server has acknowledged. */
export interface Write {
  /** Milliseconds since the start. */
  readonly atMs: number;
  /** The endpoints of the written object. */
  readonly endpoints: number;
  /** The number of its Service; absent = it is not known, or is no Service of the story. */
  readonly service?: number;
}

/** CPU of the controller from `atMs` on, milliseconds since the start, until the next such entry. */
export interface Spent {
  readonly atMs: number;
  readonly ms: number;
}

/** A setting of which a larger value only matters once a run has reached it. `tokens`: QPS and burst. */
export type Limit = 'endpointSyncs' | 'serviceEndpointSyncs' | 'tokens' | 'endpointsPerSlice';

/** The limit of the syncs of an output. */
export const SYNCS: Readonly<Record<Output, Limit>> = {
  endpoints: 'endpointSyncs',
  slices: 'serviceEndpointSyncs',
};

export interface Ledger {
  readonly samples: Readonly<Record<Output, Sample[]>>;
  readonly writes: Readonly<Record<Output, Write[]>>;
  /** The sizes of the story. */
  readonly sizes: ObjectSizes;
  /** Changes that no object had to show: each one that was undone in time, and the one that undid it. */
  readonly overtaken: Record<Output, number>;
  /**
   * How long changes have waited, at least, that no object had shown when the next one of the same place came, or when the
   * run ended.
   */
  readonly unshown: Readonly<Record<Output, Sample[]>>;
  /** Changes that no object had shown at the end. */
  readonly open: Record<Output, number>;
  syncs: number;
  /** Syncs that failed because an own write was not seen yet. */
  staleSyncs: number;
  /** Writes that failed because their object was not as the plan took it. */
  conflicts: number;
  /** Services that were dropped after too many failures. */
  dropped: number;
  /** The sum of the waits of writes for tokens. */
  throttledMs: number;
  readonly cpu: Spent[];
  /** Limits that something waited for, or that made a slice. With larger values of the others the run is the same. */
  readonly reached: Set<Limit>;
}

export function createLedger(sizes: ObjectSizes): Ledger {
  return {
    samples: { endpoints: [], slices: [] },
    writes: { endpoints: [], slices: [] },
    sizes,
    overtaken: { endpoints: 0, slices: 0 },
    unshown: { endpoints: [], slices: [] },
    open: { endpoints: 0, slices: 0 },
    syncs: 0,
    staleSyncs: 0,
    conflicts: 0,
    dropped: 0,
    throttledMs: 0,
    cpu: [],
    reached: new Set(),
  };
}
