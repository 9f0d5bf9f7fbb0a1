import assert from 'node:assert/strict';
import { test } from 'node:test';
import { story } from '../support/stories.ts';
import { answerTo, smallAnswer } from '../support/tune-answer.ts';
import { textTable } from '../../src/cli/text-table.ts';
import { renderPage } from '../../src/page/page.ts';
import { answerPage } from '../../src/tune/report-page.ts';
import {
  answerText,
  backTestRows,
  changeRows,
  CHECK_COLUMNS,
  checkRows,
  milliseconds,
  outcomeRows,
} from '../../src/tune/report-text.ts';
import type { Answer } from '../../src/tune/answer.ts';
import { compare } from '../../src/tune/evidence.ts';
import type { Check } from '../../src/tune/bounds.ts';
import type { Outcome } from '../../src/tune/outcome.ts';
import { ownPart } from '../../src/tune/strangers.ts';
import { writesByTime } from '../../src/twin/figures.ts';
import { createLedger } from '../../src/twin/ledger.ts';
import { profileStory, USUAL_SIZES } from '../../src/twin/profiles.ts';
import { runModel } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

const BUSY = {
  name: 'busy',
  what: '',
  namespaces: 1,
  services: [{ count: 20, pods: 10 }],
  flipsPerSecond: 10,
  isStorm: false,
  rolloutsPerMinute: 0,
  podsPerSecond: 5,
};

/** A question that is answered soon. */
const QUICK = {
  run: {
    story: story({
      services: 3,
      changes: Array.from({ length: 60 }, (_, i) => [200 * i, i % 30, i < 30 ? 'ready' : 'unready'] as const),
    }),
    controller: 'kube-controller-manager',
    settings: DEFAULT_SETTINGS,
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  },
  objective: 'p99(add, endpoints)<=1s, min writes',
} as const;

const ANSWER = smallAnswer();
const TEXT = answerText(ANSWER, textTable);

test("the answer names the flags to set, and their gain beside today's", () => {
  assert.ok(TEXT.startsWith('kube-controller-manager, small: '));
  assert.match(
    TEXT,
    /^Recommended:\n {2}--endpoint-updates-batch-period=\d+ms\n {2}--endpointslice-updates-batch-period=\d+ms/m,
  );
  assert.match(TEXT, /^p99\(add\)<=1s +[\d.]+ m?s +[\d.]+ m?s +\d+ ms +\d+ ms +1\.00 s$/m);
  assert.match(TEXT, /^ready to slices: p99 +[\d.]+ m?s +\d+ ms$/m);
});

test('text and page tell what each flag brings, other settings, and the p90', () => {
  const page = renderPage(answerPage(ANSWER));
  const { changes, frontier } = ANSWER.recommendation!;
  assert.match(
    TEXT,
    /^one flag after the other +from +to +p99\(add\)<=1s +bytes\n--\S+-period +0s +\d+ms +\d+ ms +[\d.]+ kB\/s$/m,
  );
  assert.ok(page.includes('What each flag brings'));
  for (const { flag } of changes) assert.ok(page.includes(`>--${flag}<`), flag);
  assert.match(TEXT, /^ready to slices: p90 +[\d.]+ m?s +\d+ ms$/m);
  assert.ok(page.includes('ready to slices: p90'));
  const [, rows] = /^\d+ settings were tried\. .* No other .*:\np99 .*\n((?:.+\n)+)/m.exec(TEXT)!;
  assert.equal(rows!.trimEnd().split('\n').length, 5);
  assert.ok(frontier.length > 5);
});

test('few writes a second are told with their digits, and not as 0.0', () => {
  const { best, today } = ANSWER.recommendation!;
  const quiet = { ...best!, writesPerSecond: { slices: 0.0231, endpoints: 1234.5 } };
  const rows = outcomeRows(today, quiet).filter(([name]) => name!.startsWith('writes of'));
  assert.deepEqual(
    rows.map((row) => row[2]),
    ['0.023/s', '1,234.5/s'],
  );
});

test('the bounds of recommended settings meet the limits too', () => {
  for (const { bound, most } of ANSWER.recommendation!.best!.checks) assert.ok(bound <= most);
});

test('the same question has the same answer, to the byte', () => {
  assert.equal(JSON.stringify(smallAnswer()), JSON.stringify(ANSWER));
});

test('what limits each answer is in the data, and once in the text and on the page', () => {
  const { notes, assumptions } = ANSWER;
  assert.ok(notes.includes('the prediction was not checked: a profile has never been measured'), notes.join());
  assert.ok(assumptions.some((one) => one.includes('no time for a preStop hook')));
  // The page holds the data too, as its last section.
  const { sections, ...head } = answerPage(ANSWER);
  for (const shown of [TEXT, JSON.stringify({ ...head, sections: sections.slice(0, -1) })])
    for (const said of ['has never been measured', 'preStop']) assert.equal(shown.split(said).length, 2, said);
});

test('an answer for kube-controller-manager says whose more tokens are too', () => {
  const said = 'all others of the process may write faster too';
  const { sections, ...head } = answerPage(ANSWER);
  const page = JSON.stringify({ ...head, sections: sections.slice(0, -1) });
  for (const shown of [TEXT, page, JSON.stringify(ANSWER)]) assert.equal(shown.split(said).length, 2);
  const own = answerTo({ ...QUICK.run, controller: 'endpointd' }, null, QUICK.objective);
  assert.ok(!JSON.stringify(own).includes(said));
});

test('the answer says up to how many changes a second and nodes it is valid', () => {
  assert.match(
    TEXT,
    /^Valid up to (at least )?[\d.,]+ changes a second \([\d.]+ x those of today\): each limit holds\. No limit depends on the number of nodes: that the API server does not slow down with more of them is assumed\.$/m,
  );
  assert.ok(ANSWER.assumptions.some((one) => one.includes('does not slow down with more writes or more watchers')));
  const bound = smallAnswer('bytes(slices)<=2MB/s, min p99(add)');
  const { nodesMax, best } = bound.recommendation!;
  const perNode = best!.bytesPerSecond.slices.protobuf / 100;
  assert.ok(nodesMax! >= 100 && nodesMax! * perNode <= 2e6, `${nodesMax} nodes, ${perNode} bytes each`);
  // Each ladder has left the other number alone.
  assert.match(
    answerText(bound, textTable),
    / x those of today\) with 100 nodes, and up to (at least )?[\d,]+ nodes with the changes of today, but not both at once: each /,
  );
});

test('the answer says what holds up to the load that it names', () => {
  const saidBy = (answer: Answer): string =>
    /^(?:Valid up to [^:]*: |(?=The objective ))(.*)$/m.exec(answerText(answer, textTable))![1]!;
  const assumed = /No limit depends on the number of nodes: .* is assumed\./.exec(TEXT)![0];
  assert.equal(saidBy(ANSWER), `each limit holds. ${assumed}`);
  const twice = "p99(add) is at most 2 times its bound of today's load.";
  assert.equal(saidBy(smallAnswer('bytes(slices)<=2MB/s, min p99(add)')), `each limit holds, and ${twice}`);
  assert.equal(saidBy(smallAnswer('min p99(add)')), `${twice} ${assumed}`);
  assert.equal(saidBy(smallAnswer('min bytes')), 'The objective has no limit that more changes or nodes could break.');
});

test('the answer tells bytes by resource and encoding, and the CPU of the API servers', () => {
  for (const row of [
    'slices to all watchers, in protobuf',
    'slices to all watchers, in JSON',
    'Endpoints to all watchers, in JSON',
  ])
    assert.match(TEXT, new RegExp(`^${row} +[\\d.]+ \\w+/s`, 'm'));
  assert.match(TEXT, /^CPU of the API servers for its writes +[\d.]+ %/m);
});

test('what nothing was predicted for has no prediction, and no error', () => {
  const nothing = { samples: { endpoints: [], slices: [] }, writes: { endpoints: [], slices: [] } };
  const slices = [{ atMs: 0, latencyMs: 5, kind: 'add' as const }];
  const comparisons = compare(nothing, { ...nothing, samples: { endpoints: [], slices } });
  const backTest = { comparisons, worst: 'no-prediction' } as const;
  assert.match(answerText({ ...ANSWER, backTest }, textTable), /^p50 of slices +5\.0 ms +- +no prediction$/m);
});

test('text and page say how many settings were tried, and of which draws a p99 is', () => {
  const page = renderPage(answerPage(ANSWER));
  for (const text of [TEXT, page]) assert.match(text, /\b\d+ settings were tried\./);
  for (const text of [TEXT, page]) assert.match(text, /These p99s are by the draws of the search, and those of today/);
});

test('the headline counts one flag as one', () => {
  const { best } = ANSWER.recommendation!;
  const settings = { ...ANSWER.today, qps: 77 };
  const recommendation = { ...ANSWER.recommendation!, best: { ...best!, settings } };
  assert.equal(answerPage({ ...ANSWER, recommendation }).headline.figure, '1 flag');
});

test('the answer as data is escaped as -o json escapes it', () => {
  const hostile = { ...ANSWER, from: { ...ANSWER.from, name: '\u009B\u{E0041}"' } };
  const { entries } = answerPage(hostile).sections.at(-1)!;
  const said = entries![0]!.changes[0]!.after!;
  assert.ok(said.includes(String.raw`"name":"\u009b\udb40\udc41\""`));
  assert.deepEqual(JSON.parse(said), JSON.parse(JSON.stringify(hostile)));
});

test('writes over time end with the story, also where nothing is written at its end', () => {
  const writes = [0, 1000, 9000, 21_000, 29_000].map((atMs) => ({ atMs, endpoints: 1 }));
  const ledger = { ...createLedger(USUAL_SIZES), writes: { endpoints: [], slices: writes } };
  assert.deepEqual(writesByTime(ledger, 45_000), [0.3, 0, 0.2, 0]);
  // The last five seconds are with the ten before, and what comes after the story is not.
  assert.deepEqual(writesByTime(ledger, 25_000), [0.3, 1 / 15]);
  assert.deepEqual(writesByTime(ledger, 500), [2]);
});

test('text and page say which versions have answered, recorded and are played', () => {
  const recorded = { ...ANSWER, from: { ...ANSWER.from, recordedBy: '0.0.9' } };
  for (const [answer, expected] of [
    [ANSWER, 'endpointd 0.1.0, kube-controller-manager as 1.36 does it'],
    [recorded, 'endpointd 0.1.0, recorded by endpointd 0.0.9, kube-controller-manager as 1.36 does it'],
    [{ ...recorded, controller: 'endpointd' }, 'endpointd 0.1.0, recorded by endpointd 0.0.9'],
  ] as const) {
    assert.ok(answerText(answer, textTable).includes(`\nversions: ${expected}\n`), expected);
    const facts = answerPage(answer).facts.slice(2);
    assert.equal(facts.map(({ name, value }) => `${name} ${value}`).join(', '), expected);
  }
});

test("today's bounds stand beside those of the settings to set", () => {
  const { today, best } = ANSWER.recommendation!;
  const [own, then] = [today.checks[0]!, best!.checks[0]!];
  const row = [own.value, own.bound, then.value, then.bound, own.most].map((ms) => milliseconds(ms));
  assert.deepEqual(checkRows(today, best!)[0], ['p99(add)<=1s', ...row]);
  assert.ok(own.bound > own.value);
  assert.deepEqual(CHECK_COLUMNS.slice(1, 3), ['today', 'today, at most in 9 of 10']);
  for (const shown of [TEXT, renderPage(answerPage(ANSWER))])
    for (const said of ['today, at most in 9 of 10', milliseconds(own.bound)]) assert.ok(shown.includes(said), said);
});

for (const [text, most, value, expected] of [
  ['bytes<=2MB/s', 2e6, 2.02e6, ['2.02 MB/s', '2.00 MB/s']],
  ['bytes<=10GB/s', 10e9, 9.2e9, ['9.2 GB/s', '10.0 GB/s']],
  ['p99<=1s', 1000, 1004, ['1.004 s', '1.000 s']],
  ['p99<=1s', 1000, 1000, ['1.00 s', '1.00 s']],
  ['later(1s)<=0.1%', 0.001, 0.001_02, ['0.102 %', '0.100 %']],
  ['writes<=50/s', 50, 50.04, ['50.04/s', '50/s']],
  ['cpu<=5%', 50, 50.1, ['5.01 % of a core', '5.00 % of a core']],
] as const) {
  test(`${value} does not look like the limit of ${text}, unless it is that`, () => {
    const outcome = { ...ANSWER.recommendation!.today, checks: [{ text, value, bound: value, most }] };
    assert.deepEqual(checkRows(outcome, outcome)[0]!.slice(-2), expected);
  });
}

test('what one flag after the other brings does not look like the limit either', () => {
  const { recommendation } = ANSWER;
  const changes = recommendation!.changes.map((change) =>
    Object.assign({}, change, { values: { constraints: [1004], goal: 1 } }),
  );
  assert.equal(changeRows({ ...recommendation!, changes })[0]![3], '1.004 s');
});

test('the page draws the latencies of removals too, as far as there are any', () => {
  const { today, best } = ANSWER.recommendation!;
  const removed = today.latencies.find(({ output, kind }) => output === 'slices' && kind === 'remove')!;
  assert.deepEqual([today.removalDistribution[49], today.removalDistribution[98]], [removed.p50, removed.p99]);
  const plotsOf = (answer: Answer): (readonly [string, number[]])[] =>
    answerPage(answer)
      .sections.flatMap(({ plots = [] }) => plots)
      .flatMap((plot) =>
        plot.kind === 'lines' && plot.title.startsWith('From a pod')
          ? [[plot.title, plot.series[1]!.points.map(([ms]) => ms)] as const]
          : [],
      );
  const shown = (distribution: readonly number[]): number[] => distribution.map((ms) => Math.max(1, ms));
  assert.deepEqual(plotsOf(ANSWER), [
    ['From a pod that is ready to its slice', shown(best!.distribution)],
    ['From a pod that goes to its slice', shown(best!.removalDistribution)],
  ]);
  const recommendation = { ...ANSWER.recommendation!, today: { ...today, removalDistribution: [] } };
  assert.deepEqual(
    plotsOf({ ...ANSWER, recommendation }).map(([title]) => title),
    ['From a pod that is ready to its slice'],
  );
});

test('where Endpoints alone are written, all that is told of additions is of them', () => {
  const { run } = QUICK;
  const answer = answerTo({ ...run, story: { ...run.story, outputs: ['endpoints'] } }, null, QUICK.objective);
  const { additionsTo, today, best, frontier, bindings, grid } = answer.recommendation!;
  const p99Of = ({ latencies }: Outcome): number =>
    latencies.find(({ output, kind }) => output === 'endpoints' && kind === 'add')!.p99;
  assert.equal(additionsTo, 'endpoints');
  assert.equal(bindings[0]!.p99Ms, p99Of(best!));
  assert.equal(today.distribution[98], p99Of(today));
  assert.ok(frontier[0]!.p99Ms > 0 && grid.p99Ms.flat().every((ms) => ms > 0));
  for (const shown of [answerText(answer, textTable), renderPage(answerPage(answer))]) {
    assert.match(shown, /moves the p99 of additions to Endpoints/);
    assert.doesNotMatch(shown, /additions to slices|to its slice/);
  }
});

test('without additions no p99 of them is told, nor what binds it', () => {
  const gone = story({ services: 3, changes: [0, 10, 20].map((pod) => [1000 * pod, pod, 'gone'] as const) });
  const answer = answerTo({ ...QUICK.run, story: gone }, null, 'min writes');
  const { frontier, bindings, grid, today } = answer.recommendation!;
  assert.deepEqual([frontier, today.distribution], [[], []]);
  assert.ok([...bindings.map(({ p99Ms }) => p99Ms), ...grid.p99Ms.flat()].every(Number.isNaN));
  for (const shown of [answerText(answer, textTable), renderPage(answerPage(answer))])
    assert.doesNotMatch(shown, /p99 of additions|No resource binds|NaN/);
});

test('settings nearest to an unreachable objective are not recommended', () => {
  const impossible = smallAnswer('p99(add)<=1ms, min bytes');
  assert.equal(impossible.recommendation!.best, null);
  assert.match(
    answerText(impossible, textTable),
    /^Nothing meets the objective: not p99\(add\)<=.*\. The nearest setting:$/m,
  );
});

test('what meets nothing is valid for no load, in the text and on the page', () => {
  const impossible = smallAnswer('bytes<=1/s, min p99(add)');
  for (const [answer, expected] of [
    [ANSWER, true],
    [impossible, false],
  ] as const) {
    assert.equal(answerText(answer, textTable).includes('Valid up to '), expected);
    assert.equal(renderPage(answerPage(answer)).includes('Valid up to '), expected);
  }
});

test('settings under which nothing is ever shown show all changes too late', () => {
  const settings = { ...DEFAULT_SETTINGS, endpointsBatchMs: 600_000, slicesBatchMs: 600_000 };
  const { today, best } = smallAnswer('later(1s)<=1%, min bytes', 'small', null, [], settings).recommendation!;
  assert.equal(today.checks[0]!.value, 1);
  assert.deepEqual(
    today.latencies.map(({ laterThanSecond }) => laterThanSecond),
    [1, 1, 1, 1],
  );
  assert.ok(best!.checks[0]!.bound <= 0.01);
});

test('a recording without a comparison leads to no recommendation', () => {
  const none = { endpoints: [], slices: [] };
  const answer = smallAnswer('min bytes', 'rec', { samples: none, writes: none });
  assert.deepEqual(answer.refusals, [
    'the recording has 168 changes, and fewer than 1000 say too little',
    'nothing that was written in the second half of the recording can be compared',
  ]);
  assert.equal(answer.recommendation, null);
});

test('a prediction that is off says to name the controller that was recorded', () => {
  // A write a millisecond, as no controller with these flags makes them.
  const writes = Array.from({ length: 30_000 }, (_, atMs) => ({ atMs, endpoints: 10 }));
  const shown = writes.map(({ atMs }) => ({ atMs, kind: 'add', latencyMs: 10 }) as const);
  const evidence = { samples: { endpoints: [], slices: shown }, writes: { endpoints: [], slices: writes } };
  assert.match(
    smallAnswer('min bytes', 'rec', evidence).refusals.at(-1)!,
    /^the prediction for today's flags of kube-controller-manager is off by \d+ %, and more than 30 % is not to be believed: if another controller ran meanwhile, name it with --controller$/,
  );
});

test('an output that another controller keeps is left out', () => {
  const story = profileStory({ ...BUSY, minutes: 1 }, 1);
  const run = {
    story,
    controller: 'endpointd',
    settings: DEFAULT_SETTINGS,
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  } as const;
  const { samples, writes } = runModel({ ...run, story: { ...story, outputs: ['slices'] } });
  // Endpoints as no endpointd writes them.
  const others = Array.from({ length: 5000 }, (_, i) => ({ atMs: 12 * i, endpoints: 10 }));
  const evidence = { samples, writes: { ...writes, endpoints: others } };
  const told = { endpoints: ['kube-controller-manager'], slices: ['endpointd'] } as const;
  const own = ownPart(story, evidence, told, 'endpointd');
  assert.deepEqual(own.notes, ['endpoints are left out: kube-controller-manager has written them']);
  const { backTest } = answerTo({ ...run, story: own.story }, own.evidence, 'min writes(slices)');
  const { worst } = backTest!;
  assert.ok(typeof worst === 'number' && worst < 0.1, JSON.stringify(backTest));
  assert.ok(backTest!.comparisons.every(({ output }) => output === 'slices'));
});

test('a share below 0.01 % has two significant digits', () => {
  const { recommendation } = ANSWER;
  const shown = (most: number): string => {
    const check = { text: 'later(1s)', value: 0, bound: 0, most };
    const today = { ...recommendation!.today, checks: [check] };
    return checkRows(today, today)[0]!.at(-1)!;
  };
  assert.deepEqual([0.5, 0.05, 0.001, 0.0001, 0.00001, 0.0000025, 0].map(shown), [
    '50.0 %',
    '5.0 %',
    '0.10 %',
    '0.01 %',
    '0.0010 %',
    '0.00025 %',
    '0.0 %',
  ]);
});

test('an error that is not held against the prediction is called small, or chance', () => {
  const comparison = { figure: 'p50', output: 'slices', unit: 'ms', measured: 2, small: 10 } as const;
  const errorOf = (predicted: number, error: number, least = predicted, most = predicted): string =>
    backTestRows([{ ...comparison, predicted, error, chance: { least, most } }])[0]![3]!;
  assert.equal(errorOf(4, 0.5), '50.0 %, by at most 10 ms: small');
  assert.equal(errorOf(40, 19), '1900.0 %');
  assert.equal(errorOf(2.1, 0.05), '5.0 %');
  // A refusal tells what is beyond chance.
  assert.equal(errorOf(100, 49, 20, 1000), '4900.0 %, and 900.0 % beyond chance');
  assert.equal(errorOf(900, 449, 2, 1000), '44900.0 %, but chance alone makes it 2.0 ms to 1.00 s');
});

test('a prediction that lacks what was measured is not called off by a number', () => {
  const run = {
    story: { ...profileStory({ ...BUSY, minutes: 1 }, 1), changes: [] },
    controller: 'endpointd',
    settings: DEFAULT_SETTINGS,
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  } as const;
  const slices = [{ atMs: 45_000, kind: 'add', latencyMs: 10, endpoints: 10 } as const];
  const evidence = { samples: { endpoints: [], slices }, writes: { endpoints: [], slices } };
  const { refusals, backTest } = answerTo(run, evidence, 'min bytes');
  assert.match(
    refusals.at(-1)!,
    /^the prediction for today's flags of endpointd has nothing of a figure that was measured: if another controller /,
  );
  // An error without an end would be null in JSON, and null says that nothing was measured.
  assert.equal(backTest!.worst, 'no-prediction');
});

test('a latency of which few changes tell leads to no recommendation', () => {
  const none = { endpoints: [], slices: [] };
  const { refusals } = smallAnswer('p99(add)<=1s, min bytes', 'rec', { samples: none, writes: none });
  assert.equal(
    refusals.at(-1),
    'the second half of the recording has 0 changes for p99(add)<=1s, and fewer than 100 say too little',
  );
});

test('a worst figure of which no five minutes have enough changes is refused', () => {
  const durationMs = 1_800_000;
  const run = { ...QUICK.run, story: { ...QUICK.run.story, durationMs } };
  const refusalsOf = (perPart: number): readonly string[] => {
    const slices = Array.from({ length: 6 * perPart }, (_, i) => {
      return { atMs: (i * durationMs) / (6 * perPart), kind: 'add', latencyMs: 10, endpoints: 10 } as const;
    });
    const evidence = { samples: { endpoints: [], slices }, writes: { endpoints: [], slices } };
    return answerTo(run, evidence, 'p99(add, worst)<=1s, min writes').refusals.filter((why) => why.includes('p99(add'));
  };
  assert.deepEqual(refusalsOf(102), []);
  assert.deepEqual(refusalsOf(90), [
    'no five minutes of the recording have more than 90 changes for p99(add, worst)<=1s, and fewer than 100 say too little',
  ]);
});

test('a worst figure that a profile does not have is noted, and nothing meets it', () => {
  const run = { ...QUICK.run, story: { ...QUICK.run.story, durationMs: 300_000 } };
  const answer = answerTo(run, null, 'p99(add, worst)<=1s, writes(worst)<=100/s, min later(1s, worst)');
  assert.equal(answer.recommendation!.best, null);
  const of = (text: string): string =>
    `no five minutes have enough changes for ${text}: there is no such figure, and nothing meets an objective that asks for it`;
  assert.deepEqual(
    answer.notes.filter((note) => note.includes('five minutes')),
    [of('p99(add, worst)<=1s'), of('later(1s, worst)')],
  );
  for (const shown of [answerText(answer, textTable), renderPage(answerPage(answer))]) {
    assert.match(shown, /Nothing meets the objective: not p99\(add, worst\)(<=|&lt;=)1s and not later\(1s, worst\)\./);
    assert.doesNotMatch(shown, /NaN/);
  }
});

test('a hostile name is shown as text, in the terminal and on the page', () => {
  const name = '\u001B[2J<script>x</script>';
  const refusals = [`${name}: of its writes the API server refused 3 (429)`];
  const hostile = { ...ANSWER, from: { ...ANSWER.from, name }, notes: [name], refusals };
  assert.ok(!answerText(hostile, textTable).includes('\u001B'));
  assert.ok(!renderPage(answerPage(hostile)).includes('<script>x'));
});

test('events that concern no Service are no changes to judge a prediction by', () => {
  const quiet = Array.from({ length: 2000 }, (_, index) => ({
    atMs: 0,
    namespace: 0,
    kind: index % 2 === 0 ? ('quiet' as const) : ('pod' as const),
    places: [],
    service: -1,
  }));
  const none = { endpoints: [], slices: [] };
  const answer = smallAnswer('min bytes', 'rec', { samples: none, writes: none }, quiet);
  assert.equal(answer.refusals[0], 'the recording has 168 changes, and fewer than 1000 say too little');
});

test('bounds are raised by as much as was written above the prediction', () => {
  const story = profileStory({ ...BUSY, minutes: 2 }, 1);
  const controller = 'endpointd';
  const run = {
    story,
    controller,
    settings: { ...DEFAULT_SETTINGS, qps: 0 },
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  } as const;
  const { samples, writes } = runModel({ ...run, seed: 9 });
  // Every fifth write of a slice was two.
  const slices = writes.slices.flatMap((write, i) => (i % 5 === 0 ? [write, write] : [write]));
  const evidence = { samples, writes: { ...writes, slices } };
  const { recommendation, refusals } = answerTo(run, evidence, 'writes(slices)<=1000/s, min bytes');
  assert.deepEqual(refusals, []);
  const [{ value, bound }] = recommendation!.today.checks as [Check];
  assert.ok(bound > 1.19 * value, `${value} writes a second, at most ${bound}`);
});

test('a fit tells each of its runs, unless there are few events', () => {
  const saidOf = (minutes: number): string[] => {
    const run = {
      story: profileStory({ ...BUSY, minutes }, 1),
      controller: 'endpointd',
      settings: DEFAULT_SETTINGS,
      calibration: DEFAULT_CALIBRATION,
      seed: 1,
    } as const;
    const { samples, writes } = runModel({ ...run, seed: 9 });
    // Three times as many as any prediction has, so nothing is searched.
    const slices = writes.slices.flatMap((write) => [write, write, write]);
    const texts: string[] = [];
    answerTo(run, { samples, writes: { ...writes, slices } }, 'min writes', (text) => texts.push(text));
    return texts;
  };
  assert.deepEqual(saidOf(0.5), []);
  const said = saidOf(2);
  assert.deepEqual(said.slice(0, 2), ['fit: 1 run', 'fit: 2 runs']);
  assert.equal(said.at(-1), `fit: ${said.length} runs`);
});

test('bytes are those of the recorded slices where these were less full', () => {
  const run = {
    story: profileStory({ ...BUSY, services: [{ count: 1, pods: 300 }], minutes: 2 }, 1),
    controller: 'endpointd',
    settings: { ...DEFAULT_SETTINGS, qps: 0 },
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  } as const;
  const { samples, writes } = runModel({ ...run, seed: 9 });
  const slices = writes.slices.map(({ atMs }) => ({ atMs, endpoints: 30 }));
  const answer = answerTo(run, { samples, writes: { ...writes, slices } }, 'min bytes(slices)');
  assert.deepEqual(answer.refusals, []);
  const { bytesPerSecond, writesPerSecond, checks } = answer.recommendation!.today;
  const { base, each } = USUAL_SIZES.slices.protobuf;
  const asRecorded = 100 * writesPerSecond.slices * (base + 30 * each);
  for (const bytes of [bytesPerSecond.slices.protobuf, checks[0]!.value])
    assert.ok(Math.abs(bytes / asRecorded - 1) < 1e-9, `${bytes} instead of ${asRecorded}`);
  assert.ok(checks[0]!.bound < 1.5 * asRecorded, `${checks[0]!.bound} at most, beside ${asRecorded}`);
  const said =
    'Recorded writes of slices had 30.0 endpoints on average, and 100.0 were predicted: bytes and apiserver-cpu count 0.30 times as many as are played, under each setting.';
  assert.equal(answer.assumptions.at(-1), said);
  const text = answerText(answer, textTable);
  assert.match(text, /^endpoints a write of slices +30\.0 +100\.0 +233\.3 %: bytes are corrected by it$/m);
  assert.match(text, /^endpoints a write of endpoints +300\.0 +300\.0 +0\.0 %$/m);
});
