/** The tables of flags in the documents, made from the rows in `src/cli`. */
import type { FlagGroup } from '../../src/cli/flags/flag-table.ts';
import { ENDPOINTS_READERS_FLAGS } from '../../src/cli/retire/endpoints-readers.ts';
import { ADVISE_FLAGS } from '../../src/cli/advise.ts';
import { EXPLAIN_FLAGS } from '../../src/cli/explain/explain.ts';
import { RUN_FLAGS, VERIFICATION } from '../../src/cli/flags/flags.ts';
import { RECORD_FLAGS } from '../../src/cli/record/record-flags.ts';
import { RETIRE_ENDPOINTS_FLAGS } from '../../src/cli/retire/retire-endpoints.ts';
import { SERVE_COMMAND } from '../../src/cli/serve.ts';
import { TOP_FLAGS } from '../../src/cli/live/top.ts';
import { TUNE_FLAGS } from '../../src/cli/tune/tune-flags.ts';
import type { Part } from './parts.ts';

const BEYOND = 'Beyond upstream';

export const RUN_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags, made by `npm run docs` from src/cli/flags/flags.ts -->',
    text: tableOf(RUN_FLAGS.groups.filter(({ title }) => title !== BEYOND)),
  },
  {
    marker: '<!-- flags beyond upstream, made by `npm run docs` from src/cli/flags/flags.ts -->',
    text: tableOf(RUN_FLAGS.groups.filter(({ title }) => title === BEYOND)),
  },
];

export const VERIFY_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags of verify, made by `npm run docs` from src/cli/flags/flags.ts -->',
    text: tableOf([{ title: '', flags: VERIFICATION }]),
  },
];

export const SERVE_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags of serve, made by `npm run docs` from src/cli/serve.ts -->',
    text: tableOf(SERVE_COMMAND.groups),
  },
];

export const RECORD_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags of record, made by `npm run docs` from src/cli/record/record-flags.ts -->',
    text: tableOf(RECORD_FLAGS.groups),
  },
];

export const ADVISE_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags of advise, made by `npm run docs` from src/cli/advise.ts -->',
    text: tableOf(ADVISE_FLAGS.groups),
  },
];

export const EXPLAIN_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags of explain, made by `npm run docs` from src/cli/explain/explain.ts -->',
    text: tableOf(EXPLAIN_FLAGS.groups),
  },
];

export const TUNE_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags of tune, made by `npm run docs` from src/cli/tune/tune-flags.ts -->',
    text: tableOf(TUNE_FLAGS.groups),
  },
];

export const TOP_PARTS: readonly Part[] = [
  { marker: '<!-- flags of top, made by `npm run docs` from src/cli/live/top.ts -->', text: tableOf(TOP_FLAGS.groups) },
];

export const RETIRING_PARTS: readonly Part[] = [
  {
    marker: '<!-- flags of endpoints-readers, made by `npm run docs` from src/cli/retire/endpoints-readers.ts -->',
    text: tableOf(ENDPOINTS_READERS_FLAGS.groups),
  },
  {
    marker: '<!-- flags of retire-endpoints, made by `npm run docs` from src/cli/retire/retire-endpoints.ts -->',
    text: tableOf(RETIRE_ENDPOINTS_FLAGS.groups),
  },
];

/** What flags cost has a column where one of them says it. */
function tableOf(groups: readonly FlagGroup[]): string {
  const rows = groups.flatMap(({ flags }) => Object.entries(flags));
  const costly = rows.some(([, { costs }]) => costs !== undefined);
  const head = ['flag', 'default', 'allowed', 'what it does', ...(costly ? ['what it costs'] : [])];
  const cells = rows.map(([name, { kind, default: value, help, costs, short }]) => {
    const called = `\`--${name}\`${short === undefined ? '' : ` (or \`-${short}\`)`}`;
    const row = [called, value === '' ? 'none' : value, kind.allowed, quoted(help)];
    if (costly) row.push(quoted(costs ?? ''));
    return row;
  });
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |\n`).join('');
}

/** Flags within a text stand as code. */
function quoted(text: string): string {
  return text.replaceAll(/--[a-z][\w-]*/g, '`$&`');
}
