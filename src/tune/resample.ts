/** How sure a figure is: its run is repeated with blocks of time drawn anew (a block bootstrap). */
import { createPrng, nextInt } from '../lib/prng.ts';
import { type Ledger, OUTPUTS, type Sample } from '../twin/ledger.ts';

/** Changes within a block depend on each other. Blocks hardly do. */
const BLOCK_MS = 30_000;

/** Ledgers with as many blocks of samples as this one, drawn with replacement. The sums stay those of the run. */
export function resamples(ledger: Ledger, durationMs: number, count: number, seed: number): Ledger[] {
  const blocks = Math.max(1, Math.ceil(durationMs / BLOCK_MS));
  const byBlock = {
    endpoints: blocksOf(ledger.samples.endpoints, blocks),
    slices: blocksOf(ledger.samples.slices, blocks),
  };
  const prng = createPrng(seed);
  return Array.from({ length: count }, () => {
    const drawn = Array.from({ length: blocks }, () => nextInt(prng, blocks));
    const samples = { endpoints: [] as Sample[], slices: [] as Sample[] };
    for (const output of OUTPUTS) samples[output] = drawn.flatMap((block) => byBlock[output][block]!);
    return { ...ledger, samples };
  });
}

function blocksOf(samples: readonly Sample[], count: number): Sample[][] {
  const blocks: Sample[][] = Array.from({ length: count }, () => []);
  for (const sample of samples) blocks[Math.min(count - 1, Math.floor(sample.atMs / BLOCK_MS))]!.push(sample);
  return blocks;
}
