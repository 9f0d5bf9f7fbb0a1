/**
 * `bench -- coalescing`: settings of endpointd that collect changes, each beside kube-controller-manager and endpointd's
 * defaults, scenario by scenario: what they save in writes, and what that costs in time.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parsePeersFlags, type PeersOptions } from '../peers/flags.ts';
import { remakeKept } from '../peers/kept-results.ts';
import { machineOf } from '../peers/machine.ts';
import { runPair } from '../peers/pair.ts';
import { endpointdPeer, managerPeer, programOf } from '../peers/peers.ts';
import { runRounds } from '../peers/rounds.ts';
import { CONTROLLERS, SIZES, type Peer, type Scenario, type Settings } from '../peers/scenario.ts';
import { findScenarios } from '../peers/scenarios.ts';
import { createServers } from '../peers/server.ts';
import { commandText } from '../support/command-text.ts';
import { commitText } from '../support/commit.ts';
import { compileProgram } from '../support/compile.ts';
import { programHash } from '../support/program-hash.ts';
import { table } from '../support/table.ts';
import {
  COALESCING_SCENARIOS,
  COLUMNS,
  coalescingNotes,
  coalescingTable,
  KEPT_FIGURES,
  peerWith,
  wrongRuns,
  type Coalescing,
  type CoalescingRun,
} from './report.ts';

const KEPT = new URL('../coalescing.json', import.meta.url);
const SETTINGS = [
  '--endpoint-updates-batch-period=100ms',
  '--adaptive-batch-period-max=100ms',
  '--adaptive-batch-period-max=500ms',
];

const HELP = `npm run bench -- coalescing [SCENARIO ...] [flags]
Measures kube-controller-manager, endpointd, and endpointd with each setting, in turn. Without a scenario: ${COALESCING_SCENARIOS.join(', ')}.

  --setting='--F=V'    flags of endpointd, several with blanks between them; may be repeated
                       (${SETTINGS.join(', ')})
  --pairs=N            how many runs each has (1)
  --for=DURATION       begin no round of a scenario that would not end in time, such as 40m
  --peers=A,B          of kube-controller-manager, endpointd, which stands for all its settings (both)
  --server=KIND        kube or embedded, as in peers
  --size=SIZE          ${SIZES.join(', ')} (full)
  --seed=N             (1)
  --json=FILE          write all runs there
  --results            write bench/coalescing.json, and anew what is made of it
  --help               this
Flags of peers that change what is measured, such as --qps and --seconds, are taken too.`;

/** Flags of peers that have no meaning here. */
const FOREIGN_FLAGS: ReadonlySet<string> = new Set(['aa', 'other-flag', 'other-program', 'page', 'list', 'prepare']);

interface CoalescingOptions {
  readonly scenarios: readonly Scenario[];
  readonly settings: readonly string[];
  readonly peers: PeersOptions;
}

/** @throws Error that says what is not allowed */
export function parseCoalescingFlags(args: readonly string[], tiny: boolean): CoalescingOptions {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: { setting: { type: 'string', multiple: true } },
  });
  const others = tokens.flatMap((token) =>
    token.kind === 'option' && token.name !== 'setting' ? [args[token.index]!] : [],
  );
  const foreign = tokens.find((token) => token.kind === 'option' && FOREIGN_FLAGS.has(token.name));
  if (foreign?.kind === 'option') throw new Error(`--${foreign.name} is a flag of peers, and has no meaning here`);
  const peers = parsePeersFlags(others, tiny);
  const settings = (values['setting'] as readonly string[] | undefined) ?? SETTINGS;
  const unknown = settings.find((setting) => !setting.split(' ').every((flag) => /^--[a-z-]+=\S+$/.test(flag)));
  if (unknown !== undefined)
    throw new Error(`--setting: flags such as '--F=V --G=V' were expected, not ${JSON.stringify(unknown)}`);
  return { scenarios: findScenarios(positionals.length === 0 ? COALESCING_SCENARIOS : positionals), settings, peers };
}

/** @param tiny whether the run is tiny where the flags do not give the size */
export async function runCoalescingBench(args: readonly string[], tiny: boolean): Promise<void> {
  const options = parseCoalescingFlags(args, tiny);
  const { help, settings, results, json } = options.peers;
  if (help) return console.log(HELP);
  if (settings.size !== 'tiny') compileProgram();
  const about = {
    format: 1 as const,
    command: commandText('coalescing', args),
    commit: commitText(),
    program: programHash(programOf(settings.size)),
    machine: machineOf(),
    startedAt: new Date().toISOString(),
    settings: options.settings,
  };
  const runs: CoalescingRun[] = [];
  const soFar = (): Coalescing => ({ ...about, endedAt: new Date().toISOString(), runs });
  await measure(options, (run) => {
    runs.push(run);
    if (json !== null) writeFileSync(json, `${JSON.stringify(soFar())}\n`);
  });
  const coalescing = soFar();
  console.log([table(COLUMNS, coalescingTable(coalescing)), ...coalescingNotes(coalescing)].join('\n'));
  if (programHash(programOf(settings.size)) !== about.program)
    throw new Error('dist was built anew during the runs: they are not kept');
  if (results) {
    writeFileSync(KEPT, `${JSON.stringify(coalescing)}\n`);
    remakeKept();
  }
  if (wrongRuns(coalescing).length > 0) process.exitCode = 1;
}

async function measure(
  { scenarios, settings, peers: options }: CoalescingOptions,
  take: (run: CoalescingRun) => void,
): Promise<void> {
  const servers = createServers();
  try {
    await runRounds(scenarios, options, async (scenario, round) => {
      const compared: Scenario = { ...scenario, peers: (told) => peersOf(scenario, told, settings) };
      for (const { peer, startedAt, figures, wrong } of await runPair(compared, round, round, options, servers)) {
        const kept = KEPT_FIGURES.filter((figure) => figure in figures).map((figure) => [figure, figures[figure]!]);
        take({ scenario: scenario.name, peer, round, startedAt, figures: Object.fromEntries(kept), wrong });
      }
    });
  } finally {
    await servers.close();
  }
}

function peersOf({ controllers = CONTROLLERS }: Scenario, told: Settings, settings: readonly string[]): Peer[] {
  return [
    managerPeer(told, controllers),
    endpointdPeer(told, controllers),
    ...settings.map((setting) => {
      const endpointdFlags = [...told.endpointdFlags, ...setting.split(' ')];
      return endpointdPeer({ ...told, endpointdFlags }, controllers, peerWith(setting));
    }),
  ];
}
