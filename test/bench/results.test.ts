import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createBudget } from '../../bench/peers/budget.ts';
import {
  addResults,
  type Command,
  compareAll,
  notRun,
  type Results,
  type RunRecord,
  withScenarios,
} from '../../bench/peers/results.ts';
import type { BarPlot } from '../../src/page/plot.ts';
import type { GrowthRun } from '../../bench/growth/flatness.ts';
import type { MarkResult } from '../../bench/marks/mark-result.ts';
import { readMarks } from '../../bench/marks/data.ts';
import { plotsOf } from '../../bench/peers/plots.ts';
import { peersPage } from '../../bench/peers/report-page.ts';
import { growthText, resultsText } from '../../bench/peers/results-page.ts';
import { ECHO, ENDPOINTD, ENDPOINTD_AGAIN, MANAGER, floorMark, shareMark } from '../../bench/peers/scenario.ts';
import { keptTexts } from '../../bench/peers/kept-results.ts';
import { findScenarios, scenariosByName } from '../../bench/peers/scenarios.ts';
import { comparisonText, headOf, rowTexts } from '../../bench/peers/text.ts';
import { commandText } from '../../bench/support/command-text.ts';

const MARKS = {
  churn: { marks: [shareMark('CPU', 'controllerCpu', 0.5, '1/2'), floorMark('p50', 'slicesP50', 1.5, 0, 'ms')] },
};

function run(peer: string, round: number, cpu: number, wrong: readonly string[] = []): RunRecord {
  return {
    command: 0,
    scenario: 'churn',
    peer,
    round,
    startedAt: '',
    tookSeconds: 1,
    figures: { controllerCpu: cpu, cpuAChange: cpu, slicesP50: cpu },
    threads: { 'node-MainThread': cpu },
    samples: { endpoints: [], slices: [cpu, cpu * 2] },
    course: { seconds: [0], p50: [cpu], p99: [cpu], max: [cpu * 2] },
    timeline: { ms: [0], cores: {}, residentBytes: [0], steps: [] },
    peakStep: 'flips',
    wrong,
  };
}

const COMMAND: Command = {
  text: 'npm run bench -- peers churn',
  commit: 'abc',
  program: 'f00d',
  machine: { cores: '2' },
  versions: { endpointd: '1' },
  size: 'full',
  settings: {},
  startedAt: '2026-11-22T10:00:00.000Z',
  endedAt: '2026-11-22T10:12:00.000Z',
};

function results(...runs: RunRecord[]): Results {
  return { format: 3, commands: [COMMAND], scenarios: [{ name: 'churn', what: 'flips' }], runs };
}

describe('results of the peers', () => {
  it('a difference beyond the noise of both peers counts, whatever the marks', () => {
    const all = results(
      run(MANAGER, 0, 10),
      run(ENDPOINTD, 0, 4),
      run(ECHO, 0, 2),
      run(MANAGER, 1, 12),
      run(ENDPOINTD, 1, 4.4),
      run(ECHO, 1, 2),
    );
    const [churn] = compareAll(all, MARKS);
    const [cpu] = churn!.rows;
    assert.deepEqual(cpu!.values, { [MANAGER]: 11, [ENDPOINTD]: 4.2, [ECHO]: 2 });
    assert.deepEqual([cpu!.ratio.value, cpu!.noise, cpu!.counts], [4.2 / 11, 1.2, 'few pairs']);
    assert.deepEqual(
      churn!.marks.map(({ got, verdict }) => [got, verdict]),
      [
        ['0.38', 'reached in few runs'],
        ['4.20 of 3.00 ms', 'missed in few runs'],
      ],
    );
    assert.match(
      resultsText(all, compareAll(all, MARKS)),
      /\| CPU of the controller, s \| 11\.00 \| 4\.20 \| 2\.00 \|/,
    );
  });

  it('a run that ended wrong is listed, and counts in no figure', () => {
    const all = results(
      run(MANAGER, 0, 10),
      run(ENDPOINTD, 0, 0.1, ['2 objects are wrong at the end']),
      run(ENDPOINTD, 1, 5),
    );
    const [churn] = compareAll(all, MARKS);
    assert.equal(churn!.rows[0]!.values[ENDPOINTD], 5);
    assert.deepEqual(churn!.wrong, ['endpointd, round 1: 2 objects are wrong at the end']);
    assert.match(comparisonText(churn!), /WRONG: endpointd, round 1: 2 objects/);
  });

  it('a run whose other half is wrong has no pair', () => {
    const all = results(
      run(MANAGER, 0, 10),
      run(ENDPOINTD, 0, 4, ['wrong']),
      run(MANAGER, 1, 20),
      run(ENDPOINTD, 1, 8),
      run(MANAGER, 2, 40),
      run(ENDPOINTD, 2, 16),
    );
    const [cpu] = compareAll(all, {})[0]!.rows;
    assert.deepEqual([cpu!.ratio.value, cpu!.ratio.low, cpu!.ratio.high], [0.4, 0.4, 0.4]);
  });

  it('the ratio is that of endpointd, whichever peer ran first', () => {
    const [churn] = compareAll(results(run(ENDPOINTD, 0, 4), run(MANAGER, 0, 10)), {});
    assert.deepEqual([churn!.base, churn!.subject, churn!.rows[0]!.ratio.value], [MANAGER, ENDPOINTD, 0.4]);
  });

  it('peers of a scenario keep their places, whichever ran first', () => {
    const known = { churn: { base: 'all in one' } };
    const [net] = compareAll(results(run('with endpointd', 0, 4), run('all in one', 0, 8)), known);
    assert.deepEqual([net!.peers, net!.rows[0]!.ratio.value], [['all in one', 'with endpointd'], 0.5]);
    const [churn] = compareAll(results(run(ECHO, 0, 1), run(ENDPOINTD, 0, 4), run(MANAGER, 0, 8)), {});
    assert.deepEqual(churn!.peers, [MANAGER, ENDPOINTD, ECHO]);
  });

  it('runs with other flags are not held to the marks', () => {
    const all = results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4));
    const marksOf = (settings: Readonly<Record<string, string>>): number =>
      compareAll({ ...all, commands: [{ ...COMMAND, settings }] }, MARKS)[0]!.marks.length;
    assert.deepEqual([marksOf({ size: 'full', seed: '1' }), marksOf({ size: 'full', qps: '20' })], [2, 0]);
    assert.equal(marksOf({ size: 'full', seconds: '40' }), 2);
  });

  it('one run of each peer shows no noise, so no difference counts', () => {
    const [churn] = compareAll(results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 1)), {});
    assert.ok(Number.isNaN(churn!.rows[0]!.noise));
    assert.equal(churn!.rows[0]!.counts, 'no');
  });

  it('a difference counts if five pairs show it', () => {
    const of = (pairs: number): unknown[] => {
      const runs = Array.from({ length: pairs }, (_, i) => [run(MANAGER, i, 10 + i / 10), run(ENDPOINTD, i, 5)]);
      const [churn] = compareAll(results(...runs.flat()), {});
      return [churn!.rows[0]!.counts, headOf(churn!)[4]];
    };
    assert.deepEqual(
      [of(4), of(5)],
      [
        ['few pairs', 'range of pairs'],
        ['yes', '95 %'],
      ],
    );
  });

  it('the head says how many runs ended right, and a ratio to 0 is none', () => {
    const all = results(run(MANAGER, 0, 0.001), run(ENDPOINTD, 0, 4, ['wrong']), run(ENDPOINTD, 1, 4));
    const [churn] = compareAll(all, {});
    assert.deepEqual(headOf(churn!).slice(0, 3), ['', 'kube-controller-manager (1)', 'endpointd (1 of 2 right)']);
    assert.deepEqual(rowTexts(churn!)[0], ['CPU of the controller, s', '0.00', '4.00', '-', '', '', '']);
  });

  it('CPU of less than five ticks, and figures made from it, do not count', () => {
    const counts = (cpu: number): unknown => {
      const runs = [0, 1].flatMap((round) => [run(MANAGER, round, 10), run(ENDPOINTD, round, cpu)]);
      const [churn] = compareAll(results(...runs), {});
      return Object.fromEntries(churn!.rows.map((row) => [row.figure, row.counts]));
    };
    assert.deepEqual(counts(0.05), { controllerCpu: 'few pairs', cpuAChange: 'few pairs', slicesP50: 'few pairs' });
    assert.deepEqual(counts(0.04), { controllerCpu: 'no', cpuAChange: 'no', slicesP50: 'few pairs' });
  });

  it('a mark of a share needs a figure above 0', () => {
    const [churn] = compareAll(results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, -1)), MARKS);
    assert.equal(churn!.marks[0]!.verdict, 'not measured');
  });

  it('a mark may be reached in one of two ways, and may look at two scenarios', () => {
    const figures: Record<string, Record<string, Record<string, number>>> = {
      ready: { [MANAGER]: { writes: 100, slicesP99: 50 }, [ENDPOINTD]: { writes: 104, slicesP99: 60 } },
      restart: { [MANAGER]: { controllerCpu: 3, pods: 11 }, [ENDPOINTD]: { controllerCpu: 1.2, pods: 11 } },
      'restart-few': { [MANAGER]: { controllerCpu: 1, pods: 1 }, [ENDPOINTD]: { controllerCpu: 1, pods: 1 } },
    };
    const look = (scenario: string, mark: number) =>
      scenariosByName()[scenario]!.marks![mark]!.look(
        (peer, figure, other = scenario) => figures[other]?.[peer]?.[figure] ?? Number.NaN,
      );
    assert.deepEqual(look('ready', 1), { got: '1.04 x, p99 1.20', reached: true });
    figures['ready']![ENDPOINTD] = { writes: 106, slicesP99: 6 };
    assert.deepEqual(look('ready', 1), { got: '1.06 x, p99 1/8.3', reached: false });
    figures['ready']![ENDPOINTD] = { writes: 106, slicesP99: 5 };
    assert.deepEqual(look('ready', 1), { got: '1.06 x, p99 1/10.0', reached: true });
    assert.deepEqual(look('restart-few', 0), { got: '1/10.0, 20000 of 200000 us', reached: true });
    delete figures['restart'];
    assert.equal(look('restart-few', 0), null);
  });

  it('a mark that other rounds would judge otherwise lies within the noise', () => {
    const verdictOf = (...cpus: readonly number[]): string => {
      const runs = cpus.flatMap((cpu, round) => [run(MANAGER, round, 10), run(ENDPOINTD, round, cpu)]);
      return compareAll(results(...runs), MARKS)[0]!.marks[0]!.verdict;
    };
    assert.equal(verdictOf(4, 4, 4, 4, 4.9), 'reached');
    assert.equal(verdictOf(4, 4, 4, 4, 6), 'within the noise');
    assert.equal(verdictOf(4, 6, 6, 6, 6), 'within the noise');
    assert.equal(verdictOf(5.1, 6, 6, 6, 6), 'not reached');
    assert.equal(verdictOf(4, 6, 4, 6), 'within the noise');
    assert.equal(verdictOf(4, 4, 4, 4), 'reached in few runs');
    assert.equal(verdictOf(6, 6), 'missed in few runs');
    assert.equal(verdictOf(4), 'reached in one run');
    assert.equal(verdictOf(6), 'missed in one run');
    const half = [run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4), run(MANAGER, 1, 10), run(ENDPOINTD, 1, 4, ['wrong'])];
    assert.equal(compareAll(results(...half), MARKS)[0]!.marks[0]!.verdict, 'reached in one run');
  });

  it('of marks that few runs judge the headline counts those reached, apart', () => {
    const of = (peer: string, round: number, cpu: number): RunRecord => ({
      ...run(peer, round, cpu),
      scenario: 'restart',
    });
    const runs = [0, 1].flatMap((round) => [of(MANAGER, round, 10), of(ENDPOINTD, round, 1)]);
    const page = peersPage({ ...results(...runs), scenarios: [{ name: 'restart', what: 'a restart' }] });
    assert.match(page, />0 of 1<\/p>\n<p>marks are reached, .*; 1 more in few runs; 1 more not measured</);
  });

  it('marks of other benches stand beside those of scenarios, and are counted', () => {
    const other = (what: string, verdict: MarkResult['verdict']): MarkResult => ({
      by: 'growth',
      what,
      got: '+9 %',
      verdict,
      runs: '5, 2026-11-26',
    });
    const marks = [other('pods', 'reached'), other('nodes', 'within the noise'), other('size', 'reached in few runs')];
    const all = results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4));
    const headOf = (others: readonly MarkResult[]): string[] =>
      /<p class="figure \w+">(.*)<\/p>\n<p>(.*)<\/p>/
        .exec(peersPage(all, compareAll(all, scenariosByName()), { marks: others, sections: [] }))!
        .slice(1);
    assert.deepEqual(headOf([]), ['0 of 0', 'marks are reached, in 2 runs of 1 scenario; 2 more not measured']);
    assert.deepEqual(headOf(marks), [
      '1 of 3',
      'marks are reached, in 2 runs of 1 scenario and 1 other bench; 1 more in few runs; 1 within the noise; 2 more not measured',
    ]);
    assert.match(
      resultsText(all, compareAll(all, {}), marks),
      /\n## Marks\n\n.*\n.*\n\| growth \| pods \| \+9 % \| 5, 2026-11-26 \| reached \|\n\| growth \| nodes /,
    );
  });

  it('a mark counts both series of an A/A pair', () => {
    const runs = [run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4), run(ENDPOINTD_AGAIN, 0, 7)];
    const [{ got, verdict }] = compareAll(results(...runs), MARKS)[0]!.marks as [MarkResult];
    assert.deepEqual([got, verdict], ['0.55', 'missed in one run']);
  });

  it('of an A/A pair table, ratio and noise count both series', () => {
    const rounds = [0, 1, 2, 3, 4];
    const series = (peer: string, cpu: number): RunRecord[] => rounds.map((round) => run(peer, round, cpu));
    const all = results(...series(MANAGER, 10), ...series(ENDPOINTD, 6), ...series(ENDPOINTD_AGAIN, 9));
    const [churn] = compareAll(all, {});
    const [cpu] = churn!.rows;
    assert.equal(cpu!.subject, 7.5);
    assert.equal(cpu!.ratio.value, 0.75);
    assert.deepEqual(cpu!.again, { value: 1.5, low: 1.5, high: 1.5, pairs: 5 });
    assert.deepEqual([cpu!.noise, cpu!.counts], [1.5, 'no'], 'the same program differs by more');
    assert.equal(headOf(churn!).indexOf('A/A'), 6);
    assert.equal(rowTexts(churn!)[0]![6], '1.50 (1.50 to 1.50)');
  });

  it('a p99 is of all samples together, and a mark of it too', () => {
    const of = (peer: string, round: number, samples: readonly number[]): RunRecord => ({
      ...run(peer, round, 1),
      figures: { controllerCpu: 1, slicesP99: samples.at(-1)! },
      samples: { endpoints: [], slices: samples },
    });
    const steady = Array.from({ length: 100 }, (_, i) => i / 100);
    const all = results(
      ...[0, 1, 2].flatMap((round) => [of(MANAGER, round, [...steady, 10]), of(ENDPOINTD, round, steady)]),
      of(MANAGER, 3, [10]),
      of(
        ENDPOINTD,
        3,
        Array.from({ length: 100 }, () => 5),
      ),
    );
    const [churn] = compareAll(all, { churn: { marks: [shareMark('p99', 'slicesP99', 1, '1')] } });
    const row = churn!.rows.find(({ figure }) => figure === 'slicesP99')!;
    // The median of the runs' own would be 10 and 0.99.
    assert.deepEqual([row.values[MANAGER], row.values[ENDPOINTD]], [10, 5]);
    assert.equal(churn!.marks[0]!.got, '0.50 (400) and (304)');
    // One run of four has made both.
    assert.deepEqual(rowTexts(churn!)[1]!.slice(1, 3), ['10.0 [1.0 to 10.0] (304)', '5.0 [1.0 to 5.0] (400)']);
    assert.match(resultsText(all, [churn!]), /\| 10\.0 \[1\.0 to 10\.0\] \(304\) -> 5\.0 \[1\.0 to 5\.0\] \(400\) \|/);
  });

  it('the longest is of all samples, so no p99 is longer, and it never counts', () => {
    const of = (peer: string, round: number, longest: number): RunRecord => ({
      ...run(peer, round, 1),
      figures: { slicesP99: longest, slicesMax: longest, endpointsP99: longest, endpointsMax: longest },
      samples: { endpoints: [longest], slices: [longest] },
    });
    const longest = [1, 1.1, 1.2, 1.3, 30];
    const all = results(...longest.flatMap((ms, round) => [of(MANAGER, round, 2 * ms), of(ENDPOINTD, round, ms)]));
    const [churn] = compareAll(all, {});
    const figures = Object.fromEntries(churn!.rows.map(({ figure, subject }) => [figure, subject]));
    assert.deepEqual(figures, { slicesP99: 30, slicesMax: 30, endpointsP99: 30, endpointsMax: 30 });
    const counts = Object.fromEntries(churn!.rows.map((row) => [row.figure, row.counts]));
    assert.deepEqual(counts, { slicesP99: 'yes', slicesMax: 'no', endpointsP99: 'yes', endpointsMax: 'no' });
  });

  it('a p99 of a quiet side is of all its samples, if each run has kept them', () => {
    const of = (peer: string, round: number, p99: number, isolated?: readonly number[]): RunRecord => ({
      ...run(peer, round, 1),
      figures: { isolatedP99: p99 },
      samples: { endpoints: [], slices: [], ...(isolated === undefined ? {} : { isolated }) },
    });
    const p99sOf = (...runs: RunRecord[]): (number | undefined)[] => {
      const [row] = compareAll(results(...runs), {})[0]!.rows;
      return [row!.values[MANAGER], row!.values[ENDPOINTD]];
    };
    const p99s = { [MANAGER]: [1, 3, 5], [ENDPOINTD]: [2, 9, 2] };
    const runsOf = (isKept: boolean): RunRecord[] =>
      Object.entries(p99s).flatMap(([peer, own]) => own.map((ms, i) => of(peer, i, ms, isKept ? [ms] : undefined)));
    assert.deepEqual(p99sOf(...runsOf(false)), [3, 2]);
    assert.deepEqual(p99sOf(...runsOf(true)), [5, 9]);
  });

  it('a p99 of few changes has their number beside it, wherever it stands', () => {
    const of = (peer: string, count: number): RunRecord => {
      const slices = Array.from({ length: count }, () => 7);
      return { ...run(peer, 0, 1), figures: { slicesP99: 7 }, samples: { endpoints: [], slices } };
    };
    const known = { churn: { marks: [shareMark('p99', 'slicesP99', 1, '1')] } };
    const shownOf = (...runs: RunRecord[]): string[] => {
      const all = results(...runs);
      const comparisons = compareAll(all, known);
      const lines = resultsText(all, comparisons).split('\n');
      const [mark, summary, row] = ['| churn |', '| [churn]', '| change to slice, p99'].map((head) =>
        lines.find((line) => line.startsWith(head)),
      ) as [string, string, string];
      const [inMark, inSummary, inRow] = [
        mark.split(' | ')[2]!,
        summary.split(' | ')[4]!,
        row.split(' | ').slice(1, 3),
      ];
      const page = peersPage(all);
      for (const text of inRow) assert.ok(page.includes(`>${text}</td>`));
      assert.ok(comparisonText(comparisons[0]!).includes(`: ${inMark}: `));
      return [inMark, inSummary, ...inRow];
    };
    assert.deepEqual(shownOf(of(MANAGER, 10_000), of(ENDPOINTD, 10_000)), ['1.00', '7.0 -> 7.0', '7.0', '7.0']);
    assert.deepEqual(shownOf(of(MANAGER, 10_000), of(ENDPOINTD, 9999)), [
      '1.00 (9999)',
      '7.0 -> 7.0 (9999)',
      '7.0',
      '7.0 (9999)',
    ]);
    const [both] = shownOf(of(MANAGER, 500), of(ENDPOINTD, 400), { ...of(ENDPOINTD, 400), round: 1 });
    assert.equal(both, '1.00 (400) and (500)');
  });

  it('a p99 that is the median of the runs has the number of changes of a run', () => {
    const of = (round: number, stageChanges: number): RunRecord => ({
      ...run(ENDPOINTD, round, 1),
      figures: { stagePlanP50: 1, stagePlanP99: 2, stageChanges, slicesCl2P99: 900, slicesWrites: 300 },
    });
    const all = results(of(0, 2000), of(1, 1500));
    const rows = rowTexts(compareAll(all, {})[0]!).map((row) => row[1]);
    assert.deepEqual(rows, ['300', '900 (<= 300 a run)', '1.00', '2.00 (1500 a run)', '1750']);
    const many = results(of(0, 10_000));
    assert.equal(rowTexts(compareAll(many, {})[0]!)[3]![1], '2.00');
  });

  it('the samples of a quiet side are counted beside those of the loud one', () => {
    const samples = { endpoints: [], slices: [1, 2, 3], isolated: [4, 5] };
    const of = (peer: string): RunRecord => ({ ...run(peer, 0, 1), figures: { isolatedP99: 5 }, samples });
    const all = results(of(MANAGER), of(ENDPOINTD));
    for (const text of [resultsText(all, compareAll(all, {})), peersPage(all)]) {
      assert.match(
        text,
        /right runs: kube-controller-manager 3, endpointd 3; of the quiet side: kube-controller-manager 2, endp/,
      );
      assert.match(text, /5\.0 \(2\)/);
    }
  });

  it('where changes were taken back, those of 0 are left out beside it', () => {
    const of = (peer: string, coalesced: number, slices: number[], shown?: number[]): RunRecord => ({
      ...run(peer, 0, 1),
      figures: { changes: 4, slicesP50: 0, ...(coalesced === 0 ? {} : { coalesced }) },
      samples: { endpoints: [], slices, ...(shown === undefined ? {} : { shown }) },
    });
    const shownOf = (...runs: RunRecord[]): Record<string, string[]> =>
      Object.fromEntries(
        rowTexts(compareAll(results(...runs), {})[0]!).map(([title, ...cells]) => [title, cells.slice(0, 2)]),
      );
    const rows = shownOf(of(MANAGER, 0, [4, 5, 6, 7]), of(ENDPOINTD, 2, [0, 0, 8, 9], [0, 9]));
    assert.deepEqual(rows['changes taken back before a write, %'], ['0.0', '50.0']);
    assert.deepEqual(rows['change to slice, without those of 0 ms, p50, ms'], ['5.0', '8.0']);
    assert.deepEqual(rows['change to slice, without those of 0 ms, p99, ms'], ['7.0 (4)', '9.0 (2)']);
    assert.deepEqual(rows['change to slice, without those taken back, p99, ms'], ['7.0 (4)', '9.0 (2)']);
    const none = shownOf(of(MANAGER, 0, [4]), of(ENDPOINTD, 0, [0]));
    assert.deepEqual(Object.keys(none), ['changes', 'change to slice, p50, ms']);
  });

  it('where a measure ends at the judge its times have no ratio', () => {
    const of = (peer: string): RunRecord => ({ ...run(peer, 0, 1), figures: { wall: 2, loadCpu: 1.5, lostMs: 9 } });
    const all = results(of(MANAGER), of(ENDPOINTD));
    const ratiosOf = (endsAtJudge: boolean): unknown[] =>
      rowTexts(compareAll(all, { churn: { endsAtJudge } })[0]!).map((cells) => cells[3]);
    assert.deepEqual(
      [ratiosOf(false), ratiosOf(true)],
      [
        ['1.00', '1.00', '1.00'],
        ['1.00', '-', '-'],
      ],
    );
    const text = resultsText(all, compareAll(all, { churn: { endsAtJudge: true } }));
    assert.match(text, /at work for 75 % beside kube-controller-manager and 75 % beside endpointd: so the wall time/);
  });

  it('what was measured for another time says so, in its marks too', () => {
    const all = {
      ...results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4)),
      commands: [{ ...COMMAND, settings: { seconds: '40' } }],
    };
    const [churn] = compareAll(all, MARKS);
    assert.equal(churn!.marks[0]!.runs, '1, , 40 s each');
    assert.match(resultsText(all, [churn!]), /\nChanges were made for 40 s, by --seconds=40, after a warm-up of /);
  });

  it('memory is flat by the tenths of the measure, of older runs too', () => {
    const soak = scenariosByName()['soak']!;
    const mb = [1, ...Array.from({ length: 10 }, () => 200), ...Array.from({ length: 90 }, () => 230)];
    const of = (figures: RunRecord['figures']): RunRecord => ({
      ...run(ENDPOINTD, 0, 1),
      figures: { wall: 99, growthMB: 30, ...figures },
      timeline: {
        ms: mb.map((_, i) => i * 1000),
        cores: {},
        residentBytes: mb.map((each) => each * 1e6),
        steps: [{ ms: 1000, name: 'flips' }],
      },
    });
    const gotOf = (figures: RunRecord['figures']): string =>
      compareAll(results(of(figures)), { churn: { marks: soak.marks! } })[0]!.marks[0]!.got;
    assert.deepEqual(
      [gotOf({}), gotOf({ firstMB: 300 }), gotOf({ wall: 50 })],
      ['1.15 x, 230.0 of 200.0 MB', '1.10 x, 330.0 of 300.0 MB', '-'],
    );
  });

  it('a mark is not reached if its floor was not measured', () => {
    const [churn] = compareAll(results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 1)), MARKS);
    assert.equal(churn!.marks[1]!.verdict, 'not measured');
  });
});

describe('results of several commands', () => {
  const LATER: Command = {
    ...COMMAND,
    text: 'npm run bench -- peers churn huge',
    commit: 'def',
    startedAt: '2026-11-23T10:00:00.000Z',
  };

  function later(command: Command, ...runs: RunRecord[]): Results {
    const scenarios = [
      { name: 'churn', what: 'flips' },
      { name: 'huge', what: 'flips of one service' },
    ];
    return { format: 3, commands: [command], scenarios, runs };
  }

  function runsOf({ runs }: Results): unknown[] {
    return runs.map(({ scenario, command, round, figures }) => [scenario, command, round, figures['controllerCpu']]);
  }

  it('rounds of the same program, settings and machine go on', () => {
    const kept = results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4));
    const all = addResults(kept, later(LATER, run(MANAGER, 0, 12), run(ENDPOINTD, 0, 5)));
    assert.deepEqual(runsOf(all), [
      ['churn', 0, 0, 10],
      ['churn', 0, 0, 4],
      ['churn', 1, 1, 12],
      ['churn', 1, 1, 5],
    ]);
    assert.deepEqual(
      all.commands.map(({ commit }) => commit),
      ['abc', 'def'],
    );
  });

  for (const [what, other] of [
    ['program', { ...LATER, program: 'beef' }],
    ['machine', { ...LATER, machine: { cores: '64' } }],
    ['settings', { ...LATER, settings: { seconds: '40' } }],
  ] as const) {
    it(`runs of another ${what} take the place of the earlier ones`, () => {
      const kept = results(run(ENDPOINTD, 0, 4), { ...run(ENDPOINTD, 0, 7), scenario: 'spread' });
      const all = addResults(kept, later(other, run(ENDPOINTD, 0, 5)));
      assert.deepEqual(runsOf(all), [
        ['spread', 0, 0, 7],
        ['churn', 1, 0, 5],
      ]);
      const alone = addResults(results(run(ENDPOINTD, 0, 4)), later(other, run(ENDPOINTD, 0, 5)));
      assert.deepEqual([alone.commands, runsOf(alone)], [[other], [['churn', 0, 0, 5]]]);
    });
  }

  it('a scenario for which a command had no time stays as it is', () => {
    const all = addResults(results(run(ENDPOINTD, 0, 4)), later({ ...LATER, program: 'beef' }));
    assert.deepEqual(runsOf(all), [['churn', 0, 0, 4]]);
    assert.deepEqual(
      notRun(all).map(({ name }) => name),
      ['huge'],
    );
  });

  it('a scenario that is no more takes its runs and its command with it', () => {
    const all = addResults(results(run(ENDPOINTD, 0, 4)), later(LATER, { ...run(ENDPOINTD, 0, 5), scenario: 'huge' }));
    const left = withScenarios(all, ['huge']);
    assert.deepEqual(runsOf(left), [['huge', 0, 0, 5]]);
    assert.deepEqual([left.scenarios.map(({ name }) => name), left.commands], [['huge'], [LATER]]);
  });

  it('page and document tell the samples, the step of the peak, and the threads', () => {
    const all = results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4), run(ENDPOINTD, 1, 5));
    for (const text of [resultsText(all, compareAll(all, {})), peersPage(all)]) {
      assert.match(text, /Samples .* of all right runs: kube-controller-manager 2, endpointd 4/);
      assert.match(text, /Memory was highest at the step: kube-controller-manager: flips, endpointd: flips/);
      assert.match(
        text,
        /CPU by thread, medians: kube-controller-manager node-MainThread 10\.00 s; endpointd node-MainThread 4\.50 s/,
      );
    }
  });

  it('a measure that ends when the controller is found at rest has no wall time', () => {
    const withWall = (one: RunRecord): RunRecord => ({ ...one, figures: { ...one.figures, wall: 5, serverShare: 60 } });
    const all = results(withWall(run(MANAGER, 0, 10)), withWall(run(ENDPOINTD, 0, 4)));
    const figuresOf = (endsAtRest: boolean): string[] =>
      compareAll(all, { churn: { endsAtRest } })[0]!.rows.map(({ figure }) => figure);
    assert.deepEqual(
      figuresOf(false).filter((figure) => !figuresOf(true).includes(figure)),
      ['serverShare', 'wall'],
    );
  });

  it('plots are of right runs alone, and a peer keeps its colour in each', () => {
    const course = { seconds: [0, 1], p50: [1, 2], p99: [1, 2], max: [1, 2] };
    const course2 = { ...course, p50: [5, 6] };
    const all = results(
      run(MANAGER, 0, 10, ['late']),
      { ...run(ENDPOINTD, 0, 4, ['late']), course },
      {
        ...run(ENDPOINTD, 1, 5),
        course: course2,
        timeline: { ms: [0], cores: { b: [1], etcd: [2] }, residentBytes: [7e6], steps: [] },
      },
    );
    const plots = plotsOf(compareAll(all, {})[0]!, all.runs).flatMap((plot) => (plot.kind === 'lines' ? plot : []));
    const shown = plots.flatMap(({ title, series }) =>
      series.map(({ name, colour, points }) => [
        title.replace(/^churn: |, (of each the|in its) run .*/g, ''),
        name,
        colour,
        points.at(-1),
      ]),
    );
    assert.deepEqual(shown, [
      ['from the change to the slice', ENDPOINTD, 1, [10, 100]],
      ['from the change to the slice over time', `${ENDPOINTD}, p50`, 1, [1, 6]],
      ['from the change to the slice over time', `${ENDPOINTD}, longest`, 1, [1, 2]],
      [`who used the cores, ${ENDPOINTD}`, 'etcd', 3, [0, 2]],
      [`who used the cores, ${ENDPOINTD}`, 'b', 5, [0, 1]],
      ['resident memory of the controller', ENDPOINTD, 1, [0, 7]],
    ]);
    const alone = results(run(ENDPOINTD, 0, 4));
    const [bars] = plotsOf(compareAll(alone, {})[0]!, alone.runs);
    assert.deepEqual((bars as BarPlot).colours, [1]);
  });

  it('a plot over time is of the run that has the median of what it shows', () => {
    const timed = (round: number, figures: RunRecord['figures'], at: number): RunRecord => ({
      ...run(ENDPOINTD, round, 1),
      figures,
      course: { seconds: [0, 1], p50: [at, at], p99: [at, at], max: [at, at] },
      timeline: { ms: [0], cores: { etcd: [at] }, residentBytes: [at * 1e6], steps: [] },
    });
    const figuresOf = (serverShare: number, slicesP99: number, peakMB: number): RunRecord['figures'] => ({
      controllerCpu: -slicesP99,
      serverShare,
      slicesP99,
      peakMB,
    });
    const runs = [
      timed(0, figuresOf(10, 3, 7), 1),
      timed(1, figuresOf(50, 2, 9), 2),
      timed(2, figuresOf(30, 1, 8), 3),
      { ...timed(3, figuresOf(40, 4, 6), 4), wrong: ['late'] },
      timed(4, figuresOf(20, 4, 6), 5),
    ];
    const shownOf = (some: readonly RunRecord[], endsAtRest = false): unknown[] => {
      const all = results(...some);
      return plotsOf(compareAll(all, { churn: { endsAtRest } })[0]!, all.runs).flatMap((plot) =>
        plot.kind === 'lines' && /run with the median/.test(plot.title)
          ? [[/with the median (.*)/.exec(plot.title)![1], plot.series[0]!.points[0]![1]]]
          : [],
      );
    };
    assert.deepEqual(shownOf(runs), [
      ['p99', 2],
      // Of four right runs the lower one of the two in the middle.
      ['share of API server, etcd and load', 5],
      ['peak', 1],
    ]);
    // Such a scenario tells no share, and the CPU is the figure that it has.
    assert.deepEqual(shownOf(runs.slice(0, 3), true), [
      ['p99', 2],
      ['CPU of the controller', 2],
      ['peak', 3],
    ]);
  });

  it('the headline is no praise where no mark is, and says what is missing', () => {
    const headOf = (...runs: RunRecord[]): string[] =>
      /<p class="figure (\w+)">(.*)<\/p>\n<p>(.*)<\/p>/.exec(peersPage(results(...runs)))!.slice(1);
    assert.deepEqual(headOf(), ['plain', '0 of 0', 'marks are reached, in 0 runs of 0 scenarios']);
    const [tone, figure, words] = headOf(run(MANAGER, 0, 10));
    assert.deepEqual([tone, figure], ['plain', '0 of 0']);
    assert.match(words!, /^marks are reached, in 1 run of 1 scenario; \d+ more not measured$/);
  });

  it('document and page name what the scenario sets, as it was in force', () => {
    const known = { churn: { settings: { syncs: 50, endpointdFlags: ['--max-writes-in-flight=100'] } } };
    const textOf = (settings: Command['settings']): string => {
      const all = { ...results(run(MANAGER, 0, 10), run(ENDPOINTD, 0, 4)), commands: [{ ...COMMAND, settings }] };
      const text = resultsText(all, compareAll(all, known));
      return /\nSettings of the scenario, as they were in force: (.*)\.\n/.exec(text)![1]!;
    };
    assert.equal(textOf({ size: 'full' }), 'syncs=50, endpointdFlags=--max-writes-in-flight=100');
    assert.equal(
      textOf({ syncs: '5', endpointdFlags: '--shards=1,--log-json' }),
      'syncs=5, endpointdFlags=--max-writes-in-flight=100,--shards=1,--log-json',
    );
  });

  /** To make them takes seconds. */
  let kept: ReturnType<typeof keptTexts> | undefined;
  const made = (): ReturnType<typeof keptTexts> => (kept ??= keptTexts());

  it('each kept page and document is what its code makes of the kept data', () => {
    const texts = Object.entries(made());
    assert.deepEqual(
      texts.map(([name]) => name.replace(/^.*\//, '')),
      [
        'RESULTS.md',
        'results.html',
        'bench-cpu.svg',
        'bench-latency.svg',
        'growth.html',
        'bench-growth.svg',
        'sweep.html',
        'bench-sweep.svg',
        'TRANSFER.md',
      ],
    );
    for (const [name, made] of texts) {
      assert.equal(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'), made, name);
    }
  });

  it('the kept document has every mark in one table, which the headline counts', () => {
    const texts = made();
    const [, table] = /\n## Marks\n\n.*\n.*\n([^]*?)\n\n/.exec(texts['bench/RESULTS.md']!)!;
    const rows = table!.split('\n').map((row) => row.slice(2, -2).split(' | '));
    const countOf = (name: string): number => rows.filter(([by]) => by === name).length;
    const known = Object.entries(scenariosByName()).map(([name, { marks = [] }]) => [name, marks.length] as const);
    const others = readMarks().map(({ bench, marks }) => [bench, marks.length] as const);
    const all = [...known, ['growth', 4] as const, ['coalescing', 1] as const, ...others];
    assert.deepEqual(
      all.map(([name]) => [name, countOf(name)]),
      all.map(([name, count]) => [name, count]),
    );
    assert.equal(
      rows.length,
      all.map(([, count]) => count).reduce((a, b) => a + b),
    );
    const reached = rows.filter((row) => row.at(-1) === 'reached').length;
    const measured = rows.filter((row) => row.at(-1) !== 'not measured').length;
    assert.ok(texts['bench/results.html']!.includes(`>${reached} of ${measured}</p>\n<p>marks are reached`));
  });

  it('CONTRIBUTING names the scenarios with marks that are run only if named', () => {
    const text = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8');
    const [, list] = /of those with \[marks\]\S+ (.*) have to be named\)/.exec(text)!;
    const told = [...list!.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    const unasked = new Set(findScenarios([]).map(({ name }) => name));
    const marked = Object.entries(scenariosByName()).filter(([, { marks = [] }]) => marks.length > 0);
    assert.deepEqual(
      told,
      marked.map(([name]) => name).filter((name) => !unasked.has(name)),
    );
    assert.ok([...unasked].every((name) => marked.some(([other]) => other === name)));
  });

  it('the text of a command names no file of the machine', () => {
    const args = ['size', '--json=/tmp/a', '--flips=9', '--page', '/tmp/b', '--results'];
    assert.equal(commandText('growth', args), 'npm run bench -- growth size --flips=9 --results');
  });

  it('a fixed loop that took another time is told, and takes no round apart', () => {
    const kept = { ...results(run(ENDPOINTD, 0, 4)), commands: [{ ...COMMAND, loopMs: 20 }] };
    const all = addResults(kept, later({ ...LATER, loopMs: 33 }, run(ENDPOINTD, 0, 5)));
    assert.deepEqual(
      all.runs.map(({ round }) => round),
      [0, 1],
    );
    const text = resultsText(all, compareAll(all, {}));
    assert.match(text, /\| abc \|.*loop 20 ms.*\n\| .* \| def \|.*loop 33 ms/);
  });

  it('a command says what was left out of it', () => {
    const [command] = results(run(MANAGER, 0, 10)).commands;
    const other = { ...command!, commit: 'def', note: 'without its first round' };
    const all = {
      ...results(run(MANAGER, 0, 10), { ...run(ENDPOINTD, 0, 4), command: 1 }),
      commands: [command!, other],
    };
    assert.match(resultsText(all, compareAll(all, {})), /\| def \|.*note without its first round/);
  });

  it('the document names each command with what differs, and what all share', () => {
    const huge = { ...run(ENDPOINTD, 0, 5), scenario: 'huge' };
    const all = addResults(results(run(ENDPOINTD, 0, 4)), later({ ...LATER, program: 'beef' }, huge));
    const text = resultsText(all, compareAll(all, {}));
    assert.match(
      text,
      /\| `npm run bench -- peers churn` \| abc \| 2026-11-22T10:00 \| 2026-11-22T10:12 \| program f00d \| churn \|/,
    );
    assert.match(text, /\| `npm run bench -- peers churn huge` \| def \| .* \| program beef \| huge \|/);
    assert.match(text, /\n\| cores \| 2 \|\n/);
  });
});

describe('growth in the document of results', () => {
  it('each axis of growth is a table with its verdict, and names points not run', () => {
    const run = (at: number): GrowthRun => ({
      axis: 'pods',
      at,
      shape: { pods: at, podsPerService: 10, nodes: 5 },
      peer: ENDPOINTD,
      cpuAFlip: 1.25,
      bytesAFlip: 3000,
      writesAFlip: 2,
      p50: 1,
      p99: 2,
      startCpu: 1,
      peakMB: 100,
      steadyMB: 100,
      wrong: [],
    });
    const text = growthText({
      format: 1,
      command: 'npm run bench -- growth pods',
      commit: 'abc',
      machine: {},
      versions: {},
      startedAt: '',
      endedAt: '',
      flips: 10,
      runs: [run(1000), run(10_000)],
      notRun: [run(100_000)],
    }).join('\n');
    assert.match(
      text,
      /### pods, in services of 10\n\n.*\n.*\n\| endpointd \| 1000 \| 10 \| 1\.25 \|  \| \+0 % \| 3\.0 \| 2\.00 \|/,
    );
    assert.match(text, /\n\nflat in one round, which shows no noise, over a factor of 10: /);
    assert.match(text, /Not run: 100000 pods, 10000 services of 10, 5 nodes\./);
    assert.deepEqual(growthText(null), []);
  });
});

describe('a limited time', () => {
  const [short, long] = [
    { name: 'short', pairSeconds: 20 },
    { name: 'long', pairSeconds: 100 },
  ];

  it('a limited time has room for a pair that would end in it', () => {
    let nowMs = 0;
    const budget = createBudget(130_000, true, () => nowMs);
    assert.ok(budget.has(long));
    budget.took(short, (nowMs = 20_000));
    assert.ok(budget.has(long));
    budget.took(long, 90_000);
    nowMs = 111_000;
    assert.deepEqual([budget.has(short), budget.has(long)], [false, false]);
    nowMs = 110_000;
    assert.ok(budget.has(short));
  });

  it('a machine that was slow so far counts as slow for all pairs', () => {
    let nowMs = 0;
    const budget = createBudget(200_000, true, () => nowMs);
    budget.took(short, (nowMs = 40_000));
    assert.equal(budget.has(long), false);
  });

  it('a pair without room is listed as not run', () => {
    const left = {
      ...results(run(MANAGER, 0, 10)),
      scenarios: [
        { name: 'churn', what: 'flips' },
        { name: 'huge', what: 'flips' },
      ],
    };
    assert.deepEqual(
      notRun(left).map(({ name }) => name),
      ['huge'],
    );
    assert.match(resultsText(left, compareAll(left, {})), /Not run, for want of time: huge \(flips\)\./);
  });
});
