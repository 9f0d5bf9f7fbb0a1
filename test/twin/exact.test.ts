import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, errorsOf, isWithinLimits, playCell } from '../support/twin-cells.ts';

/** All 200 cells: `node test/twin/cells.ts`. */
const SEED = 7;

for (const cell of cells(SEED, 4, 1)) {
  test(`the queue model does as the controller itself: ${cell.title}`, () => {
    const errors = errorsOf(playCell(cell));
    assert.ok(isWithinLimits(errors), JSON.stringify(errors));
  });
}
