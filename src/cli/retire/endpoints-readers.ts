import process from 'node:process';
import { readAuditLine } from '../../kube/audit-event.ts';
import { printable, printableJson } from '../../lib/printable.ts';
import { logLines } from '../../node/log-lines.ts';
import { writeReport } from '../../node/output.ts';
import { addAuditEvent, createEndpointsUse, reportUse, type UseReport, type UseRow } from './endpoints-use.ts';
import { choice, integer } from '../flags/flag-kinds.ts';
import { parseFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { createProgress } from '../progress.ts';
import { textTable } from '../text-table.ts';
import { starting } from '../usage.ts';

const FLAGS = {
  output: {
    kind: choice('<format>', ['text', 'json']),
    default: 'text',
    help: 'text for people, or JSON',
    short: 'o',
  },
  'users-max': {
    kind: integer(1, 1_000_000),
    default: '10000',
    help: 'the most pairs of user and user agent that are listed; requests of further pairs are only counted',
  },
} as const;

export const ENDPOINTS_READERS_FLAGS = {
  command: 'endpointd endpoints-readers',
  description:
    'Says who still reads and writes v1.Endpoints, from audit logs of kube-apiserver: JSON lines, plain or compressed by gzip; - is standard input.',
  arguments: ['audit-log...'],
  groups: [{ title: '', flags: FLAGS }],
} as const satisfies CommandFlags;

interface EndpointsReadersOptions extends OptionsOf<typeof FLAGS> {
  readonly 'audit-log': readonly string[];
}

/** @throws UsageError or HelpShown */
export function parseEndpointsReadersFlags(
  args: readonly string[],
  print: (text: string) => void,
): EndpointsReadersOptions {
  return parseFlags(ENDPOINTS_READERS_FLAGS, args, print) as unknown as EndpointsReadersOptions;
}

/** The parts of the logs that could not be read. */
interface Unread {
  /** Lines that are no audit event. */
  lines: number;
  /** Logs that could not be read, or not to their end, and why. */
  readonly logs: string[];
}

/**
 * `endpointd endpoints-readers`. Returns the exit status: 0 = the logs were read, 1 = one of them could not be read to
 * its end, or they hold no audit events.
 */
export async function endpointsReaders(args: readonly string[]): Promise<number> {
  const options = parseEndpointsReadersFlags(args, (text) => process.stdout.write(text));
  const use = createEndpointsUse(options.usersMax);
  const unread: Unread = { lines: 0, logs: [] };
  const progress = createProgress(process.stderr, () => performance.now());
  for (const path of options['audit-log']) {
    try {
      for await (const line of logLines(path)) {
        const events = line === null ? null : readAuditLine(line);
        if (events === null) unread.lines += 1;
        else for (const event of events) addAuditEvent(use, event);
        if (process.stderr.isTTY && use.events % 4096 === 0) progress.show(`${use.events} audit events read`);
      }
    } catch (error) {
      unread.logs.push(`${path}: ${(error as Error).message}`);
    }
  }
  progress.clear();
  const report = reportUse(use);
  const text = options.output === 'json' ? `${printableJson({ ...report, unread })}\n` : textOf(report, unread);
  await starting('write the report', writeReport(process.stdout, text));
  return unread.logs.length > 0 || report.events === 0 ? 1 : 0;
}

function textOf(report: UseReport, unread: Unread): string {
  const { events, readers, writers, keepers, unlisted } = report;
  if (events === 0) return [...headOf(report, unread), ''].join('\n');
  return [
    ...headOf(report, unread),
    ...section('Who reads Endpoints', readers, 'The logs have no read of Endpoints.'),
    ...section('Who writes Endpoints', writers, 'The logs have no write of Endpoints.'),
    ...(keepers.length === 0
      ? []
      : section("Who uses one object only, such as a lock, or kube-apiserver's default/kubernetes", keepers, '')),
    ...(unlisted === 0 ? [] : ['', `${unlisted} requests more, of users beyond --users-max.`]),
    '',
  ].join('\n');
}

function headOf(report: UseReport, unread: Unread): string[] {
  const { events, from, to } = report;
  const lines = unread.logs.map((log) => `Not read to its end: ${printable(log)}`);
  if (unread.lines > 0) lines.push(`Lines that are no audit event: ${unread.lines}`);
  if (events === 0) return [...lines, 'There are no audit events, so the report is empty.'];
  lines.push(`${events} audit events, ${printable(from)} to ${printable(to)}.`);
  lines.push(doubtOf(report));
  return lines;
}

/** How far the log can be believed. The garbage collector of kube-controller-manager watches all that it may read. */
function doubtOf({ eventsOfReads, readers, unlisted }: UseReport): string {
  if (eventsOfReads === 0)
    return 'There is no read of any resource: the audit policy leaves reads out, or this log is too short.';
  return readers.length === 0 && unlisted === 0
    ? 'There is no read of Endpoints, although the garbage collector of kube-controller-manager watches them: the audit policy leaves reads of Endpoints out, or this log is too short.'
    : 'Requests that the audit policy leaves out are not in the log: some policies leave kube-proxy out.';
}

function section(title: string, rows: readonly UseRow[], none: string): string[] {
  if (rows.length === 0) return ['', none];
  const cells = rows.map(({ user, userAgent, verb, requests, lastSeen, object }) => {
    return [user, userAgent, verb, String(requests), lastSeen, object ?? 'several'];
  });
  const head = ['USER', 'USER AGENT', 'VERB', 'REQUESTS', 'LAST SEEN', 'OBJECT'];
  return ['', `${title}:`, ...textTable(head, cells)];
}
