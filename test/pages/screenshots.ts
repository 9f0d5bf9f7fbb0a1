/** `npm run screenshots`: the pages as the documents show them. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { renderPage } from '../../src/page/page.ts';
import { answerPage } from '../../src/tune/report-page.ts';
import { reportPage } from '../../src/verify/report-page.ts';
import { debugPage } from '../../src/cli/live/debug-page.ts';
import { openHtml, startBrowser, type View } from './browser.ts';
import { sampleAnswer } from './sample-answer.ts';
import { sampleReport } from './sample-reports.ts';
import { sampleView } from './sample-view.ts';

const IMAGES = join(import.meta.dirname, '../../docs/images');

interface Shot {
  readonly file: string;
  readonly html: string;
  readonly view: View;
  /** What is further down the page is cut off; without it all is shown. */
  readonly heightMax?: number;
}

/** Pixels; more than any page here has. */
const ALL_IN_SIGHT = 8000;

const VERIFY = renderPage(reportPage(sampleReport()));
const TUNE = renderPage(answerPage(sampleAnswer()));
const DEBUG = debugPage(sampleView(), '0.1.0');
const SHOTS: readonly Shot[] = [
  { file: 'verify.png', html: VERIFY, view: { width: 1000, colorScheme: 'light' } },
  { file: 'verify-dark-narrow.png', html: VERIFY, view: { width: 400, colorScheme: 'dark' } },
  { file: 'debug.png', html: DEBUG, view: { width: 1200, colorScheme: 'light' }, heightMax: 1900 },
  { file: 'tune.png', html: TUNE, view: { width: 1000, colorScheme: 'light' }, heightMax: 2400 },
];

mkdirSync(IMAGES, { recursive: true });
const browser = await startBrowser();
try {
  for (const { file, html, view, heightMax = Infinity } of SHOTS) {
    const { page, close } = await openHtml(browser, html, view);
    // One of each section, so that a reader sees a difference.
    for (const section of await page.locator('section').all()) {
      const summary = section.locator('summary').first();
      if ((await summary.count()) > 0) await summary.click();
    }
    await page.evaluate('scrollTo(0, 0)');
    // What is out of sight is not laid out, so the height is known when all is in sight.
    await page.setViewportSize({ width: view.width, height: ALL_IN_SIGHT });
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const height = Math.ceil(Number(await page.evaluate('document.body.getBoundingClientRect().height')));
    const clip = { x: 0, y: 0, width: view.width, height: Math.min(height, heightMax) };
    await page.screenshot({ path: join(IMAGES, file), clip });
    await close();
  }
} finally {
  await browser.close();
}
