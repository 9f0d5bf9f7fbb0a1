import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLineTable } from '../../build/line-table.ts';

const SOURCES = ['src/a.ts', 'src/b.ts'];

// Each line of a source map has segments `[column, source, line, column there]`, each number less the one before.
test('lines that follow one another, in the chunk and in the source, are one run', () => {
  assert.deepEqual(createLineTable('AAAA;AACA;AACA', SOURCES), { sources: SOURCES, runs: [1, 1, 0, 1] });
});

test('a comment that the chunk lacks begins a run', () => {
  assert.deepEqual(createLineTable('AAAA;AAGA', SOURCES).runs, [1, 1, 0, 1, 2, 1, 0, 4]);
});

test('two lines of the source in one of the chunk are two runs', () => {
  assert.deepEqual(createLineTable('AAAA,IAEA;AACA', SOURCES).runs, [1, 1, 0, 1, 1, 5, 0, 3]);
});

test('a line of the chunk that comes from nowhere belongs to no run', () => {
  assert.deepEqual(createLineTable(';;AAAA;;AAEA', SOURCES).runs, [3, 1, 0, 1]);
});

test('a segment without a source is passed over', () => {
  assert.deepEqual(createLineTable('A,IAAA', SOURCES).runs, [1, 5, 0, 1]);
});

test('another source begins a run, at a line far before', () => {
  // 1,000 lines on, then in the next source 999 back.
  assert.deepEqual(createLineTable('AAAA;AAw+BA;ACv+BA', SOURCES).runs, [1, 1, 0, 1, 2, 1, 0, 1001, 3, 1, 1, 2]);
});
