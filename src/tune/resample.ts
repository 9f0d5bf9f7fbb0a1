/** How sure a figure is: its run is repeated with blocks of time drawn anew (a block bootstrap). */
import { createPrng, nextInt } from '../lib/prng.ts';
import { runOf, runsBetween, runsOfParts, type Span } from '../twin/figures.ts';
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
export function* resamples(ledger: Ledger, blocks: Blocks, count: number, seed: number): Generator<Draw, void> {
  const places = placesOf(blocks);
  const { blockMs } = blocks;
  const end = restOf(blocks);
  const ledgers = runsBetween(ledger, [...places, end]);
  const rest: Piece = { ledger: ledgers.pop()!, place: end, movedMs: 0 };
  for (const drawn of drawnBlocks(blocks, count, seed)) {
    const pieces = drawn.map((from, slot): Piece => {
      return { ledger: ledgers[from]!, place: places[slot]!, movedMs: (slot - from) * blockMs };
    });
    yield createDraw(ledger, [...pieces, rest]);
  }
}

/**
 * For each of these runs how often it has each block, and what is behind the last one, in this span; null = it has a part of a
 * block there.
 */
export function blockCounts(blocks: Blocks, count: number, seed: number, span: Span): Uint32Array[] | null {
  const places = [...placesOf(blocks), restOf(blocks)];
  const isInside = places.map((place) => isWithin(place, span));
  if (places.some((place, slot) => !isInside[slot] && touches(place, span))) return null;
  const rest = places.length - 1;
  return [...drawnBlocks(blocks, count, seed)].map((drawn) => {
    const times = new Uint32Array(places.length);
    if (isInside[rest] === true) times[rest] = 1;
    for (const [slot, from] of drawn.entries()) if (isInside[slot] === true) times[from]!++;
    return times;
  });
}

function isWithin({ fromMs, toMs }: Span, span: Span): boolean {
  return fromMs >= span.fromMs && toMs <= span.toMs;
}

function touches({ fromMs, toMs }: Span, span: Span): boolean {
  return toMs > span.fromMs && fromMs < span.toMs;
}

/** What is behind the last whole block. */
function restOf(blocks: Blocks): Span {
  return { fromMs: placesOf(blocks).length * blocks.blockMs, toMs: Infinity };
}

/** What is in each block, and behind the last one. Within a block it keeps its order. */
export function cutInBlocks(ledger: Ledger, blocks: Blocks): Ledger[] {
  const places = placesOf(blocks);
  const all = [...places, restOf(blocks)];
  return runsOfParts(ledger, all, (of) => {
    const parts = all.map((): (typeof of)[number][] => []);
    for (const one of of) parts[blockAt(places, blocks.blockMs, one.atMs)]!.push(one);
    return parts;
  });
}

/** The number of a block; as many as there are = behind the last one. */
function blockAt(places: readonly Span[], blockMs: number, atMs: number): number {
  const block = Math.min(places.length, Math.floor(atMs / blockMs));
  // The division may round to the next block.
  return block > 0 && atMs < places[block - 1]!.toMs ? block - 1 : block;
}

function placesOf({ durationMs, blockMs }: Blocks): Span[] {
  const whole = Math.floor(durationMs / blockMs);
  return Array.from({ length: whole }, (_, i): Span => ({ fromMs: i * blockMs, toMs: (i + 1) * blockMs }));
}

/** For each run the block that is drawn for each place. */
function* drawnBlocks(blocks: Blocks, count: number, seed: number): Generator<number[], void> {
  const { blockMs, partMs } = blocks;
  const parts = [...Map.groupBy(placesOf(blocks).keys(), (slot) => Math.floor((slot * blockMs) / partMs)).values()];
  const prng = createPrng(seed);
  for (let i = 0; i < count; i++) yield parts.flatMap((part) => part.map(() => part[nextInt(prng, part.length)]!));
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
  return { between };
}

export const EVER: Span = { fromMs: 0, toMs: Infinity };

/** What of a piece is within the span: all, nothing, or what lies on this side of an end of the span. */
function partOf({ ledger, place, movedMs }: Piece, span: Span): readonly Ledger[] {
  if (!touches(place, span)) return [];
  if (isWithin(place, span)) return [ledger];
  const { fromMs, toMs } = span;
  return runsBetween(ledger, [{ fromMs: fromMs - movedMs, toMs: toMs - movedMs }]);
}
