import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, errorsOf, playCell } from '../support/twin-cells.ts';

/** All 200 cells: `node test/twin/cells.ts`. */
const SEED = 7;

for (const cell of cells(SEED, 3, 1)) {
  test(`the queue model does as the controller itself: ${cell.title}`, () => {
    const { writes, p50, p99 } = errorsOf(playCell(cell));
    assert.ok(writes <= cell.limits.writes, `writes are off by ${(100 * writes).toFixed(1)} %`);
    assert.ok(p50 <= cell.limits.p50, `p50 is off by ${(100 * p50).toFixed(1)} %`);
    assert.ok(p99 <= cell.limits.p99, `p99 is off by ${(100 * p99).toFixed(1)} %`);
  });
}
