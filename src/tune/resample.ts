/** How sure a figure is: its run is repeated with blocks of time drawn anew (a block bootstrap). */
import { createPrng, nextInt } from '../lib/prng.ts';
import { runMoved, runOf, runsBetween } from '../twin/figures.ts';
import type { Ledger } from '../twin/ledger.ts';

/** The lengths in a resample, in milliseconds. */
export interface Blocks {
  /** Of the run. */
  readonly durationMs: number;
  /** Of a block. Changes within a block depend on each other. Blocks hardly do. */
  readonly blockMs: number;
  /**
   * Of the parts of the run within which blocks are exchanged, at the time of their new place. Infinity = in the whole
   * run, where they keep their times, which matter for no figure of a whole run.
   */
  readonly partMs: number;
}

/**
 * Runs with as many blocks as this one, drawn with replacement. What is behind the last whole block is no block: each run
 * has it once.
 */
export function* resamples(
  ledger: Ledger,
  { durationMs, blockMs, partMs }: Blocks,
  count: number,
  seed: number,
): Generator<Ledger, void> {
  const whole = Math.floor(durationMs / blockMs);
  const blockSpans = Array.from({ length: whole }, (_, i) => ({ fromMs: i * blockMs, toMs: (i + 1) * blockMs }));
  const blocks = runsBetween(ledger, [...blockSpans, { fromMs: whole * blockMs, toMs: Infinity }]);
  const rest = blocks.pop()!;
  const slots = blocks.map((_, i) => i);
  const parts = [...Map.groupBy(slots, (slot) => Math.floor((slot * blockMs) / partMs)).values()];
  const prng = createPrng(seed);
  for (let i = 0; i < count; i++) {
    const drawn = parts.flatMap((part) =>
      part.map((slot) => {
        const from = part[nextInt(prng, part.length)]!;
        return partMs === Infinity ? blocks[from]! : runMoved(blocks[from]!, (slot - from) * blockMs);
      }),
    );
    yield runOf(ledger, [...drawn, rest]);
  }
}
