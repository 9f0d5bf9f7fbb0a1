/** The page of a running process, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { debugPage } from '../../src/cli/live/debug-page.ts';
import type { DebugView } from '../../src/controller/reports/debug-view.ts';
import type { HttpServer } from '../../src/node/serving/http.ts';
import { servePages } from '../support/plain-pages.ts';
import { startBrowser } from './browser.ts';

const VIEW: DebugView = {
  phase: 'running',
  leader: 'this process, without a Lease',
  role: 'leads',
  wallMs: 1_800_000_000_000,
  services: 7,
  queues: [
    {
      controller: 'endpoints',
      running: true,
      fresh: 1,
      chore: 2,
      delayed: 3,
      delayedChanges: 0,
      syncing: 4,
      slots: 5,
      longestSyncMs: 12,
      oldestChangeMs: -1,
    },
  ],
  shards: [{ shard: 0, services: 7, queued: 0, suspects: 0, batches: 1, oldestBatchMs: 3 }],
  writes: { fresh: 0, chore: 0, inFlight: 1, inFlightMax: 64, tokens: 30, burst: 30, pauseMs: 0 },
  watches: [{ resource: 'pods', phase: 'watching', lastEventMs: 900, openMs: 60_000, downMs: -1 }],
  stuck: [
    {
      controller: 'endpoints',
      service: 'shop/web',
      class: 'invalid',
      failures: 3,
      error: '<img src=https://elsewhere.example/x onerror=alert(1)>',
    },
  ],
  stuckTotal: 1,
  failing: 1,
  stages: [{ controller: 'endpoints', stage: 'plan', count: 9, medianMs: 1, p99Ms: 2, maxMs: 3 }],
  busiest: [{ service: 'shop/web', changes: 9, writes: 8, failures: 0 }],
  changes: [],
};

describe('the debug page in a browser', () => {
  let browser: Browser;
  let server: HttpServer;
  let view = VIEW;
  before(async () => {
    browser = await startBrowser();
    server = await servePages({
      '/debug/endpointd': () => ({
        status: 200,
        contentType: 'text/html; charset=utf-8',
        body: debugPage(view, '1.2.3'),
      }),
    });
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  it('the page refreshes itself and keeps the search, without errors', async () => {
    const page = await browser.newPage({ viewport: { width: 400, height: 800 }, colorScheme: 'dark' });
    const complaints: string[] = [];
    const url = `http://${server.address}/debug/endpointd`;
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (request.url() !== url && request.url() !== 'data:,') complaints.push(request.url());
    });
    await page.goto(url);
    assert.equal(await page.textContent('.figure'), '1 stuck');
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 400);
    await page.fill('#search', 'shop/web');
    assert.equal(await page.locator('.find:visible').count(), 2);

    view = { ...VIEW, stuck: [], stuckTotal: 0, failing: 0 };
    await page.locator('.figure', { hasText: '3 waiting' }).waitFor();
    assert.equal(await page.inputValue('#search'), 'shop/web');
    assert.equal(await page.locator('.find:visible').count(), 1);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  it('a refresh keeps selected text, and tables as they are scrolled', async () => {
    view = VIEW;
    const page = await browser.newPage({ viewport: { width: 700, height: 800 } });
    await page.goto(`http://${server.address}/debug/endpointd`);
    await page.evaluate('[...document.querySelectorAll(".scroll")].at(-1).scrollLeft=30');
    view = { ...VIEW, services: 8 };
    await page.locator('header p', { hasText: '8 Services' }).waitFor();
    assert.equal(await page.evaluate('[...document.querySelectorAll(".scroll")].at(-1).scrollLeft'), 30);

    await page.evaluate('getSelection().selectAllChildren(document.querySelector("main h2"))');
    view = { ...VIEW, services: 9 };
    await page.locator('header p', { hasText: '9 Services' }).waitFor();
    assert.equal(await page.evaluate('String(getSelection())'), 'Stuck services');
    await page.close();
  });

  it('the page says that it is old when nothing answers', async () => {
    const page = await browser.newPage();
    await page.goto(`http://${server.address}/debug/endpointd`);
    await server.close();
    await page.waitForSelector('#stale');
    assert.match((await page.textContent('#stale'))!, /^This is old: no answer/);
    await page.close();
  });
});
