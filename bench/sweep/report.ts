/** The results of a sweep, as a table and as a page with heat maps and the frontier. */
import { renderPage, type Section } from '../../src/page/page.ts';
import type { HeatPlot, LinePlot, Plot } from '../../src/page/plot.ts';
import { parseDuration } from '../../src/lib/duration.ts';
import { plural } from '../../src/lib/figures.ts';
import { PROGRAMS } from '../peers/scenario.ts';
import { FIGURES } from '../peers/window.ts';
import { type Basis, FEW_NOTE, fewText } from '../peers/basis.ts';
import { valueText } from '../peers/text.ts';
import { table } from '../support/table.ts';
import { frontier, type Cell, type SweepRun } from './grid.ts';

export interface Sweep {
  readonly format: 1;
  readonly command: string;
  readonly scenario: string;
  readonly commit: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly runs: readonly SweepRun[];
  readonly notRun: readonly Cell[];
}

/** The figures that are shown, if a run has them. */
const SHOWN = ['slicesP50', 'slicesP99', 'writes', 'controllerCpu', 'sumCpu', 'wall'];
/** Of whose cost a frontier is shown, if a run has it. */
const FRONTIERS = ['writes', 'sumCpu'];
const MAPPED = ['slicesP99', 'writes', 'controllerCpu'];

export function sweepText(sweep: Sweep): string {
  const { columns, rows, notes } = sweepTable(sweep);
  return [table(columns, rows), ...notes].join('\n');
}

export function sweepTable({ runs, notRun }: Sweep): {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
} {
  const wrong = wrongRuns(runs).flatMap((run) =>
    run.wrong.map((what) => `WRONG: ${run.peer}, ${cellText(run)}: ${what}`),
  );
  const left = notRun.map((cell) => `Not run, for want of time: ${cellText(cell)}`);
  const few = runs.some((run) => fewText(basisOf(run)) !== '') ? [`A p99 ${FEW_NOTE}`] : [];
  return { columns: columns(), rows: rows(runs), notes: [...wrong, ...left, ...few] };
}

/** A wrong run is tried again: only the last run of a cell counts. */
export function wrongRuns(runs: readonly SweepRun[]): SweepRun[] {
  return ordered(runs).filter((run) => !isRight(run));
}

function isRight({ wrong }: SweepRun): boolean {
  return wrong.length === 0;
}

function cellText({ syncs, batch, qps }: Cell): string {
  return `${syncs} syncs, batch period ${batch}, ${qps} requests a second`;
}

function columns(): string[] {
  return ['controller', 'syncs', 'batch', 'QPS', ...SHOWN.map((figure) => FIGURES[figure]!.title)];
}

function rows(runs: readonly SweepRun[]): string[][] {
  return ordered(runs).map((run) => {
    const { peer, syncs, batch, qps } = run;
    return [peer, String(syncs), batch, String(qps)].concat(SHOWN.map((figure) => figureText(run, figure)));
  });
}

function figureText(run: SweepRun, figure: string): string {
  if (!isRight(run)) return 'WRONG';
  const value = run.figures[figure];
  if (value === undefined) return '-';
  return valueText(value, FIGURES[figure]!.digits, figure.endsWith('P99') ? basisOf(run) : null);
}

/** Of how many changes the p99 of a run is. */
function basisOf({ figures }: SweepRun): Basis {
  return { changes: figures['changes'] ?? Number.NaN, of: 'all runs' };
}

/** The last run of each cell, ordered by peer, QPS, syncs and batch period. */
function ordered(runs: readonly SweepRun[]): SweepRun[] {
  const last = new Map(runs.map((run) => [`${run.peer} ${cellText(run)}`, run]));
  return [...last.values()].toSorted(
    (a, b) => (a.peer < b.peer ? -1 : a.peer > b.peer ? 1 : 0) || a.qps - b.qps || a.syncs - b.syncs || byPeriod(a, b),
  );
}

function byPeriod(a: Cell, b: Cell): number {
  return msOf(a.batch) - msOf(b.batch);
}

function msOf(period: string): number {
  return parseDuration(period) ?? 0;
}

export function sweepPage(sweep: Sweep): string {
  const { runs, notRun, scenario, command, commit, machine, versions } = sweep;
  const shown = ordered(runs);
  const right = shown.filter(isRight);
  const settings = [...Map.groupBy(right, ({ peer }) => peer)].map(
    ([peer, of]) => `${plural(of.length, 'setting')} of ${peer}`,
  );
  const facts = { command, commit, scenario, ...machine, ...versions };
  return renderPage({
    title: `Syncs, batch period and QPS: ${scenario}`,
    headline: {
      figure: String(right.length),
      words: `right ${right.length === 1 ? 'run' : 'runs'}: ${settings.join(', ')}`,
      tone: right.length < shown.length ? 'bad' : notRun.length > 0 ? 'unsure' : 'plain',
    },
    facts: Object.entries(facts).map(([name, value]) => ({ name, value })),
    notices: sweepTable(sweep).notes.map((note) => `${note}.`),
    sections: [frontierSection(sweep), ...MAPPED.map((figure) => mapSection(shown, figure))],
  });
}

/** What each controller's settings cost, and how late they are. */
export function frontierSection({ runs, scenario }: Sweep): Section {
  const right = ordered(runs).filter(isRight);
  return {
    title: `What lateness costs: ${scenario}`,
    tone: 'plain',
    note: 'Each line joins the settings of one controller that no other setting of it beats in both figures.',
    plots: FRONTIERS.filter((figure) => right.some(({ figures }) => figure in figures)).map((figure) =>
      frontierPlot(right, figure),
    ),
    table: { columns: columns(), rows: rows(runs) },
  };
}

/** The frontier of both controllers: how late changes are, by what it costs in writes. */
export function sweepPicture({ runs }: Sweep): LinePlot {
  return frontierPlot(ordered(runs).filter(isRight), 'writes');
}

function frontierPlot(runs: readonly SweepRun[], figure: string): LinePlot {
  const { title } = FIGURES[figure]!;
  const of = ({ figures }: SweepRun): readonly [number, number] => [
    figures[figure] ?? Number.NaN,
    figures['slicesP99'] ?? Number.NaN,
  ];
  const peers = PROGRAMS.filter((peer) => runs.some((run) => run.peer === peer));
  return {
    kind: 'lines',
    title: `p99 of the slices by ${title}`,
    x: { label: title, scale: 'linear' },
    y: { label: 'ms', scale: 'log' },
    dotted: true,
    series: peers.map((name) => ({
      name,
      colour: PROGRAMS.indexOf(name),
      points: frontier(
        runs.filter(({ peer }) => peer === name),
        of,
      ).map(of),
    })),
  };
}

/** A heat map for each controller and QPS, all with one scale. */
function mapSection(runs: readonly SweepRun[], figure: string): Section {
  const values = runs.filter(isRight).flatMap(({ figures }) => figures[figure] ?? []);
  const range = [Math.min(...values), Math.max(...values)] as const;
  const plots = [...Map.groupBy(runs, ({ peer, qps }) => `${peer}, ${qps} requests a second`)].map(
    ([title, of]): Plot => heatOf(title, of, figure, range),
  );
  return {
    title: FIGURES[figure]!.title,
    tone: 'plain',
    note: 'The fuller the colour, the more, in all maps alike.',
    plots,
  };
}

function heatOf(
  title: string,
  runs: readonly SweepRun[],
  figure: string,
  range: NonNullable<HeatPlot['range']>,
): HeatPlot {
  const syncs = [...new Set(runs.map((run) => run.syncs))].toSorted((a, b) => a - b);
  const periods = [...new Set(runs.map(({ batch }) => batch))].toSorted((a, b) => msOf(a) - msOf(b));
  return {
    kind: 'heat',
    title,
    range,
    x: { label: 'batch period', names: periods },
    y: { label: 'syncs', names: syncs.map(String) },
    cells: syncs.map((each) =>
      periods.map((period) => {
        const run = runs.find((one) => one.syncs === each && one.batch === period);
        if (run === undefined) return { text: 'not run', value: Number.NaN };
        return {
          text: figureText(run, figure),
          value: isRight(run) ? (run.figures[figure] ?? Number.NaN) : Number.NaN,
        };
      }),
    ),
  };
}
