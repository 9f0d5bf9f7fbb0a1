/**
 * Runs one scenario with each peer in turn. What the controllers have written at the begin is the peer's own; all else are
 * copies of the same data.
 */
import { performance } from 'node:perf_hooks';
import type { PeersOptions } from './flags.ts';
import { echoPeer, endpointdPeer, managerPeer, otherPeer, programOf } from './peers.ts';
import type { RunRecord } from './results.ts';
import { CONTROLLERS, ECHO, ENDPOINTD, ENDPOINTD_AGAIN, type Peer, type Scenario, type Settings } from './scenario.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import type { ServerKind, ServerRequest, Servers } from './server.ts';
import { play } from './stage.ts';

/** The name in `--peers`: one for endpointd in all its settings. */
function wordOf(peer: string): string {
  if (peer === ECHO) return 'echo';
  return peer.startsWith(`${ENDPOINTD} `) ? ENDPOINTD : peer;
}

/** @throws Error that names a peer of `--peers` that no scenario has */
export function checkPeers(scenarios: readonly Scenario[], options: PairOptions): void {
  const known = new Set(
    scenarios.flatMap((scenario) =>
      peersOf(scenario, settingsOf(scenario, options), options).map(({ name }) => wordOf(name)),
    ),
  );
  const unknown = options.peers?.find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`--peers: ${unknown} is none of ${[...known].join(', ')}`);
}

/** Flags of the command line come behind those of the scenario: of a flag that comes twice, the last value is in force. */
export function settingsOf(scenario: Scenario, { settings }: Pick<PairOptions, 'settings'>): Settings {
  const { endpointdFlags = [], managerFlags = [] } = scenario.settings ?? {};
  return {
    ...settings,
    ...scenario.settings,
    ...given(settings),
    endpointdFlags: [...endpointdFlags, ...settings.endpointdFlags],
    managerFlags: [...managerFlags, ...settings.managerFlags],
  };
}

export type PairOptions = Pick<PeersOptions, 'settings' | 'peers' | 'aa' | 'otherwise' | 'server'>;

/** The runs are of the only command of their results. @param turn the place of the round among all of the scenario */
export async function runPair(
  scenario: Scenario,
  round: number,
  turn: number,
  options: PairOptions,
  servers: Servers,
): Promise<RunRecord[]> {
  const { peers: wanted, server } = options;
  const told = settingsOf(scenario, options);
  const peers = peersOf(scenario, told, options).filter(({ name }) => wanted === null || wanted.includes(wordOf(name)));
  const runs: RunRecord[] = [];
  for (const peer of inTurn(peers, turn)) {
    const startedAt = new Date().toISOString();
    try {
      runs.push(await runOne(scenario, round, peer, told, server, servers));
    } catch (error) {
      progress(`${scenario.name}, round ${round + 1}, ${peer.name}: failed: ${(error as Error).message}`);
      runs.push({
        ...FAILED,
        command: 0,
        scenario: scenario.name,
        peer: peer.name,
        round,
        startedAt,
        wrong: [String(error)],
      });
    }
  }
  return runs;
}

/**
 * The order of a round, because a peer meets the machine as the one before has left it (Williams). After as many rounds as
 * there are peers, twice as many where their number is odd, each peer was equally often at each place, and followed each
 * other one equally often.
 */
export function inTurn<T>(peers: readonly T[], turn: number): T[] {
  const count = peers.length;
  const zigzag = peers.map((_, at) => (at % 2 === 1 ? (at + 1) / 2 : (count - at / 2) % count));
  const order = zigzag.map((at) => peers[(at + turn) % count]!);
  const isMirrored = count % 2 === 1 && Math.floor(turn / count) % 2 === 1;
  return isMirrored ? order.reverse() : order;
}

/** A run that breaks off is a wrong run, and the others go on. */
const FAILED: Omit<RunRecord, 'command' | 'scenario' | 'peer' | 'round' | 'startedAt' | 'wrong'> = {
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
  const opened = await servers.open(requestOf(scenario, settings, server, peer.writer, say));
  let asFound = false;
  try {
    const played = peer.echoes ? { ...peer, ...echoPeer(opened.cluster.namespaces) } : peer;
    const result = await play(scenario, settings, played, opened, controllers);
    // The floor leaves an annotation on what it has written.
    asFound = leavesInputs && !peer.echoes;
    say(`CPU ${result.figures['controllerCpu']!.toFixed(2)} s, wall ${result.figures['wall']!.toFixed(2)} s`);
    const tookSeconds = (performance.now() - beginMs) / 1000;
    return { command: 0, scenario: name, peer: peer.name, round, startedAt, tookSeconds, ...result };
  } finally {
    await servers.release(opened, asFound);
  }
}

/** @param wanted what the command line says */
export function kindOfServer({ server }: Scenario, size: Settings['size'], wanted: PeersOptions['server']): ServerKind {
  return wanted ?? (size === 'tiny' ? 'embedded' : server);
}

export function requestOf(
  scenario: Scenario,
  settings: Settings,
  wanted: PeersOptions['server'],
  writer: Program,
  say: ServerRequest['say'],
): ServerRequest {
  const { outset, profile, controllers = CONTROLLERS } = scenario;
  const { size, seed } = settings;
  return {
    kind: kindOfServer(scenario, size, wanted),
    profile: profile(size),
    seed,
    outset,
    controllers,
    writer,
    options: { ...settings, apiserverFlags: apiserverFlags(scenario, settings) },
    program: programOf(size),
    say,
  };
}

/**
 * The gate keeps bytes, and in HTTP/2 a server sends no more than the client has room for. With priority and fairness the
 * limits are kube-apiserver's own.
 */
function apiserverFlags({ gated = false }: Scenario, { priorityAndFairness }: Settings): string[] {
  const limits = ['--max-requests-inflight=400', '--max-mutating-requests-inflight=200'];
  return [...(gated ? ['--disable-http2-serving'] : []), ...(priorityAndFairness ? limits : [])];
}

function peersOf(scenario: Scenario, settings: Settings, { aa, otherwise }: PairOptions): readonly Peer[] {
  const { controllers = CONTROLLERS, peers, echo = false } = scenario;
  if (peers !== undefined) return peers(settings);
  return [
    otherwise === null ? managerPeer(settings, controllers) : otherPeer(settings, controllers, otherwise),
    endpointdPeer(settings, controllers),
    ...(aa ? [endpointdPeer(settings, controllers, ENDPOINTD_AGAIN)] : []),
    ...(echo ? [echoPeer([])] : []),
  ];
}

/** The settings of the command line, which replace those of the scenario. */
function given(settings: Settings): Partial<Settings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => isSaid(value)));
}

export function isSaid(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== false;
}

export function progress(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
