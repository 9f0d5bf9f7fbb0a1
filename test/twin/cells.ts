/**
 * `node test/twin/cells.ts [--cells=200] [--first=0] [--seed=1] [--minutes=3] [--huge=1000]`: how far the queue model is from
 * the exact twin, cell by cell: the cells that miss a limit, a summary, and how fast both are at 200 events a second. The
 * status is 1 if a cell misses one.
 */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { percentile } from '../../src/lib/percentile.ts';
import { writesOf } from '../../src/twin/figures.ts';
import { runModel } from '../../src/twin/run.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import {
  apart,
  type Cell,
  cells,
  type Errors,
  errorsOf,
  isWithinLimits,
  LIMITS,
  playCell,
  playExactly,
  speedCell,
} from '../support/twin-cells.ts';

interface Found {
  readonly cell: Cell;
  readonly errors: Errors;
  /** Mean time that a write waited for a token. */
  readonly waitedMs: number;
  readonly busy: number;
  /** How many times as fast as the story the exact twin was. */
  readonly speed: number;
}

const OTHER_NAMES: readonly number[] = [2, 3, 4];
const MODEL_RUNS = 9;

const { values } = parseArgs({
  options: {
    cells: { type: 'string', default: '200' },
    first: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '3' },
    huge: { type: 'string', default: '1000' },
  },
});
const first = Number(values.first);
const chosen = cells(
  Number(values.seed),
  first + Number(values.cells),
  Number(values.minutes),
  Number(values.huge),
).slice(first);
const found = chosen.map(play);
for (const [i, one] of found.entries()) {
  if (isWithinLimits(one.errors)) continue;
  process.exitCode = 1;
  say(`cell ${first + i} misses: ${lineOf(one)}`);
  say(`  the exact twin with other names of slices is off from itself by ${errorsText(apartFromItself(one.cell))}`);
}
summary(
  'tokens suffice',
  found.filter(({ waitedMs }) => waitedMs < 1),
);
summary(
  'writes wait for tokens',
  found.filter(({ waitedMs }) => waitedMs >= 1),
);
const usual = percentile(
  found.map(({ speed }) => speed),
  0.5,
);
const { exact, model, upstream } = speedOf(speedCell(Number(values.minutes)));
say(
  `the exact twin ran ${usual.toFixed(0)} times as fast as the stories of these cells (median; mark: 10); at 200 events a second it ran ${exact.toFixed(0)} times as fast, the queue model ${model.toFixed(0)} times, kube-controller-manager's ${upstream.toFixed(0)} times (mark: 500)`,
);

function play(cell: Cell): Found {
  const played = playCell(cell);
  const { ledger, story } = played;
  const writes = writesOf(ledger);
  return {
    cell,
    errors: errorsOf(played),
    waitedMs: ledger.throttledMs / writes,
    busy: played.played.cpuMs / story.durationMs,
    speed: story.durationMs / played.exactMs,
  };
}

/** How far the exact twin is from itself at most: of slices that are equally full it takes the first by its random name. */
function apartFromItself(cell: Cell): Errors {
  const { played } = playExactly(cell);
  const others = OTHER_NAMES.map((seed) => apart(playExactly(cell, seed).played, played));
  const most = (figure: keyof Errors): number => Math.max(...others.map((errors) => errors[figure]));
  return { writes: most('writes'), p50: most('p50'), p99: most('p99') };
}

function errorsText({ writes, p50, p99 }: Errors): string {
  return `writes ${percent(writes)}, p50 ${percent(p50)}, p99 ${percent(p99)}`;
}

/** The model plays a story with hundreds of settings: it is timed when it has played it before. */
function speedOf(cell: Cell): { readonly exact: number; readonly model: number; readonly upstream: number } {
  const { story, exactMs } = playCell(cell);
  const { settings, calibration } = cell;
  const speed = (controller: Program): number => {
    const times = Array.from({ length: MODEL_RUNS }, () => {
      const beganMs = performance.now();
      runModel({ story, controller, settings, calibration, seed: 1 });
      return performance.now() - beganMs;
    });
    return story.durationMs / percentile(times, 0.5);
  };
  return {
    exact: story.durationMs / exactMs,
    model: speed('endpointd'),
    upstream: speed('kube-controller-manager'),
  };
}

function lineOf({ cell, errors, waitedMs, busy }: Found): string {
  const why = `a write waits ${waitedMs.toFixed(0)} ms for a token, the main thread is busy to ${percent(busy)}`;
  return `${cell.title}: ${errorsText(errors)}; ${why}`;
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
