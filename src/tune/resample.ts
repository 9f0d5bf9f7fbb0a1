/** How sure a figure is: its run is repeated with blocks of time drawn anew (a block bootstrap). */
import { createPrng, nextInt } from '../lib/prng.ts';
import { runOf, runsBetween, type Span } from '../twin/figures.ts';
import type { Ledger } from '../twin/ledger.ts';

/** The lengths in a resample, in milliseconds. */
export interface Blocks {
  /** Of the run. */
  readonly durationMs: number;
  /** Of a block. Changes within a block depend on each other. Blocks hardly do. */
  readonly blockMs: number;
  /** Of the parts of the run within which blocks are exchanged; Infinity = in the whole run. */
  readonly partMs: number;
}

/** A run of blocks that were drawn. What is in its ledgers keeps the time at which it was drawn, which no figure is of. */
export interface Draw {
  readonly whole: () => Ledger;
  /** What is within this span, by the places that the blocks were drawn for. */
  readonly between: (span: Span) => Ledger;
}

/** A block at a place of a drawn run. */
interface Piece {
  readonly ledger: Ledger;
  readonly place: Span;
  /** How much later its place is than the one that it was drawn from. */
  readonly movedMs: number;
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
): Generator<Draw, void> {
  const whole = Math.floor(durationMs / blockMs);
  const places = Array.from({ length: whole }, (_, i): Span => ({ fromMs: i * blockMs, toMs: (i + 1) * blockMs }));
  const end = { fromMs: whole * blockMs, toMs: Infinity };
  const blocks = runsBetween(ledger, [...places, end]);
  const rest: Piece = { ledger: blocks.pop()!, place: end, movedMs: 0 };
  const parts = [...Map.groupBy(places.keys(), (slot) => Math.floor((slot * blockMs) / partMs)).values()];
  const prng = createPrng(seed);
  for (let i = 0; i < count; i++) {
    const drawn = parts.flatMap((part) =>
      part.map((slot): Piece => {
        const from = part[nextInt(prng, part.length)]!;
        return { ledger: blocks[from]!, place: places[slot]!, movedMs: (slot - from) * blockMs };
      }),
    );
    yield createDraw(ledger, [...drawn, rest]);
  }
}

/** Several figures are of the same parts, so these are made once. */
function createDraw(run: Ledger, pieces: readonly Piece[]): Draw {
  const made = new Map<string, Ledger>();
  const between = (span: Span): Ledger => {
    const key = `${span.fromMs} ${span.toMs}`;
    const found =
      made.get(key) ??
      runOf(
        run,
        pieces.flatMap((piece) => partOf(piece, span)),
      );
    made.set(key, found);
    return found;
  };
  return { between, whole: () => between(EVER) };
}

const EVER: Span = { fromMs: 0, toMs: Infinity };

/** What of a piece is within the span: all, nothing, or what lies on this side of an end of the span. */
function partOf({ ledger, place, movedMs }: Piece, { fromMs, toMs }: Span): readonly Ledger[] {
  if (place.toMs <= fromMs || place.fromMs >= toMs) return [];
  if (place.fromMs >= fromMs && place.toMs <= toMs) return [ledger];
  return runsBetween(ledger, [{ fromMs: fromMs - movedMs, toMs: toMs - movedMs }]);
}
