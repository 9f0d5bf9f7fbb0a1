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

/** What of all resamples is in one span. */
export interface DrawnSpan {
  /** The blocks that may be drawn for it. Spans for which the same ones may share the list. */
  readonly blocks: readonly number[];
  /** For each resample how often it has each of these. */
  readonly times: readonly Uint32Array[];
}

/**
 * The same runs, told by how often they have each block, and what is behind the last one, in each span; null = they have a part of
 * a block there. The runs are drawn once, and of a span only the parts are looked at that it touches: a day has more than a
 * thousand spans of `worst`.
 */
export function drawnSpans(blocks: Blocks, count: number, seed: number, spans: readonly Span[]): (DrawnSpan | null)[] {
  const places = placesOf(blocks);
  const all = [...places, restOf(blocks)];
  const rest = places.length;
  const parts = partsOf(blocks, places);
  const partAt = new Uint32Array(places.length);
  for (const [part, slots] of parts.entries()) for (const slot of slots) partAt[slot] = part;
  const runs = [...drawnBlocks(blocks, count, seed)];
  const lists = new Map<string, readonly number[]>();
  return spans.map((span) => {
    const touched = slotsOf(all, blocks.blockMs, span);
    if (touched.some((slot) => !isWithin(all[slot]!, span))) return null;
    const slots = touched.filter((slot) => slot !== rest);
    const ownParts = [...new Set(slots.map((slot) => partAt[slot]!))];
    const hasRest = touched.length > slots.length;
    const key = `${ownParts.join(' ')} ${hasRest}`;
    const list = lists.get(key) ?? [...ownParts.flatMap((part) => parts[part]!), ...(hasRest ? [rest] : [])];
    lists.set(key, list);
    const indexOf = new Map(list.map((block, i) => [block, i]));
    const times = runs.map((drawn) => {
      const counts = new Uint32Array(list.length);
      if (hasRest) counts[list.length - 1] = 1;
      for (const slot of slots) counts[indexOf.get(drawn[slot]!)!]!++;
      return counts;
    });
    return { blocks: list, times };
  });
}

/** The places that the span touches, of which there is one for each block and one behind the last. */
function slotsOf(all: readonly Span[], blockMs: number, { fromMs, toMs }: Span): number[] {
  const rest = all.length - 1;
  const slots: number[] = [];
  // The division may round to the next block.
  for (let slot = Math.min(rest, Math.max(0, Math.floor(fromMs / blockMs) - 1)); slot <= rest; slot++) {
    if (all[slot]!.fromMs >= toMs) break;
    if (touches(all[slot]!, { fromMs, toMs })) slots.push(slot);
  }
  return slots;
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
  const parts = partsOf(blocks, placesOf(blocks));
  const prng = createPrng(seed);
  for (let i = 0; i < count; i++) yield parts.flatMap((part) => part.map(() => part[nextInt(prng, part.length)]!));
}

/** The numbers of the blocks that are exchanged with each other, in ascending order. */
function partsOf({ blockMs, partMs }: Blocks, places: readonly Span[]): number[][] {
  return [...Map.groupBy(places.keys(), (slot) => Math.floor((slot * blockMs) / partMs)).values()];
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
