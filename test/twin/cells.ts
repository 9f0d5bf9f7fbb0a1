/** `node test/twin/cells.ts [--cells=200] [--seed=1]`: how far the queue model is from the controller itself. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { cells, errorsOf, playCell } from '../support/twin-cells.ts';
import { percentile } from '../../src/lib/percentile.ts';

const MINUTES = 2;
const { values } = parseArgs({
  options: { cells: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
});
const found = cells(Number(values.seed), Number(values.cells), MINUTES).map((cell) => ({
  cell,
  errors: errorsOf(playCell(cell)),
}));
const share = (of: (typeof found)[number]['errors'], limits: typeof of): boolean =>
  of.writes <= limits.writes && of.p50 <= limits.p50 && of.p99 <= limits.p99;
for (const [name, chosen] of [
  ['enough tokens', found.filter(({ cell }) => cell.settings.qps > 100)],
  ['tokens run out', found.filter(({ cell }) => cell.settings.qps < 100)],
] as const) {
  const line = (['writes', 'p50', 'p99'] as const).map((figure) => {
    const errors = chosen.map(({ errors: of }) => of[figure]);
    return `${figure} ${(100 * percentile(errors, 0.5)).toFixed(1)} % (at most ${(100 * Math.max(...errors)).toFixed(1)} %)`;
  });
  const strict = chosen.filter(({ errors }) => share(errors, { writes: 0.02, p50: 0.05, p99: 0.05 })).length;
  process.stdout.write(
    `${name}: ${chosen.length} cells, median errors ${line.join(', ')}; ${strict} within 2 %, 5 %, 5 %\n`,
  );
}
