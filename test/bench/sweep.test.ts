import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  cellsOf,
  doneKeys,
  frontier,
  keyText,
  measuredText,
  parseRuns,
  type SweepRun,
} from '../../bench/sweep/grid.ts';
import { sweepPage, sweepPicture, sweepText, type Sweep, wrongRuns } from '../../bench/sweep/report.ts';
import { sweepOfCells } from '../../bench/sweep/kept-cells.ts';
import { parseSweepFlags } from '../../bench/sweep/run.ts';
import { bench } from './run-bench.ts';

function run(more: Partial<SweepRun>): SweepRun {
  return {
    scenario: 'ready',
    size: 'full',
    seed: 1,
    peer: 'endpointd',
    program: 'abc',
    server: 'kube',
    syncs: 5,
    batch: '0s',
    qps: 200,
    startedAt: '',
    figures: { writes: 100, slicesP99: 20, sumCpu: 1 },
    wrong: [],
    ...more,
  };
}

describe('what a sweep keeps', () => {
  it('a sweep has every setting once, in an order drawn by the seed', () => {
    const grid = { syncs: [1, 5], batch: ['0s', '1s'], qps: [20, 200] };
    const [cells, again, others] = [cellsOf(grid, 1), cellsOf(grid, 1), cellsOf(grid, 2)];
    assert.equal(new Set(cells.map((cell) => JSON.stringify(cell))).size, 8);
    assert.deepEqual(cells, again);
    assert.notDeepEqual(cells, others);
  });

  it('a kept run is repeated only if it was wrong or of another program or server', () => {
    const done = doneKeys([run({}), run({ qps: 20, wrong: ['late'] })]);
    assert.ok(done.has(keyText(run({}))));
    assert.ok(!done.has(keyText(run({ qps: 20 }))));
    assert.ok(!done.has(keyText(run({ program: 'abd' }))));
    assert.ok(!done.has(keyText(run({ server: 'embedded' }))));
  });

  it('a run of another version, start or server is another run, of both controllers', () => {
    const versions = { node: 'v26', kubernetes: 'v1.36', go: '1.26', dependencies: 'd0', servers: 's0', start: 'bare' };
    const machine = { cores: '2' };
    const kept = ['endpointd', 'kube-controller-manager'].map((peer) =>
      run({ peer, program: measuredText('abc', versions, machine) }),
    );
    const doneWith = (...measured: Parameters<typeof measuredText>): boolean[] =>
      kept.map((one) => doneKeys(kept).has(keyText({ ...one, program: measuredText(...measured) })));
    assert.deepEqual(doneWith('abc', versions, machine), [true, true]);
    for (const name of Object.keys(versions))
      assert.deepEqual(doneWith('abc', { ...versions, [name]: 'other' }, machine), [false, false], name);
    assert.deepEqual(doneWith('abc', versions, { cores: '4' }), [false, false]);
    assert.deepEqual(doneWith('abd', versions, machine), [false, false]);
  });

  it('kept runs are read up to a line that is cut off', () => {
    const text = `${JSON.stringify(run({}))}\n{"scenario":"rea\n${JSON.stringify(run({ qps: 20 }))}\n`;
    assert.deepEqual(
      parseRuns(text).map(({ qps }) => qps),
      [200, 20],
    );
  });

  it('the frontier has the runs that no other run beats in both figures', () => {
    const points: [number, number][] = [
      [3, 1],
      [1, 9],
      [2, 9],
      [2, 4],
      [4, 2],
    ];
    assert.deepEqual(
      frontier(points, (point) => point),
      [
        [1, 9],
        [2, 4],
        [3, 1],
      ],
    );
  });
});

describe('the kept runs of the cells as a sweep', () => {
  const kept = (cell: string, server: string, p99 = 9): object => ({
    cell,
    world: { server, controller: 'endpointd' },
    seed: 7,
    measuredMs: 60_000,
    versions: 'endpointd abc',
    at: '2026-11-26T01:00',
    machine: { cores: 2, controllerCpu: 0.05 },
    measured: { endpoints: { writes: 100, p50: 5, p99: 8 }, slices: { writes: 110, p50: 6, p99 } },
  });

  it('runs of one workload and server are shown as medians at their settings', () => {
    const directory = mkdtempSync(join(tmpdir(), 'endpointd-bench-'));
    const runs = [
      ...[9, 700, 8].map((p99) => kept('held-out flap: 5 syncs, 500 ms, 10/s, burst 30', 'kube', p99)),
      kept('held-out flap: 5 syncs, 500 ms, 10/s, burst 30', 'embedded'),
      kept('held-out mixed: 5 syncs, 500 ms, 10/s, burst 30', 'kube'),
      kept('reference flap: 10 syncs, 0 ms, 1000/s, burst 1000', 'kube'),
    ];
    try {
      writeFileSync(join(directory, 'data.json'), JSON.stringify({ version: 1, runs }));
      const sweep = sweepOfCells(directory, 'flap', 'kube', '');
      const figures = { slicesP50: 6, slicesP99: 9, writes: 210, controllerCpu: 3, wall: 60 };
      assert.deepEqual(
        sweep.runs.map(({ peer, syncs, batch, qps, figures: of }) => [peer, syncs, batch, qps, of]),
        [['endpointd', 5, '500ms', 10, figures]],
      );
      assert.match(sweep.scenario, /^flap, of the cells in .*, medians of 3 runs of each setting$/);
      assert.match(sweepText(sweep), /^endpointd +5 +500ms +10 +6\.0 +9\.0 +210 +3\.00 +- +60\.00$/m);
      assert.match(sweepPage(sweep), /<rect class="heat s/);
      assert.throws(() => sweepOfCells(directory, 'rollout', 'kube', ''), /has no runs of "rollout" on kube/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('the cells of this repository are found', async () => {
    const { status, out } = await bench('sweep', 'mixed', '--cells=bench/cells/third');
    assert.equal(status, 0, out);
    assert.match(out, /^endpointd +5 +500ms +10 /m);
    assert.match(out, /^kube-controller-manager +5 +500ms +10 /m);
  });
});

describe('the report of a sweep', () => {
  const sweep: Sweep = {
    format: 1,
    command: '',
    scenario: 'ready',
    commit: 'abc',
    machine: {},
    versions: {},
    runs: [run({}), run({ peer: 'kube-controller-manager', wrong: ['3 objects are wrong'] })],
    notRun: [{ syncs: 50, batch: '1s', qps: 20 }],
  };

  it('the report lists wrong runs, and cells that were not run', () => {
    const text = sweepText(sweep);
    assert.match(text, /WRONG: kube-controller-manager, 5 syncs, batch period 0s, 200 requests.*: 3 objects are wrong/);
    assert.match(text, /Not run, for want of time: 50 syncs, batch period 1s, 20 requests a second/);
    const page = sweepPage(sweep);
    assert.match(page, /<p class="notice">Not run, for want of time: 50 syncs/);
    assert.match(page, /<p class="notice">WRONG: kube-controller-manager, 5 syncs, .*: 3 objects are wrong\.</);
    assert.match(page, />1<\/p>\n<p>right run: 1 setting of endpointd<\/p>/);
  });

  it('a p99 of few changes has their number beside it', () => {
    const textOf = (changes: number): string =>
      sweepText({ ...sweep, notRun: [], runs: [run({ figures: { slicesP99: 20, changes } })] });
    assert.match(textOf(500), / 20\.0 \(500\) .*\nA p99 of fewer than 10,000 changes has their number in brackets$/);
    assert.doesNotMatch(textOf(10_000), /A p99|\(10000\)/);
  });

  it('a wrong run that was right when it was tried again is told no more', () => {
    const runs = [run({ wrong: ['late'] }), run({})];
    assert.deepEqual(wrongRuns(runs), []);
    assert.doesNotMatch(sweepText({ ...sweep, runs }), /WRONG/);
    assert.equal(wrongRuns(runs.toReversed()).length, 1);
  });

  it('maps of one figure have one scale, and say why a cell is empty', () => {
    const writes = (count: number, more: Partial<SweepRun>): SweepRun => run({ figures: { writes: count }, ...more });
    const runs = [
      writes(1, {}),
      writes(10, { qps: 1000 }),
      writes(100, { qps: 1000, batch: '1s', syncs: 1 }),
      writes(9, { qps: 1000, syncs: 1, wrong: ['late'] }),
    ];
    const cells = [...sweepPage({ ...sweep, runs }).matchAll(/fill-opacity="([\d.]+)"\/><text[^>]*>([^<]+)</g)];
    assert.deepEqual(
      cells.filter(([, , text]) => text !== '-').map(([, opacity, text]) => [text, opacity]),
      [
        ['WRONG', '0'],
        ['not run', '0'],
        ['1', '0.1'],
        ['WRONG', '0'],
        ['100', '0.5'],
        ['10', '0.3'],
        ['not run', '0'],
        ['WRONG', '0'],
        ['not run', '0'],
      ],
    );
  });

  it('the picture shows the cost of lateness in the right runs', () => {
    const { series } = sweepPicture(sweep);
    assert.deepEqual(
      series.map(({ name, colour, points }) => [name, colour, points]),
      [['endpointd', 1, [[100, 20]]]],
    );
  });

  it('an error about a flag of the sweep says what is allowed', () => {
    assert.throws(
      () => parseSweepFlags(['--peers=other'], true),
      /--peers: other is none of kube-controller-manager, /,
    );
    assert.throws(() => parseSweepFlags(['--syncs=few'], true), /--syncs: numbers such as 1,5,50 were expected/);
    assert.throws(() => parseSweepFlags(['--batch-period=long'], true), /--batch-period: durations such as 0s,100ms/);
    assert.throws(
      () => parseSweepFlags(['--cells=x', '--results'], true),
      /^Error: --results: --cells measures nothing/,
    );
    for (const name of ['syncs', 'batch-period', 'qps', 'peers', 'size', 'seed', 'for', 'data'])
      assert.throws(() => parseSweepFlags(['--cells=x', `--${name}=1`], true), /--cells measures nothing/, name);
    assert.equal(parseSweepFlags(['--cells=x', '--server=kube', '--page=y'], true).cells, 'x');
    assert.throws(() => parseSweepFlags(['nothing'], true), /no scenario is called nothing/);
  });
});
