import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BenchMark, BenchMarks } from '../../bench/marks/data.ts';
import { keptMarks, otherBenchesSections, runRows } from '../../bench/marks/report.ts';
import { createTeller } from '../../bench/marks/tell.ts';
import { otherBenchesText } from '../../bench/peers/results-page.ts';

const MACHINE = { processor: 'Fast', cores: '2', kernel: 'Linux 7' };
const MARKS: readonly BenchMark[] = [
  { what: 'CPU <= 250 ms', got: '195 ms', verdict: 'reached', rounds: 9 },
  { what: 'resident <= 60 MB', got: '91 MB', verdict: 'not reached', rounds: 9 },
];
const TABLE = {
  title: 'A start',
  columns: ['', 'CPU ms'],
  rows: [['Node alone', '31']],
  note: 'Medians of 9 starts',
};
const STARTUP: BenchMarks = {
  bench: 'startup',
  commit: 'abc',
  endedAt: '2026-11-26T23:00',
  machine: MACHINE,
  marks: MARKS,
};
const KEPT: readonly BenchMarks[] = [STARTUP];

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

test('document and page have a section for each bench that has kept tables', () => {
  const other = { ...TABLE, title: 'Another', note: '' };
  const all = [STARTUP, { ...STARTUP, bench: 'writer', tables: [TABLE, other] }];
  const text = otherBenchesText(all).join('\n');
  const head = '|  | CPU ms |\n| --- | ---: |\n| Node alone | 31 |\n';
  const tables = `## writer\n\n### A start\n\n${head}\nMedians of 9 starts.\n\n### Another\n\n${head}`;
  assert.ok(text.endsWith(`\n\nOf startup the last run has kept no table.\n\n${tables}`), text);
  const [runs, ...sections] = otherBenchesSections(all);
  assert.match(runs!.note, /\. Of startup the last run has kept no table$/);
  const { columns, rows, note } = TABLE;
  assert.deepEqual(sections, [
    { title: 'writer: A start', tone: 'plain', note, table: { columns, rows } },
    { title: 'writer: Another', tone: 'plain', note: '', table: { columns, rows } },
  ]);
});

test('of runs that all have kept tables nothing is said to be missing', () => {
  const all = [{ ...STARTUP, tables: [TABLE] }];
  assert.ok(!otherBenchesText(all).some((line) => line.includes('no table')));
  assert.equal(otherBenchesSections(all)[0]!.note, 'The last runs of the benches that play no scenario');
  assert.deepEqual(otherBenchesSections([]), []);
});

test('a bench refuses flags that it does not have, and keeps no tiny run', () => {
  assert.throws(() => createTeller('startup', 'full', ['--result']), /Unknown option '--result'/);
  assert.throws(() => createTeller('startup', 'tiny', ['--results']), /what a tiny run has measured is not kept/);
});

test('--json writes the marks and tables as they would be kept', () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-marks-'));
  try {
    const json = join(directory, 'startup.json');
    const { show, end } = createTeller('startup', 'tiny', [`--json=${json}`]);
    show(TABLE);
    end(MARKS);
    const { bench, marks, tables, endedAt } = JSON.parse(readFileSync(json, 'utf8')) as BenchMarks;
    assert.deepEqual([bench, marks, tables], ['startup', MARKS, [TABLE]]);
    assert.match(endedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d$/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
