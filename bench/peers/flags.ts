/** The command line of `bench -- peers`. */
import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/lib/duration.ts';
import { SIZES, type Settings } from './scenario.ts';
import type { ServerKind } from './server.ts';

/** What is different about the second endpointd. */
export interface Otherwise {
  readonly flags: readonly string[];
  /** The compiled `main.js` of another tree; null = the same program. */
  readonly program: string | null;
}

export interface PeersOptions {
  readonly scenarios: readonly string[];
  readonly list: boolean;
  readonly help: boolean;
  readonly pairs: number;
  /** No pair begins that would end later, as far as the last one of its kind tells; null = all are run. */
  readonly forMs: number | null;
  readonly aa: boolean;
  /** Endpointd otherwise, in place of kube-controller-manager; null = it is measured beside that. */
  readonly otherwise: Otherwise | null;
  /** Null = all. */
  readonly peers: readonly string[] | null;
  readonly server: ServerKind | null;
  readonly json: string | null;
  readonly page: string | null;
  readonly results: boolean;
  readonly prepare: boolean;
  readonly settings: Settings;
}

interface Flag {
  readonly value: string | null;
  readonly what: string;
}

const FLAGS = {
  pairs: { value: 'N', what: 'runs of each peer, one after the other (1)' },
  for: { value: 'DURATION', what: 'begin no pair that would not end in time: 20m; what was not run is told' },
  aa: { value: null, what: 'endpointd twice in each round: what differs between the two is noise' },
  'other-flag': { value: '--F=V', what: 'beside endpointd with that flag, not kube-controller-manager; several times' },
  'other-program': { value: 'FILE', what: 'the same for the dist/src/main.js of another tree' },
  peers: { value: 'A,B', what: 'of kube-controller-manager, endpointd, echo (all)' },
  size: { value: 'SIZE', what: `${SIZES.join(', ')} (full)` },
  server: { value: 'KIND', what: 'kube or embedded (as the scenario says; tiny: embedded)' },
  seed: { value: 'N', what: 'of the cluster and of the order of changes (1)' },
  qps: { value: 'N', what: '--kube-api-qps of both (5000)' },
  burst: { value: 'N', what: '--kube-api-burst of both (as --qps)' },
  syncs: { value: 'N', what: '--concurrent-endpoint-syncs and --concurrent-service-endpoint-syncs of both' },
  'batch-period': { value: 'D', what: '--endpoint-updates-batch-period and --endpointslice-updates-batch-period' },
  rate: { value: 'N', what: 'changes a second' },
  seconds: { value: 'N', what: 'how long changes are made' },
  flight: { value: 'N', what: 'requests under way, where a scenario sends as fast as it can' },
  watchers: { value: 'N', what: 'more watchers of all Endpoints and slices' },
  fsync: { value: null, what: 'etcd waits for the disk' },
  'priority-and-fairness': { value: null, what: 'the API server has its flow control' },
  'endpointd-flag': { value: '--F=V', what: 'one more flag of endpointd; may come several times' },
  'manager-flag': { value: '--F=V', what: 'one more flag of kube-controller-manager; may come several times' },
  json: { value: 'FILE', what: 'write all runs there, as data' },
  page: { value: 'FILE', what: 'write the report there, as one HTML page' },
  results: {
    value: null,
    what: 'write bench/results.json, bench/RESULTS.md, bench/results.html, docs/images/bench-*.svg',
  },
  prepare: { value: null, what: 'only make the data that runs on a real API server begin with; they are kept' },
  list: { value: null, what: 'say which scenarios there are' },
  help: { value: null, what: 'this' },
} as const satisfies Record<string, Flag>;

const REPEATED = new Set(['endpointd-flag', 'manager-flag', 'other-flag']);

export const HELP = [
  'npm run bench -- peers [SCENARIO ...] [flags]',
  'Measures endpointd beside kube-controller-manager, in interleaved pairs. Without a scenario: those of the table of marks;',
  '`all`: each. The real API server, etcd and kube-controller-manager are built with Go the first time.',
  '',
  ...Object.entries(FLAGS as Record<string, Flag>).map(
    ([name, { value, what }]) => `  ${`--${name}${value === null ? '' : `=${value}`}`.padEnd(27)}${what}`,
  ),
].join('\n');

/** @throws Error that says what is not allowed */
export function parsePeersFlags(args: readonly string[], tiny: boolean): PeersOptions {
  const options = Object.fromEntries(
    Object.entries(FLAGS as Record<string, Flag>).map(([name, { value }]) => [
      name,
      { type: value === null ? ('boolean' as const) : ('string' as const), multiple: REPEATED.has(name) },
    ]),
  );
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const text = (name: keyof typeof FLAGS): string | null => (values[name] as string | undefined) ?? null;
  const is = (name: keyof typeof FLAGS): boolean => values[name] === true;
  const number = (name: keyof typeof FLAGS): number | null => {
    const said = text(name);
    if (said === null) return null;
    const value = Number(said);
    if (said !== '' && value >= 0) return value;
    throw new Error(`--${name}: a number was expected, not ${JSON.stringify(said)}`);
  };
  return {
    scenarios: positionals,
    list: is('list'),
    help: is('help'),
    pairs: number('pairs') ?? 1,
    forMs: durationOf('for', text('for')),
    aa: is('aa'),
    otherwise: otherwiseOf((values['other-flag'] as string[] | undefined) ?? [], text('other-program')),
    peers: text('peers')?.split(',') ?? null,
    server: oneOf('server', ['kube', 'embedded'] as const, text('server')),
    json: text('json'),
    page: text('page'),
    results: is('results'),
    prepare: is('prepare'),
    settings: {
      size: oneOf('size', SIZES, text('size')) ?? (tiny ? 'tiny' : 'full'),
      seed: number('seed') ?? 1,
      qps: number('qps'),
      burst: number('burst'),
      syncs: number('syncs'),
      batchPeriod: text('batch-period'),
      rate: number('rate'),
      seconds: number('seconds'),
      flight: number('flight'),
      watchers: number('watchers'),
      fsync: is('fsync'),
      priorityAndFairness: is('priority-and-fairness'),
      endpointdFlags: (values['endpointd-flag'] as string[] | undefined) ?? [],
      managerFlags: (values['manager-flag'] as string[] | undefined) ?? [],
    },
  };
}

function otherwiseOf(flags: readonly string[], program: string | null): Otherwise | null {
  return flags.length === 0 && program === null ? null : { flags, program };
}

function durationOf(name: string, said: string | null): number | null {
  if (said === null) return null;
  const ms = parseDuration(said);
  if (ms !== null) return ms;
  throw new Error(`--${name}: a duration such as 12m was expected, not ${JSON.stringify(said)}`);
}

function oneOf<T extends string>(name: string, allowed: readonly T[], said: string | null): T | null {
  if (said === null) return null;
  const found = allowed.find((each) => each === said);
  if (found !== undefined) return found;
  throw new Error(`--${name}: one of ${allowed.join(', ')} was expected, not ${JSON.stringify(said)}`);
}
