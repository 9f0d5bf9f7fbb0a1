/** How sure a figure is: its run is repeated with blocks of time drawn anew (a block bootstrap). */
import { createPrng, nextInt } from '../lib/prng.ts';
import { joined, partsOf } from '../twin/figures.ts';
import type { Ledger } from '../twin/ledger.ts';

/** Changes within a block depend on each other. Blocks hardly do. */
const BLOCK_MS = 30_000;

/**
 * Runs with as many blocks as this one, drawn with replacement. What is behind the last whole block is no block: each run
 * has it once.
 *
 * @param withinMs a block is drawn from the blocks of the same part of the run, which is so long; Infinity = from all
 */
export function* resamples(
  ledger: Ledger,
  durationMs: number,
  count: number,
  seed: number,
  withinMs = Infinity,
): Generator<Ledger, void> {
  const whole = Math.floor(durationMs / BLOCK_MS);
  const found = partsOf(ledger, BLOCK_MS);
  const blocks = Array.from({ length: whole }, (_, i) => joined(ledger, found.slice(i, i + 1)));
  const parts = [...Map.groupBy(blocks, (_, i) => Math.floor((i * BLOCK_MS) / withinMs)).values()];
  const rest = found.slice(whole);
  const prng = createPrng(seed);
  for (let i = 0; i < count; i++) {
    const drawn = parts.flatMap((part) => part.map(() => part[nextInt(prng, part.length)]!));
    yield joined(ledger, [...drawn, ...rest]);
  }
}
