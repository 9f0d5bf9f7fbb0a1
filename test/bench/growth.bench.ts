import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AXES, AXIS } from '../../bench/growth/axes.ts';
import type { Growth } from '../../bench/growth/report.ts';
import { bench } from './run-bench.ts';

describe('the bench of growth, tiny', () => {
  it('each flip of each axis has two writes, and all ends right', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'endpointd-bench-'));
    const [json, page] = [join(directory, 'growth.json'), join(directory, 'growth.html')];
    try {
      const { status, out } = await bench('growth', `--json=${json}`, `--page=${page}`);
      assert.equal(status, 0, out);
      const { runs, notRun } = JSON.parse(readFileSync(json, 'utf8')) as Growth;
      assert.deepEqual(notRun, []);
      for (const { axis, at, writesAFlip, wrong } of runs)
        assert.deepEqual([writesAFlip, wrong], [2, []], `${axis} ${at}`);
      const of = Map.groupBy(runs, ({ axis }) => axis);
      assert.deepEqual(
        AXES.map((axis) => [axis, of.get(axis)?.map(({ at }) => at)]),
        AXES.map((axis) => [axis, AXIS[axis].tiny]),
      );
      // A slice of 100 endpoints and Endpoints of 120 addresses, beside five each.
      const [small, large] = of.get('size')!;
      assert.ok(large!.bytesAFlip > 8 * small!.bytesAFlip);
      const html = readFileSync(page, 'utf8');
      for (const axis of AXES) {
        assert.ok(out.includes(`\n${AXIS[axis].title}\n`), axis);
        assert.ok(html.includes(`Growth: ${AXIS[axis].title}`), axis);
      }
      assert.match(out, /beyond its bytes/);
      assert.equal(html.match(/<svg class="plot/g)!.length, 3 * AXES.length);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
