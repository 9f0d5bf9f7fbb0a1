import process from 'node:process';
import { printable, printableJson } from '../../lib/printable.ts';
import { createAsker, type Asker } from '../../node/asker.ts';
import { writeReport } from '../../node/output.ts';
import { onlySelfReviews } from '../../node/read-only-transport.ts';
import { missingRights, reviewRights, reviewUser, verdictOf, type Reviewed } from './access-review.ts';
import { parseCheckRightsFlags, type RunOptions } from '../flags/flags.ts';
import { qualified, rightsOf, ruleText } from './rights.ts';
import { connect } from '../api-connection.ts';
import { textTable } from '../text-table.ts';
import { starting } from '../usage.ts';

const STATUS = { yes: 0, no: 1, unknown: 2 } as const;
const ANSWER_MS_MAX = 10_000;

interface RightsReport {
  readonly server: string;
  /** The user as whom the server knows this process; '' = the server does not tell. */
  readonly user: string;
  readonly reviewed: readonly Reviewed[];
  readonly verdict: Reviewed['verdict'];
}

/** `endpointd check-rights`. Returns the exit status. */
export async function checkRights(args: readonly string[]): Promise<number> {
  const options = parseCheckRightsFlags(args, (text) => process.stdout.write(text));
  const server = await connect(options, () => undefined, onlySelfReviews);
  const report = await look(server.origin, createAsker(server.transport, ANSWER_MS_MAX), options);
  await server.close();
  const text = options.output === 'json' ? `${printableJson(jsonOf(report))}\n` : textOf(report);
  await starting('write the report', writeReport(process.stdout, text));
  return STATUS[report.verdict];
}

async function look(server: string, ask: Asker, options: RunOptions): Promise<RightsReport> {
  const reviewed = await reviewRights(ask, rightsOf(options));
  const user = await reviewUser(ask);
  return { server, user, reviewed, verdict: verdictOf(reviewed) };
}

function textOf(report: RightsReport): string {
  const { server, user, reviewed } = report;
  const rows = reviewed.map(({ right, verdict }) => {
    const { verb, group, resource, namespace, name, rule } = right;
    const object = namespace === '' ? 'all' : `${namespace}/${name === '' ? '*' : name}`;
    const given = `${rule.role.file}: ${ruleText(rule)}${rule.only === '' ? '' : `, ${rule.only}`}`;
    return [verb, qualified(group, resource), object, verdict, given];
  });
  return [
    `${user === '' ? 'Whoever asks' : printable(user)} at ${server}:`,
    '',
    ...textTable(['VERB', 'RESOURCE', 'OBJECTS', 'ALLOWED', 'GIVEN BY'], rows),
    '',
    ...verdictLines(report),
    '',
  ].join('\n');
}

function verdictLines({ reviewed, verdict }: RightsReport): string[] {
  const unknown = reviewed.find((each) => each.verdict === 'unknown');
  const lines = unknown === undefined ? [] : [`Could not tell: ${printable(unknown.reason)}`];
  if (verdict === 'unknown') return lines;
  return [...lines, missingRights(reviewed).text ?? 'The user has all rights that these flags need.'];
}

function jsonOf({ server, user, reviewed, verdict }: RightsReport): object {
  return {
    server,
    user,
    allowed: verdict,
    rights: reviewed.map(({ right, verdict: allowed, reason }) => {
      const { rule, ...attributes } = right;
      const { role, only } = rule;
      return { ...attributes, allowed, reason, only, file: role.file, role: `${role.kind}/${role.name}` };
    }),
  };
}
