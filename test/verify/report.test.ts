/** The report as text and as a page: bounded, and safe against names and values of strangers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderPage } from '../../src/page/page.ts';
import { reportPage } from '../../src/verify/report-page.ts';
import { reportJson, reportText } from '../../src/verify/report-text.ts';
import type { DifferentUnit, Report } from '../../src/verify/report.ts';

const HOSTILE = '\u001B]0;owned\u0007<img src=x>\n\u202Eweb';

function unitOf(service: string, value: string): DifferentUnit {
  const difference = {
    kind: 'Endpoints',
    name: service,
    field: `metadata.labels[${value}]`,
    stored: value,
    planned: null,
    reason: 'Endpoints: a label is not to be there',
    listed: null,
    title: '',
    writer: 'kubectl-edit',
  } as const;
  return {
    controller: 'endpoints',
    namespace: 'default',
    service,
    writes: 1,
    bytes: 2048,
    seconds: 30,
    differences: [difference],
    differencesTotal: 1,
  };
}

function reportOf(different: readonly DifferentUnit[], more: Partial<Report> = {}): Report {
  const reason = 'Endpoints: a label is not to be there';
  return {
    server: 'https://10.0.0.1:6443',
    startedAt: '2026-01-01T00:00:00.000Z',
    seconds: 30.4,
    verdict: 'different',
    seen: { services: 10_934, pods: 100_000, nodes: 1, plans: 21_868 },
    unseen: [],
    failed: [],
    reasons: [{ reason, listed: null, title: '', units: different.length }],
    different,
    notLookedAt: 0,
    moving: { count: 2, units: ['endpoints default/a', 'endpoints default/b'] },
    cost: { writes: 1, bytes: 2048, seconds: 0, requestsPerSecond: 60 },
    lag: null,
    ...more,
  };
}

describe('the report as text', () => {
  it('the text says which object and field differ, and the cost of a switch', () => {
    const lag = { count: 812, p50Ms: 12.5, p90Ms: 40, p99Ms: 900, maxMs: 2300 };
    assert.deepEqual(reportText(reportOf([unitOf('web', 'x')], { lag })).split('\n'), [
      'different: 1 service would be written',
      '10,934 Services, 100,000 pods, 1 node on https://10.0.0.1:6443, in 30.4 s',
      'a switch would cost 1 write, 2.0 KiB, less than 1 s at 60 requests a second',
      'moving: 2, which differed for a while or did not stand still, and do not count',
      "the other writer's lag: of 812 changes: p50 0.013 s, p90 0.040 s, p99 0.900 s, most 2.300 s",
      '',
      'Endpoints: a label is not to be there (1 service)',
      '  not a listed difference',
      '  Endpoints default/web metadata.labels[x], last written by kubectl-edit',
      '    - x',
      '',
    ]);
  });

  it('the text says what could not be seen, and for which controllers', () => {
    const unseen = [{ resource: 'nodes', reason: '403 forbidden', controllers: ['endpointslice'] as const }];
    const failed = [{ unit: 'endpoints default/big', reason: 'snapshot is over --max-batch-bytes' }];
    const text = reportText(reportOf([], { verdict: 'unknown', unseen, failed, reasons: [] }));
    assert.match(text, /^could not tell everything: of what was seen, nothing would be written\n/);
    assert.match(text, /\ncould not see nodes: 403 forbidden; no answer for endpointslice\n/);
    assert.match(text, /\ncould not tell endpoints default\/big: snapshot is over --max-batch-bytes\n/);
  });

  it('planned writes that were not looked at are told, and never as nothing', () => {
    const unseen = [{ resource: 'nodes', reason: '500', controllers: ['endpointslice'] as const }];
    const none = { writes: 0, bytes: 0, seconds: 0, requestsPerSecond: 60 };
    const more = { verdict: 'unknown', unseen, notLookedAt: 10_934 } as const;
    const text = reportText(reportOf([], { ...more, cost: none, reasons: [] }));
    assert.match(text, /^could not tell everything: 10,934 planned changes not looked at\n/);
    assert.match(text, /\na switch would cost 0 writes, .*, and that of what was not looked at\n/);
    assert.match(text, /\nnot looked at: 10,934, for which writes are planned: nobody knows whether/);
    const both = reportOf([unitOf('web', 'x')], { ...more, notLookedAt: 1 });
    const headline = 'of what was seen, 1 service would be written; 1 planned change not looked at';
    assert.equal(reportText(both).split('\n')[0], `could not tell everything: ${headline}`);
    assert.match(renderPage(reportPage(both)), /not looked at/);
  });

  it('the cost of a switch has no time if no limit holds the writes up', () => {
    const cost = { writes: 50_000, bytes: 102_400_000, seconds: null, requestsPerSecond: -1 };
    assert.equal(
      reportText(reportOf([], { cost })).split('\n')[2],
      'a switch would cost 50,000 writes, 97.7 MiB, and no limit holds them up',
    );
  });

  it('the text shows the first twenty objects of a reason, and counts the others', () => {
    const text = reportText(reportOf(Array.from({ length: 1021 }, (_, i) => unitOf(`web-${i}`, 'x'))));
    assert.equal(text.split('\n').length, 8 + 2 * 20 + 1);
    assert.match(text, /\n {2}\.\.\. and 1,001 more: all are in -o json\n/);
  });

  it('JSON comes in parts, of which none has more than one service', () => {
    const unit = unitOf('web', 'x'.repeat(10_000));
    const report = reportOf(Array.from({ length: 100 }, () => unit));
    const parts = [...reportJson(report)];
    assert.equal(parts.join(''), `${JSON.stringify(report, null, 2)}\n`);
    const longest = Math.max(...parts.map(({ length }) => length));
    assert.ok(longest < 1.1 * JSON.stringify(unit, null, 2).length, `${longest} characters`);
  });

  it('names and values of others do not steer a terminal in JSON either', () => {
    const report = reportOf([unitOf('\u009B2J\u202Eweb', 'x')]);
    const json = [...reportJson(report)].join('');
    assert.ok(!/[^\P{C}\n]/u.test(json));
    assert.deepEqual(JSON.parse(json), report);
  });

  it('names and values of others do not steer a terminal', () => {
    const reason = { reason: HOSTILE, listed: null, title: '', units: 1 };
    const unseen = [{ resource: 'pods', reason: HOSTILE, controllers: [] }];
    const failed = [{ unit: HOSTILE, reason: HOSTILE }];
    const unit = unitOf(HOSTILE, HOSTILE);
    const different = [{ ...unit, differences: [{ ...unit.differences[0]!, reason: HOSTILE }] }];
    const text = reportText(reportOf(different, { server: HOSTILE, unseen, failed, reasons: [reason] }));
    assert.ok(!/[^\P{C}\n]/u.test(text), JSON.stringify(text));
    assert.equal(text.split('\n').length, 12);
  });
});

describe('the report as a page', () => {
  it('the page has a section for each reason, and shows what could not be told', () => {
    const html = renderPage(
      reportPage(reportOf([unitOf('web', HOSTILE)], { failed: [{ unit: 'a', reason: HOSTILE }] })),
    );
    assert.match(html, /<h2 class="unsure">Could not be told<\/h2>/);
    assert.match(html, /<summary>default\/web <span class="aside">endpoints, for 30 s<\/span><\/summary>/);
    assert.ok(!html.includes('<img'));
  });

  it('the page shows a thousand objects of a reason, and counts the others', () => {
    const html = renderPage(reportPage(reportOf(Array.from({ length: 1200 }, (_, i) => unitOf(`web-${i}`, 'x')))));
    assert.equal(html.split('<details').length - 1, 1000);
    assert.match(html, /200 more are in -o json\./);
  });

  it('the page counts what could not be told beyond a thousand', () => {
    const failed = Array.from({ length: 1200 }, (_, i) => ({ unit: `endpoints default/web-${i}`, reason: 'stuck' }));
    assert.match(
      renderPage(reportPage(reportOf([], { failed }))),
      /told<\/h2>\n<p class="note">200 more are in -o json\./,
    );
  });
});
