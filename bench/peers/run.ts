/**
 * `bench -- peers`: runs scenario by scenario with each peer in turn, on copies of the same data. Then it reports as a
 * table, as data and as a page.
 */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { commandText } from '../support/command-text.ts';
import { commitText } from '../support/commit.ts';
import { compileProgram } from '../support/compile.ts';
import {
  type Command,
  compareAll,
  notRun,
  RESULTS_FORMAT,
  type Results,
  roundsKept,
  type RunRecord,
} from './results.ts';
import { HELP, parsePeersFlags, type PeersOptions } from './flags.ts';
import { loopMs, machineOf, versionsOf } from './machine.ts';
import { peersPage } from './report-page.ts';
import { keepResults, readKept } from './kept-results.ts';
import { ENDPOINTD, MANAGER, type Scenario } from './scenario.ts';
import { findScenarios, scenariosByName, SCENARIOS } from './scenarios.ts';
import { isSaid, progress, requestOf, checkPeers, runPair } from './pair.ts';
import { programOf } from './peers.ts';
import { runRounds } from './rounds.ts';
import { programHash } from '../support/program-hash.ts';
import { createServers, preparedData } from './server.ts';
import { comparisonText } from './text.ts';

/** @param tiny whether the run is tiny where the flags do not give the size */
export async function runPeersBench(args: readonly string[], tiny: boolean): Promise<void> {
  const options = parsePeersFlags(args, tiny);
  if (options.help) return console.log(HELP);
  if (options.list) return console.log(SCENARIOS.map(listed).join('\n'));
  const scenarios = findScenarios(options.scenarios);
  if (options.settings.size !== 'tiny') {
    compileProgram();
  }
  if (options.prepare) {
    for (const scenario of scenarios) {
      for (const writer of [MANAGER, ENDPOINTD] as const) {
        const request = requestOf(scenario, options.settings, options.server, writer, progress);
        if (request.kind === 'kube') await preparedData(request);
      }
    }
    return;
  }
  checkPeers(scenarios, options);
  const command = commandOf(options, args);
  const kept = options.results ? readKept() : null;
  const results = await runAll(scenarios, options, command, kept);
  const comparisons = compareAll(results, scenariosByName());
  for (const comparison of comparisons) console.log(comparisonText(comparison));
  for (const { name } of notRun(results))
    console.log(`\n${name}: not run: no time was left for it, or --peers names none of its peers`);
  if (options.page !== null) writeFileSync(options.page, peersPage(results, comparisons));
  const isBuiltAnew = commandOf(options, args).program !== command.program;
  if (isBuiltAnew) throw new Error('dist was built anew during the runs: nothing is added to the results');
  if (options.results) keepResults(kept, results);
  if (comparisons.some(({ wrong }) => wrong.length > 0)) process.exitCode = 1;
}

/** What is about to be measured. */
function commandOf({ settings, server, otherwise }: PeersOptions, args: readonly string[]): Command {
  const said = Object.entries({
    ...settings,
    server,
    'other-flag': otherwise?.flags,
    'other-program': otherProgramOf(otherwise),
  });
  const startedAt = new Date().toISOString();
  return {
    text: commandText('peers', args),
    commit: commitText(),
    program: programHash(programOf(settings.size)),
    machine: machineOf(),
    loopMs: loopMs(),
    versions: versionsOf(),
    size: settings.size,
    settings: Object.fromEntries(
      said.filter(([, value]) => isSaid(value)).map(([name, value]) => [name, String(value)]),
    ),
    startedAt,
    endedAt: startedAt,
  };
}

/** A path alone would not tell that the other tree was built anew. */
function otherProgramOf(otherwise: PeersOptions['otherwise']): string | null {
  const program = otherwise?.program ?? null;
  return program === null ? null : `${program} ${programHash(pathToFileURL(program))}`;
}

/** @param kept results that the runs will be added to; null = none */
async function runAll(
  scenarios: readonly Scenario[],
  options: PeersOptions,
  command: Command,
  kept: Results | null,
): Promise<Results> {
  const runs: RunRecord[] = [];
  const texts = scenarios.map(({ name, what }) => ({ name, what }));
  const soFar = (): Results => {
    const commands = [{ ...command, endedAt: new Date().toISOString() }];
    return { format: RESULTS_FORMAT, commands, scenarios: texts, runs };
  };
  const servers = createServers();
  try {
    await runRounds(scenarios, options, async (scenario, round) => {
      const before = kept === null ? 0 : roundsKept(kept, command, scenario.name);
      runs.push(...(await runPair(scenario, round, before + round, options, servers)));
      // Hours of runs outlive the command: `npm run bench -- results FILE` adds them.
      if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(soFar())}\n`);
    });
  } finally {
    await servers.close();
  }
  return soFar();
}

function listed({ name, what, pairSeconds }: Scenario): string {
  return `${name.padEnd(20)}${what} (${pairSeconds < 90 ? `${pairSeconds} s` : `${Math.round(pairSeconds / 60)} min`})`;
}
