import { mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { HelpShown, StartError, UsageError } from './cli/usage.ts';
import { CredentialsError } from './node/credentials-error.ts';
import { printable } from './lib/printable.ts';
import { wrapWords } from './lib/wrap-words.ts';
import { endOnStopSignals } from './node/signals.ts';
import { withSourceLines } from './node/source-lines.ts';
import { version } from './node/version.ts';

interface Command {
  readonly summary: string;
  /** Imported only when asked for, so that --help and a bad flag are answered quickly. */
  readonly load: () => Promise<(args: readonly string[]) => Promise<number>>;
  /** The exit status when it fails; default 1. */
  readonly failure?: number;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  run: {
    summary: 'the controllers: keep the Endpoints and EndpointSlices of a cluster right',
    load: async () => (await import('./cli/run.ts')).run,
  },
  explain: {
    summary: 'why a Service or a pod has the endpoints that it has; reads only',
    load: async () => (await import('./cli/explain/explain.ts')).explain,
  },
  verify: {
    summary: 'what the controllers would write into a cluster; reads only',
    load: async () => (await import('./cli/verify.ts')).verify,
    failure: 2,
  },
  'check-rights': {
    summary: 'whether a user has all rights that endpointd needs with its flags',
    load: async () => (await import('./cli/rights/check-rights.ts')).checkRights,
    failure: 2,
  },
  record: {
    summary: 'what the controllers of a cluster read and write, as a file; reads only',
    load: async () => (await import('./cli/record/record.ts')).record,
  },
  tune: {
    summary: 'which batch periods, syncs and QPS to set, from a recording or a profile',
    load: async () => (await import('./cli/tune/tune.ts')).tune,
  },
  advise: {
    summary: 'what slows a running controller down, and which flag helps, from its metrics',
    load: async () => (await import('./cli/advise.ts')).advise,
  },
  top: {
    summary: 'a running endpointd, or kube-controller-manager by its metrics, at the terminal',
    load: async () => (await import('./cli/live/top.ts')).top,
  },
  'endpoints-readers': {
    summary: 'who still reads v1.Endpoints, from audit logs',
    load: async () => (await import('./cli/retire/endpoints-readers.ts')).endpointsReaders,
  },
  'retire-endpoints': {
    summary: 'deletes Endpoints that a controller has left behind; without --delete lists them',
    load: async () => (await import('./cli/retire/retire-endpoints.ts')).retireEndpoints,
  },
  serve: {
    summary: 'the embedded API server alone, on loopback',
    load: async () => (await import('./cli/serve.ts')).serve,
  },
  demo: {
    summary: 'the controllers on the embedded API server, with a seeded cluster and churn; takes half a minute',
    load: async () => (await import('./cli/demo.ts')).demo,
  },
  version: {
    summary: 'the version, the commit and Node',
    load: async () => (await import('./cli/version.ts')).printVersion,
  },
};

const HELP_COLUMNS = 80;
const NAME_WIDTH = Math.max(...Object.keys(COMMANDS).map((name) => name.length));

const HELP = `Usage: endpointd <command> [--flag=value ...]

Keeps the Endpoints and EndpointSlices of every Service of a large Kubernetes
cluster right, in place of kube-controller-manager's endpoints, endpointslice
and endpointslice-mirroring controllers.

Commands:
${Object.entries(COMMANDS)
  .map(([name, { summary }]) => {
    const lines = wrapWords(summary, HELP_COLUMNS - NAME_WIDTH - 4);
    return `  ${name.padEnd(NAME_WIDTH)}  ${lines.join(`\n${' '.repeat(NAME_WIDTH + 4)}`)}`;
  })
  .join('\n')}

endpointd <command> --help lists the flags of a command.
`;

/** As kube-controller-manager's own flag. */
const VERSION_FLAGS: readonly string[] = ['--version', '--version=true'];

async function main(args: readonly string[]): Promise<number> {
  const [name = '', ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  if ([name, ...rest].some((arg) => VERSION_FLAGS.includes(arg))) {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : null;
  const title = command === null ? 'endpointd' : `endpointd ${name}`;
  try {
    if (command === null) {
      const what = name === '' ? 'no command given' : `unknown command "${name}"`;
      throw new UsageError(`${what}. Allowed: ${Object.keys(COMMANDS).join(', ')}.`);
    }
    const perform = await command.load();
    return await perform(rest);
  } catch (error) {
    if (error instanceof HelpShown) return 0;
    if (error instanceof UsageError) return complain(title, error, 2);
    const status = command?.failure ?? 1;
    if (error instanceof StartError || error instanceof CredentialsError) return complain(title, error, status);
    throw error;
  }
}

/** A message has names of files and hosts as somebody has given them. */
function complain(title: string, { message }: Error, status: number): number {
  process.stderr.write(`${title}: ${message.split('\n').map(printable).join('\n')}\n`);
  return status;
}

/**
 * What the commands import is compiled, and stripped of its types, once and not at each start: measured from sources with
 * one worker thread, 0.3 instead of 0.8 s of CPU and 95 instead of 140 MB. Without a place to write to it does nothing.
 * Worker threads learn of it by the variable alone.
 *
 * Node runs what it finds there and does not look whose it is. So the place is below the user's own directory, and not in
 * that for temporary files, where another user of the machine could make it first.
 */
function cacheCompiledCode(): void {
  const { env } = process;
  try {
    if (!env['NODE_COMPILE_CACHE']) {
      const directory = join(userCache(), 'endpointd', 'compiled');
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      env['NODE_COMPILE_CACHE'] = directory;
    }
    enableCompileCache(env['NODE_COMPILE_CACHE']);
  } catch {
    // There is no home, or it is read-only.
  }
}

/** A relative `XDG_CACHE_HOME` has no meaning (XDG Base Directory Specification). */
function userCache(): string {
  const given = process.env['XDG_CACHE_HOME'] ?? '';
  return isAbsolute(given) ? given : join(homedir(), '.cache');
}

/**
 * V8 14.6 (Node 26) can give two objects that one literal made the same boxes for their fractional numbers: where Maglev
 * has elided the objects, and code that lacks feedback makes them after all. Then the numbers of one are those of the
 * other. docs/decisions.md tells how often. An unknown flag would be ignored with a line on stderr.
 */
function keepObjectsApart(): void {
  setFlagsFromString('--no-maglev-escape-analysis');
}

endOnStopSignals();
// Before Node or a command prints it. An error may be frozen, so it is not assigned to.
process.on('uncaughtExceptionMonitor', (error) => {
  if (error instanceof Error && error.stack !== undefined) {
    Reflect.set(error, 'stack', withSourceLines(error.stack));
  }
});
// First, because V8 takes no compiled code that was kept under other flags.
keepObjectsApart();
cacheCompiledCode();
process.exit(await main(process.argv.slice(2)));
