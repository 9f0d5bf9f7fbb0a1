import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SERIES_COLOURS } from '../../src/page/plot-style.ts';
import { plotSvg, type LinePlot } from '../../src/page/plot.ts';
import { linearTicks, logTicks, tickText, tickTexts } from '../../src/page/ticks.ts';

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
    const alone = plotSvg(LINES, true);
    assert.match(alone, /^<svg class="plot" xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^>]*><style>/);
    assert.ok(!plotSvg(LINES).includes('<style>'));
    // Not every program that shows a picture knows it.
    assert.ok(!alone.includes('light-dark'));
  });

  it('each series has dashes of its own', () => {
    const dashes = [...plotSvg(LINES, true).matchAll(/\.line\.s\d\{[^}]*stroke-dasharray:([^;}]*)/g)];
    assert.equal(new Set(dashes.map(([, pattern]) => pattern)).size, SERIES_COLOURS);
  });

  it('names that do not fit into one row of the legend are in another one', () => {
    const series = ['a', 'b', 'c'].map((letter) => ({ name: letter.repeat(40), points: [] }));
    const svg = plotSvg({ ...LINES, series });
    const places = [...svg.matchAll(/<text x="(\d+)" y="(-?\d+)" text-anchor="start">[abc]{40}</g)];
    assert.deepEqual(
      places.map(([, x, y]) => [Number(x), Number(y)]),
      [
        [97, -20],
        [97, -2],
        [97, 16],
      ],
    );
    assert.match(svg, /viewBox="0 -36 704 366"/);
  });

  it('the legend shows a line as a line, and an area as an area', () => {
    assert.match(plotSvg(LINES), /^<svg [^>]*><line class="line s0"/);
    assert.match(plotSvg({ ...LINES, stacked: true }), /^<svg [^>]*><rect class="area s0"/);
  });

  it('a point without a neighbour is a dot, and each point where all are', () => {
    const dotsOf = (plot: LinePlot): number => plotSvg(plot).split('<circle class="dot s0"').length - 1;
    assert.deepEqual([dotsOf(LINES), dotsOf({ ...LINES, dotted: true })], [1, 3]);
  });

  it('a series may keep its colour where others are missing', () => {
    const [one] = LINES.series;
    const svg = plotSvg({ ...LINES, series: [{ ...one!, colour: 2, thin: true }] });
    assert.equal(svg.split('class="line s2 thin"').length - 1, 2);
    assert.ok(svg.includes('class="dot s2"'));
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
    assert.deepEqual(
      [0.25, 15, 1500, 2_000_000].map((value) => tickText(value)),
      ['0.25', '15', '1,500', '2M'],
    );
  });

  it('no two ticks of an axis have the same text', () => {
    assert.deepEqual(linearTicks(0.08, 0.080_000_000_000_000_02), linearTicks(0.08, 0.08));
    assert.deepEqual(tickTexts(linearTicks(12.31, 12.35)), ['12.31', '12.32', '12.33', '12.34', '12.35']);
    assert.deepEqual(tickTexts([1000, 1000.5, 1001]), ['1,000', '1,000.5', '1,001']);
    assert.deepEqual(tickTexts([999_999, 1_000_000, 1_000_001]), ['999,999', '1M', '1.000001M']);
    assert.deepEqual(tickTexts([0, 5, 10]), ['0', '5', '10']);
    assert.deepEqual(tickTexts(logTicks(0.001, 1e6)).at(-1), '1M');
  });

  it('a heat plot has more colour where values are higher, and no cell without one', () => {
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
    assert.deepEqual(opacities, ['0.1', '0.3', '0.5', '0']);
    assert.ok(svg.includes('&lt;1&gt;'));
  });
});
