/**
 * What came of a run: how long each change took until an object showed it, and what was written. A change that another one
 * of the same place overtook before anything was written has no time of its own; it is counted.
 */
import type { ObjectSizes } from './story.ts';

export type Output = 'endpoints' | 'slices';
export const OUTPUTS: readonly Output[] = ['endpoints', 'slices'];

/** `add`: an address becomes ready. `remove`: it is ready no more. */
export type ChangeKind = 'add' | 'remove';

export interface Sample {
  /** When the change was acknowledged, milliseconds since the start. */
  readonly atMs: number;
  readonly kind: ChangeKind;
  readonly latencyMs: number;
}

export interface Written {
  writes: number;
  bytes: number;
}

export interface Ledger {
  readonly samples: Readonly<Record<Output, Sample[]>>;
  readonly written: Readonly<Record<Output, Written>>;
  /** Of both outputs, in each ten seconds. */
  readonly writesByTime: number[];
  readonly overtaken: Record<Output, number>;
  /** Changes that nothing had shown at the end. */
  readonly open: Record<Output, number>;
  syncs: number;
  /** Syncs that failed because an own write was not seen yet. */
  staleSyncs: number;
  /** Services that were given up after too many failures. */
  dropped: number;
  /** Sum of what writes waited for tokens. */
  throttledMs: number;
  /** CPU of the controller. */
  cpuMs: number;
}

export function createLedger(): Ledger {
  return {
    samples: { endpoints: [], slices: [] },
    written: { endpoints: { writes: 0, bytes: 0 }, slices: { writes: 0, bytes: 0 } },
    writesByTime: [],
    overtaken: { endpoints: 0, slices: 0 },
    open: { endpoints: 0, slices: 0 },
    syncs: 0,
    staleSyncs: 0,
    dropped: 0,
    throttledMs: 0,
    cpuMs: 0,
  };
}

export const WRITES_BY_MS = 10_000;

export function noteWritten(
  ledger: Ledger,
  output: Output,
  sizes: ObjectSizes,
  endpoints: number,
  nowMs: number,
): void {
  const { base, each } = output === 'endpoints' ? sizes.endpoints : sizes.slice;
  const written = ledger.written[output];
  written.writes++;
  written.bytes += base + each * endpoints;
  const time = Math.floor(nowMs / WRITES_BY_MS);
  while (ledger.writesByTime.length <= time) ledger.writesByTime.push(0);
  ledger.writesByTime[time]!++;
}
