import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  COALESCING_SCENARIOS,
  coalescingMark,
  coalescingNotes,
  coalescingTable,
  peerWith,
  type Coalescing,
  type CoalescingRun,
} from '../../bench/coalescing/report.ts';
import { parseCoalescingFlags } from '../../bench/coalescing/run.ts';

const SETTING = '--adaptive-batch-period-max=100ms';

describe('the flags of settings that collect changes', () => {
  it('a setting that is no flag is refused', () => {
    assert.throws(() => parseCoalescingFlags(['--setting=100ms'], true), /--setting: flags such as .*, not "100ms"/);
  });

  it('an unknown flag is refused, and one of peers that would be ignored', () => {
    assert.throws(() => parseCoalescingFlags(['--seting=--a=1'], true), /Unknown option '--seting'/);
    assert.throws(() => parseCoalescingFlags(['--other-flag=--a=1'], true), /--other-flag is a flag of peers/);
    assert.equal(parseCoalescingFlags(['--qps=20'], true).peers.settings.qps, 20);
  });
});

/** Three rounds of one scenario: what kube-controller-manager has, and the shares of the setting in each round. */
function measured(
  writes: readonly number[],
  p99: readonly number[],
  { wrong = [] }: { readonly wrong?: readonly string[] } = {},
): Coalescing {
  const run = (peer: string, round: number, figures: CoalescingRun['figures']): CoalescingRun => ({
    scenario: 'ready',
    peer,
    round,
    startedAt: '',
    figures: { sumCpu: 10, endpointsP99: 50, ...figures },
    wrong,
  });
  const runs = writes.flatMap((share, round) => [
    run('kube-controller-manager', round, { writes: 1000, slicesP99: 200, fewestWritesHalf: 900 }),
    run('endpointd', round, { writes: 1100, slicesP99: 20 }),
    run(peerWith(SETTING), round, { writes: 1000 * share, slicesP99: 200 * p99[round]! }),
  ]);
  return {
    format: 1,
    command: '',
    commit: '',
    program: '',
    machine: {},
    startedAt: '',
    endedAt: '',
    settings: [SETTING],
    runs,
  };
}

const verdictOf = (writes: readonly number[], p99: readonly number[]): string =>
  coalescingTable(measured(writes, p99)).at(-1)!.at(-1)!;

describe('what is said of settings', () => {
  it('a setting holds if all rounds allow to say so', () => {
    assert.equal(verdictOf([0.8, 0.9, 0.85, 0.8, 0.8], [0.3, 0.2, 0.25, 0.3, 0.3]), 'yes');
    assert.equal(verdictOf([0.8, 0.9, 0.85], [0.3, 0.2, 0.25]), 'yes, in few runs');
    assert.equal(verdictOf([0.8, 1.1, 0.85], [0.3, 0.2, 0.25]), 'within the noise');
    assert.equal(verdictOf([1.2, 1.1, 1.3, 1.2, 1.2], [0.3, 0.2, 0.25, 0.3, 0.3]), 'no');
    assert.equal(verdictOf([0.8, 0.9, 0.85], [0.6, 0.7, 0.8]), 'no, in few runs');
    assert.equal(verdictOf([0.8], [0.3]), 'yes, in one run');
    assert.equal(verdictOf([1.2], [0.3]), 'no, in one run');
  });

  it('the table has the ratios to kube-controller-manager, with intervals', () => {
    assert.deepEqual(coalescingTable(measured([0.8, 0.9, 0.85], [0.1, 0.1, 0.1])), [
      [
        'its defaults',
        'ready',
        '1.10 (1.10 to 1.10)',
        '1/10.0 (1/10.0 to 1/10.0)',
        '1.00 (1.00 to 1.00)',
        '1.00 (1.00 to 1.00)',
        'no, in few runs',
      ],
      [
        SETTING,
        'ready',
        '0.85 (0.80 to 0.90)',
        '1/10.0 (1/10.0 to 1/10.0)',
        '1.00 (1.00 to 1.00)',
        '1.00 (1.00 to 1.00)',
        'yes, in few runs',
      ],
    ]);
  });

  it('a p99 of few changes has their number beside it', () => {
    const few = measured([0.8], [0.1]);
    const of = (changes: number): string[] => {
      const runs = few.runs.map(({ figures, ...run }) => Object.assign(run, { figures: { changes, ...figures } }));
      return coalescingTable({ ...few, runs })[0]!.slice(2, 6);
    };
    assert.deepEqual(of(10_000), ['1.10', '1/10.0', '1.00', '1.00']);
    assert.deepEqual(of(500), ['1.10', '1/10.0 (500 a run)', '1.00 (500 a run)', '1.00']);
  });

  /** The mark if `SETTING` has these shares of kube-controller-manager's writes, scenario by scenario, and the defaults fail. */
  const markOf = (rounds: number, writes: readonly number[]): ReturnType<typeof coalescingMark> => {
    const each = writes.map((share, i) =>
      measured(
        Array.from({ length: rounds }, () => share),
        Array.from({ length: rounds }, () => 0.1),
      ).runs.map((run) => Object.assign(run, { scenario: COALESCING_SCENARIOS[i]! })),
    );
    return coalescingMark({ ...measured([1], [1]), endedAt: '2026-11-26T13:22', runs: each.flat() });
  };

  it('the mark is reached if one setting holds in every scenario', () => {
    const verdictsOf = (writes: readonly number[]): string[] =>
      [5, 3, 1].map((rounds) => markOf(rounds, writes).verdict);
    assert.deepEqual(verdictsOf([0.8, 0.8, 0.8, 0.8, 0.8, 0.8]), [
      'reached',
      'reached in few runs',
      'reached in one run',
    ]);
    assert.deepEqual(verdictsOf([0.8, 0.8, 0.8, 0.8, 0.8, 1.1]), [
      'not reached',
      'missed in few runs',
      'missed in one run',
    ]);
    assert.deepEqual(verdictsOf([0.8, 0.8]), ['not measured', 'not measured', 'not measured']);
  });

  it('the mark names the setting that comes nearest', () => {
    const { got, runs } = markOf(3, [0.8, 0.8, 1.1, 1.1, 1.1, 0.8]);
    assert.equal(got, `of 2 settings ${SETTING} comes nearest: it holds in 3 of 6, and fails in 3`);
    assert.equal(runs, '3, 2026-11-26');
  });

  it('the notes name the settings that hold, the limit and what was wrong', () => {
    const [settings, limit, p99s, ...wrong] = coalescingNotes(
      measured([0.8, 0.9, 0.85, 0.8, 0.8], [0.1, 0.1, 0.1, 0.1, 0.1]),
    );
    assert.equal(settings, `Settings that hold in every scenario: ${SETTING}. Settings that fail in none: ${SETTING}.`);
    assert.match(limit!, /both outputs in half of .* as a share of its writes: ready 0\.90\. Above 1/);
    assert.match(p99s!, /^A p99 is that of one run's changes/);
    assert.deepEqual(wrong, []);
    const broken = measured([1], [1], { wrong: ['late'] });
    assert.match(coalescingNotes(broken).join('\n'), /^WRONG: ready, endpointd, round 1: late$/m);
    assert.match(coalescingNotes(broken)[0]!, /in every scenario: none\. .* in none: none\.$/);
  });
});
