/** The command line of `bench -- peers`. */
import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/lib/duration.ts';
import { SIZES, type Settings } from './scenario.ts';
import type { ServerKind } from './server.ts';

/** The difference of the second endpointd. */
export interface Otherwise {
  readonly flags: readonly string[];
  /** The compiled `main.js` of another tree; null = the program is the same. */
  readonly program: string | null;
}

export interface PeersOptions {
  readonly scenarios: readonly string[];
  readonly list: boolean;
  readonly help: boolean;
  readonly pairs: number;
  /** A pair that would end later is not begun, by the time of the last pair of its kind; null = all are run. */
  readonly forMs: number | null;
  readonly aa: boolean;
  /** The second endpointd, which takes kube-controller-manager's place; null = there is none. */
  readonly otherwise: Otherwise | null;
  /** null = all peers. */
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
  pairs: { value: 'N', what: 'how many runs each peer has, in turn (1)' },
  for: {
    value: 'DURATION',
    what: 'begin no pair that would not end in time, such as 20m; the report lists what was not run',
  },
  aa: { value: null, what: 'run endpointd twice in each round: the difference of the two is noise' },
  'other-flag': {
    value: '--F=V',
    what: 'compare with endpointd with this flag, not with kube-controller-manager; may be repeated',
  },
  'other-program': { value: 'FILE', what: 'compare with the dist/src/main.js of another tree' },
  peers: { value: 'A,B', what: 'some of kube-controller-manager, endpointd, echo (all)' },
  size: { value: 'SIZE', what: `${SIZES.join(', ')} (full)` },
  server: {
    value: 'KIND',
    what: 'kube or embedded, which ends watches of slow readers later (default: the one of the scenario; tiny: embedded)',
  },
  seed: { value: 'N', what: 'seed of the cluster and of the order of changes (1)' },
  qps: { value: 'N', what: '--kube-api-qps of both (5000)' },
  burst: { value: 'N', what: '--kube-api-burst of both (the value of --qps)' },
  syncs: { value: 'N', what: '--concurrent-endpoint-syncs and --concurrent-service-endpoint-syncs of both' },
  'batch-period': { value: 'D', what: '--endpoint-updates-batch-period and --endpointslice-updates-batch-period' },
  rate: { value: 'N', what: 'changes a second' },
  seconds: { value: 'N', what: 'how long changes are made' },
  flight: { value: 'N', what: 'requests under way, for scenarios that send as fast as they can' },
  watchers: { value: 'N', what: 'additional watchers of all Endpoints and slices' },
  fsync: { value: null, what: 'etcd waits for the disk' },
  'priority-and-fairness': { value: null, what: 'the API server has priority and fairness on' },
  'endpointd-flag': { value: '--F=V', what: 'one more flag of endpointd; may be repeated' },
  'manager-flag': { value: '--F=V', what: 'one more flag of kube-controller-manager; may be repeated' },
  json: { value: 'FILE', what: 'write all runs to this file, as data' },
  page: { value: 'FILE', what: 'write the report to this file, as one HTML page' },
  results: {
    value: null,
    what: 'add the runs to bench/results.json, and write bench/RESULTS.md, its pages, docs/images/bench-*.svg',
  },
  prepare: { value: null, what: 'only make the first data of runs on a real API server, which are kept' },
  list: { value: null, what: 'list the scenarios' },
  help: { value: null, what: 'this' },
} as const satisfies Record<string, Flag>;

const REPEATED = new Set(['endpointd-flag', 'manager-flag', 'other-flag']);

export const HELP = [
  'npm run bench -- peers [SCENARIO ...] [flags]',
  'Measures endpointd beside kube-controller-manager, in interleaved pairs. Without a scenario: most of the table of marks;',
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
