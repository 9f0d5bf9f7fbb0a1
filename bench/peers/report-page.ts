/** The results as one page: the marks, and a section for each scenario with its table and its plots. */
import { renderPage, type Page, type Section } from '../../src/page/page.ts';
import { plotsOf } from './plots.ts';
import { compareAll, notRun, type Comparison, type MarkResult, type Results } from './results.ts';
import { marksByScenario } from './scenarios.ts';
import { headOf, rowTexts } from './text.ts';

export function peersPage(results: Results): string {
  return renderPage(pageOf(results));
}

function pageOf(results: Results): Page {
  const comparisons = compareAll(results, marksByScenario());
  const marks = comparisons.flatMap((comparison) => comparison.marks);
  const measured = marks.filter(({ verdict }) => verdict !== 'not measured');
  const reached = measured.filter(({ verdict }) => verdict === 'reached').length;
  const wrong = comparisons.flatMap((comparison) => comparison.wrong);
  return {
    title: 'endpointd beside kube-controller-manager',
    headline: {
      figure: `${reached} of ${measured.length}`,
      words: `marks are reached, in ${results.runs.length} runs of ${comparisons.length} scenarios`,
      tone: wrong.length > 0 ? 'bad' : reached === measured.length ? 'good' : 'unsure',
    },
    facts: factsOf(results),
    notices: [
      ...(wrong.length === 0 ? [] : ['Some runs ended wrong: they have no say in any figure, and are told below.']),
      ...notRun(results).map(({ name, what }) => `Not run, for want of time: ${name} (${what}).`),
    ],
    sections: [marksSection(marks), ...comparisons.map((comparison) => sectionOf(comparison, results))],
  };
}

export function factsOf(results: Results): { readonly name: string; readonly value: string }[] {
  const { command, commit, machine, versions, size, settings, startedAt, endedAt } = results;
  return [
    { name: 'command', value: command },
    { name: 'commit', value: commit },
    { name: 'when', value: `${startedAt} to ${endedAt}` },
    ...Object.entries(machine).map(([name, value]) => ({ name, value })),
    ...Object.entries(versions).map(([name, value]) => ({ name, value })),
    { name: 'size', value: size },
    {
      name: 'settings',
      value: Object.entries(settings)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    },
  ];
}

function marksSection(marks: readonly MarkResult[]): Section {
  return {
    title: 'Marks',
    tone: 'plain',
    note: '',
    table: {
      columns: ['scenario', 'mark', 'measured', ''],
      rows: marks.map(({ scenario, what, got, verdict }) => [scenario, what, got, verdict]),
    },
  };
}

function sectionOf(comparison: Comparison, { runs }: Results): Section {
  const { scenario, wrong } = comparison;
  return {
    title: scenario.name,
    tone: wrong.length > 0 ? 'bad' : 'plain',
    note: [scenario.what, ...wrong.map((each) => `WRONG: ${each}`)].join('. '),
    plots: plotsOf(comparison, runs),
    table: { columns: headOf(comparison), rows: rowTexts(comparison) },
  };
}
