/**
 * `bench -- sweep`: both controllers at each setting of syncs, batch period and QPS. Measured runs are kept and not
 * repeated.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { remakeKept } from '../peers/kept-results.ts';
import { commandText } from '../support/command-text.ts';
import { commitText } from '../support/commit.ts';
import { compileProgram } from '../support/compile.ts';
import { programHash } from '../support/program-hash.ts';
import { parseDuration } from '../../src/lib/duration.ts';
import { parsePeersFlags } from '../peers/flags.ts';
import { machineOf, versionsOf } from '../peers/machine.ts';
import { kindOfServer, progress, runPair } from '../peers/pair.ts';
import { programOf, writesFor } from '../peers/peers.ts';
import { PROGRAMS, SIZES, type Settings } from '../peers/scenario.ts';
import { findScenarios } from '../peers/scenarios.ts';
import { CACHE, createServers } from '../peers/server.ts';
import {
  cellsOf,
  doneKeys,
  keyText,
  measuredText,
  parseRuns,
  type Cell,
  type Grid,
  type RunKey,
  type SweepRun,
} from './grid.ts';
import { sweepOfCells } from './kept-cells.ts';
import { sweepPage, sweepText, type Sweep, wrongRuns } from './report.ts';

const ROOT = new URL('../..', import.meta.url);
const DEFAULT_SCENARIO = 'ready';
const DEFAULT_WORKLOAD = 'flap';
/** All cells of the full size take more than an hour on two quiet cores. */
const GRIDS: Readonly<Record<'tiny' | 'full', Grid>> = {
  tiny: { syncs: [1, 5], batch: ['0s', '50ms'], qps: [5000] },
  full: { syncs: [1, 5, 50], batch: ['0s', '100ms', '1s'], qps: [200, 1000, 5000] },
};

const HELP = `npm run bench -- sweep [SCENARIO] [flags]
Measures endpointd and kube-controller-manager at each setting of syncs, batch period and QPS, in the scenario (${DEFAULT_SCENARIO}).
endpointd has --max-writes-in-flight for all syncs of both controllers.
Each run is kept as a line of JSON as soon as it is over: the same command goes on where the last one ended,
as long as program, versions, bench and machine are the same.

  --syncs=A,B,C        (1,5,50)
  --batch-period=A,B   (0s,100ms,1s)
  --qps=A,B            --kube-api-qps and --kube-api-burst (200,1000,5000)
  --peers=A,B          of kube-controller-manager, endpointd (both)
  --server=KIND        kube or embedded, as in peers
  --size=SIZE          ${SIZES.join(', ')} (full)
  --seed=N             (1)
  --for=DURATION       begin no cell after that: 10m
  --data=FILE          where runs are kept (sweep.jsonl beside the data of peers)
  --json=FILE          write all runs of this sweep there, earlier ones too
  --page=FILE          write the report there, as one HTML page
  --results            write bench/sweep.json, and anew what is made of it
  --cells=FOLDER       measure nothing, and show the kept runs of bench -- cells in that folder, such as bench/cells:
                       those of --server=KIND (kube), with the SCENARIO flap, rollout or mixed (flap), as medians of
                       the runs of each setting; --json and --page are as ever
  --help               this`;

/** What to measure and where to keep it: flags that have no meaning beside `--cells`. */
const MEASURES = ['syncs', 'batch-period', 'qps', 'peers', 'size', 'seed', 'for', 'data'];

interface SweepOptions {
  readonly cells: string | null;
  readonly scenario: string;
  readonly grid: Grid;
  readonly peers: readonly string[];
  readonly forMs: number;
  readonly data: string;
  readonly json: string | null;
  readonly page: string | null;
  readonly results: boolean;
  readonly settings: Settings;
  readonly server: ReturnType<typeof parsePeersFlags>['server'];
  readonly help: boolean;
}

/** @throws Error that says what is not allowed */
export function parseSweepFlags(args: readonly string[], tiny: boolean): SweepOptions {
  const names = [...MEASURES, 'server', 'json', 'page', 'cells'];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { ...options, results: { type: 'boolean' as const }, help: { type: 'boolean' as const } },
  });
  const text = (name: string): string | undefined => (values as Readonly<Record<string, string | undefined>>)[name];
  const cells = text('cells') ?? null;
  const measures = [
    ...MEASURES.filter((name) => text(name) !== undefined),
    ...(values['results'] === true ? ['results'] : []),
  ];
  if (cells !== null && measures.length > 0)
    throw new Error(`--${measures.join(', --')}: --cells measures nothing, and shows all that is kept`);
  const common = ['size', 'seed', 'server', 'for'].flatMap((name) =>
    text(name) === undefined ? [] : [`--${name}=${text(name)}`],
  );
  const { settings, server, forMs } = parsePeersFlags(common, tiny);
  const grid = GRIDS[settings.size === 'tiny' ? 'tiny' : 'full'];
  if (positionals.length > 1) throw new Error('one scenario was expected');
  const [said = cells === null ? DEFAULT_SCENARIO : DEFAULT_WORKLOAD] = positionals;
  return {
    cells,
    scenario: cells === null ? findScenarios([said])[0]!.name : said,
    grid: {
      syncs: numbersOf('syncs', text('syncs')) ?? grid.syncs,
      batch: periodsOf(text('batch-period')) ?? grid.batch,
      qps: numbersOf('qps', text('qps')) ?? grid.qps,
    },
    peers: peersOf(text('peers')),
    forMs: forMs ?? Infinity,
    data: text('data') ?? join(CACHE, 'sweep.jsonl'),
    json: text('json') ?? null,
    page: text('page') ?? null,
    settings,
    server,
    results: values['results'] === true,
    help: values['help'] === true,
  };
}

function numbersOf(name: string, said: string | undefined): number[] | null {
  if (said === undefined) return null;
  const numbers = said.split(',').map(Number);
  if (numbers.every((number) => Number.isInteger(number) && number > 0)) return numbers;
  throw new Error(`--${name}: numbers such as 1,5,50 were expected, not ${JSON.stringify(said)}`);
}

function periodsOf(said: string | undefined): string[] | null {
  if (said === undefined) return null;
  const periods = said.split(',');
  if (periods.every((period) => parseDuration(period) !== null)) return periods;
  throw new Error(`--batch-period: durations such as 0s,100ms were expected, not ${JSON.stringify(said)}`);
}

function peersOf(said: string | undefined): readonly string[] {
  const peers = said?.split(',') ?? PROGRAMS;
  const unknown = peers.find((peer) => !PROGRAMS.includes(peer));
  if (unknown !== undefined) throw new Error(`--peers: ${unknown} is none of ${PROGRAMS.join(', ')}`);
  return peers;
}

/** @param tiny whether the run is tiny where the flags do not give the size */
export async function runSweepBench(args: readonly string[], tiny: boolean): Promise<void> {
  const options = parseSweepFlags(args, tiny);
  if (options.help) return console.log(HELP);
  const command = commandText('sweep', args);
  const { cells, data, settings, scenario, server } = options;
  if (cells !== null) return show(sweepOfCells(cells, scenario, server ?? 'kube', command), options);
  if (settings.size !== 'tiny') {
    compileProgram();
  }
  const commit = commitText();
  const machine = machineOf();
  const versions = versionsOf();
  const program = measuredText(programHash(programOf(settings.size)), versions, machine);
  const wanted = keysOf(options, program);
  const notRun = await measureMissing(options, program);
  const kept = existsSync(data) ? parseRuns(readFileSync(data, 'utf8')) : [];
  const sweep: Sweep = {
    format: 1,
    command,
    scenario,
    commit,
    machine,
    versions,
    runs: kept.filter((run) => wanted.has(keyText(run))),
    notRun,
  };
  show(sweep, options);
  if (options.results) writeSweep(sweep);
}

function show(sweep: Sweep, { json, page }: SweepOptions): void {
  console.log(sweepText(sweep));
  if (json !== null) writeFileSync(json, `${JSON.stringify(sweep)}\n`);
  if (page !== null) writeFileSync(page, sweepPage(sweep));
  if (wrongRuns(sweep.runs).length > 0) process.exitCode = 1;
}

function writeSweep(sweep: Sweep): void {
  writeFileSync(new URL('bench/sweep.json', ROOT), `${JSON.stringify(sweep)}\n`);
  remakeKept();
}

function keysOf(options: SweepOptions, program: string): Set<string> {
  const { grid, peers, settings } = options;
  return new Set(
    cellsOf(grid, settings.seed).flatMap((cell) => peers.map((peer) => keyText(keyOf(options, program, cell, peer)))),
  );
}

function keyOf(
  { scenario, settings: { size, seed }, server }: SweepOptions,
  program: string,
  cell: Cell,
  peer: string,
): RunKey {
  const kind = kindOfServer(findScenarios([scenario])[0]!, size, server);
  return { ...cell, peer, scenario, size, seed, program, server: kind };
}

/** @returns the cells for which no time was left */
async function measureMissing(options: SweepOptions, program: string): Promise<Cell[]> {
  const { grid, peers, settings, server, data, forMs } = options;
  const [scenario] = findScenarios([options.scenario]);
  mkdirSync(dirname(data), { recursive: true });
  const kept = existsSync(data) ? readFileSync(data, 'utf8') : '';
  // The last line may be cut off: it ends here.
  if (!kept.endsWith('\n')) appendFileSync(data, '\n');
  const done = doneKeys(parseRuns(kept));
  const servers = createServers();
  const fromMs = performance.now();
  const notRun: Cell[] = [];
  try {
    for (const [round, cell] of cellsOf(grid, settings.seed).entries()) {
      const missing = peers.filter((peer) => !done.has(keyText(keyOf(options, program, cell, peer))));
      if (missing.length === 0) continue;
      if (performance.now() - fromMs > forMs) {
        notRun.push(cell);
        continue;
      }
      progress(`${cell.syncs} syncs, batch period ${cell.batch}, ${cell.qps} requests a second`);
      const { syncs, batch: batchPeriod, qps } = cell;
      const told: Settings = { ...settings, syncs, batchPeriod, qps, burst: qps, endpointdFlags: writesFor(syncs) };
      const runs = await runPair(
        scenario!,
        round,
        round,
        { settings: told, peers: missing, aa: false, otherwise: null, server },
        servers,
      );
      for (const { peer, startedAt, figures, wrong } of runs) {
        const run: SweepRun = { ...keyOf(options, program, cell, peer), startedAt, figures, wrong };
        appendFileSync(data, `${JSON.stringify(run)}\n`);
      }
    }
  } finally {
    await servers.close();
  }
  return notRun;
}
