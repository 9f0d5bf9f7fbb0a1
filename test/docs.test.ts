/** What the documents say of flags, metrics, events and files is held to what there is. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAdviseFlags } from '../src/cli/advise.ts';
import { parseDemoFlags } from '../src/cli/demo.ts';
import { parseEndpointsReadersFlags } from '../src/cli/retire/endpoints-readers.ts';
import { parseExplainFlags } from '../src/cli/explain/explain.ts';
import { parseRunFlags, parseVerifyFlags } from '../src/cli/flags/flags.ts';
import { parseRecordFlags } from '../src/cli/record/record-flags.ts';
import { parseRetireEndpointsFlags } from '../src/cli/retire/retire-endpoints.ts';
import { parseServeFlags } from '../src/cli/serve.ts';
import { parseTopFlags } from '../src/cli/live/top.ts';
import { parseTuneFlags } from '../src/cli/tune/tune-flags.ts';
import { EVENT_REASONS } from '../src/controller/reports/event-reasons.ts';
import { CATALOGUE } from '../src/metrics/catalogue.ts';

const ROOT = join(import.meta.dirname, '..');
const manual = readFileSync(join(ROOT, 'docs/manual.md'), 'utf8');
/** The specification is upstream's, and the differences name files of their own kind. */
const documents = globSync(['*.md', 'docs/*.md'], { cwd: ROOT })
  .filter((name) => name !== 'docs/differences.md')
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') }));
/** Everything between backquotes. */
const code = documents.flatMap(({ name, text }) =>
  [...text.matchAll(/`([^`\n]+)`/g)].map((match) => ({ document: name, said: match[1]! })),
);

/** First and second cell of the rows of the section's tables, without the heads. */
function rowsOf(section: string): { readonly first: string; readonly second: string }[] {
  const text = manual.split(/^## /m).find((part) => part.startsWith(`${section}\n`));
  assert.ok(text !== undefined, section);
  return [...text.matchAll(/^\| (`.+?) \| (.+?) \|/gm)].map((match) => ({ first: match[1]!, second: match[2]! }));
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
}

/** What `--help` says: flag -> default, '' = none. */
function flagsOf(parse: (args: readonly string[], print: (text: string) => void) => unknown): Map<string, string> {
  let help = '';
  assert.throws(() => parse(['--help'], (text) => (help += text)), { name: 'HelpShown' });
  const flags = help.replaceAll(/\s*\n\s{3,}/g, ' ').matchAll(/^ {2}(?:-\w, )?(--[\w-]+)(.*)$/gm);
  return new Map([...flags].map(([, flag, rest]) => [flag!, /default: "?(.*?)"?\)$/.exec(rest!)?.[1] ?? ''] as const));
}

test('the manual lists every flag of run with its default', () => {
  const told = new Map(rowsOf('Flags').map(({ first, second }) => [namesIn(first)[0]!, second]));
  const flags = flagsOf(parseRunFlags);
  flags.delete('--help');
  assert.deepEqual([...told.keys()].sort(), [...flags.keys()].sort());
  for (const [flag, value] of flags) assert.equal(told.get(flag), value, flag);
});

test('the manual lists every event', () => {
  const told = rowsOf('Events').flatMap(({ first }) => namesIn(first));
  assert.deepEqual(told.sort(), Object.keys(EVENT_REASONS).sort());
});

test('metrics that the documents name exist', () => {
  const names = new Set<string>(CATALOGUE.map(({ name }) => name));
  const told = code.flatMap(
    ({ said }) => said.match(/\b(?:endpointd|endpoint|endpoint_slice|workqueue|rest_client)_\w+\b/g) ?? [],
  );
  assert.ok(told.length > 10);
  // `workqueue_*` is all of them, and the names of queues are the beginnings of others.
  const known = (name: string): boolean =>
    names.has(name) || [...names].some((other) => other.startsWith(name.replace(/_?$/, '_')));
  assert.deepEqual(
    told.filter((name) => !known(name)),
    [],
  );
});

test('flags that the documents name exist', () => {
  const helps = [
    parseAdviseFlags,
    parseRecordFlags,
    parseRetireEndpointsFlags,
    parseRunFlags,
    parseServeFlags,
    parseDemoFlags,
    parseEndpointsReadersFlags,
    parseExplainFlags,
    parseTopFlags,
    parseTuneFlags,
    parseVerifyFlags,
  ].map((parse) => flagsOf(parse));
  const told = code.flatMap(({ said }) => said.match(/^--[\w-]+(?![\w*-])/) ?? []);
  assert.ok(told.length > 30);
  assert.deepEqual(
    told.filter((flag) => !helps.some((help) => help.has(flag))),
    [],
  );
});

test('files that the documents name exist', () => {
  const missing = code.filter(({ said }) => {
    const path = /^(?:src|test|bench|build|deploy|workers|\.ci)\/[\w./-]+$/.exec(said)?.[0];
    return path !== undefined && !existsSync(join(ROOT, path));
  });
  assert.deepEqual(missing, []);
});

/** The commands that a document runs: each line of its blocks of code, and between backquotes what has arguments. */
function commandsIn(text: string): string[] {
  const block = /^ *```.*\n([^]*?)^ *```/gm;
  const lines = Array.from(text.matchAll(block), ([, inside]) => inside!.replaceAll('\\\n', ' ').split('\n')).flat();
  const spans = Array.from(text.replaceAll(block, '').matchAll(/`([^`\n]+)`/g), ([, said]) => said!);
  const commands = [...lines, ...spans.filter((said) => /^npx endpointd \S+ ./.test(said))];
  return commands.map((line) => line.trim()).filter((line) => line.startsWith('npx endpointd '));
}

test('commands of the documents that read a cluster say which one', () => {
  const reading = /^npx endpointd (?:explain|verify|record(?! --info)|retire-endpoints)\b/;
  const found: { readonly document: string; readonly command: string }[] = [];
  for (const { name, text } of documents)
    for (const command of commandsIn(text)) if (reading.test(command)) found.push({ document: name, command });
  assert.ok(found.length > 10);
  assert.deepEqual(
    found.filter(({ command }) => !/--(?:kubeconfig|master)\b/.test(command)),
    [],
  );
});
