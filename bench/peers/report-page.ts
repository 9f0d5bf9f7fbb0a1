/** The results as one page: the marks, and a section for each scenario with its table and its plots. */
import { plural } from '../../src/lib/figures.ts';
import { renderPage, type Page, type Section, type Table } from '../../src/page/page.ts';
import type { MarkResult, Verdict } from '../marks/mark-result.ts';
import { P99_NOTE } from './basis.ts';
import { plotsOf } from './plots.ts';
import { READING_NOTES } from './reading-notes.ts';
import { type Command, compareAll, notRun, type Comparison, type Results } from './results.ts';
import { scenariosByName } from './scenarios.ts';
import { headOf, remarksOf, rowTexts } from './text.ts';

/** What other benches have found. */
export interface OtherBenches {
  readonly marks: readonly MarkResult[];
  /** They stand behind the scenarios. */
  readonly sections: readonly Section[];
}

export function peersPage(
  results: Results,
  comparisons = compareAll(results, scenariosByName()),
  others: OtherBenches = { marks: [], sections: [] },
): string {
  return renderPage(pageOf(results, comparisons, others));
}

function pageOf(results: Results, comparisons: readonly Comparison[], others: OtherBenches): Page {
  const marks = [...comparisons.flatMap((comparison) => comparison.marks), ...others.marks];
  const count = (of: Verdict): number => marks.filter(({ verdict }) => verdict === of).length;
  const [reached, unsure, unmeasured] = [count('reached'), count('within the noise'), count('not measured')];
  const measured = marks.length - unmeasured;
  const [few, once] = [count('reached in few runs'), count('reached in one run')];
  const besides = [
    ...(few === 0 ? [] : [`${few} more in few runs`]),
    ...(once === 0 ? [] : [`${once} more in one run`]),
    ...(unsure === 0 ? [] : [`${unsure} within the noise`]),
    ...(unmeasured === 0 ? [] : [`${unmeasured} more not measured`]),
  ];
  const wrong = comparisons.flatMap((comparison) => comparison.wrong);
  const benches = new Set(others.marks.map(({ by }) => by)).size;
  const alsoOf = benches === 0 ? '' : ` and ${benches} other ${benches === 1 ? 'bench' : 'benches'}`;
  return {
    title: 'endpointd beside kube-controller-manager',
    headline: {
      figure: `${reached} of ${measured}`,
      words: [
        `marks are reached, in ${plural(results.runs.length, 'run')} of ${plural(comparisons.length, 'scenario')}${alsoOf}`,
        ...besides,
      ].join('; '),
      tone: wrong.length > 0 ? 'bad' : measured === 0 ? 'plain' : reached === measured ? 'good' : 'unsure',
    },
    facts: factsOf(results),
    notices: [
      ...(wrong.length === 0 ? [] : ['Some runs ended wrong: they have no say in any figure, and are told below.']),
      ...notRun(results).map(({ name, what }) => `Not run, for want of time: ${name} (${what}).`),
    ],
    sections: [
      marksSection(marks),
      commandsSection(results),
      NOTES_SECTION,
      ...comparisons.map((comparison) => sectionOf(comparison, results)),
      ...others.sections,
    ],
  };
}

/** What is the same for all commands. */
export function factsOf({ commands }: Results): { readonly name: string; readonly value: string }[] {
  const [first, ...others] = commands.map(allFactsOf);
  return Object.entries(first ?? {})
    .filter(([name, value]) => others.every((facts) => facts[name] === value))
    .map(([name, value]) => ({ name, value }));
}

/** The commands, what differs between them, and the scenarios that their runs are of. */
export function commandsOf(results: Results): Table {
  const common = new Set(factsOf(results).map(({ name }) => name));
  const { commands, runs } = results;
  return {
    columns: ['command', 'commit', 'from', 'to', 'differs in', 'runs of'],
    rows: commands.map((command, at) => [
      command.text,
      command.commit,
      command.startedAt.slice(0, MINUTE_CHARS),
      command.endedAt.slice(0, MINUTE_CHARS),
      Object.entries(allFactsOf(command))
        .flatMap(([name, value]) => (common.has(name) ? [] : [`${name} ${value}`]))
        .join(', '),
      [...new Set(runs.flatMap((run) => (run.command === at ? [run.scenario] : [])))].join(', '),
    ]),
  };
}

/** Such as 2026-11-23T03:13. */
const MINUTE_CHARS = 16;

function allFactsOf(command: Command): Readonly<Record<string, string>> {
  const { program, machine, versions, size, settings, loopMs, note } = command;
  const said = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const optional = {
    ...(loopMs === undefined ? {} : { loop: `${loopMs} ms` }),
    ...(note === undefined ? {} : { note }),
  };
  return { ...machine, program, ...versions, size, settings: said.join(' '), ...optional };
}

export const MARK_COLUMNS: readonly string[] = ['scenario or bench', 'mark', 'measured', 'runs of each', 'verdict'];

export function markRow({ by, what, got, runs, verdict }: MarkResult): string[] {
  return [by, what, got, runs, verdict];
}

function marksSection(marks: readonly MarkResult[]): Section {
  return {
    title: 'Marks',
    tone: 'plain',
    note: `A p99 ${P99_NOTE}`,
    table: { columns: MARK_COLUMNS, rows: marks.map(markRow) },
  };
}

const NOTES_SECTION: Section = {
  title: 'How to read the figures',
  tone: 'plain',
  note: '',
  table: { columns: ['', ''], rows: READING_NOTES.map(({ about, text }) => [about, plain(text)]) },
};

/** Markdown as text. */
function plain(text: string): string {
  return text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');
}

function commandsSection(results: Results): Section {
  return { title: 'Commands', tone: 'plain', note: '', table: commandsOf(results) };
}

function sectionOf(comparison: Comparison, { runs }: Results): Section {
  const { scenario, wrong } = comparison;
  return {
    title: scenario.name,
    tone: wrong.length > 0 ? 'bad' : 'plain',
    note: [scenario.what, ...remarksOf(comparison, runs), ...wrong.map((each) => `WRONG: ${each}`)].join('. '),
    plots: plotsOf(comparison, runs),
    table: { columns: headOf(comparison), rows: rowTexts(comparison) },
  };
}
