/** Plots as inline SVG: lines, stacked areas, bars and fields of cells. Plain data in, text out. */
import { log } from '../lib/exp-log.ts';
import { escape } from './escape.ts';
import { SERIES_COLOURS, STANDALONE_STYLE } from './plot-style.ts';
import { linearTicks, logTicks, tickText, tickTexts } from './ticks.ts';

export type Plot = LinePlot | BarPlot | HeatPlot;

export interface Axis {
  readonly label: string;
  /** On a logarithmic axis, values of 0 and less stand at the lower end. */
  readonly scale: 'linear' | 'log';
}

/** Points in the order of x. A point that is no finite number breaks the line. */
export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** The place of its colour, so that a name keeps it in plots without others; absent = its place in the plot. */
  readonly colour?: number | undefined;
  /** Whether the line is thin, beside another one of the same colour. */
  readonly thin?: boolean;
}

export interface LinePlot {
  readonly kind: 'lines';
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Whether a value holds until the next point, as in a distribution. */
  readonly stepped?: boolean;
  /** Whether series are areas on top of each other. All series have the same x then. */
  readonly stacked?: boolean;
  /** Whether each point is a dot. A point without a neighbour is one always, because a line would not show it. */
  readonly dotted?: boolean;
  /** Vertical lines with a name. */
  readonly notes?: readonly { readonly x: number; readonly name: string }[];
}

export interface BarPlot {
  readonly kind: 'bars';
  readonly title: string;
  readonly y: Axis;
  /** Names of the bars of each group. */
  readonly series: readonly string[];
  /** The place of the colour of each; absent = its place in the plot. */
  readonly colours?: readonly number[];
  readonly groups: readonly BarGroup[];
}

export interface BarGroup {
  readonly name: string;
  /** NaN = no bar. */
  readonly values: readonly number[];
  /** The interval of each value. */
  readonly ranges?: readonly (readonly [low: number, high: number])[];
}

/** A field of cells. Higher values have more of the colour, by orders of magnitude. */
export interface HeatPlot {
  readonly kind: 'heat';
  readonly title: string;
  readonly x: { readonly label: string; readonly names: readonly string[] };
  readonly y: { readonly label: string; readonly names: readonly string[] };
  /** Cells by row, from the top, each with its text and value. The value of an unknown cell is not finite. */
  readonly cells: readonly (readonly { readonly text: string; readonly value: number }[])[];
  /** The values of the faintest and of the darkest cell, so that several fields have one scale; absent = its own. */
  readonly range?: readonly [low: number, high: number];
}

const WIDTH = 704;
const HEIGHT = 330;
const BOX = { left: 64, right: WIDTH - 16, top: 40, bottom: HEIGHT - 48 };
const LEGEND_CHARACTER = 7;
/** Of the name of the y axis, between the legend and the text of the topmost tick. */
const LABEL_Y = BOX.top - 10;

/** @param standalone true = the plot is a picture with a style of its own; false = the page's style applies */
export function plotSvg(plot: Plot, standalone = false): string {
  const keys = legend(plot);
  const above = ROW_HEIGHT * (keys.rows - 1);
  const paper = `<rect y="${-above}" width="100%" height="100%" fill="#fff"/>`;
  const style = standalone ? `<style>${STANDALONE_STYLE}</style>${paper}` : '';
  const space = standalone ? ' xmlns="http://www.w3.org/2000/svg"' : '';
  return [
    `<svg class="plot"${space} viewBox="0 ${-above} ${WIDTH} ${HEIGHT + above}" role="img" aria-label="${escape(plot.title)}">${style}`,
    keys.drawn,
    plot.kind === 'heat' ? heat(plot) : plot.kind === 'bars' ? bars(plot) : lines(plot),
    '</svg>',
  ].join('');
}

/** Names of series in rows. The last row is above the box, and each row before it is higher. */
function legend(plot: Plot): { readonly drawn: string; readonly rows: number } {
  if (plot.kind === 'heat') return { drawn: '', rows: 1 };
  const series =
    plot.kind === 'bars'
      ? plot.series.map((name, i): Series => ({ name, colour: plot.colours?.[i], points: [] }))
      : plot.series;
  const isLines = plot.kind === 'lines' && plot.stacked !== true;
  const keyWidth = isLines ? LINE_KEY_WIDTH : 12;
  let [x, row] = [BOX.left, 0];
  const placed = series.map(({ name }) => {
    const width = keyWidth + 16 + name.length * LEGEND_CHARACTER;
    if (x > BOX.left && x + width > BOX.right) [x, row] = [BOX.left, row + 1];
    x += width;
    return { left: x - width, row };
  });
  const drawn = series.map((one, i) => {
    const { left, row: at } = placed[i]!;
    const middle = 12 - (row - at) * ROW_HEIGHT;
    const key = isLines
      ? `<line class="${lineClass(one, i)}" x1="${left}" x2="${left + keyWidth}" y1="${middle}" y2="${middle}"/>`
      : `<rect class="area ${colourClass(one, i)}" x="${left}" y="${middle - 6}" width="${keyWidth}" height="12"/>`;
    return key + text(left + keyWidth + 5, middle + 4, one.name);
  });
  return { drawn: drawn.join(''), rows: row + 1 };
}

/** So wide that a pattern of dashes is seen. */
const LINE_KEY_WIDTH = 28;
const ROW_HEIGHT = 18;

function colourClass({ colour }: { readonly colour?: number | undefined }, place: number): string {
  return `s${(colour ?? place) % SERIES_COLOURS}`;
}

function lineClass(series: Series, place: number): string {
  return `line ${colourClass(series, place)}${series.thin === true ? ' thin' : ''}`;
}

/** The place of values on the paper. */
interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

function scaleOf({ scale }: Axis, values: readonly number[], from: number, to: number, zero: boolean): Scale {
  const known = values.filter((value) => Number.isFinite(value) && (scale === 'linear' || value > 0));
  const [low, high] = [
    known.reduce((a, b) => Math.min(a, b), Infinity),
    known.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
  if (scale === 'log') {
    const ticks = logTicks(Number.isFinite(low) ? low : 1, Number.isFinite(high) ? high : 10);
    const [first, last] = [log(ticks[0]!), log(ticks.at(-1)!)];
    const at = (value: number): number =>
      from + ((log(Math.max(value, ticks[0]!)) - first) / (last - first)) * (to - from);
    return { at, ticks };
  }
  const ticks = linearTicks(zero ? Math.min(0, low) : low, high);
  const [first, last] = [ticks[0]!, ticks.at(-1)!];
  return { at: (value) => from + ((value - first) / (last - first)) * (to - from), ticks };
}

function heat({ x, y, cells, range: ends }: HeatPlot): string {
  const known = (ends ?? cells.flat().map(({ value }) => value)).flatMap((value) =>
    Number.isFinite(value) ? [log(Math.max(value, HEAT_MIN))] : [],
  );
  const [low, high] = [
    known.reduce((a, b) => Math.min(a, b), Infinity),
    known.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
  const width = (BOX.right - BOX.left) / Math.max(1, x.names.length);
  const height = (BOX.bottom - BOX.top) / Math.max(1, y.names.length);
  const drawn = cells.flatMap((row, r) =>
    row.map(({ text: said, value }, c) => {
      const [left, top] = [BOX.left + c * width, BOX.top + r * height];
      const share = high > low ? (log(Math.max(value, HEAT_MIN)) - low) / (high - low) : 0;
      const opacity = Number.isFinite(value) ? round(HEAT_FAINTEST + (HEAT_FULLEST - HEAT_FAINTEST) * share) : 0;
      const box = `x="${round(left)}" y="${round(top)}" width="${round(width - 2)}" height="${round(height - 2)}"`;
      const middle = text(left + width / 2, top + height / 2 + 4, said, 'middle');
      return `<rect class="heat s0" ${box} fill-opacity="${opacity}"/>${middle}`;
    }),
  );
  return [
    text(4, LABEL_Y, y.label),
    ...y.names.map((name, r) => text(BOX.left - 6, BOX.top + (r + 0.5) * height + 4, name, 'end')),
    ...drawn,
    ...x.names.map((name, c) => text(BOX.left + (c + 0.5) * width, BOX.bottom + 17, name, 'middle')),
    text((BOX.left + BOX.right) / 2, HEIGHT - 8, x.label, 'middle'),
  ].join('');
}

/** All smaller values have the same colour. */
const HEAT_MIN = 0.001;
/** The opacity of the colour, so that texts stay readable. */
const HEAT_FAINTEST = 0.1;
const HEAT_FULLEST = 0.5;

function lines(plot: LinePlot): string {
  const series = plot.stacked === true ? stack(plot.series) : plot.series;
  const xs = plot.series.flatMap(({ points }) => points.map(([x]) => x));
  const x = scaleOf(plot.x, xs, BOX.left, BOX.right, false);
  const y = scaleOf(
    plot.y,
    series.flatMap(({ points }) => points.map((point) => point[1])),
    BOX.bottom,
    BOX.top,
    true,
  );
  const drawn = series.map((one, i) => {
    const { points } = one;
    if (plot.stacked === true) {
      const under = (series[i - 1]?.points ?? points.map(([at]) => [at, 0] as const)).toReversed();
      return `<path class="area ${colourClass(one, i)}" d="${path([...points, ...under], x, y, false)}Z"/>`;
    }
    const dots = points.filter((point, at) => isKnown(point) && (plot.dotted === true || isAlone(points, at)));
    const circles = dots.map(
      ([at, up]) =>
        `<circle class="dot ${colourClass(one, i)}" cx="${round(x.at(at))}" cy="${round(y.at(up))}" r="3"/>`,
    );
    return `<path class="${lineClass(one, i)}" d="${path(points, x, y, plot.stepped === true)}"/>${circles.join('')}`;
  });
  const notes = (plot.notes ?? []).map(({ x: value, name }, i) => {
    const at = round(x.at(value));
    return `<line class="note" x1="${at}" x2="${at}" y1="${BOX.top}" y2="${BOX.bottom}"/>${text(at + 3, BOX.top + 10 + (i % 3) * 13, name)}`;
  });
  // Nothing is seen beyond the box.
  const named = tickTexts(x.ticks);
  const along = x.ticks.map((tick, i) =>
    text(x.at(tick), BOX.bottom + 17, named[i]!, x.at(tick) < BOX.right ? 'middle' : 'end'),
  );
  return [
    yAxis(plot.y, y),
    ...along,
    text((BOX.left + BOX.right) / 2, HEIGHT - 8, plot.x.label, 'middle'),
    ...drawn,
    ...notes,
  ].join('');
}

/** Puts each series on top of those before it. */
function stack(series: readonly Series[]): Series[] {
  const sums: number[] = [];
  return series.map((one) => ({
    ...one,
    points: one.points.map(([x, y], i) => [x, (sums[i] = (sums[i] ?? 0) + (Number.isFinite(y) ? y : 0))] as const),
  }));
}

type Points = Series['points'];

function isKnown(point: Points[number] | undefined): boolean {
  return point?.every(Number.isFinite) === true;
}

function isAlone(points: Points, at: number): boolean {
  return !isKnown(points[at - 1]) && !isKnown(points[at + 1]);
}

function path(points: Points, x: Scale, y: Scale, stepped: boolean): string {
  let said = '';
  let broken = true;
  for (const point of points) {
    if (!isKnown(point)) {
      broken = true;
      continue;
    }
    const [at, up] = [round(x.at(point[0])), round(y.at(point[1]))];
    said += broken ? `M${at} ${up}` : stepped ? `H${at}V${up}` : `L${at} ${up}`;
    broken = false;
  }
  return said;
}

function bars({ y: axis, series, colours, groups }: BarPlot): string {
  const values = groups.flatMap(({ values, ranges = [] }) => [...values, ...ranges.flat()]);
  const y = scaleOf(axis, values, BOX.bottom, BOX.top, true);
  const base = axis.scale === 'log' ? y.ticks[0]! : 0;
  const room = (BOX.right - BOX.left) / Math.max(1, groups.length);
  const width = (room * 0.8) / Math.max(1, series.length);
  const isTight = groups.some(({ name }) => name.length * LEGEND_CHARACTER > room);
  const drawn = groups.map(({ name, values, ranges = [] }, g) => {
    const left = BOX.left + g * room + room * 0.1;
    const each = values.map((value, i) => {
      if (!Number.isFinite(value)) return '';
      const at = left + i * width;
      const [top, bottom] = [Math.min(y.at(value), y.at(base)), Math.max(y.at(value), y.at(base))];
      const box = `x="${round(at)}" y="${round(top)}" width="${round(width * 0.92)}" height="${round(bottom - top)}"`;
      const colour = colourClass({ colour: colours?.[i] }, i);
      return `<rect class="area ${colour}" ${box}><title>${escape(`${name}, ${series[i] ?? ''}: ${tickText(value)}`)}</title></rect>${range(ranges[i], at + width * 0.46, y)}`;
    });
    // Every second name is a line lower where they would meet.
    const below = isTight && g % 2 === 1 ? 33 : 17;
    return each.join('') + text(left + room * 0.4, BOX.bottom + below, name, 'middle');
  });
  return [yAxis(axis, y), ...drawn].join('');
}

function range(interval: readonly [number, number] | undefined, at: number, y: Scale): string {
  if (interval === undefined || !interval.every(Number.isFinite)) return '';
  const [low, high] = interval.map((value) => round(y.at(value)));
  return `<line class="range" x1="${round(at)}" x2="${round(at)}" y1="${low}" y2="${high}"/>`;
}

function yAxis({ label }: Axis, y: Scale): string {
  const named = tickTexts(y.ticks);
  const ticks = y.ticks.map((tick, i) => {
    const at = round(y.at(tick));
    return `<line class="grid" x1="${BOX.left}" x2="${BOX.right}" y1="${at}" y2="${at}"/>${text(BOX.left - 6, at + 4, named[i]!, 'end')}`;
  });
  const axis = `<line class="axis" x1="${BOX.left}" x2="${BOX.right}" y1="${BOX.bottom}" y2="${BOX.bottom}"/>`;
  return [...ticks, axis, text(4, LABEL_Y, label)].join('');
}

function text(x: number, y: number, said: string, anchor: 'start' | 'middle' | 'end' = 'start'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escape(said)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
