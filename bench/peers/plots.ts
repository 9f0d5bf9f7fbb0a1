/** Plots of runs: costs, latencies, and the use of the cores. */
import { percentileOfSorted } from '../../src/lib/percentile.ts';
import type { BarPlot, LinePlot, Plot, Series } from '../../src/page/plot.ts';
import { pooled, type Comparison, type RunRecord } from './results.ts';
import { PROGRAMS } from './scenario.ts';
import { STAGES, type StageName } from './change-stages.ts';
import { FIGURES, LOAD_PROCESS } from './window.ts';

const CDF_POINTS = 200;

export function plotsOf(comparison: Comparison, runs: readonly RunRecord[]): Plot[] {
  const { scenario, peers } = comparison;
  const of = runs.filter((run) => run.scenario === scenario.name);
  const cpu = cpuPlot(comparison);
  return [
    ...(cpu === null ? [] : [cpu]),
    ...(['slices', 'endpoints'] as const).flatMap((kind) => distributionPlot(comparison, of, kind) ?? []),
    ...coursePlot(comparison, of),
    ...stagesPlot(comparison),
    ...peers.flatMap((peer) => coresPlot(comparison, of, peer)),
    ...memoryPlot(comparison, of),
  ];
}

/** Its place among the programs, where it runs alone too; other peers come behind them. */
function colourOf(peer: string, peers: readonly string[]): number {
  const others = peers.filter((one) => !PROGRAMS.includes(one));
  return [...PROGRAMS, ...others].indexOf(peer);
}

/** Of which run a plot over time is: the one whose figure is the median, so that it shows what the tables tell. */
interface Choice {
  readonly figure: string;
  readonly name: string;
}

const BY_CPU: Choice = { figure: 'controllerCpu', name: 'CPU of the controller' };
const BY_SHARE: Choice = { figure: 'serverShare', name: 'share of API server, etcd and load' };
const BY_P99: Choice = { figure: 'slicesP99', name: 'p99' };
const BY_PEAK: Choice = { figure: 'peakMB', name: 'peak' };

/** The wish, if the tables of the scenario have its figure. */
function choiceOf({ rows }: Comparison, wish: Choice): Choice {
  return rows.some(({ figure }) => figure === wish.figure) ? wish : BY_CPU;
}

/** What ended wrong is in no plot. Of an even number of runs it is the lower one of the two in the middle. */
function medianRun(runs: readonly RunRecord[], peer: string, { figure }: Choice): RunRecord | undefined {
  const right = runs.filter((run) => run.peer === peer && run.wrong.length === 0 && figure in run.figures);
  const inOrder = right.toSorted((a, b) => a.figures[figure]! - b.figures[figure]!);
  return inOrder[Math.ceil(inOrder.length / 2) - 1];
}

/** The CPU of the controller, and of the processes that it keeps busy. */
function cpuPlot({ scenario, peers, rows }: Comparison): BarPlot | null {
  const figures = ['controllerCpu', 'apiserverCpu', 'etcdCpu'].flatMap((figure) => {
    const row = rows.find((each) => each.figure === figure);
    return row === undefined ? [] : [row];
  });
  if (figures.length === 0) return null;
  return {
    kind: 'bars',
    title: `${scenario.name}: CPU, seconds`,
    y: { label: 'seconds', scale: 'linear' },
    series: peers,
    colours: peers.map((peer) => colourOf(peer, peers)),
    groups: figures.map(({ figure, values }) => ({
      name: FIGURES[figure]!.title.replace('CPU of ', '').replace(', s', ''),
      values: peers.map((peer) => values[peer]!),
    })),
  };
}

/** The distribution of all samples of all runs: the share of the changes that were seen by a time. */
function distributionPlot(
  { scenario, peers }: Comparison,
  runs: readonly RunRecord[],
  kind: 'endpoints' | 'slices',
): LinePlot | null {
  const series = peers
    .map((peer) => ({
      name: peer,
      colour: colourOf(peer, peers),
      points: distribution(pooled(runs, scenario.name, peer, kind)),
    }))
    .filter(({ points }) => points.length > 0);
  if (series.length === 0) return null;
  return {
    kind: 'lines',
    title: `${scenario.name}: from the change to ${kind === 'slices' ? 'the slice' : 'Endpoints'}`,
    x: { label: 'ms', scale: 'log' },
    y: { label: '% of the changes seen', scale: 'linear' },
    stepped: true,
    series,
  };
}

/** The latencies of one run of each peer over time. A restart, a full queue or a collection shows as a hill. */
function coursePlot(comparison: Comparison, runs: readonly RunRecord[]): LinePlot[] {
  const { scenario, peers } = comparison;
  const choice = choiceOf(comparison, BY_P99);
  const series = peers.flatMap((peer): Series[] => {
    const colour = colourOf(peer, peers);
    const course = medianRun(runs, peer, choice)?.course;
    if (course === undefined || course.seconds.length < 2) return [];
    const { seconds, p50, max } = course;
    return [
      { name: `${peer}, p50`, colour, points: seconds.map((at, i) => [at, p50[i]!] as const) },
      { name: `${peer}, longest`, colour, thin: true, points: seconds.map((at, i) => [at, max[i]!] as const) },
    ];
  });
  if (series.length === 0) return [];
  return [
    {
      kind: 'lines',
      title: `${scenario.name}: from the change to the slice over time, of each the run with the median ${choice.name}`,
      x: { label: 'seconds', scale: 'linear' },
      y: { label: 'ms', scale: 'log' },
      series,
    },
  ];
}

/** The stages of the peer that tells them, which is endpointd. */
function stagesPlot({ scenario, subject, rows }: Comparison): BarPlot[] {
  const groups = (Object.keys(STAGES) as StageName[]).flatMap((stage) => {
    const values = ['P50', 'P99'].map(
      (share) => rows.find(({ figure }) => figure === `stage${stage}${share}`)?.values[subject] ?? Number.NaN,
    );
    return values.some(Number.isFinite) ? [{ name: stage, values }] : [];
  });
  if (groups.length === 0) return [];
  const medianOf = (figure: string): number => rows.find((row) => row.figure === figure)?.values[subject] ?? Number.NaN;
  // The journal keeps the newest changes alone.
  const share = Math.min(1, medianOf('stageChanges') / medianOf('changes'));
  return [
    {
      kind: 'bars',
      title: `${scenario.name}: how long each stage of a change takes by itself, ${subject} (${(100 * share).toFixed(0)} % of the changes)`,
      y: { label: 'ms', scale: 'linear' },
      series: ['p50', 'p99'],
      groups,
    },
  ];
}

/** At most so many points, with the longest sample among them. */
export function distribution(samples: readonly number[]): (readonly [number, number])[] {
  if (samples.length === 0) return [];
  const sorted = Float64Array.from(samples).sort();
  const points = Math.min(CDF_POINTS, sorted.length);
  return Array.from({ length: points }, (_, i) => {
    const share = (i + 1) / points;
    return [Math.max(0.1, percentileOfSorted(sorted, share)), share * 100] as const;
  });
}

/** The processes of most runs: each has one place and one colour in all plots of the cores. */
const PROCESSES = [...PROGRAMS, 'apiserver', 'etcd', LOAD_PROCESS];

function coresPlot(comparison: Comparison, runs: readonly RunRecord[], peer: string): LinePlot[] {
  const choice = choiceOf(comparison, BY_SHARE);
  const run = medianRun(runs, peer, choice);
  if (run === undefined) return [];
  const { ms, cores, steps } = run.timeline;
  const names = [...new Set([...PROCESSES, ...Object.keys(cores)])];
  const series = names.flatMap((name, colour): Series[] => {
    const busy = cores[name];
    return busy === undefined ? [] : [{ name, colour, points: ms.map((at, i) => [at / 1000, busy[i]!] as const) }];
  });
  return [
    {
      kind: 'lines',
      title: `${run.scenario}: who used the cores, ${peer}, in its run with the median ${choice.name}`,
      x: { label: 'seconds', scale: 'linear' },
      y: { label: 'cores busy', scale: 'linear' },
      stacked: true,
      series,
      notes: steps.map((step) => ({ x: step.ms / 1000, name: step.name })),
    },
  ];
}

function memoryPlot(comparison: Comparison, runs: readonly RunRecord[]): LinePlot[] {
  const { scenario, peers } = comparison;
  const choice = choiceOf(comparison, BY_PEAK);
  const series = peers.flatMap((peer): Series[] => {
    const colour = colourOf(peer, peers);
    const run = medianRun(runs, peer, choice);
    if (run === undefined) return [];
    const { ms, residentBytes } = run.timeline;
    // Where no controller runs, its memory is not known.
    const points = ms.map((at, i) => [at / 1000, residentBytes[i]! / 1e6 || Number.NaN] as const);
    return [{ name: peer, colour, points }];
  });
  return [
    {
      kind: 'lines',
      title: `${scenario.name}: resident memory of the controller, of each the run with the median ${choice.name}`,
      x: { label: 'seconds', scale: 'linear' },
      y: { label: 'MB', scale: 'linear' },
      series,
    },
  ];
}
