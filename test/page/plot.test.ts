import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plotSvg, type LinePlot } from '../../src/page/plot.ts';
import { linearTicks, logTicks, tickText } from '../../src/page/ticks.ts';

const LINES: LinePlot = {
  kind: 'lines',
  title: 'CPU <of> "all"',
  x: { label: 'pods', scale: 'log' },
  y: { label: 'ms', scale: 'linear' },
  series: [
    {
      name: '<b>ours</b>',
      points: [
        [1, 0],
        [10, 5],
        [100, Number.NaN],
        [1000, 10],
      ],
    },
  ],
};

describe('a plot', () => {
  it('a plot has a colour for each series, and a gap in a line without a value', () => {
    const svg = plotSvg(LINES);
    assert.match(svg, /<path class="line s0" d="M64 282L272 161M688 40"\/>/);
  });

  it('a plot shows texts of others as texts', () => {
    const svg = plotSvg(LINES);
    assert.ok(svg.includes('aria-label="CPU &lt;of&gt; &quot;all&quot;"'));
    assert.ok(svg.includes('>&lt;b&gt;ours&lt;/b&gt;</text>'));
    assert.ok(!svg.includes('<b>'));
  });

  it('a stepped line holds a value until the next one', () => {
    assert.match(plotSvg({ ...LINES, stepped: true }), /M64 282H272V161/);
  });

  it('a stacked plot puts areas on top of each other', () => {
    const points = [
      [0, 1],
      [1, 1],
    ] as const;
    const svg = plotSvg({
      ...LINES,
      x: { label: 's', scale: 'linear' },
      stacked: true,
      series: [
        { name: 'a', points },
        { name: 'b', points },
      ],
    });
    const areas = [...svg.matchAll(/<path class="area s\d" d="([^"]*)"/g)].map((match) => match[1]);
    assert.deepEqual(areas, ['M64 161L688 161L688 282L64 282Z', 'M64 40L688 40L688 161L64 161Z']);
  });

  it('a bar plot has a bar for each known value, with its interval', () => {
    const svg = plotSvg({
      kind: 'bars',
      title: 't',
      y: { label: '%', scale: 'linear' },
      series: ['a', 'b'],
      groups: [{ name: 'g', values: [50, Number.NaN], ranges: [[40, 60]] }],
    });
    assert.equal(svg.match(/<rect class="area s\d"[^>]*><title>/g)!.length, 1);
    assert.ok(svg.includes('class="range"'));
  });

  it('a plot has a style of its own only where it stands alone', () => {
    assert.match(plotSvg(LINES, true), /^<svg class="plot" xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^>]*><style>/);
    assert.ok(!plotSvg(LINES).includes('<style>'));
  });

  it('a plot may be empty', () => {
    assert.match(plotSvg({ ...LINES, series: [] }), /^<svg .*<\/svg>$/);
    assert.ok(!plotSvg({ ...LINES, series: [] }).includes('NaN'));
  });
});

describe('the marks of an axis', () => {
  it('the ticks of an axis are round numbers around the values', () => {
    assert.deepEqual(linearTicks(0, 97), [0, 20, 40, 60, 80, 100]);
    assert.deepEqual(linearTicks(3, 3), [3, 4, 5, 6]);
    assert.deepEqual(linearTicks(Infinity, -Infinity), [0, 0.2, 0.4, 0.6, 0.8, 1]);
    assert.deepEqual(logTicks(3, 250), [1, 10, 100, 1000]);
    assert.deepEqual(logTicks(10, 10), [10, 100]);
  });

  it('the texts of ticks are short', () => {
    assert.deepEqual([0.25, 15, 1500, 2_000_000].map(tickText), ['0.25', '15', '1,500', '2M']);
  });

  it('a heat plot is darker where values are higher, and has no cell without one', () => {
    const cell = (value: number): { text: string; value: number } => ({ text: String(value), value });
    const svg = plotSvg({
      kind: 'heat',
      title: 'p99',
      x: { label: 'batch', names: ['0s', '1s'] },
      y: { label: 'syncs', names: ['<1>', '5'] },
      cells: [
        [cell(1), cell(10)],
        [cell(100), cell(Number.NaN)],
      ],
    });
    const opacities = [...svg.matchAll(/fill-opacity="([\d.]+)"/g)].map((found) => found[1]);
    assert.deepEqual(opacities, ['0.1', '0.4', '0.6', '0']);
    assert.ok(svg.includes('&lt;1&gt;'));
  });
});
