import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { Command } from 'commander';
import { createApiClient } from '../node/api-client.ts';
import { kubeconfigFor } from '../node/apiserver-http.ts';
import { startApiServerThread } from '../node/apiserver-thread.ts';
import { onStopSignals } from '../node/signals.ts';
import { makeCluster } from '../workload/cluster.ts';
import { findProfile, PROFILES, type Profile } from '../workload/profile.ts';
import { add, asText, bool, choice, integer, parseWith } from './flag-values.ts';
import { loadCluster } from './load-cluster.ts';
import { starting } from './usage.ts';

export interface ServeOptions {
  /** 0 = any free one. */
  readonly port: number;
  /** Where the kubeconfig is written. */
  readonly kubeconfig: string;
  /** null = an empty cluster. */
  readonly profile: Profile | null;
  readonly seed: number;
  readonly watchList: boolean;
}

const EMPTY = 'none';
const REQUESTS_AT_ONCE = 16;

/** `endpointd serve`: the embedded API server until a signal stops it. Gives the exit status. */
export async function serve(args: readonly string[]): Promise<number> {
  const { port, kubeconfig, profile, seed, watchList } = parseServeFlags(args, (text) => process.stdout.write(text));
  const stopped = new Promise<void>((stop) =>
    onStopSignals(
      () => stop(),
      (status) => process.exit(status),
    ),
  );
  const server = await starting(`serve on port ${port}`, startApiServerThread({ port, seed, watchList }));
  if (profile !== null) await fill(server.url, profile, seed);
  const text = kubeconfigFor(server.url, '');
  await starting('write --kubeconfig', writeFile(kubeconfig, text, { mode: 0o600 }));
  process.stdout.write(`${text}# written to ${resolve(kubeconfig)}; serving at ${server.url} until Ctrl-C\n`);
  await stopped;
  await server.close();
  return 0;
}

export function parseServeFlags(args: readonly string[], print: (text: string) => void): ServeOptions {
  const profiles = [EMPTY, ...PROFILES.map(({ name }) => name)];
  const command = new Command('endpointd serve')
    .description('The embedded API server alone, over plain HTTP on loopback, in memory.')
    .usage('[--flag=value ...]');
  add(command, '--port <n>', 'port on 127.0.0.1; 0 is any free one', integer(0, 65_535), 0);
  add(command, '--kubeconfig <path>', 'where the kubeconfig is written', asText, 'endpointd.kubeconfig');
  add(command, '--profile <name>', `cluster to fill it with: ${profiles.join(', ')}`, choice(profiles), EMPTY);
  add(command, '--seed <n>', 'the same seed makes the same cluster', integer(0, 2 ** 32 - 1), 1);
  add(command, '--watch-list [bool]', 'offer WatchList streaming', bool, true);
  command.helpOption('-h, --help', 'this text');
  parseWith(command, args, print);
  const flags = command.opts<Omit<ServeOptions, 'profile'> & { profile: string }>();
  return { ...flags, profile: flags.profile === EMPTY ? null : findProfile(flags.profile) };
}

async function fill(url: string, profile: Profile, seed: number): Promise<void> {
  const client = createApiClient({ url }, REQUESTS_AT_ONCE);
  let total = 0;
  await loadCluster(client, makeCluster(profile, seed), REQUESTS_AT_ONCE, (created) => (total = created));
  await client.close();
  process.stderr.write(`profile ${profile.name}, seed ${seed}: ${total} objects created\n`);
}
