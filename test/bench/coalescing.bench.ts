import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Coalescing } from '../../bench/coalescing/report.ts';
import { bench } from './run-bench.ts';

const SETTING = '--adaptive-batch-period-max=100ms';

it('each setting is measured in each scenario, and ends right', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-bench-'));
  const json = join(directory, 'coalescing.json');
  try {
    const { status, out } = await bench(
      'coalescing',
      'ready',
      '--peers=endpointd',
      `--setting=${SETTING} --endpoint-updates-batch-period=50ms`,
      `--json=${json}`,
    );
    assert.equal(status, 0, out);
    const { runs } = JSON.parse(readFileSync(json, 'utf8')) as Coalescing;
    assert.deepEqual(Object.fromEntries(runs.map(({ peer, wrong }) => [peer, wrong])), {
      endpointd: [],
      [`endpointd ${SETTING} --endpoint-updates-batch-period=50ms`]: [],
    });
    assert.ok(runs.every(({ figures }) => figures['writes']! > 0 && figures['slicesP99']! > 0));
    assert.match(out, /^its defaults +ready +- .*not measured$/m);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
