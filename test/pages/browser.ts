/** A real browser for the pages that commands write: Debian's chromium, or the one that CHROMIUM names. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';

const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

export async function startBrowser(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(`no browser at ${EXECUTABLE}: apt-get install chromium, or name one by CHROMIUM=/path/to/chromium`);
  }
  // As root, as in a container, chromium has no sandbox; the pages are our own.
  return await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
}

export interface OpenedPage {
  readonly page: Page;
  /** What the browser has complained about, and each address that was asked for beside the page itself. */
  readonly complaints: string[];
  readonly close: () => Promise<void>;
}

export interface View {
  readonly width: number;
  readonly colorScheme: 'light' | 'dark';
}

/** Opens the text from a file, as somebody does who was sent the report. */
export async function openHtml(browser: Browser, html: string, view: View): Promise<OpenedPage> {
  const directory = await mkdtemp(join(tmpdir(), 'endpointd-page-'));
  const file = join(directory, 'report.html');
  await writeFile(file, html);
  const { width, colorScheme } = view;
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
  const complaints: string[] = [];
  const address = pathToFileURL(file).href;
  page.on('console', (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (request.url() !== address && request.url() !== 'data:,') complaints.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return {
    page,
    complaints,
    async close() {
      await page.close();
      await rm(directory, { recursive: true });
    },
  };
}
