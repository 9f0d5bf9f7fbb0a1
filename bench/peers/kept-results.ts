/** The files of the results that the repository keeps: data, and the document and pictures made from them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type Plot, plotSvg } from '../../src/page/plot.ts';
import { growthMarks, growthPage, growthPicture, growthSections, type Growth } from '../growth/report.ts';
import { peersPage } from './report-page.ts';
import { addResults, compareAll, RESULTS_FORMAT, type Results, withScenarios } from './results.ts';
import {
  coalescingSection,
  growthText,
  otherBenchesText,
  pictures,
  resultsText,
  sweepSection,
} from './results-page.ts';
import { coalescingMark, collectingSection, type Coalescing } from '../coalescing/report.ts';
import { frontierSection, sweepPage, sweepPicture, type Sweep } from '../sweep/report.ts';
import { keptTransferPage } from '../transfer/page.ts';
import { scenariosByName, SCENARIOS } from './scenarios.ts';
import { readMarks } from '../marks/data.ts';
import { keptMarks, otherBenchesSections } from '../marks/report.ts';

const ROOT = new URL('../../', import.meta.url);
const BENCH = new URL('bench/', ROOT);
const IMAGES = new URL('docs/images/', ROOT);
const KEPT = new URL('results.json', BENCH);

/** The results that are kept; null = there are none. @throws Error if bench/results.json is of an older bench */
export function readKept(): Results | null {
  return existsSync(KEPT) ? readResults(KEPT) : null;
}

/** Adds the results to those that are kept, as `addResults` does, and writes what is made from them. */
export function keepResults(kept: Results | null, results: Results): void {
  writeResults(kept === null ? results : addResults(kept, results));
}

/**
 * `bench -- results [FILE]`: writes the document, the page and the pictures anew. FILE is what `peers --json` has written:
 * its runs are added before.
 * @throws Error if there is more than one file, or nothing is there, or the file was added before or is of an older bench
 */
export function writeResultsOf([path, ...more]: readonly string[]): Promise<void> {
  if (more.length > 0) throw new Error('npm run bench -- results [FILE]: one file at most was expected');
  const kept = readKept();
  if (path === undefined) {
    if (kept === null) throw new Error(`${KEPT.pathname} is not there: peers --results writes it`);
    writeResults(kept);
    return Promise.resolve();
  }
  const later = readResults(path);
  const begins = new Set(kept?.commands.map(({ startedAt }) => startedAt));
  const again = later.commands.find(({ startedAt }) => begins.has(startedAt));
  if (again !== undefined) throw new Error(`${path}: the runs of ${again.startedAt} were added before`);
  keepResults(kept, later);
  return Promise.resolve();
}

/** @throws Error if the data are of an older bench */
function readResults(path: URL | string): Results {
  const results = JSON.parse(readFileSync(path, 'utf8')) as Results;
  if (results.format === RESULTS_FORMAT) return results;
  throw new Error(`${String(path)} is of an older bench, which kept less: remove it, and run all anew`);
}

function writeResults(unordered: Results): void {
  const known = withScenarios(
    unordered,
    SCENARIOS.map(({ name }) => name),
  );
  const kept = new Set(known.scenarios.map(({ name }) => name));
  const scenarios = SCENARIOS.filter(({ name }) => kept.has(name)).map(({ name, what }) => ({ name, what }));
  const results = { ...known, scenarios };
  writeFileSync(KEPT, `${JSON.stringify(results)}\n`);
  remakeKept();
}

/** Writes anew what is made of the kept data. To be called when some of them have changed. */
export function remakeKept(): void {
  mkdirSync(IMAGES, { recursive: true });
  for (const [path, text] of Object.entries(keptTexts())) writeFileSync(new URL(path, ROOT), text);
}

/** The documents, pages and pictures that are made of the kept data, by their paths in the repository. */
export function keptTexts(): Readonly<Record<string, string>> {
  const [results, growth, sweep, coalescing] = [readKept(), lastGrowth(), lastSweep(), lastCoalescing()];
  return {
    ...(results === null ? {} : peersTexts(results, growth, sweep, coalescing)),
    ...(growth === null
      ? {}
      : { 'bench/growth.html': growthPage(growth), ...picture('bench-growth', growthPicture(growth)) }),
    ...(sweep === null ? {} : { 'bench/sweep.html': sweepPage(sweep), ...picture('bench-sweep', sweepPicture(sweep)) }),
    'bench/transfer/TRANSFER.md': keptTransferPage(),
  };
}

function peersTexts(
  results: Results,
  growth: Growth | null,
  sweep: Sweep | null,
  coalescing: Coalescing | null,
): Record<string, string> {
  const comparisons = compareAll(results, scenariosByName());
  const kept = readMarks();
  const marks = [
    ...(growth === null ? [] : growthMarks(growth)),
    ...(coalescing === null ? [] : [coalescingMark(coalescing)]),
    ...keptMarks(kept),
  ];
  const sections = [
    ...(growth === null ? [] : growthSections(growth)),
    ...(sweep === null ? [] : [frontierSection(sweep)]),
    ...(coalescing === null ? [] : [collectingSection(coalescing)]),
    ...otherBenchesSections(kept),
  ];
  return {
    'bench/RESULTS.md': [
      resultsText(results, comparisons, marks),
      ...growthText(growth),
      ...sweepSection(sweep),
      ...coalescingSection(coalescing),
      ...otherBenchesText(kept),
    ].join('\n'),
    'bench/results.html': peersPage(results, comparisons, { marks, sections }),
    ...Object.assign({}, ...pictures(results, comparisons).map(({ name, plot }) => picture(name, plot))),
  };
}

function picture(name: string, plot: Plot): Record<string, string> {
  return { [`docs/images/${name}.svg`]: `${plotSvg(plot, true)}\n` };
}

/** The data of the last `growth --results`; null = there are none. */
function lastGrowth(): Growth | null {
  return dataIn('growth.json') as Growth | null;
}

/** As `lastGrowth`, of `sweep --results`. */
function lastSweep(): Sweep | null {
  return dataIn('sweep.json') as Sweep | null;
}

/** As `lastGrowth`, of `coalescing --results`. */
function lastCoalescing(): Coalescing | null {
  return dataIn('coalescing.json') as Coalescing | null;
}

function dataIn(name: string): unknown {
  const file = new URL(name, BENCH);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as unknown) : null;
}
