/** What every page of `src/page` promises, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page as BrowserPage } from 'playwright-core';
import { renderPage, type Page } from '../../src/page/page.ts';
import { openHtml, startBrowser, type View } from './browser.ts';

const PAGE: Page = {
  title: 'endpointd verify',
  headline: { figure: '2', words: 'services would be written', tone: 'bad' },
  facts: [{ name: 'server', value: `https://${'a-very-long-name.'.repeat(12)}example:6443` }],
  notices: ['nodes could not be seen: forbidden'],
  sections: [
    {
      title: 'Endpoints: a label is missing',
      tone: 'bad',
      note: 'since 1.33',
      entries: [
        {
          title: 'Endpoints default/web',
          aside: '<img src=https://elsewhere.example/x onerror=alert(1)>',
          changes: [{ field: 'metadata.labels[a]', before: 'x'.repeat(500), after: 'y'.repeat(500), note: '' }],
        },
        { title: 'Endpoints default/api', aside: '', changes: [] },
      ],
    },
    {
      title: 'Moving',
      tone: 'plain',
      note: '',
      table: {
        columns: ['service', 'why'],
        rows: [
          ['default/db', 'came right </table>'],
          ['z'.repeat(300), 'moves'],
        ],
      },
    },
  ],
};

/** What a function, as text, says of the first such element, in the browser. */
async function onFirst<T>(page: BrowserPage, selector: string, text: string): Promise<T> {
  return await page.evaluate<T>(`(${text})(document.querySelector(${JSON.stringify(selector)}))`);
}

/** The contrast of an element's text by WCAG 2. */
const CONTRAST = `(element) => {
  const luminance = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((value) => {
      const part = Number(value) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let ground = element;
  while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
  const both = [luminance(getComputedStyle(element).color), luminance(getComputedStyle(ground).backgroundColor)];
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
}`;

describe('a page in a browser', () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  async function withPage(view: View, look: (page: BrowserPage) => Promise<void>): Promise<void> {
    const opened = await openHtml(browser, renderPage(PAGE), view);
    try {
      await look(opened.page);
      assert.deepEqual(opened.complaints, []);
    } finally {
      await opened.close();
    }
  }

  it('the page shows its figure, without errors and without requests', async () => {
    await withPage({ width: 1200, colorScheme: 'light' }, async (page) => {
      assert.equal(await page.textContent('.figure'), '2');
      assert.equal(await page.locator('img').count(), 0);
    });
  });

  it('the search shows matching entries, and no empty section', async () => {
    await withPage({ width: 1200, colorScheme: 'light' }, async (page) => {
      const visible = async (): Promise<string[]> =>
        (await page.locator('.find:visible').allTextContents()).map((text) => text.slice(0, 21));
      assert.equal((await visible()).length, 4);
      await page.fill('#search', 'WEB default');
      assert.deepEqual(await visible(), ['Endpoints default/web']);
      assert.equal(await page.locator('section:visible').count(), 1);
      assert.equal(await page.textContent('#shown'), '1 of 4');
      await page.fill('#search', '');
      assert.equal((await visible()).length, 4);
    });
  });

  it('an opened difference shows both sides, by sign and colour', async () => {
    await withPage({ width: 1200, colorScheme: 'light' }, async (page) => {
      await page.click('summary >> nth=0');
      const look = async (element: string): Promise<string[]> =>
        await onFirst(
          page,
          element,
          "(one) => [getComputedStyle(one, '::before').content, getComputedStyle(one).backgroundColor]",
        );
      assert.deepEqual(await look('del'), ['"- "', 'rgb(255, 235, 233)']);
      assert.deepEqual(await look('ins'), ['"+ "', 'rgb(218, 251, 225)']);
    });
  });

  it('the page fits 400 pixels, with everything open', async () => {
    await withPage({ width: 400, colorScheme: 'light' }, async (page) => {
      for (const summary of await page.locator('summary').all()) await summary.click();
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 400);
    });
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`text has a contrast of at least 4.5 to its ground (${colorScheme})`, async () => {
      await withPage({ width: 1200, colorScheme }, async (page) => {
        await page.click('summary >> nth=0');
        for (const element of ['body', '.figure', '.note', 'dt', 'del', 'ins', 'th']) {
          const ratio = await onFirst<number>(page, element, CONTRAST);
          assert.ok(ratio >= 4.5, `${element}: ${ratio}`);
        }
      });
    });
  }
});
