/** The table of memory and CPU in the runbook, of the runs that bench/results.json keeps. */
import { readKept } from '../../bench/peers/kept-results.ts';
import type { RunRecord } from '../../bench/peers/results.ts';
import { ENDPOINTD, ENDPOINTD_AGAIN } from '../../bench/peers/scenario.ts';
import { median } from '../../src/lib/percentile.ts';
import type { Part } from './parts.ts';

const DAY_CHARS = '2026-11-28'.length;

export const SIZE_PARTS: readonly Part[] = [{ marker: '<!-- size -->', text: sizeTable(readKept()?.runs ?? []) }];

function sizeTable(all: readonly RunRecord[]): string {
  const of = (scenario: string): RunRecord[] =>
    all.filter(
      (run) => run.scenario === scenario && [ENDPOINTD, ENDPOINTD_AGAIN].includes(run.peer) && run.wrong.length === 0,
    );
  const figures = (scenario: string, figure: string): number[] => of(scenario).map((run) => run.figures[figure]!);
  // A bound that is rounded to the nearest number may be less than what it bounds.
  const most = (scenario: string): string => String(Math.ceil(Math.max(...figures(scenario, 'peakMB'))));
  const cpu = (scenario: string, figure = 'controllerCpu'): string => median(figures(scenario, figure)).toFixed(1);
  const day = (scenario: string): string => of(scenario).at(-1)!.startedAt.slice(0, DAY_CHARS);
  const rows = [
    ['cluster', 'memory', 'CPU', 'measured by'],
    ['---', '---', '---', '---'],
    [
      '2,000 services, 10,000 pods',
      `at most ${most('spread')} MB from nothing, ${most('restart')} MB a restart, ${most('ready')} MB with all pods ready at once (${most('best')} MB with 50 syncs)`,
      `${cpu('spread')} s from nothing, ${cpu('restart')} s a restart`,
      `\`npm run bench -- peers\`, ${day('restart')}; with all pods ready at once ${day('ready')}, with 50 syncs ${day('best')}`,
    ],
    [
      'one pod of a service of 5,000 becomes ready or not',
      '',
      `${cpu('huge', 'cpuAChange')} ms`,
      `the same, ${day('huge')}`,
    ],
    [
      '100,020 pods, a restart, on the embedded API server',
      `at most ${most('large-restart')} MB, from nothing ${most('large')} MB`,
      `${cpu('large-restart')} s`,
      `the same, ${day('large-restart')}; runs of other days took up to 490 MB`,
    ],
    [
      '150,755 pods, a restart, on the embedded API server',
      `at most ${most('memory')} MB, in the median ${median(figures('memory', 'peakMB')).toFixed(0)} MB`,
      `${cpu('memory')} s`,
      `the same, ${day('memory')}`,
    ],
    [
      '10,934 services, 100,000 pods, caches and plans of the main thread alone',
      '675 bytes a pod, and 678 when each pod has changed',
      '',
      '`npm run bench -- memory`, 2026-11-29',
    ],
    [
      '10,934 services, 100,020 pods, where every service differs: `verify`, which plans as `run` does',
      '642 MB at most',
      '',
      '`endpointd verify`, 2026-11-22',
    ],
  ];
  return rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
