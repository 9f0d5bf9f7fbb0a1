import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObjectiveError, parseObjective, scoreOf, smallMs, valueOf, valuesOf } from '../../src/tune/objective.ts';
import { createLedger, type Ledger, type ObjectSizes } from '../../src/twin/ledger.ts';

const SIZES: ObjectSizes = {
  endpoints: { protobuf: { base: 50, each: 10 }, json: { base: 100, each: 20 } },
  slices: { protobuf: { base: 10, each: 5 }, json: { base: 20, each: 10 } },
};
const SCOPE = { durationMs: 10_000, nodes: 100, endpointsWatchers: 1 };

/** Additions to slices that took 1 to 100 ms, one second each apart. */
function ledger(): Ledger {
  const made = createLedger(SIZES);
  for (let i = 1; i <= 100; i++) made.samples.slices.push({ atMs: i, kind: 'add', latencyMs: i });
  made.samples.slices.push({ atMs: 0, kind: 'remove', latencyMs: 5000 });
  for (let i = 0; i < 50; i++) made.writes.slices.push({ atMs: i, endpoints: 2 });
  for (let i = 0; i < 20; i++) made.writes.endpoints.push({ atMs: i, endpoints: 10 });
  made.cpu.push({ atMs: 0, ms: 300 }, { atMs: 1000, ms: 100 });
  return made;
}

function excessOf(text: string, run: Ledger): number {
  const objective = parseObjective(text);
  return scoreOf(objective, valuesOf(objective, run, SCOPE)).excess;
}

const MINUTE_MS = 60_000;

/** CPU for a slice of two endpoints that goes to 100 watchers as 20 bytes. */
const SLICE_MS = 1.4 + 2 * 0.028 + 100 * (0.01 + 0.02 * 0.0009);
/** CPU for Endpoints of ten addresses that go to one watcher as 150 bytes. */
const ENDPOINTS_MS = 1.4 + 10 * 0.007 + 0.01 + 0.15 * 0.0009;

/**
 * Twelve and a half minutes. In the second five, each change takes 10 s in place of 1 s, and twice as much is written and computed.
 * In the last half minute, which belongs to the five minutes at the end alone, there is ten times as much to do. One
 * change takes a minute.
 */
function busyLater(): Ledger {
  const made = createLedger(SIZES);
  for (const [fromMs, count, latencyMs] of [
    [0, 100, 1000],
    [5 * MINUTE_MS, 200, 10_000],
    [12.2 * MINUTE_MS, 1000, 1000],
  ] as const) {
    for (let i = 0; i < count; i++) {
      const atMs = fromMs + i;
      made.samples.slices.push({ atMs, kind: 'add', latencyMs });
      made.writes.slices.push({ atMs, endpoints: 2 });
      made.cpu.push({ atMs, ms: 3 });
    }
  }
  made.samples.slices.push({ atMs: 11 * MINUTE_MS, kind: 'remove', latencyMs: MINUTE_MS });
  return made;
}

for (const [text, expected] of [
  ['p50(worst)', 10_000],
  ['p50', 1000],
  // One removal is too few for a share of five minutes.
  ['p50(remove, worst)', Number.NaN],
  ['later(2s, remove, worst)', Number.NaN],
  ['p99.9(worst)', 1000],
  ['later(2s, worst)', 1],
  ['later(2s)', 201 / 1301],
  ['writes(worst)', 1000 / 300],
  ['writes', 1300 / 750],
  ['bytes(slices, worst)', (1000 / 300) * 100 * 20],
  ['cpu(worst)', (1000 / 300) * 3],
  ['apiserver-cpu(worst)', (1000 / 300) * SLICE_MS],
] as const) {
  test(`the figure ${text} of a run that is busy later is ${expected.toFixed(2)}`, () => {
    const { expression } = parseObjective(`min ${text}`).goal;
    const found = valueOf(expression, busyLater(), { ...SCOPE, durationMs: 12.5 * MINUTE_MS });
    assert.equal(found.toFixed(6), expected.toFixed(6));
  });
}

test('five minutes with too few changes have no figure, however late they were', () => {
  const worstOf = (perPart: number, late: number): number => {
    const made = createLedger(SIZES);
    for (let i = 0; i < 6 * perPart; i++)
      made.samples.slices.push({
        atMs: (i * 5 * MINUTE_MS) / perPart,
        kind: 'add',
        latencyMs: i < late ? MINUTE_MS : 10,
      });
    const { constraints } = parseObjective('p99(add, worst)<=1s, min writes');
    return valueOf(constraints[0]!.expression, made, { ...SCOPE, durationMs: 30 * MINUTE_MS });
  };
  // The p99 of the whole run is 10 ms in each case.
  assert.deepEqual([worstOf(90, 5), worstOf(102, 5), worstOf(102, 0)], [Number.NaN, MINUTE_MS, 10]);
});

test('what has no figure meets no limit, and is the worst of all goals', () => {
  const objective = parseObjective('min p99(worst)');
  assert.equal(scoreOf(objective, { constraints: [], goal: Number.NaN }).goal, Infinity);
  assert.equal(excessOf('p99(worst)<=1s, min writes', createLedger(SIZES)), 0);
  const { constraints } = parseObjective('p99(worst)<=1s, min writes');
  assert.ok(
    scoreOf({ constraints, goal: constraints[0]!, text: '' }, { constraints: [Number.NaN], goal: 0 }).excess > 1,
  );
});

test('the worst five minutes of a shorter run are all of it', () => {
  for (const figure of ['writes', 'cpu', 'bytes']) assert.equal(value(`${figure}(worst)`), value(figure), figure);
});

function value(text: string): number {
  return valueOf(parseObjective(`min ${text}`).goal.expression, ledger(), SCOPE);
}

test('CPU is limited by milliseconds a second, or by a share of a core', () => {
  const limits = parseObjective('cpu<=50, cpu<=5%, apiserver-cpu<=120%, min bytes').constraints;
  assert.deepEqual(
    limits.map(({ most }) => most),
    [50, 50, 1200],
  );
});

test('an objective has constraints and one goal', () => {
  const { constraints, goal } = parseObjective('p99(add)<=1s, later(1s)<=0.1%, writes(slices)<=50/s, min bytes');
  assert.deepEqual(
    constraints.map(({ text, most }) => [text, most]),
    [
      ['p99(add)<=1s', 1000],
      ['later(1s)<=0.1%', 0.001],
      ['writes(slices)<=50/s', 50],
    ],
  );
  assert.equal(goal.text, 'bytes');
});

for (const [text, expected] of [
  ['p50(add)', 50],
  ['p99(add)', 99],
  ['p99.9', 5000],
  ['p50(remove, slices)', 5000],
  ['p99(add, endpoints)', 0],
  ['later(90ms, add)', 0.1],
  ['writes', 7],
  ['writes(endpoints)', 2],
  ['bytes(slices)', 100 * 100],
  ['bytes', 100 * 100 + 300],
  ['bytes(protobuf)', 100 * 100 + 300],
  ['bytes(slices, json)', 100 * 200],
  ['cpu', 40],
  // 50 writes to 100 watchers and 20 to one.
  ['apiserver-cpu', (50 * SLICE_MS + 20 * ENDPOINTS_MS) / 10],
] as const) {
  test(`the figure ${text} is ${expected}`, () => assert.equal(value(text).toFixed(9), expected.toFixed(9)));
}

for (const [constraint, excess] of [
  ['p99<=1s', 599],
  ['p99(remove)<=1s', 0],
  ['later(1s)<=50%', 1],
  ['later(1h, add)<=50%', 0],
  ['later(1s, endpoints)<=50%', 0],
] as const) {
  test(`if no change is shown until the end, ${constraint} is exceeded by ${excess}`, () => {
    const never = createLedger(SIZES);
    never.unshown.slices.push({ atMs: 0, kind: 'add', latencyMs: 600_000 });
    assert.equal(excessOf(`${constraint}, min writes`, never), excess);
  });
}

for (const [text, expected] of [
  ['p99(remove)', 2000],
  ['later(1s, remove)', 1],
  ['later(3s, remove)', 0],
  ['p99(add)', 0],
] as const) {
  test(`if removals of two seconds were never shown, ${text} is ${expected}`, () => {
    const unshown = createLedger(SIZES);
    for (let i = 0; i < 100; i++) unshown.unshown.slices.push({ atMs: i, kind: 'remove', latencyMs: 2000 });
    assert.equal(valueOf(parseObjective(`min ${text}`).goal.expression, unshown, SCOPE), expected);
  });
}

test('a change that nothing showed counts if it waited longer than others took', () => {
  const some = ledger();
  some.unshown.slices.push({ atMs: 0, kind: 'add', latencyMs: 20 });
  for (let i = 0; i < 3; i++) some.unshown.slices.push({ atMs: 0, kind: 'add', latencyMs: 3000 });
  assert.equal(valueOf(parseObjective('min p50(add)').goal.expression, some, SCOPE), 52);
  assert.equal(valueOf(parseObjective('min p99(add)').goal.expression, some, SCOPE), 3000);
});

for (const [text, message] of [
  ['p99<=1s', 'objective: "p99<=1s" has no goal, such as "min bytes"'],
  ['min bytes, min writes', 'objective: there are two goals, "bytes" and "writes"'],
  ['min byte', 'objective: "byte" is no figure: is bytes meant?'],
  ['p95<=1s, min bytes', 'objective: "p95" is no figure: is p90 meant?'],
  [
    'p99(adds)<=1s, min bytes',
    'objective: "adds" in "p99(adds)" is no argument of this figure: known are add, remove, any, endpoints, slices, worst',
  ],
  [
    'p99(json)<=1s, min bytes',
    'objective: "json" in "p99(json)" is no argument of this figure: known are add, remove, any, endpoints, slices, worst',
  ],
  [
    'p99(add, remove)<=1s, min bytes',
    'objective: "p99(add, remove)" has both "add" and "remove": one of them is too many',
  ],
  [
    'p99(worst, add, worst)<=1s, min bytes',
    'objective: "p99(worst, add, worst)" has both "worst" and "worst": one of them is too many',
  ],
  [
    'later(1s, 2s)<=1%, min bytes',
    'objective: "2s" in "later(1s, 2s)" is no argument of this figure: known are add, remove, any, endpoints, slices, worst',
  ],
  [
    'later(1s, endpoints, slices)<=1%, min bytes',
    'objective: "later(1s, endpoints, slices)" has both "endpoints" and "slices": one of them is too many',
  ],
  ['later(-1s)<=1%, min bytes', 'objective: "later(-1s)" names no time, as later(1s) does'],
  [
    'min writes(add)',
    'objective: "add" in "writes(add)" is no argument of this figure: known are endpoints, slices, worst',
  ],
  [
    'min bytes(add)',
    'objective: "add" in "bytes(add)" is no argument of this figure: known are endpoints, slices, protobuf, json, worst',
  ],
  [
    'min bytes(json, slices, protobuf)',
    'objective: "bytes(json, slices, protobuf)" has both "json" and "protobuf": one of them is too many',
  ],
  ['min cpu(slices)', 'objective: "slices" in "cpu(slices)" is no argument of this figure: known are worst'],
  [
    'min apiserver-cpu(json)',
    'objective: "json" in "apiserver-cpu(json)" is no argument of this figure: known are worst',
  ],
  ['p99<=1, min bytes', 'objective: "1" in "p99<=1" is no time, such as 500ms'],
  ['later<=1%, min bytes', 'objective: "later" names no time, as later(1s) does'],
  ['later(1s)<=1, min bytes', 'objective: "1" in "later(1s)<=1" is no share, such as 0.1%'],
  ['writes<=many, min bytes', 'objective: "many" in "writes<=many" is no number a second, such as 50/s or 2MB/s'],
  ['later(1s)<=150%, min bytes', 'objective: "150%" in "later(1s)<=150%" is no share, such as 0.1%'],
  ['writes<=50MB/s, min bytes', 'objective: "50MB/s" in "writes<=50MB/s" is no number a second, such as 50/s or 2MB/s'],
  ['p99, min bytes', 'objective: "p99" is neither a limit (p99(add)<=1s) nor a goal (min bytes)'],
] as const) {
  test(`an objective is refused: ${text}`, () =>
    assert.throws(
      () => parseObjective(text),
      (error) => error instanceof ObjectiveError && error.message === message,
    ));
}

for (const [text, ms] of [
  ['p99(add)<=1s, min bytes', 10],
  ['p99(add)<=1s, p50(remove)<=50ms, min writes', 5],
  ['later(20ms)<=1%, min writes', 2],
  ['writes<=50/s, min cpu', 10],
  ['writes<=50/s, min p99(add)', 0],
] as const) {
  test(`${ms} ms are a small difference for ${text}`, () => assert.equal(smallMs(parseObjective(text)), ms));
}
