import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BenchMarks } from '../../bench/marks/data.ts';
import { markRows } from '../../bench/marks/report.ts';
import { createMarksTeller } from '../../bench/marks/tell.ts';
import { otherMarksSection } from '../../bench/peers/results-page.ts';

const MACHINE = { processor: 'Fast', cores: '2' };
const KEPT: readonly BenchMarks[] = [
  {
    bench: 'startup',
    commit: 'abc',
    endedAt: '2026-11-26T23:00',
    machine: MACHINE,
    marks: [
      { what: 'CPU <= 250 ms', got: '195 ms', isReached: true },
      { what: 'resident <= 60 MB', got: '91 MB', isReached: false },
    ],
  },
];

test('each kept mark has a row with its commit, time and machine', () => {
  assert.deepEqual(markRows(KEPT), [
    ['startup', 'CPU <= 250 ms', '195 ms', 'reached', 'abc', '2026-11-26T23:00', 'Fast, 2 cores'],
    ['startup', 'resident <= 60 MB', '91 MB', 'not reached', 'abc', '2026-11-26T23:00', 'Fast, 2 cores'],
  ]);
});

test('the document of results has a section of these marks if any are kept', () => {
  assert.deepEqual(otherMarksSection([]), []);
  const lines = otherMarksSection(KEPT);
  assert.equal(lines[0], '## Marks of other benches');
  assert.ok(lines.some((line) => line.startsWith('| startup | resident <= 60 MB | 91 MB | not reached |')));
});

test('a bench refuses flags that it does not have, and keeps no tiny run', () => {
  assert.throws(() => createMarksTeller('startup', 'full', ['--result']), /there is no flag --result; --results keeps/);
  assert.throws(() => createMarksTeller('startup', 'tiny', ['--results']), /the marks of a tiny run are not kept/);
});
