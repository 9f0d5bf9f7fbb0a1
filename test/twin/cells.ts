/**
 * `node test/twin/cells.ts [--cells=200] [--first=0] [--seed=1] [--minutes=1]`: how far the queue model is from the exact
 * twin, cell by cell: the cells that miss a limit, and a summary.
 */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { percentile } from '../../src/lib/percentile.ts';
import { type Cell, cells, type Errors, errorsOf, isWithinLimits, LIMITS, playCell } from '../support/twin-cells.ts';

interface Found {
  readonly cell: Cell;
  readonly errors: Errors;
  /** Mean time that a write waited for a token. */
  readonly waitedMs: number;
  readonly busy: number;
  /** How many times faster than the story. */
  readonly speed: { readonly exact: number; readonly model: number };
}

const { values } = parseArgs({
  options: {
    cells: { type: 'string', default: '200' },
    first: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '1' },
  },
});
const first = Number(values.first);
const chosen = cells(Number(values.seed), first + Number(values.cells), Number(values.minutes)).slice(first);
const found = chosen.map(play);
for (const [i, one] of found.entries())
  if (!isWithinLimits(one.errors)) say(`cell ${first + i} misses: ${lineOf(one)}`);
summary(
  'tokens suffice',
  found.filter(({ waitedMs }) => waitedMs < 1),
);
summary(
  'writes wait for tokens',
  found.filter(({ waitedMs }) => waitedMs >= 1),
);
const speeds = (of: 'exact' | 'model'): string =>
  percentile(
    found.map(({ speed }) => speed[of]),
    0.5,
  ).toFixed(0);
say(
  `medians: the exact twin ran ${speeds('exact')} times as fast as its story, the queue model ${speeds('model')} times`,
);

function play(cell: Cell): Found {
  const played = playCell(cell);
  const { ledger, story, exactMs, modelMs } = played;
  const writes = ledger.written.endpoints.writes + ledger.written.slices.writes;
  return {
    cell,
    errors: errorsOf(played),
    waitedMs: ledger.throttledMs / writes,
    busy: played.played.cpuMs / story.durationMs,
    speed: { exact: story.durationMs / exactMs, model: story.durationMs / modelMs },
  };
}

function lineOf({ cell, errors, waitedMs, busy }: Found): string {
  const why = `a write waits ${waitedMs.toFixed(0)} ms for a token, the main thread is busy to ${percent(busy)}`;
  return `${cell.title}: writes ${percent(errors.writes)}, p50 ${percent(errors.p50)}, p99 ${percent(errors.p99)}; ${why}`;
}

function summary(name: string, own: readonly Found[]): void {
  if (own.length === 0) return;
  const line = (Object.keys(LIMITS) as (keyof Errors)[]).map((figure) => {
    const errors = own.map(({ errors: of }) => of[figure]);
    return `${figure} ${percent(percentile(errors, 0.5))} (at most ${percent(Math.max(...errors))})`;
  });
  const within = own.filter(({ errors }) => isWithinLimits(errors)).length;
  const limits = `${percent(LIMITS.writes)} of the writes and ${percent(LIMITS.p50)} of p50 and p99`;
  say(`${name}: ${own.length} cells, median errors ${line.join(', ')}; ${within} within ${limits}`);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
