/** The tables of flags in the README, made from the rows in `src/cli/flags.ts`. */
import type { FlagGroup } from '../../src/cli/flag-table.ts';
import { RUN_FLAGS } from '../../src/cli/flags.ts';

const BEYOND = 'Beyond upstream';
const END = '<!-- end -->';

/** What stands in the README between a marker and the end behind it. */
const TABLES: readonly { readonly marker: string; readonly groups: readonly FlagGroup[] }[] = [
  {
    marker: '<!-- flags, made by `npm run docs` from src/cli/flags.ts -->',
    groups: RUN_FLAGS.groups.filter(({ title }) => title !== BEYOND),
  },
  {
    marker: '<!-- flags beyond upstream, made by `npm run docs` from src/cli/flags.ts -->',
    groups: RUN_FLAGS.groups.filter(({ title }) => title === BEYOND),
  },
];

/** The README with its tables as they have to be. @throws Error when it has no place for one of them */
export function withFlagTables(readme: string): string {
  let text = readme;
  for (const { marker, groups } of TABLES) {
    const from = text.indexOf(marker);
    const to = text.indexOf(END, from);
    if (from < 0 || to < 0) throw new Error(`README.md: no ${marker}`);
    text = `${text.slice(0, from)}${marker}\n\n${tableOf(groups)}\n${text.slice(to)}`;
  }
  return text;
}

/** What flags cost has a column where one of them says it. */
function tableOf(groups: readonly FlagGroup[]): string {
  const rows = groups.flatMap(({ flags }) => Object.entries(flags));
  const costly = rows.some(([, { costs }]) => costs !== undefined);
  const head = ['flag', 'default', 'allowed', 'what it does', ...(costly ? ['what it costs'] : [])];
  const cells = rows.map(([name, { kind, default: value, defaultInWords, help, costs, short }]) => {
    const called = `\`--${name}\`${short === undefined ? '' : ` (or \`-${short}\`)`}`;
    const row = [called, defaultInWords ?? (value === '' ? 'none' : value), kind.allowed, quoted(help)];
    if (costly) row.push(quoted(costs ?? ''));
    return row;
  });
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |\n`).join('');
}

/** Flags within a text stand as code. */
function quoted(text: string): string {
  return text.replaceAll(/--[a-z][\w-]*/g, '`$&`');
}
