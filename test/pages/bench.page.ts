/** The pages of benches, with their plots, in a real browser: of made data, and those that the repository keeps. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import type { GrowthRun } from '../../bench/growth/flatness.ts';
import { growthPage, type Growth } from '../../bench/growth/report.ts';
import { sweepPage, type Sweep } from '../../bench/sweep/report.ts';
import { peersPage } from '../../bench/peers/report-page.ts';
import type { Results, RunRecord } from '../../bench/peers/results.ts';
import { ECHO, ENDPOINTD, MANAGER } from '../../bench/peers/scenario.ts';
import { openHtml, startBrowser } from './browser.ts';

const SECONDS = Array.from({ length: 50 }, (_, i) => i);

function run(peer: string, cpu: number): RunRecord {
  return {
    command: 0,
    scenario: 'churn',
    peer,
    round: 0,
    startedAt: '',
    tookSeconds: 1,
    figures: { controllerCpu: cpu, apiserverCpu: 9, etcdCpu: 2, slicesP50: cpu, stagePlanP50: 1, stagePlanP99: 2 },
    threads: {},
    samples: { endpoints: [], slices: SECONDS.map((i) => cpu + i) },
    course: { seconds: SECONDS, p50: SECONDS, p99: SECONDS, max: SECONDS.map((i) => 2 * i) },
    timeline: {
      ms: SECONDS.map((i) => i * 1000),
      cores: { apiserver: SECONDS.map(() => 0.5), [peer]: SECONDS.map((i) => i / 100) },
      residentBytes: SECONDS.map((i) => 1e8 + i * 1e6),
      steps: [{ ms: 10_000, name: '<img src=https://elsewhere.example/x>' }],
    },
    peakStep: '',
    wrong: [],
  };
}

const RESULTS: Results = {
  format: 3,
  commands: [
    {
      text: 'npm run bench -- peers churn',
      commit: 'abc',
      program: 'f00d',
      machine: { cores: '2' },
      versions: {},
      size: 'full',
      settings: {},
      startedAt: '2026-11-22T10:00:00Z',
      endedAt: '2026-11-22T10:12:00Z',
    },
  ],
  scenarios: [{ name: 'churn', what: 'flips' }],
  runs: [run(MANAGER, 12), run(ENDPOINTD, 4), run(ECHO, 2)],
};

const SHARED = { command: '', commit: 'abc', machine: {}, versions: {}, startedAt: '', endedAt: '' };

function grown(peer: string, at: number, cpuAFlip: number): GrowthRun {
  return {
    axis: 'size',
    at,
    shape: { pods: 50_000, podsPerService: at, nodes: 10 },
    peer,
    cpuAFlip,
    bytesAFlip: 2000,
    writesAFlip: 2,
    p50: cpuAFlip,
    p99: 2 * cpuAFlip,
    startCpu: 1,
    peakMB: 100,
    steadyMB: 100,
    wrong: [],
  };
}

const GROWTH: Growth = {
  ...SHARED,
  format: 1,
  flips: 10,
  runs: [5, 50, 500].flatMap((at) => [grown(ENDPOINTD, at, 1), grown(MANAGER, at, at / 5)]),
  notRun: [],
};

const SWEEP: Sweep = {
  ...SHARED,
  format: 1,
  scenario: 'ready',
  notRun: [],
  runs: [1, 5].flatMap((syncs) =>
    ['0s', '1s'].map((batch) => ({
      scenario: 'ready',
      size: 'full',
      seed: 1,
      peer: ENDPOINTD,
      program: 'abc',
      server: 'kube',
      syncs,
      batch,
      qps: 200,
      startedAt: '',
      figures: { writes: 100 / syncs, slicesP99: 20 * syncs, controllerCpu: 1, sumCpu: 3 },
      wrong: [],
    })),
  ),
};

/** The texts of the page whose colour is hardly another one than what is behind them, by their luminance. */
const UNREADABLE = `(() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const [r, g, b, a = 1] = rgb(getComputedStyle(at).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  };
  return [...document.querySelectorAll('h1, h2, p, th, td')]
    .filter((element) => Math.abs(light(rgb(getComputedStyle(element).color)) - light(behind(element))) < 0.3)
    .map((element) => element.textContent);
})()`;

describe('the page of a bench in a browser', () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`the page draws bars, distribution, areas and lines in colour (${colorScheme})`, async () => {
      const { page, complaints, close } = await openHtml(browser, peersPage(RESULTS), { width: 1200, colorScheme });
      // CPU, one distribution, its course, the stages, the cores of three peers, memory.
      assert.equal(await page.locator('svg.plot').count(), 8);
      assert.equal(await page.locator('img').count(), 0);
      const colours = "[...document.querySelectorAll('.line')].map((line) => getComputedStyle(line).stroke)";
      assert.equal(new Set(await page.evaluate<string[]>(colours)).size, 3);
      const drawn = "[...document.querySelectorAll('path')].every((path) => path.getBBox().width > 0)";
      assert.equal(await page.evaluate(drawn), true);
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  it('the page shows a flat line beside a rising one, and heat maps with a frontier', async () => {
    for (const [html, plots] of [
      [growthPage(GROWTH), 3],
      [sweepPage(SWEEP), 2 + 3],
    ] as const) {
      const { page, complaints, close } = await openHtml(browser, html, { width: 1200, colorScheme: 'light' });
      assert.equal(await page.locator('svg.plot').count(), plots);
      assert.deepEqual(complaints, []);
      await close();
    }
  });

  it('the page fits 400 pixels, and a plot is found by its title', async () => {
    const { page, close } = await openHtml(browser, peersPage(RESULTS), { width: 400, colorScheme: 'light' });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 400);
    await page.fill('#search', 'resident memory');
    assert.equal(await page.locator('figure:visible').count(), 1);
    await close();
  });
});

describe('the kept pages of benches in a browser', () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  for (const name of ['results', 'growth', 'sweep']) {
    const html = readFileSync(new URL(`../../bench/${name}.html`, import.meta.url), 'utf8');
    const plots = html.match(/<svg class="plot/g)!.length;

    for (const view of [
      { width: 1200, colorScheme: 'light' },
      { width: 1200, colorScheme: 'dark' },
      { width: 400, colorScheme: 'light' },
      { width: 400, colorScheme: 'dark' },
    ] as const) {
      it(`${name}.html fits ${view.width} pixels without a complaint (${view.colorScheme})`, async () => {
        const { page, complaints, close } = await openHtml(browser, html, view);
        assert.equal(await page.locator('svg.plot').count(), plots);
        const drawn = "[...document.querySelectorAll('svg.plot')].every((plot) => plot.getBBox().width > 0)";
        assert.equal(await page.evaluate(drawn), true);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), view.width);
        assert.deepEqual(await page.evaluate<string[]>(UNREADABLE), []);
        assert.deepEqual(complaints, []);
        await close();
      });
    }
  }
});
