import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readSearchData, type SearchedStory } from '../../bench/search/data.ts';
import { searchPage } from '../../bench/search/page.ts';

const SEED = { isNear: true, runs: 100, random: 200 };
const SEEDS = Array.from({ length: 20 }, () => SEED);

function pageOf(...rows: SearchedStory['rows']): string {
  const of = {
    controller: 'endpointd',
    story: 'a',
    settings: 77_000,
    played: 9,
    cpuSeconds: 1,
    commit: 'abc',
    at: '2026-11-26',
  };
  return searchPage({ version: 1, stories: [{ ...of, rows } as SearchedStory] });
}

test('an objective whose goal hardly matters counts for the mark alone', () => {
  const row = { objective: 'min cpu', meet: 10, near: 6, seeds: SEEDS };
  assert.match(pageOf(row), /\| `min cpu` \| 10 \| 6 \| hardly matters \| 20 of 20 \| 100 \| 200 \| reached \|/);
  const missed = { ...row, near: 5, seeds: SEEDS.map((seed) => ({ ...seed, isNear: false })) };
  const counts = /\n1 of the 2 objectives reach the mark, and 0 of the 1 whose goal matters\.\n/;
  assert.match(pageOf(row, missed), counts);
});

test('an objective reaches the mark by seeds and by runs', () => {
  const row = { objective: 'min cpu', meet: 10, near: 5, seeds: SEEDS };
  const wrong = (count: number): SearchedStory['rows'][0] => ({
    ...row,
    seeds: SEEDS.map(({ runs, random }, i) => ({ isNear: i >= count, runs, random })),
  });
  const slow = (of: SearchedStory['rows'][0]): SearchedStory['rows'][0] => ({
    ...of,
    seeds: [...of.seeds.slice(1), { ...SEED, runs: 101 }],
  });
  const page = pageOf(row, wrong(2), wrong(3), slow(row), slow(wrong(4)));
  const marks = [...page.matchAll(/\| ([^|]+) \|\n/g)].map(([, mark]) => mark);
  const no = '**not reached** by';
  assert.deepEqual(marks, ['mark', '---', 'reached', 'reached', `${no} seeds`, `${no} runs`, `${no} seeds and runs`]);
});

test('the kept page is what its code makes of the kept data', () => {
  const kept = readFileSync(new URL('../../bench/search/SEARCH.md', import.meta.url), 'utf8');
  assert.equal(kept, searchPage(readSearchData()));
});
