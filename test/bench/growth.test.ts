import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pointsOf } from '../../bench/growth/axes.ts';
import { type Flatness, flatnessOf, type GrowthRun, merged } from '../../bench/growth/flatness.ts';
import { createFlipper } from '../../bench/growth/flipper.ts';
import { type Growth, growthMarks, growthPage, growthTables, notRunText } from '../../bench/growth/report.ts';
import { measureAll, parseGrowthFlags } from '../../bench/growth/run.ts';
import { podFrame, podFrames } from '../../bench/growth/frames.ts';
import {
  endpointsAt,
  nodeAt,
  podOf,
  podPartsAt,
  podRevision,
  serviceAt,
  serviceCount,
  slicesAt,
  type Shape,
} from '../../bench/growth/shape.ts';
import { stored } from '../../bench/support/stored-pod.ts';
import type { MarkResult } from '../../bench/marks/mark-result.ts';
import { wrongObjects } from '../../src/judge/cluster-check.ts';

function range<T>(length: number, at: (i: number) => T): T[] {
  return Array.from({ length }, (_, i) => at(i));
}

describe('the flips of the bench of growth', () => {
  it('a controller that is too slow has no object called wrong', async (test) => {
    test.mock.timers.enable({ apis: ['setTimeout'] });
    const shape: Shape = { pods: 1, podsPerService: 1, nodes: 1 };
    let version = 100;
    const flipper = createFlipper(shape, { nextVersion: () => ++version, send: () => undefined });
    const flipped = flipper.flip({ count: 2, seed: 1, seenMsMax: 60_000 });
    // The controller shows that the pod is not ready, and is not done with its return in time.
    const [slice] = slicesAt(shape, 0);
    flipper.note('endpoints', { ...endpointsAt(shape, 0), subsets: [] }, 1, performance.now());
    flipper.note('slices', { ...slice!, endpoints: [] }, 1, performance.now());
    await new Promise<void>((resolve) => void setImmediate(resolve));
    test.mock.timers.tick(60_000);
    const { flips, wrong } = await flipped;
    assert.deepEqual([flips, wrong], [2, ['flip 2 was not seen within 60000 ms, so nothing was measured']]);
  });
});

describe('the cluster of the bench of growth', () => {
  for (const shape of [
    { pods: 60, podsPerService: 5, nodes: 7 },
    { pods: 1200, podsPerService: 1200, nodes: 1 },
  ] satisfies Shape[]) {
    it(`the cluster holds what controllers would write: ${shape.podsPerService} pods a service`, () => {
      const services = range(serviceCount(shape), serviceAt);
      const wrong = wrongObjects({
        services,
        nodes: range(shape.nodes, nodeAt),
        pods: range(shape.pods, (i) => stored(podOf(podPartsAt(shape, i)), podRevision(i))),
        endpoints: services.map((_, i) => endpointsAt(shape, i)),
        slices: services.flatMap((_, i) => Array.from(slicesAt(shape, i))),
      });
      assert.deepEqual(wrong, []);
    });
  }

  it('a frame made from the pattern is the frame of that pod, byte for byte', () => {
    const shape = { pods: 1_000_000, podsPerService: 5, nodes: 50_000 };
    const { length, put } = podFrames(shape);
    for (const index of [0, 7, 123_456, 999_999]) {
      const frame = Buffer.alloc(length + 3);
      put(frame, 3, index);
      const revision = podRevision(index);
      assert.deepEqual(frame.subarray(3), podFrame('ADDED', podPartsAt(shape, index), revision, revision));
    }
  });
});

function run(at: number, cpuAFlip: number, bytesAFlip = 3000, wrong: readonly string[] = []): GrowthRun {
  return {
    axis: 'pods',
    at,
    shape: { pods: at, podsPerService: 5, nodes: 1 },
    peer: 'endpointd',
    cpuAFlip,
    bytesAFlip,
    writesAFlip: 2,
    p50: 1,
    p99: 2,
    startCpu: 1,
    peakMB: 100,
    steadyMB: 100,
    wrong,
  };
}

describe('flatness', () => {
  const foundOf = (...runs: GrowthRun[]): readonly Flatness[] => flatnessOf(merged(runs));
  const verdicts = (...runs: GrowthRun[]): string[] => foundOf(...runs).map(({ verdict }) => verdict);
  const [FLAT, NOT_FLAT] = ['flat in one round', 'not flat in one round'];

  const growthOf = (...runs: GrowthRun[]): Growth => ({
    format: 1,
    command: '',
    commit: '',
    machine: {},
    versions: {},
    startedAt: '',
    endedAt: '',
    flips: 1000,
    runs,
    notRun: [],
  });

  it('a flip that costs the same at each size is flat, one that costs more is not', () => {
    assert.deepEqual(verdicts(run(1000, 1), run(10_000, 1.1), run(100_000, 0.95)), [FLAT]);
    assert.deepEqual(verdicts(run(1000, 1), run(10_000, 1), run(100_000, 1.6)), [NOT_FLAT]);
  });

  it('the drift is how much more the last point costs than the first', () => {
    const [{ drift }] = foundOf(run(1000, 1), run(10_000, 0.9), run(100_000, 1.3)) as [Flatness];
    assert.equal(drift.toFixed(2), '0.30');
  });

  it('a steady rise is not flat where three decades of it are more than a fifth', () => {
    assert.deepEqual(verdicts(run(1000, 1), run(10_000, 1.1), run(100_000, 1.2), run(1_000_000, 1.3)), [NOT_FLAT]);
    assert.deepEqual(verdicts(run(100, 1), run(10_000, 1.1), run(1_000_000, 1.25)), [FLAT]);
  });

  it('bytes of objects do not count against flatness, other costs do', () => {
    const bytes = [2e3, 2e4, 2e5, 2e5, 2e5];
    const costs = [1.02, 1.2, 3, 3, 3];
    assert.deepEqual(verdicts(...costs.map((cost, i) => run(5 * 10 ** i, cost, bytes[i]))), [FLAT]);
    costs[4] = 6;
    assert.deepEqual(verdicts(...costs.map((cost, i) => run(5 * 10 ** i, cost, bytes[i]))), [NOT_FLAT]);
  });

  it('byte counts that hardly differ explain no cost', () => {
    assert.deepEqual(verdicts(run(1000, 1, 3000), run(10_000, 1.6, 3030), run(100_000, 1.6, 3030)), [NOT_FLAT]);
  });

  it('neighbours that write the same bytes are compared without a line', () => {
    const costs = [0.45, 0.72, 0.73, 0.91];
    const bytes = [2e3, 71e3, 128_700, 128_800];
    const [{ step, worst }] = foundOf(...costs.map((cost, i) => run(50 * 10 ** i, cost, bytes[i]))) as [Flatness];
    assert.deepEqual([step!.between, step!.share.toFixed(2)], [[5000, 50_000], '0.25']);
    // The line goes through the middle of both.
    assert.ok(Math.abs(worst) < 0.2);
    const [{ step: none }] = foundOf(run(1000, 1, 2e3), run(10_000, 1, 4e3)) as [Flatness];
    assert.equal(none, null);
  });

  it('an axis is flat or not only where all its rounds allow to say so', () => {
    const rounds = (at: number, ...costs: number[]): GrowthRun[] => costs.map((cost) => run(at, cost));
    const verdictOf = (first: number[], middle: number[], last: number[]): string =>
      verdicts(...rounds(1000, ...first), ...rounds(10_000, ...middle), ...rounds(100_000, ...last))[0]!;
    const steady = [0.95, 1, 1.05];
    assert.equal(verdictOf(steady, steady, steady), 'flat');
    // The medians of both are flat, and of the first one round of three is not.
    assert.equal(verdictOf(steady, [1, 1, 1.3], steady), 'within the noise');
    assert.equal(verdictOf(steady, [1.35, 1.4, 1.45], steady), 'not flat');
    assert.equal(verdictOf(steady, [1.1, 1.4, 1.45], steady), 'within the noise');
    // Each point is within a fifth, and the last by the first may be more or not.
    assert.equal(verdictOf([0.85, 0.9, 0.95], steady, [1.05, 1.1, 1.15]), 'within the noise');
    assert.equal(verdictOf([0.85, 0.86, 0.87], steady, [1.13, 1.14, 1.15]), 'not flat');
  });

  it('table and page tell the range of the rounds, and what single rounds say', () => {
    const growth = growthOf(
      ...[0.9, 1, 1.1].map((cost) => run(1000, cost)),
      ...[0.9, 1, 1.5].map((cost) => run(10_000, cost)),
      run(10_000, 9, 3000, ['late']),
    );
    const [{ columns, rows, note }] = growthTables(growth) as [ReturnType<typeof growthTables>[0]];
    const at = columns.indexOf('its rounds');
    assert.deepEqual(
      rows.map((row) => row.slice(at - 1, at + 1)),
      [
        ['1.00', '0.90 to 1.10'],
        ['1.00', '0.90 to 1.50'],
      ],
    );
    assert.match(note, /^within the noise, because 3 rounds do not agree whether it is flat, over a factor of 10: /);
    assert.match(note, /\+0 %, of a single round \+50 % \(at 10000\); .* is \+0 %, of single rounds -18 % to \+67 %\./);
    assert.match(
      note,
      /three decades\. Of neighbours .*, 1000 and 10000 are furthest apart: \+0 %, of single rounds -18 % /,
    );
    const page = growthPage(growth);
    assert.match(page, /<p class="figure bad">0 of 1</);
    assert.match(page, /axes are flat: .*; 1 within the noise/);
    assert.match(page, /0\.90 to 1\.50/);
  });

  it('an axis measured from end to end is a mark, with the verdict of its rounds', () => {
    const rounds = (at: number, ...costs: number[]): GrowthRun[] => costs.map((cost) => run(at, cost));
    const markOf = (first: number[], last: number[], lastAt = 1_000_000): readonly string[] => {
      const growth = {
        ...growthOf(...rounds(1000, ...first), ...rounds(lastAt, ...last)),
        endedAt: '2026-11-26T08:38',
      };
      const [{ verdict, runs }] = growthMarks(growth) as [MarkResult];
      return [verdict, runs];
    };
    const steady = [1, 1, 1, 1, 1];
    assert.deepEqual(markOf(steady, steady), ['reached', '5, 2026-11-26']);
    assert.deepEqual(markOf(steady, [2, 2, 2, 2, 2]), ['not reached', '5, 2026-11-26']);
    assert.deepEqual(markOf(steady, [1, 1, 1, 1, 2]), ['within the noise', '5, 2026-11-26']);
    assert.deepEqual(markOf(steady, [1, 1, 1]), ['reached in few runs', '3, 2026-11-26']);
    assert.deepEqual(markOf([1, 1], [2, 2]), ['missed in few runs', '2, 2026-11-26']);
    assert.deepEqual(markOf([1], [1]), ['reached in one run', '1, 2026-11-26']);
    assert.deepEqual(markOf([1], [2]), ['missed in one run', '1, 2026-11-26']);
    assert.deepEqual(markOf(steady, steady, 100_000), ['not measured', '0, 2026-11-26']);
  });

  it('each axis has a mark, with what was found beside it', () => {
    const growth = growthOf(
      ...[1, 1.1].map((cost) => run(1000, cost)),
      ...[1, 1.2].map((cost) => run(1_000_000, cost)),
    );
    assert.deepEqual(
      growthMarks(growth).map(({ what, got }) => [what.replace(/^.* aside, /, ''), got]),
      [
        [
          'from 1,000 to 1,000,000 pods, in services of 10',
          'at most +2 %, from first to last +5 %; of single rounds +12 %, -9 % to +20 %; of neighbours with the same bytes +5 %',
        ],
        ['from 5 to 50,000 pods of a service, of 50,000 in all', '-'],
        ['from 10 to 100,000 services of 5 pods', '-'],
        ['from 1 to 50,000 nodes, of 50,000 pods in services of 10', '-'],
      ],
    );
  });

  it('one point alone has no verdict', () => {
    assert.deepEqual(verdicts(run(1000, 1), run(1000, 1.1)), []);
    const [table] = growthTables({ runs: [run(1000, 1)], flips: 1000 } as unknown as Growth);
    assert.equal(table!.note, 'fewer than two points do not tell whether it is flat');
  });

  it('a run that ended wrong does not count', () => {
    assert.deepEqual(verdicts(run(1000, 1), run(10_000, 1), run(100_000, 9, 3000, ['wrong'])), [FLAT]);
  });

  it('a point whose runs all ended wrong has no figures in the table', () => {
    const runs = [run(1000, 1), run(10_000, 1), run(100_000, 9, 3000, ['flip 1 was not seen']), run(1000, 3)];
    const [table] = growthTables(growthOf(...runs));
    assert.deepEqual(
      table!.rows.map((row) => row.slice(0, 4)),
      [
        ['endpointd', '1000', '1000', '2.00'],
        ['endpointd', '10000', '1000', '1.00'],
        ['endpointd', '100000', '1000', 'WRONG'],
      ],
    );
    assert.match(table!.note, /WRONG at 100000, endpointd: flip 1 was not seen/);
  });

  it('the page of another controller alone, of which no axis is told, has no praise', () => {
    const other = { ...run(1000, 1), peer: 'kube-controller-manager' };
    assert.match(growthPage(growthOf(other)), /<p class="figure plain">0 of 0</);
  });

  it('a controller has one colour in all plots of growth, its p99 beside its p50', () => {
    const other = { ...run(1000, 1), peer: 'kube-controller-manager' };
    const onlyThere = { ...other, axis: 'size' } as const;
    const page = growthPage(growthOf(run(1000, 1), other, onlyThere));
    const lines = [...page.matchAll(/<line class="line (s\d(?: thin)?)"[^>]*><text[^>]*>([^<]*)</g)];
    const colours = new Map(lines.map(([, colour, name]) => [name!, colour!]));
    assert.deepEqual(Object.fromEntries(colours), {
      endpointd: 's1',
      'kube-controller-manager': 's0',
      'by its bytes alone': 's2',
      'endpointd, p50': 's1',
      'kube-controller-manager, p50': 's0',
      'endpointd, p99': 's1 thin',
      'kube-controller-manager, p99': 's0 thin',
    });
    assert.equal(new Set(lines.map(([, colour, name]) => `${name} ${colour}`)).size, colours.size);
  });
});

describe('the points of the bench of growth', () => {
  it('a point that fails takes no other with it, and is reported', async () => {
    const { points } = pointsOf(['pods'], 100_000, false);
    const options = { flips: 8, managerMax: 0, rounds: 1, forMs: Infinity };
    const peer = { name: 'endpointd', start: () => Promise.reject(new Error('not started here')) };
    const { runs, notRun } = await measureAll(points, options, peer, (_, { at }) =>
      at === 10_000 ? Promise.reject(new Error('no memory')) : Promise.resolve(run(at, 1)),
    );
    assert.deepEqual(
      runs.map(({ at }) => at),
      [1000, 100_000],
    );
    assert.deepEqual(notRun.map(notRunText), ['10000 pods, 1000 services of 10, 1000 nodes (endpointd: no memory)']);
  });
});

describe('the order of the bench of growth', () => {
  it('the controller that is measured first changes from round to round', async () => {
    const { points } = pointsOf(['pods'], 10_000, false);
    const options = { flips: 8, managerMax: 10, rounds: 3, forMs: Infinity };
    const peer = { name: 'endpointd', start: () => Promise.reject(new Error('not started here')) };
    const order: string[] = [];
    await measureAll(points, options, peer, ({ name }, { at }) => {
      order.push(name);
      return Promise.resolve(run(at, 1));
    });
    const [A, B] = ['endpointd', 'kube-controller-manager'];
    assert.deepEqual(order, [A, B, A, B, B, A, B, A, A, B, A, B]);
  });
});

describe('the flags of the bench of growth', () => {
  it('points with more pods than allowed are left out, and reported', () => {
    const { points, leftOut } = pointsOf(['pods'], 10_000, false);
    assert.deepEqual(
      points.map(({ at }) => at),
      [1000, 10_000],
    );
    assert.deepEqual(
      leftOut.map(({ at }) => at),
      [100_000, 1_000_000],
    );
  });

  it('an error about a flag says what is allowed', () => {
    assert.throws(() => parseGrowthFlags(['zones'], true), /nothing called zones grows: there are pods, size/);
    assert.throws(() => parseGrowthFlags(['--flips=many'], true), /--flips: a number was expected, not "many"/);
    assert.throws(() => parseGrowthFlags(['--for=long'], true), /--for: a duration such as 10m was expected/);
  });
});
