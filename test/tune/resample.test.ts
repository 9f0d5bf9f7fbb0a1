import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Blocks, cutInBlocks, type Draw, drawnSpans, EVER, resamples } from '../../src/tune/resample.ts';
import { cpuOf, writesOf } from '../../src/twin/figures.ts';
import { createLedger, type Ledger } from '../../src/twin/ledger.ts';
import { USUAL_SIZES } from '../../src/twin/profiles.ts';

const BLOCK_MS = 30_000;

/** A run of blocks. Each has as many changes, each with its write and a millisecond of CPU. */
function runOf(changes: readonly number[]): Ledger {
  const ledger = createLedger(USUAL_SIZES);
  for (const [block, count] of changes.entries()) {
    for (let i = 0; i < count; i++) {
      const atMs = block * BLOCK_MS + i;
      ledger.samples.slices.push({ atMs, kind: 'add', latencyMs: block });
      ledger.writes.slices.push({ atMs, endpoints: 1 });
      ledger.cpu.push({ atMs, ms: 1 });
    }
  }
  return ledger;
}

function blocksOf(count: number): Blocks {
  return { durationMs: count * BLOCK_MS, blockMs: BLOCK_MS, partMs: Infinity };
}

function whole(draw: Draw): Ledger {
  return draw.between(EVER);
}

test('changes, writes and CPU of a block are drawn together', () => {
  const run = runOf([1, 10, 100]);
  const draws = [...resamples(run, blocksOf(3), 50, 1)].map(whole);
  for (const draw of draws) {
    assert.deepEqual([writesOf(draw), cpuOf(draw)], [draw.samples.slices.length, draw.samples.slices.length]);
  }
  const sums = new Set(draws.map((draw) => writesOf(draw)));
  // Three blocks, drawn with replacement, make ten sums.
  for (const sum of sums) assert.ok([3, 12, 21, 30, 102, 111, 120, 201, 210, 300].includes(sum), String(sum));
  assert.ok(sums.size > 5);
});

test('the same seed draws the same', () => {
  const run = runOf([1, 2, 3, 4]);
  const draw = (): Ledger[] => [...resamples(run, blocksOf(4), 3, 7)].map(whole);
  assert.deepEqual(draw(), draw());
});

test('blocks are exchanged within their part, and are at their new place', () => {
  const run = runOf(Array.from({ length: 20 }, () => 1));
  for (const draw of resamples(run, { ...blocksOf(20), partMs: 10 * BLOCK_MS }, 20, 1)) {
    const drawn = Array.from({ length: 20 }, (_, slot) =>
      draw.between({ fromMs: slot * BLOCK_MS, toMs: (slot + 1) * BLOCK_MS }),
    );
    // The block that a change was drawn from is its latency.
    const from = drawn.map(({ samples }) => samples.slices.map(({ latencyMs }) => latencyMs));
    assert.ok(from.every((blocks, slot) => blocks.length === 1 && blocks[0]! < 10 === slot < 10));
    assert.ok(new Set(from.flat()).size < 20, 'some are drawn twice');
  }
});

test('a span that ends within a block has what lies before its end, by the new place', () => {
  // A change each millisecond, from the beginning of its block on.
  const run = runOf([100, 200, 50]);
  for (const draw of resamples(run, blocksOf(3), 20, 1)) {
    const second = writesOf(draw.between({ fromMs: BLOCK_MS, toMs: 2 * BLOCK_MS }));
    const part = draw.between({ fromMs: BLOCK_MS + 40, toMs: 2 * BLOCK_MS + 10 });
    const expected = second - 40 + 10;
    assert.deepEqual([part.samples.slices.length, writesOf(part), cpuOf(part)], [expected, expected, expected]);
  }
});

test('each change of a long run is looked at a few times for each resample', () => {
  const run = createLedger(USUAL_SIZES);
  let looks = 0;
  const change = (atMs: number): Ledger['cpu'][number] => ({
    get atMs() {
      looks++;
      return atMs;
    },
    ms: 1,
  });
  // A change in each of 1,000 blocks: a look at all changes for each block would be a million.
  for (let block = 0; block < 1000; block++) run.cpu.push(change(block * BLOCK_MS));
  const [draw] = resamples(run, blocksOf(1000), 1, 1);
  assert.equal(cpuOf(whole(draw!)), 1000);
  assert.ok(looks < 10_000, String(looks));
  looks = 0;
  const [ofParts] = resamples(run, { ...blocksOf(1000), partMs: 10 * BLOCK_MS }, 1, 1);
  const parts = Array.from({ length: 990 }, (_, i) => ({ fromMs: (i + 0.5) * BLOCK_MS, toMs: (i + 10.5) * BLOCK_MS }));
  for (const part of parts) assert.equal(cpuOf(ofParts!.between(part)), 10);
  assert.ok(looks < 20_000, String(looks));
});

test('a part of a long run asks for the blocks of the five minutes it touches', () => {
  const blocks = { durationMs: 3_610_000, blockMs: BLOCK_MS, partMs: 300_000 };
  const run = runOf(Array.from({ length: 121 }, (_, i) => 1 + ((i * 7) % 13)));
  const parts = [...Array.from({ length: 56 }, (_, i) => ({ fromMs: 60_000 * i, toMs: 60_000 * i + 300_000 })), EVER];
  const spans = drawnSpans(blocks, 30, 3, parts);
  const draws = [...resamples(run, blocks, 30, 3)];
  const cut = cutInBlocks(run, blocks);
  for (const [p, { blocks: own, times }] of spans.filter((one) => one !== null).entries()) {
    assert.ok(p === 56 || own.length <= 20, `${own.length} blocks for part ${p}`);
    for (const [i, draw] of draws.entries()) {
      const sum = own.reduce((all, block, b) => all + times[i]![b]! * writesOf(cut[block]!), 0);
      assert.equal(sum, writesOf(draw.between(parts[p]!)));
    }
  }
  // Four parts of a list: what is put in order once serves all of them.
  assert.equal(new Set(spans.map((span) => span?.blocks)).size, 12 + 11 + 1);
  // The last five minutes end within a block.
  assert.deepEqual(drawnSpans(blocks, 30, 3, [{ fromMs: 3_310_000, toMs: 3_610_000 }]), [null]);
});

test('what is behind the last whole block is there once in each resample', () => {
  const run = runOf([1, 10, 100, 1000]);
  // Two and a half blocks, and what is written after the end.
  for (const draw of resamples(run, blocksOf(2.5), 20, 1))
    assert.ok([1102, 1111, 1120].includes(writesOf(whole(draw))));
});
