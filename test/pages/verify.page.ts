/** The report of `endpointd verify` in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { renderPage } from '../../src/page/page.ts';
import { reportPage } from '../../src/verify/report-page.ts';
import { openHtml, startBrowser } from './browser.ts';
import { sampleReport } from './sample-reports.ts';

describe('the report of verify', () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`a difference is found by object, field and value, at 400 pixels (${colorScheme})`, async () => {
      const html = renderPage(reportPage(sampleReport()));
      const { page, complaints, close } = await openHtml(browser, html, { width: 400, colorScheme });
      assert.equal(await page.textContent('.figure'), '4');
      for (const words of ['payments', '10.64.7.40', 'shop/payments zone=eu-west-1b']) {
        await page.fill('#search', words);
        assert.deepEqual(await page.locator('summary:visible').allTextContents(), [
          'shop/payments endpointslice, for 30 s',
        ]);
      }
      await page.click('summary:visible');
      assert.match(await page.locator('del:visible').innerText(), /nodeName=node-0417/);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 400);
      assert.deepEqual(complaints, []);
      await close();
    });
  }
});
