import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textTable } from '../../src/cli/text-table.ts';
import { renderPage } from '../../src/page/page.ts';
import { type BarPlot, plotSvg } from '../../src/page/plot.ts';
import {
  busiestPart,
  type Confirmation,
  isDecided,
  isRefuted,
  type Pair,
  triedOf,
  verdictOf,
  type TriedForReal,
} from '../../src/tune/confirmation.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { type Interval, intervalOf } from '../../src/tune/sequential.ts';
import { answerPage } from '../../src/tune/report-page.ts';
import { answerText } from '../../src/tune/report-text.ts';
import { createLedger, type Ledger } from '../../src/twin/ledger.ts';
import { profileStory, STORY_PROFILES, USUAL_SIZES } from '../../src/twin/profiles.ts';
import type { Run } from '../../src/twin/run.ts';
import type { Story } from '../../src/twin/story.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';
import { smallAnswer } from '../support/tune-answer.ts';

const STORY = profileStory({ ...STORY_PROFILES.find(({ name }) => name === 'rollout')!, minutes: 2 }, 1);
const TODAY: Run = {
  story: STORY,
  controller: 'endpointd',
  settings: { ...DEFAULT_SETTINGS, qps: 2, burst: 3 },
  calibration: DEFAULT_CALIBRATION,
  seed: 1,
};
const FAST = { ...TODAY.settings, qps: 500, burst: 750 };
const OBJECTIVE = parseObjective('p99(add)<=1s, min writes');

/** What a run has shown. */
function ledgerOf(latencyMs: number, writes: number): Ledger {
  const ledger = createLedger(USUAL_SIZES);
  ledger.samples.slices.push({ atMs: 0, kind: 'add', latencyMs });
  for (let i = 0; i < writes; i++) ledger.writes.slices.push({ atMs: 0, endpoints: 1 });
  return ledger;
}

function pairs(count: number, today: Ledger, tried: Ledger): Pair[] {
  return Array.from({ length: count }, () => ({ today, tried }));
}

const WATCHERS = { nodes: 1, endpointsWatchers: 1 };

describe('settings that are tried for real', () => {
  it('a confirmation plays the part of the story with the most changes', () => {
    const part = busiestPart(STORY, 10_000, 'endpointd');
    assert.equal(part.durationMs, 10_000);
    for (let fromMs = 0; fromMs + 10_000 <= STORY.durationMs; fromMs += 1000) {
      const others = STORY.changes.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + 10_000).length;
      assert.ok(part.changes.length >= others);
    }
    const odd = { isNew: true, families: 2, primary: 1, hasHints: true };
    const services = STORY.services.map((service) => ({ ...service, ...odd }));
    const first = STORY.changes[0]!;
    const changesOfOthers = [{ ...first, kind: 'foreign' } as const, { ...first, kind: 'node' } as const];
    const story = { ...STORY, services, changes: [...changesOfOthers, ...STORY.changes] };
    const { changes, services: played } = busiestPart(story, STORY.durationMs, 'endpointd');
    // The replay plays no others, and has all Services from the beginning, in one family.
    assert.deepEqual(changes, STORY.changes);
    assert.ok(
      played.every(({ namespace, ...others }) => namespace >= 0 && JSON.stringify(others) === '{"families":1}'),
    );
  });

  it('the busiest part has the most changes that count, whatever else happens', () => {
    const minute = profileStory({ ...STORY_PROFILES[0]!, minutes: 1, flipsPerSecond: 1, rolloutsPerMinute: 0 }, 1);
    const other = { namespace: 0, places: [], service: -1 } as const;
    const noise = Array.from({ length: 900 }, (_, i): Story['changes'][number] => ({
      ...other,
      atMs: 60_000 + 10 * i,
      // Of pods that no controller reads, and of pods that no Service selects.
      kind: i % 2 === 0 ? 'quiet' : 'pod',
    }));
    const part = busiestPart(
      { ...minute, durationMs: 120_000, changes: [...minute.changes, ...noise] },
      10_000,
      'endpointd',
    );
    assert.ok(part.changes.length > 0 && part.changes.every(({ places }) => places.length > 0));
  });

  it('a figure of changes that did not happen cannot be told', () => {
    const none = createLedger(USUAL_SIZES);
    for (const [today, tried] of [
      [none, none],
      [none, ledgerOf(20, 0)],
    ] as const) {
      const one = triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, pairs(3, today, tried));
      assert.ok(isDecided(one) && !isRefuted(confirmationOf([one]), FAST));
      assert.deepEqual(
        one.figures.map(({ text, verdict }) => [text, verdict]),
        [
          ['p99(add)', 'cannot tell (nothing was measured)'],
          ['writes', 'cannot tell (nothing was measured)'],
        ],
      );
    }
    const saved = triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, pairs(3, ledgerOf(20, 90), ledgerOf(20, 0)));
    assert.equal(saved.figures[1]!.look.decision, 'lower');
  });

  it('a worst figure of which no five minutes have enough changes cannot be told', () => {
    const run = { ...TODAY, story: { ...STORY, durationMs: 300_000 } };
    const objective = parseObjective('p99.9(remove, worst)<=1s, min writes');
    const removed = ledgerOf(20, 90);
    for (let i = 0; i < 500; i++) removed.samples.slices.push({ atMs: i, kind: 'remove', latencyMs: 20 });
    const one = triedOf(run, objective, WATCHERS, FAST, pairs(3, removed, removed));
    assert.equal(one.figures[0]!.verdict, 'cannot tell (nothing was measured)');
    const answer = { ...smallAnswer(), confirmation: confirmationOf([one]) };
    assert.doesNotMatch(answerText(answer, textTable), /NaN/);
  });

  it('a worst figure that was measured, and that the model lacks, cannot be told', () => {
    const look = intervalOf([0.5, 0.51, 0.5, 0.49]);
    assert.equal(look.decision, 'lower');
    assert.equal(verdictOf(look, Number.NaN), 'cannot tell');
  });

  it('a prediction is confirmed if the measured order is the predicted one', () => {
    const { figures } = triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, pairs(3, ledgerOf(4000, 90), ledgerOf(20, 150)));
    assert.deepEqual(
      figures.map(({ text, look, verdict }) => [text, look.decision, verdict]),
      [
        ['p99(add)', 'lower', 'holds'],
        ['writes', 'higher', 'holds'],
      ],
    );
    assert.ok(figures[0]!.predicted < 0.5);
  });

  for (const { what, thenMs, verdict, refuted } of [
    { what: 'the other order refutes a prediction', thenMs: 9000, verdict: 'does not hold', refuted: true },
    // A test server that is faster than the recorded one hides a difference that is there.
    {
      what: 'no difference refutes no prediction',
      thenMs: 4000,
      verdict: 'cannot tell (it does not bind here)',
      refuted: false,
    },
  ]) {
    it(what, () => {
      const tried = triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, pairs(3, ledgerOf(4000, 90), ledgerOf(thenMs, 150)));
      assert.equal(tried.figures[0]!.verdict, verdict);
      assert.ok(isDecided(tried));
      assert.equal(isRefuted(confirmationOf([tried]), FAST), refuted);
    });
  }

  for (const [predicted, ratios, decision, verdict] of [
    // The interval is 0.89 to 0.97.
    [0.96, [0.93, 0.937, 0.923], 'lower', 'holds'],
    [0.99, [0.93, 0.937, 0.923], 'lower', 'holds'],
    [1.04, [0.93, 0.937, 0.923], 'lower', 'does not hold'],
    // The interval is 0.96 to 0.98.
    [0.94, [0.97, 0.972, 0.968], 'same', 'holds'],
    [0.9, [0.97, 0.972, 0.968], 'same', 'cannot tell (it does not bind here)'],
    [1.2, [0.97, 0.972, 0.968], 'same', 'cannot tell (it does not bind here)'],
    // The interval is 1.05 to 1.15.
    [1.02, [1.1, 1.11, 1.09], 'higher', 'holds'],
    [0.98, [1.1, 1.11, 1.09], 'higher', 'does not hold'],
  ] as const) {
    it(`a predicted ratio of ${predicted} at about ${ratios[0]}: ${verdict}`, () => {
      const look = intervalOf(ratios);
      assert.deepEqual([look.decision, verdictOf(look, predicted)], [decision, verdict]);
    });
  }

  it('other settings than the recommended ones refute nothing', () => {
    const tried = triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, pairs(3, ledgerOf(4000, 90), ledgerOf(9000, 150)));
    assert.ok(!isRefuted(confirmationOf([tried]), null));
    assert.ok(!isRefuted(confirmationOf([tried]), { ...FAST, burst: 1 }));
  });

  it('trials go on after two pairs, and after more that tell too little', () => {
    const two = triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, pairs(2, ledgerOf(4000, 90), ledgerOf(20, 150)));
    assert.ok(!isDecided(two));
    assert.equal(two.figures[0]!.verdict, 'cannot tell');
    assert.ok(!isRefuted(confirmationOf([two]), FAST));
  });
});

function confirmationOf(tried: Confirmation['tried']): Confirmation {
  return { server: 'embedded API server', version: null, seconds: 30, changes: 450, rounds: 3, lateMs: 2, tried };
}

describe('the report of what was tried', () => {
  const tried = triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, pairs(3, ledgerOf(4000, 90), ledgerOf(20, 150)));
  const answer = { ...smallAnswer(), confirmation: confirmationOf([tried]) };

  it("the report says that it checks the order, not a cluster's milliseconds", () => {
    const text = answerText(answer, textTable);
    assert.match(text, /^Tried for real: 30 s with 450 changes, on the embedded API server of this machine;/m);
    assert.match(
      text,
      /^This checks the order of settings on this machine\. Its milliseconds are not those of your cluster\. The 95 % are of each figure alone: that all of them hold is less sure\.$/m,
    );
    assert.match(text, /p99\(add\) +4\.00 s +20 ms +0\.01 +0\.01 to 0\.01 +[\d.]+ +3 +holds$/m);
    assert.match(text, /^A ratio is the geometric mean of those of the pairs, and today and tried are medians /m);
    assert.ok(renderPage(answerPage(answer)).includes('Tried for real'));
  });

  it('of two runs the middle is between them', () => {
    const two = [
      ...pairs(1, ledgerOf(4000, 90), ledgerOf(20, 150)),
      ...pairs(1, ledgerOf(6000, 90), ledgerOf(40, 150)),
    ];
    const confirmation = confirmationOf([triedOf(TODAY, OBJECTIVE, WATCHERS, FAST, two)]);
    assert.match(answerText({ ...answer, confirmation }, textTable), /p99\(add\) +5\.00 s +30 ms/);
  });

  it('the plot shows a ratio and its interval as they are, whatever they are', () => {
    const plotOf = (look: object): BarPlot => {
      const figures = [{ ...tried.figures[0]!, look: { decision: null, ...look } as Interval }];
      const confirmation = confirmationOf([{ ...tried, figures }]);
      const section = answerPage({ ...answer, confirmation }).sections.find(({ title }) => title === 'Tried for real');
      return section!.plots![0] as BarPlot;
    };
    const far = plotOf({ ratio: 20, low: 15, high: 25 });
    assert.deepEqual([far.y.scale, far.groups[0]!.values, far.groups[0]!.ranges], ['log', [20], [[15, 25]]]);
    assert.ok(plotSvg(far).includes('class="range"'));
    assert.ok(!plotSvg(plotOf({ ratio: 2, low: 0, high: Infinity })).includes('class="range"'));
  });

  it('recommended flags that trials refute are shown as refuted', () => {
    const best = answer.recommendation!.best!.settings;
    const shownFor = (settings: Settings, verdict: TriedForReal['figures'][number]['verdict']): unknown[] => {
      const figures = tried.figures.map((figure) => ({ ...figure, verdict }));
      const of = { ...answer, confirmation: confirmationOf([{ ...tried, settings, figures }]) };
      const { headline, sections } = answerPage(of);
      const [title] = answerText(of, textTable).match(/^.*(?:R|r)ecommended:$/m)!;
      return [headline.tone, sections[0]!.title, sections[0]!.tone, title];
    };
    assert.deepEqual(shownFor(best, 'does not hold'), [
      'bad',
      'What was recommended',
      'bad',
      'Trials have refuted a prediction of the recommended flags: do not set them. What was recommended:',
    ]);
    const believed = ['good', 'What to set', 'good', 'Recommended:'];
    assert.deepEqual(shownFor(best, 'holds'), believed);
    // Those that were tried are others.
    assert.deepEqual(shownFor(FAST, 'does not hold'), believed);
  });

  it('the report calls settings recommended only if they are', () => {
    const best = answer.recommendation!.best!.settings;
    const nameOf = (settings: Settings): string | undefined => {
      const confirmation = confirmationOf([{ ...tried, settings }]);
      const section = answerPage({ ...answer, confirmation }).sections.find(({ title }) => title === 'Tried for real');
      return (section!.plots![0] as BarPlot).series[0];
    };
    assert.deepEqual([nameOf(best), nameOf(FAST)], ['recommended', 'tried (1)']);
  });
});
