import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BenchMarks } from '../../bench/marks/data.ts';
import { keptMarks, runRows } from '../../bench/marks/report.ts';
import { createMarksTeller } from '../../bench/marks/tell.ts';
import { otherBenchesText } from '../../bench/peers/results-page.ts';

const MACHINE = { processor: 'Fast', cores: '2', kernel: 'Linux 7' };
const KEPT: readonly BenchMarks[] = [
  {
    bench: 'startup',
    commit: 'abc',
    endedAt: '2026-11-26T23:00',
    machine: MACHINE,
    marks: [
      { what: 'CPU <= 250 ms', got: '195 ms', verdict: 'reached', rounds: 9 },
      { what: 'resident <= 60 MB', got: '91 MB', verdict: 'not reached', rounds: 9 },
    ],
  },
];

test('a kept mark says of how many rounds it is, and of which day', () => {
  assert.deepEqual(keptMarks(KEPT), [
    { by: 'startup', what: 'CPU <= 250 ms', got: '195 ms', verdict: 'reached', runs: '9, 2026-11-26' },
    { by: 'startup', what: 'resident <= 60 MB', got: '91 MB', verdict: 'not reached', runs: '9, 2026-11-26' },
  ]);
});

test('the document of results tells the commit, time and machine of these runs', () => {
  assert.deepEqual(runRows(KEPT), [['startup', 'abc', '2026-11-26T23:00', 'Fast, 2 cores, Linux 7']]);
  assert.deepEqual(otherBenchesText([]), []);
  const lines = otherBenchesText(KEPT);
  assert.equal(lines[0], '## Other benches');
  assert.ok(lines.includes('| startup | abc | 2026-11-26T23:00 | Fast, 2 cores, Linux 7 |'));
});

test('a bench refuses flags that it does not have, and keeps no tiny run', () => {
  assert.throws(() => createMarksTeller('startup', 'full', ['--result']), /there is no flag --result; --results keeps/);
  assert.throws(() => createMarksTeller('startup', 'tiny', ['--results']), /the marks of a tiny run are not kept/);
});
