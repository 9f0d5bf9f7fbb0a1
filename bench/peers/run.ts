/**
 * `bench -- peers`: scenario by scenario, each peer in turn, on copies of the same data; then what follows from it, as a table, as
 * data and as a page.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { createBudget } from './budget.ts';
import { compareAll, notRun, RESULTS_FORMAT, type Results, type RunRecord } from './results.ts';
import { HELP, parsePeersFlags, type PeersOptions } from './flags.ts';
import { machineOf, versionsOf } from './machine.ts';
import { echoPeer, endpointdPeer, managerPeer, otherPeer, programOf } from './peers.ts';
import { peersPage } from './report-page.ts';
import { writeResults } from './results-page.ts';
import { ECHO, ENDPOINTD_AGAIN, ENDPOINTD_OTHERWISE, type Peer, type Scenario, type Settings } from './scenario.ts';
import { findScenarios, marksByScenario, SCENARIOS } from './scenarios.ts';
import { createServers, preparedData, type ServerRequest, type Servers } from './server.ts';
import { play } from './stage.ts';
import { comparisonText } from './text.ts';

const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller'];
const ROOT = new URL('../..', import.meta.url);
/** By what `--peers` calls them. */
const PEER_WORDS: Readonly<Record<string, string>> = {
  [ECHO]: 'echo',
  [ENDPOINTD_AGAIN]: 'endpointd',
  [ENDPOINTD_OTHERWISE]: 'endpointd',
};

/** @param tiny where the flags say nothing about the size */
export async function runPeersBench(args: readonly string[], tiny: boolean): Promise<void> {
  const options = parsePeersFlags(args, tiny);
  if (options.help) return console.log(HELP);
  if (options.list) return console.log(SCENARIOS.map(listed).join('\n'));
  const scenarios = findScenarios(options.scenarios);
  if (options.settings.size !== 'tiny') {
    execFileSync('npm', ['run', '--silent', 'prepack'], { cwd: ROOT, stdio: 'inherit' });
  }
  if (options.prepare) {
    for (const scenario of scenarios) {
      const request = requestOf(scenario, options.settings, options.server, progress);
      if (request.kind === 'kube') await preparedData(request);
    }
    return;
  }
  const results = await runAll(scenarios, options, args);
  const comparisons = compareAll(results, marksByScenario());
  for (const comparison of comparisons) console.log(comparisonText(comparison));
  for (const { name } of notRun(results)) console.log(`\n${name}: not run, no time was left for it`);
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(results)}\n`);
  if (options.page !== null) writeFileSync(options.page, peersPage(results));
  if (options.results) writeResults(results);
  if (comparisons.some(({ wrong }) => wrong.length > 0)) process.exitCode = 1;
}

async function runAll(
  scenarios: readonly Scenario[],
  options: PeersOptions,
  args: readonly string[],
): Promise<Results> {
  const { settings } = options;
  const startedAt = new Date().toISOString();
  const runs: RunRecord[] = [];
  const servers = createServers();
  try {
    await runRounds(scenarios, options, async (scenario, round) => {
      runs.push(...(await runPair(scenario, round, options, servers)));
    });
  } finally {
    await servers.close();
  }
  return {
    format: RESULTS_FORMAT,
    command: `npm run bench -- peers ${args.join(' ')}`.trim(),
    commit: execFileSync('git', ['describe', '--always', '--dirty'], { cwd: ROOT, encoding: 'utf8' }).trim(),
    machine: machineOf(),
    versions: versionsOf(),
    size: settings.size,
    settings: Object.fromEntries(
      Object.entries(settings)
        .filter(([, value]) => isSaid(value))
        .map(([name, value]) => [name, String(value)]),
    ),
    startedAt,
    endedAt: new Date().toISOString(),
    scenarios: scenarios.map(({ name, what }) => ({ name, what })),
    runs,
  };
}

function listed({ name, what, pairSeconds }: Scenario): string {
  return `${name.padEnd(16)}${what} (${pairSeconds < 90 ? `${pairSeconds} s` : `${Math.round(pairSeconds / 60)} min`})`;
}

/**
 * All scenarios once, then all once more, so that a machine that changes meanwhile changes for all. Where time is short, each
 * is run once before any is run twice.
 */
async function runRounds(
  scenarios: readonly Scenario[],
  { pairs, forMs, settings }: PeersOptions,
  run: (scenario: Scenario, round: number) => Promise<void>,
): Promise<void> {
  const budget = createBudget(forMs, settings.size === 'full', () => performance.now());
  for (let round = 0; round < pairs; round++) {
    for (const scenario of scenarios) {
      if (!budget.has(scenario)) {
        progress(`${scenario.name}, round ${round + 1}: no time is left for it`);
        continue;
      }
      const beginMs = performance.now();
      await run(scenario, round);
      budget.took(scenario, performance.now() - beginMs);
    }
  }
}

async function runPair(
  scenario: Scenario,
  round: number,
  options: PeersOptions,
  servers: Servers,
): Promise<RunRecord[]> {
  const { settings, peers: wanted, server } = options;
  const told = { ...settings, ...scenario.settings, ...given(settings) };
  const peers = peersOf(scenario, told, options).filter(
    ({ name }) => wanted === null || wanted.includes(PEER_WORDS[name] ?? name),
  );
  const runs: RunRecord[] = [];
  // Whoever comes first meets another machine than whoever comes last: they take turns.
  for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
    const startedAt = new Date().toISOString();
    try {
      runs.push(await runOne(scenario, round, peer, told, server, servers));
    } catch (error) {
      progress(`${scenario.name}, round ${round + 1}, ${peer.name}: failed: ${(error as Error).message}`);
      runs.push({ ...FAILED, scenario: scenario.name, peer: peer.name, round, startedAt, wrong: [String(error)] });
    }
  }
  return runs;
}

/** A run that broke off is told as wrong, and the others go on. */
const FAILED: Omit<RunRecord, 'scenario' | 'peer' | 'round' | 'startedAt' | 'wrong'> = {
  tookSeconds: 0,
  figures: {},
  threads: {},
  samples: { endpoints: [], slices: [] },
  course: { seconds: [], p50: [], p99: [], max: [] },
  timeline: { ms: [], cores: {}, residentBytes: [], steps: [] },
  peakStep: '',
};

async function runOne(
  scenario: Scenario,
  round: number,
  peer: Peer,
  settings: Settings,
  server: PeersOptions['server'],
  servers: Servers,
): Promise<RunRecord> {
  const { name, leavesInputs = false, controllers = CONTROLLERS } = scenario;
  const startedAt = new Date().toISOString();
  const beginMs = performance.now();
  const say = (text: string): void => progress(`${name}, round ${round + 1}, ${peer.name}: ${text}`);
  say('begins');
  const opened = await servers.open(requestOf(scenario, settings, server, say));
  let asFound = false;
  try {
    const played = peer.echoes ? { ...peer, ...echoPeer(opened.cluster.namespaces) } : peer;
    const result = await play(scenario, settings, played, opened, controllers);
    asFound = leavesInputs;
    say(`CPU ${result.figures['controllerCpu']!.toFixed(2)} s, wall ${result.figures['wall']!.toFixed(2)} s`);
    const tookSeconds = (performance.now() - beginMs) / 1000;
    return { scenario: name, peer: peer.name, round, startedAt, tookSeconds, ...result };
  } finally {
    await servers.release(opened, asFound);
  }
}

function requestOf(
  { outset, profile, controllers = CONTROLLERS, server }: Scenario,
  settings: Settings,
  wanted: PeersOptions['server'],
  say: ServerRequest['say'],
): ServerRequest {
  const { size, seed } = settings;
  return {
    kind: wanted ?? (size === 'tiny' ? 'embedded' : server),
    profile: profile(size),
    seed,
    outset,
    controllers,
    options: settings,
    program: programOf(size),
    say,
  };
}

function peersOf(scenario: Scenario, settings: Settings, { aa, otherwise }: PeersOptions): readonly Peer[] {
  const { controllers = CONTROLLERS, peers, echo = false } = scenario;
  if (peers !== undefined) return peers(settings);
  return [
    otherwise === null ? managerPeer(settings, controllers) : otherPeer(settings, controllers, otherwise),
    endpointdPeer(settings, controllers),
    ...(aa ? [endpointdPeer(settings, controllers, ENDPOINTD_AGAIN)] : []),
    ...(echo ? [echoPeer([])] : []),
  ];
}

/** What the command line says goes before what the scenario says. */
function given(settings: Settings): Partial<Settings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => isSaid(value)));
}

function isSaid(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== null && value !== false;
}

function progress(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
