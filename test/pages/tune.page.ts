/** The page of `endpointd tune`, with its field of settings, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { openHtml, startBrowser } from './browser.ts';
import { sampleAnswer } from './sample-answer.ts';
import { renderPage } from '../../src/page/page.ts';
import { answerPage } from '../../src/tune/report-page.ts';

const ANSWER = sampleAnswer();
const HTML = renderPage(answerPage(ANSWER));

describe('the page of a tuning in a browser', () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`the page draws latencies, writes, field, frontier and trials (${colorScheme})`, async () => {
      const { page, complaints, close } = await openHtml(browser, HTML, { width: 1200, colorScheme });
      assert.equal(await page.locator('svg.plot').count(), 6);
      assert.equal(await page.locator('rect.heat').count(), 36);
      const fill = "getComputedStyle(document.querySelector('rect.heat')).fill";
      assert.notEqual(await page.evaluate(fill), 'rgb(0, 0, 0)');
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  it('the page has the back-test, the trials, and where each number comes from', async () => {
    const { page, close } = await openHtml(browser, HTML, { width: 1200, colorScheme: 'light' });
    const titles = await page.locator('section h2').allTextContents();
    for (const title of ['The back-test', 'Tried for real', 'Where the numbers are from', 'What this stands on'])
      assert.ok(titles.includes(title), titles.join());
    const text = (await page.locator('body').textContent()) ?? '';
    assert.match(text, /This checks the order of settings on this machine/);
    assert.match(
      text,
      /API latency, median of an object without endpoints[\d.]+ ms15 %histogram of the process's 4000 writes in a\.txt, b\.txt/,
    );
    assert.match(text, /seed 1/);
    assert.match(text, /recorded byendpointd 0\.0\.9/);
    assert.match(text, /From a pod that goes to its slice/);
    assert.match(text, /today, at most in 9 of 10/);
    await close();
  });

  it('no script of a name runs: names are shown as text', async () => {
    const name = `"><img src=x onerror="document.title='ran'"><script>document.title='ran'</script>`;
    const hostile = {
      ...ANSWER,
      from: { ...ANSWER.from, name, recordedBy: name },
      program: name,
      objective: name,
      refusals: [name],
      notes: [name],
      numbers: [{ name, value: name, unsure: name, from: name }],
    };
    const html = renderPage(answerPage(hostile));
    const { page, complaints, close } = await openHtml(browser, html, { width: 1200, colorScheme: 'light' });
    assert.equal(await page.title(), `endpointd tune: ${name}`);
    assert.equal(await page.locator('header h1').textContent(), `endpointd tune: ${name}`);
    assert.deepEqual([await page.locator('img').count(), await page.locator('script').count()], [0, 1]);
    assert.deepEqual(complaints, []);
    await close();
  });

  it('the page fits 400 pixels, and holds the whole answer as JSON', async () => {
    const { page, close } = await openHtml(browser, HTML, { width: 400, colorScheme: 'light' });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 400);
    // The heads of columns are hidden there, so each cell says what it is.
    const cell = `document.querySelector('td[data-name="today, at most in 9 of 10"]')`;
    const named = String(await page.evaluate(`getComputedStyle(${cell}, '::before').content`));
    assert.match(named, /today, at most in 9 of 10/);
    await page.fill('#search', 'tuneVersion');
    assert.equal(await page.locator('details:visible').count(), 1);
    await close();
  });
});
