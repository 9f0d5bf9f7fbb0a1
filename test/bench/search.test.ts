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

test('an objective has no say where most settings that meet it are near the best', () => {
  const row = { objective: 'min cpu', meet: 10, near: 6, seeds: SEEDS };
  assert.match(pageOf(row), /\| `min cpu` \| 10 \| 6 \| 20 of 20 \| 100 \| 200 \| no say \|/);
  assert.match(pageOf(row), /\n0 of the 0 objectives that have a say reach the mark\.\n/);
});

test('an objective with a say reaches the mark by seeds and by runs', () => {
  const row = { objective: 'min cpu', meet: 10, near: 5, seeds: SEEDS };
  const wrong = (count: number): SearchedStory['rows'][0] => ({
    ...row,
    seeds: SEEDS.map(({ runs, random }, i) => ({ isNear: i >= count, runs, random })),
  });
  const slow = { ...row, seeds: [...SEEDS.slice(1), { ...SEED, runs: 101 }] };
  const marks = [...pageOf(row, wrong(2), wrong(3), slow).matchAll(/\| ([^|]+) \|\n/g)].map(([, mark]) => mark);
  const [no, yes] = ['**not reached**', 'reached'];
  assert.deepEqual(marks, ['mark', '---', yes, yes, no, no]);
});

test('the kept page is what its code makes of the kept data', () => {
  const kept = readFileSync(new URL('../../bench/search/SEARCH.md', import.meta.url), 'utf8');
  assert.equal(kept, searchPage(readSearchData()));
});
