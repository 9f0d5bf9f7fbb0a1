import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCell } from '../../bench/cells/cell.ts';
import { calibrationCells, type CellPlan } from '../../bench/cells/plan.ts';
import { MAIN } from '../support/installed.ts';

const WORLD = { server: 'embedded', controller: 'endpointd' } as const;

test('a cell is measured on real processes', async () => {
  const [plan] = calibrationCells() as [CellPlan];
  const workload = { ...plan.workload, services: [{ count: 2, pods: 3 }], flipsPerSecond: 5 };
  const times = { warmUpMs: 500, measuredMs: 3000 };
  const run = { repeat: 0, seed: 1, program: MAIN, versions: 'endpointd 0123456789ab, Node v26.10.0' };
  const order = { ...run, world: WORLD, plan: { ...plan, workload }, times };
  const { measured } = await runCell(order);
  for (const { changes, writes, p90 } of [measured.endpoints, measured.slices]) {
    // Each write waits 10 ms. Where the recorder has a change late, it measures less.
    assert.ok(changes > 0 && writes > 0 && p90 >= 10, JSON.stringify(measured));
  }
});
