import { bool, choice, integer, parsed, ValueError } from '../flags/flag-kinds.ts';
import { parseFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { SERVER_FLAGS } from '../flags/flags.ts';
import { parseDuration } from '../../lib/duration.ts';

const RECORDING = {
  for: {
    kind: parsed('<duration>', forMs),
    default: '',
    help: 'how long to record after everything is listed, such as 10m; without it, until Ctrl-C or SIGTERM',
  },
  plain: {
    kind: bool,
    default: 'false',
    help: "keep the cluster's own names, label values and addresses instead of pseudonyms",
  },
  v: { kind: integer(0, 100), default: '0', help: 'verbosity of the log', short: 'v' },
  'logging-format': { kind: choice('<format>', ['text', 'json']), default: 'text', help: 'format of the log' },
} as const;

export const RECORD_FLAGS = {
  command: 'endpointd record',
  description:
    'Records into a new file what the endpoints controllers of a cluster read and write. Only lists and watches. Replaces names by pseudonyms. `endpointd record --info <file>` says what a recording holds.',
  arguments: ['file'],
  groups: [
    { title: 'Recording', flags: RECORDING },
    { title: 'Connection', flags: SERVER_FLAGS },
  ],
} as const satisfies CommandFlags;

const INFO = {
  output: {
    kind: choice('<format>', ['text', 'json']),
    default: 'text',
    help: 'how to print the report',
    short: 'o',
  },
} as const;

const INFO_FLAGS = {
  command: 'endpointd record --info',
  description: 'Says what a recording holds, and what it shows of the controller that ran meanwhile.',
  arguments: ['file'],
  groups: [{ title: 'Output', flags: INFO }],
} as const satisfies CommandFlags;

export type RecordOptions = OptionsOf<typeof RECORDING & typeof SERVER_FLAGS> & { readonly file: string };
export type InfoOptions = OptionsOf<typeof INFO> & { readonly file: string };

/**
 * Reads the arguments after `endpointd record`.
 * @param print where `--help` goes
 * @throws UsageError or HelpShown
 */
export function parseRecordFlags(args: readonly string[], print: (text: string) => void): RecordOptions {
  return parseFlags(RECORD_FLAGS, args, print) as RecordOptions;
}

/** Those after `endpointd record --info`. @throws UsageError or HelpShown */
export function parseInfoFlags(args: readonly string[], print: (text: string) => void): InfoOptions {
  return parseFlags(INFO_FLAGS, args, print) as InfoOptions;
}

/** Infinity = no end. */
function forMs(said: string): number {
  if (said === '') return Infinity;
  const ms = parseDuration(said);
  if (ms !== null && ms > 0) return ms;
  throw new ValueError('Allowed: a duration such as 1h30m, 5s or 500ms, longer than 0s.');
}
