import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullChoice } from '../support/full-choice.ts';
import { FITTED } from '../../src/tune/back-test.ts';
import { boundsOf, type Question, scopeOf, type Unsure, variantsOf } from '../../src/tune/bounds.ts';
import { choose } from '../../src/tune/choice.ts';
import { figureOfDraws } from '../../src/tune/drawn-figures.ts';
import { createLooks, firstOf, type Look, lookAt, playAll } from '../../src/tune/look.ts';
import { figureOf, parseObjective, partsOf, valueOfDraw } from '../../src/tune/objective.ts';
import { cutInBlocks, drawnSpans, EVER, resamples } from '../../src/tune/resample.ts';
import { flagsOf } from '../../src/tune/search.ts';
import { createTrials } from '../../src/tune/trials.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { runModel } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

const UNSURE = Object.fromEntries(FITTED.map(({ name }) => [name, { down: 1.25, up: 1.25 }])) as Unsure;

function questionOf(objective: string, seed: number, controller: Question['run']['controller']): Question {
  const profile = {
    name: 'small',
    what: '',
    namespaces: 1,
    services: [
      { count: 4, pods: 8 },
      { count: 1, pods: 120 },
    ],
    minutes: 0.15,
    flipsPerSecond: 5 * seed,
    isStorm: false,
    rolloutsPerMinute: 5,
    podsPerSecond: 5,
  };
  return {
    run: {
      story: profileStory(profile, seed),
      controller,
      settings: DEFAULT_SETTINGS,
      calibration: DEFAULT_CALIBRATION,
      seed,
    },
    objective: parseObjective(objective),
    nodes: 100,
    endpointsWatchers: 1,
    unsure: UNSURE,
    alternatives: [],
    raises: [],
  };
}

const OBJECTIVES = [
  'p99(add)<=1s, min bytes',
  'p99(add)<=300ms, writes<=20/s, min cpu',
  'min p99(remove)',
  'later(100ms)<=2%, min writes',
  'p99(add)<=1ms, min writes',
  'writes<=60/s, min p50(add)',
];

test('what ends early chooses what all runs of each setting would', () => {
  const questions = OBJECTIVES.map((objective, i) =>
    questionOf(objective, 1 + i, i % 2 === 0 ? 'kube-controller-manager' : 'endpointd'),
  );
  let [isChosen, isRefused] = [0, 0];
  for (const question of questions) {
    const flags = flagsOf(question.run);
    const trials = createTrials(question, () => undefined);
    const { today, best, nearest } = choose(question, flags, trials);
    assert.deepEqual({ today, best, nearest }, fullChoice(question, flags, trials), question.objective.text);
    if (best === null) isRefused++;
    else isChosen++;
  }
  assert.ok(isChosen > 3 && isRefused > 0, `${isChosen} chosen, ${isRefused} refused`);
});

test('the bounds of all runs do not depend on the order in which they are played', () => {
  const question = questionOf('p99(add)<=1s, later(100ms)<=1%, min bytes', 2, 'endpointd');
  const runs = variantsOf(question).map(({ calibration, story, haste }) => ({
    ledger: runModel({ ...question.run, calibration, story }),
    haste,
  }));
  const looks = createLooks(question);
  for (const order of [[...looks.order], looks.order.toReversed()]) {
    looks.order.splice(0, Infinity, ...order);
    const look = lookAt(looks, DEFAULT_SETTINGS);
    const before = look.checks.map(({ bound }) => bound);
    playAll(look);
    const bounds = look.checks.map(({ bound }) => bound);
    assert.deepEqual(bounds, boundsOf(question, runs, [scopeOf(question)])[0]);
    assert.ok(before.every((bound, i) => bound <= bounds[i]!) && before[0]! < bounds[0]!);
  }
});

test('only what may still be the first is played on', () => {
  let runs = 0;
  /** Its bound grows to the last of these. */
  const lookOf = (...bounds: readonly number[]): Look => {
    let played = 1;
    return {
      settings: DEFAULT_SETTINGS,
      get checks() {
        return [{ text: 'writes', value: 1, bound: bounds[played - 1]!, most: Infinity }];
      },
      get isWhole() {
        return played === bounds.length;
      },
      goOn: () => {
        runs++;
        played++;
      },
    };
  };
  const boundOf = ({ checks }: Look): number => checks[0]!.bound;
  const looks = [lookOf(5, 9, 9, 9), lookOf(1, 2, 3), lookOf(2.5, 3, 3), lookOf(4, 4, 4, 4, 4)];
  const first = firstOf(
    looks,
    (a, b) => boundOf(a) - boundOf(b),
    () => true,
  );
  assert.equal(first, looks[1]);
  // Two of it, and one of the third, which was below it meanwhile.
  assert.equal(runs, 3);
  assert.equal(
    firstOf(
      looks,
      (a, b) => boundOf(a) - boundOf(b),
      (look) => boundOf(look) < 3,
    ),
    undefined,
  );
});

test('the figures of resamples are those of runs that are made of their blocks', () => {
  const { run } = questionOf('min writes', 3, 'kube-controller-manager');
  // Three tokens a second leave changes that nothing shows.
  const ledger = runModel({ ...run, settings: { ...DEFAULT_SETTINGS, qps: 3, burst: 3, slicesBatchMs: 5000 } });
  assert.ok(ledger.unshown.slices.length > 5);
  const { durationMs } = run.story;
  const scope = { durationMs, nodes: 100, endpointsWatchers: 2 };
  const blocks = { durationMs, blockMs: durationMs / 10.5, partMs: Infinity };
  const goals = ['p50', 'p90(add)', 'p99(remove)', 'p99.9(endpoints)', 'later(1s, remove)', 'later(1h)', 'cpu'];
  for (const goal of [...goals, 'writes', 'writes(slices)', 'bytes(json)', 'apiserver-cpu']) {
    const { expression } = parseObjective(`min ${goal}`).goal;
    const made = [...resamples(ledger, blocks, 20, 5)].map((draw) => figureOf(expression, draw.between(EVER), scope));
    const found = drawnSpans(blocks, 20, 5, [EVER])[0]!.times.map(
      figureOfDraws(expression, cutInBlocks(ledger, blocks), scope),
    );
    for (const [i, value] of found.entries())
      assert.ok(Math.abs(value - made[i]!) <= 1e-9 * made[i]!, `${goal}: ${value} and ${made[i]}`);
    assert.ok(goal === 'later(1h)' || new Set(found).size > 1, goal);
  }
});

/** By so much is another time further off than resamples of ten blocks. 2 % are added for what the model leaves out. */
const TIMES_AS_FAR = Math.SQRT2 * Math.sqrt(10 / 9) * (1 + (1.2816 ** 2 + 1) / 36);

test('the bounds of worst figures are those of parts of runs that are made', () => {
  const asked = questionOf('later(50ms, worst)<=1%, writes(worst)<=1/s, min cpu(worst)', 6, 'kube-controller-manager');
  const ledger = runModel({ ...asked.run, settings: { ...DEFAULT_SETTINGS, slicesBatchMs: 100 } });
  for (const durationMs of [asked.run.story.durationMs, asked.run.story.durationMs - 1234]) {
    // Shares need a hundred changes, so the parts are of five seconds.
    const scope = { durationMs, nodes: 100, endpointsWatchers: 2, worstMs: 5000 };
    const blocks = { durationMs, blockMs: 500, partMs: 5000 };
    const draws = [...resamples(ledger, blocks, 30, asked.run.seed)];
    const { constraints, goal } = asked.objective;
    const expected = [...constraints, goal].map(({ expression }) => {
      const values = draws.map((draw) => valueOfDraw(expression, draw, scope, partsOf(scope)));
      const sorted = values.toSorted((a, b) => a - b);
      const [middle, nineOfTen] = [sorted[14]!, sorted[26]!];
      return 1.02 * (middle + TIMES_AS_FAR * (nineOfTen - middle));
    });
    const [bounds] = boundsOf(asked, [{ ledger, haste: 1 }], [scope]);
    for (const [i, bound] of bounds!.entries())
      assert.ok(Math.abs(bound - expected[i]!) <= 1e-9 * expected[i]!, `${bound} and ${expected[i]}`);
  }
});
