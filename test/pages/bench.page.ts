/** The page of a bench, with its plots, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { peersPage } from '../../bench/peers/report-page.ts';
import type { Results, RunRecord } from '../../bench/peers/results.ts';
import { ECHO, ENDPOINTD, MANAGER } from '../../bench/peers/scenario.ts';
import { openHtml, startBrowser } from './browser.ts';

const SECONDS = Array.from({ length: 50 }, (_, i) => i);

function run(peer: string, cpu: number): RunRecord {
  return {
    scenario: 'churn',
    peer,
    round: 0,
    startedAt: '',
    tookSeconds: 1,
    figures: { controllerCpu: cpu, apiserverCpu: 9, etcdCpu: 2, slicesP50: cpu },
    threads: {},
    samples: { endpoints: [], slices: SECONDS.map((i) => cpu + i) },
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
  format: 1,
  command: 'npm run bench -- peers churn',
  commit: 'abc',
  machine: { cores: '2' },
  versions: {},
  size: 'full',
  settings: {},
  startedAt: '2026-11-22T10:00:00Z',
  endedAt: '2026-11-22T10:12:00Z',
  scenarios: [{ name: 'churn', what: 'flips' }],
  runs: [run(MANAGER, 12), run(ENDPOINTD, 4), run(ECHO, 2)],
};

describe('the page of a bench in a browser', () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`draws bars, a distribution, areas and lines, each in its colour (${colorScheme})`, async () => {
      const { page, complaints, close } = await openHtml(browser, peersPage(RESULTS), { width: 1200, colorScheme });
      // CPU, one distribution, the cores of three peers, memory.
      assert.equal(await page.locator('svg.plot').count(), 6);
      assert.equal(await page.locator('img').count(), 0);
      const colours = "[...document.querySelectorAll('.line')].map((line) => getComputedStyle(line).stroke)";
      assert.equal(new Set(await page.evaluate<string[]>(colours)).size, 3);
      const drawn = "[...document.querySelectorAll('path')].every((path) => path.getBBox().width > 0)";
      assert.equal(await page.evaluate(drawn), true);
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  it('fits 400 pixels, and a plot is found by its title', async () => {
    const { page, close } = await openHtml(browser, peersPage(RESULTS), { width: 400, colorScheme: 'light' });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 400);
    await page.fill('#search', 'resident memory');
    assert.equal(await page.locator('figure:visible').count(), 1);
    await close();
  });
});
