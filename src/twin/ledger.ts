/**
 * The results of a run: how long each change took until an object showed it, and what was written. A change that
 * another one of the same place overtook before any write has no time of its own. It is counted.
 */

import type { Encoding, SizeLine } from '../recording/sizes.ts';

export type Output = 'endpoints' | 'slices';
export const OUTPUTS: readonly Output[] = ['endpoints', 'slices'];

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

export interface Written {
  writes: number;
  /** The endpoints of all written objects. */
  endpoints: number;
}

export interface Ledger {
  readonly samples: Readonly<Record<Output, Sample[]>>;
  readonly written: Readonly<Record<Output, Written>>;
  /** The sizes of the story. */
  readonly sizes: ObjectSizes;
  /** When each write was acknowledged, milliseconds since the start. */
  readonly writesAtMs: Readonly<Record<Output, number[]>>;
  readonly overtaken: Record<Output, number>;
  /** Changes that no object had shown at the end. */
  readonly open: Record<Output, number>;
  syncs: number;
  /** Syncs that failed because an own write was not seen yet. */
  staleSyncs: number;
  /** Writes that failed because somebody else had written since the plan. */
  conflicts: number;
  /** Services that were dropped after too many failures. */
  dropped: number;
  /** The sum of the waits of writes for tokens. */
  throttledMs: number;
  /** The controller's CPU. */
  cpuMs: number;
}

export function createLedger(sizes: ObjectSizes): Ledger {
  return {
    samples: { endpoints: [], slices: [] },
    written: { endpoints: { writes: 0, endpoints: 0 }, slices: { writes: 0, endpoints: 0 } },
    sizes,
    writesAtMs: { endpoints: [], slices: [] },
    overtaken: { endpoints: 0, slices: 0 },
    open: { endpoints: 0, slices: 0 },
    syncs: 0,
    staleSyncs: 0,
    conflicts: 0,
    dropped: 0,
    throttledMs: 0,
    cpuMs: 0,
  };
}

export function noteWritten(ledger: Ledger, output: Output, endpoints: number, nowMs: number): void {
  const written = ledger.written[output];
  written.writes++;
  written.endpoints += endpoints;
  ledger.writesAtMs[output].push(nowMs);
}
