/** The kept pages of the cells, and what docs/tune-evidence.md says of them, are what the kept runs say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CellRun, dataPath, readData, runsOf } from '../../bench/cells/data.ts';
import { isDisturbed } from '../../bench/cells/marks.ts';
import { heldOutCells, settingsText } from '../../bench/cells/plan.ts';
import { cellsReport } from '../../bench/cells/report.ts';
import { median } from '../../src/lib/percentile.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TIMES = { warmUpMs: 20_000, measuredMs: 60_000 };
const SETS = {
  'bench/cells': { seed: 1, worlds: ['endpointd, embedded', 'kube-controller-manager, kube-apiserver'] },
  'bench/cells/second': { seed: 2, worlds: ['kube-controller-manager, kube-apiserver'] },
  'bench/cells/third': { seed: 3, worlds: ['endpointd, kube-apiserver', 'kube-controller-manager, kube-apiserver'] },
  'bench/cells/fourth': { seed: 4, worlds: ['endpointd, kube-apiserver'] },
} as const;

function textOf(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8');
}

/** What a page says of a controller and its API server, as the documents name them. */
function sectionOf(page: string, world: string): string {
  const [controller, server] = world.split(', ') as [string, string];
  const of = server === 'embedded' ? 'the embedded API server' : 'kube-apiserver and etcd';
  return page.split('\n## ').find((section) => section.startsWith(`${controller} on ${of}`))!;
}

/** The first cells of a table's rows, without the bold ones' stars. */
function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .slice(2)
        .replaceAll('**', '')
        .split(' |')
        .map((cell) => cell.trim()),
    );
}

/** The page of the fourth set by the first runs of each cell alone. It takes seconds to make. */
const ofFirstRuns = new Map<number, string>();

function byFirstRuns(runs: number): string {
  const page = ofFirstRuns.get(runs) ?? cellsReport({ ...TIMES, seed: 4 }, `${ROOT}bench/cells/fourth`, runs)!;
  ofFirstRuns.set(runs, page);
  return page;
}

/** What a page says of the cells of a controller: errors as `1.2 and 23 %`, all else as `19 of 20`. */
interface PageFigures {
  readonly p50: string;
  readonly writes: string;
  readonly p99: string;
  /** '' = the page does not tell it. */
  readonly saturated: string;
  readonly skill: string;
}

function figuresOn(page: string, world: string): PageFigures {
  const marks = new Map(rowsOf(sectionOf(page, world)).map(([figure, , has]) => [figure!, has!]));
  const errors = (figure: string): string =>
    marks.get(figure)!.replace(/^median (\S+) %, worst (\S+) %$/, '$1 and $2 %');
  const count = (figure: string): string => (marks.get(figure) ?? '').replace(/ cells$/, '');
  return {
    p50: errors('p50'),
    writes: errors('writes'),
    p99: count('p99'),
    saturated: count('saturated or not'),
    skill: count('skill'),
  };
}

/** The marks that a page says are missed, each with its cells and their figures. */
function missesOn(section: string): (readonly [string, string])[] {
  return section
    .split('\nThe mark of "')
    .slice(1)
    .map((part) => {
      const [list] = part.split('\n\n| workload | settings | output |');
      const cells = rowsOf(list!)
        .slice(2)
        .map(([workload, settings, figure]) => {
          const [, syncs, batchMs, qps] = /^(\d+) syncs, (\d+) ms, (\d+)\/s/.exec(settings!)!;
          return { cell: `${workload} ${syncs}/${batchMs}/${qps}`, figure: figure!.split(' ')[0]! };
        });
      const texts = [...Map.groupBy(cells, ({ cell }) => cell)].map(
        ([cell, all]) => `${cell}: ${[...new Set(all.map(({ figure }) => figure))].join(', ')}`,
      );
      return [part.slice(0, part.indexOf('"')), texts.join('; ')] as const;
    });
}

describe('the pages of the cells', () => {
  // A page takes seconds to make, so there is one of each controller.
  for (const folder of ['bench/cells/second', 'bench/cells/fourth'] as const) {
    it(`the page is what the report makes of the runs: ${folder}`, () => {
      const { seed } = SETS[folder];
      assert.equal(textOf(`${folder}/CELLS.md`), cellsReport({ ...TIMES, seed }, `${ROOT}${folder}`));
    });
  }

  for (const [folder, { seed, worlds }] of Object.entries(SETS)) {
    it(`what was measured stands on the page as it is in the data: ${folder}`, () => {
      const data = readData(dataPath(`${ROOT}${folder}`));
      for (const world of worlds) {
        const [controller, server] = world.split(', ');
        const of = {
          ...TIMES,
          seed,
          world: { server: server === 'embedded' ? 'embedded' : 'kube', controller: controller as 'endpointd' },
        } as const;
        const runs = runsOf(data, of, null).filter((run) => !isDisturbed(run));
        const figures = (cell: string, output: 'endpoints' | 'slices'): string[] => {
          const own = runs.filter((run) => run.cell === cell);
          const middle = (figure: 'p50' | 'p99' | 'writes'): number =>
            median(own.map(({ measured }: CellRun) => measured[output][figure]));
          return [middle('p50').toFixed(1), middle('p99').toFixed(1), middle('writes').toFixed(0)];
        };
        const shown = rowsOf(sectionOf(textOf(`${folder}/CELLS.md`), world)).filter((row) => row.length > 9);
        assert.deepEqual(
          shown.slice(2).map((row) => row.filter((_, i) => i < 4 || i === 5 || i === 7)),
          heldOutCells().flatMap(({ name, workload, settings }) =>
            (['endpoints', 'slices'] as const).map((output) => {
              const [p50, p99, writes] = figures(name, output);
              return [workload.name, settingsText(settings), output, p50, p99, writes];
            }),
          ),
        );
      }
    });
  }

  it('the evidence says how far the p99 is off where it is not right', () => {
    const errors = Object.keys(SETS).flatMap((folder) =>
      textOf(`${folder}/CELLS.md`)
        .split('\n')
        .filter((line) => line.endsWith(' |  |'))
        .flatMap((line) => {
          const [, measured, predicted] = /([\d.]+) \| \*\*([\d.]+)\*\* \| \d+ \| \S+ \|  \|$/.exec(line) ?? [];
          return predicted === undefined ? [] : [Number(predicted) / Number(measured) - 1];
        }),
    );
    const [low, high] = [-Math.min(...errors), Math.max(...errors)].map((share) => (share * 100).toFixed(0));
    assert.ok(
      textOf('docs/tune-evidence.md').includes(
        `miss its mark it is up to ${low} % too low, and up to ${high} % too high.`,
      ),
      `${low} and ${high}`,
    );
  });

  it('the evidence names the cells by which a mark is missed', () => {
    const [table] = /\n\| set \|[^|]*\| mark \|[^]*?\n\n/.exec(textOf('docs/tune-evidence.md'))!;
    let path = '';
    const told = rowsOf(table)
      .slice(2)
      .map(([set, world, mark, cells]) => {
        path = /\.\.\/(\S+)\/CELLS\.md/.exec(set!)?.[1] ?? path;
        return [set!.endsWith(', the first two runs') ? `${path} by two` : path, world, mark, cells];
      });
    const fourth = 'bench/cells/fourth';
    const pages: (readonly [string, string, string])[] = [
      ...Object.entries(SETS).flatMap(([folder, { worlds }]) =>
        worlds.map((world) => [folder, world, textOf(`${folder}/CELLS.md`)] as const),
      ),
      [`${fourth} by two`, 'endpointd, kube-apiserver', byFirstRuns(2)],
    ];
    const found = pages.flatMap(([folder, world, page]) =>
      missesOn(sectionOf(page, world)).map(([mark, cells]) => [folder, world, mark, cells]),
    );
    const lines = (rows: readonly (readonly (string | undefined)[])[]): string[] =>
      rows.map((row) => row.join(' | ')).toSorted();
    assert.deepEqual(lines(told), lines(found));
  });

  it('the table of sets in the evidence has what the pages say', () => {
    const [, table] = /\n\| set \|[^]*?\n\n/.exec(textOf('docs/tune-evidence.md'))![0].split(/\n\| --- .*\n/);
    let path = '';
    const told = rowsOf(table!).map(([set, world, runs, ...figures]) => {
      path = /\.\.\/(\S+)\/CELLS\.md/.exec(set!)?.[1] ?? path;
      const page = set!.endsWith(', the first two runs') ? `${path} by two` : path;
      return [page, world!, runs!].concat(figures.slice(0, 5));
    });
    const fourth = 'bench/cells/fourth';
    const found = told.map(([name, world]) => {
      const page = name === `${fourth} by two` ? byFirstRuns(2) : textOf(`${name!}/CELLS.md`);
      const [, often] = / Each was run (\w+)/.exec(sectionOf(page, world!))!;
      const runs = often === 'once' ? '1' : often === 'twice' ? '2' : often!;
      const { p50, writes, p99, saturated, skill } = figuresOn(page, world!);
      return [name, world, runs, p50, writes, p99, saturated, skill];
    });
    assert.deepEqual(told, found);
    const sets = Object.entries(SETS).flatMap(([of, { worlds }]) => worlds.map((world) => `${of} ${world}`));
    assert.deepEqual(
      told.map(([page, world]) => `${page} ${world}`).toSorted(),
      [...sets, `${fourth} by two endpointd, kube-apiserver`].toSorted(),
    );
  });

  it('the marks of endpointd on kube-apiserver have what the pages say', () => {
    const evidence = textOf('docs/tune-evidence.md').replaceAll('**', '');
    const of = (page: string): PageFigures => figuresOn(page, 'endpointd, kube-apiserver');
    const median = (errors: string): string => errors.replace(/ and .*/, ' %');
    const [third, fourth] = ['third', 'fourth'].map((set) => of(textOf(`bench/cells/${set}/CELLS.md`)));
    const two = of(byFirstRuns(2));
    const errorsOf = ({ p50, writes }: PageFigures): string => `p50 ${median(p50)}, writes ${median(writes)}`;
    const said = [
      `Third: ${errorsOf(third!)}; p99 ${third!.p99}; ${third!.saturated}: `,
      `three runs of each cell: ${errorsOf(fourth!)}, p99 ${fourth!.p99}, ${fourth!.saturated}, but `,
      `by the first two runs of each, 20 cells: ${errorsOf(two)}, p99 ${two.p99}, ${two.saturated}: `,
    ];
    for (const text of said) assert.ok(evidence.includes(text), text);
  });

  it('the evidence says what is found by the first run of each cell alone', () => {
    const { p50, p99, saturated, skill } = figuresOn(byFirstRuns(1), 'endpointd, kube-apiserver');
    const [right, all] = saturated.split(' of ');
    assert.equal(right, all);
    const said = `the p50 is off by ${p50}, the p99 right in ${p99}, saturation in all ${all}, and skill in ${skill}`;
    assert.ok(textOf('docs/tune-evidence.md').includes(said), said);
  });
});
