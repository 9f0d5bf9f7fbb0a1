/** `npm run screenshots`: the pages as the documents show them. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { renderPage } from '../../src/page/page.ts';
import { answerPage } from '../../src/tune/report-page.ts';
import { reportPage } from '../../src/verify/report-page.ts';
import { openHtml, startBrowser, type View } from './browser.ts';
import { sampleReport } from './sample-reports.ts';
import { smallAnswer } from '../support/tune-answer.ts';

const IMAGES = join(import.meta.dirname, '../../docs/images');

interface Shot {
  readonly file: string;
  readonly html: string;
  readonly view: View;
}

const VERIFY = renderPage(reportPage(sampleReport()));
const TUNE = renderPage(answerPage(smallAnswer()));
const SHOTS: readonly Shot[] = [
  { file: 'verify.png', html: VERIFY, view: { width: 1000, colorScheme: 'light' } },
  { file: 'verify-dark-narrow.png', html: VERIFY, view: { width: 400, colorScheme: 'dark' } },
  { file: 'tune.png', html: TUNE, view: { width: 1000, colorScheme: 'light' } },
];

mkdirSync(IMAGES, { recursive: true });
const browser = await startBrowser();
try {
  for (const { file, html, view } of SHOTS) {
    const { page, close } = await openHtml(browser, html, view);
    // One of each section, so that a reader sees a difference.
    for (const section of await page.locator('section').all()) {
      const summary = section.locator('summary').first();
      if ((await summary.count()) > 0) await summary.click();
    }
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path: join(IMAGES, file), fullPage: true });
    await close();
  }
} finally {
  await browser.close();
}
