import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Sweep } from '../../bench/sweep/report.ts';
import { bench } from './run-bench.ts';

describe('a sweep, tiny', () => {
  it('a sweep keeps each run, continues where it ended, and shows all runs', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'endpointd-bench-'));
    const [data, json, page] = ['data.jsonl', 'sweep.json', 'sweep.html'].map((name) => join(directory, name));
    const sweep = (batch: string) =>
      bench(
        'sweep',
        '--peers=endpointd',
        '--syncs=5',
        `--batch-period=${batch}`,
        `--data=${data}`,
        `--json=${json}`,
        `--page=${page}`,
      );
    try {
      const first = await sweep('0s');
      assert.equal(first.status, 0, first.out);
      const [line] = readFileSync(data!, 'utf8').trim().split('\n');
      // The end of the machine leaves half a line.
      writeFileSync(data!, `${line}\n{"scenario":"rea`, { flag: 'w' });
      const both = await sweep('0s,50ms');
      assert.equal(both.status, 0, both.out);
      assert.doesNotMatch(both.out, /batch period 0s, 5000 requests a second\n/);
      const kept = readFileSync(data!, 'utf8').trim().split('\n');
      assert.deepEqual([kept.length, kept[0]], [3, line]);
      const { runs } = JSON.parse(readFileSync(json!, 'utf8')) as Sweep;
      assert.deepEqual(Object.fromEntries(runs.map(({ batch, wrong }) => [batch, wrong])), { '0s': [], '50ms': [] });
      assert.ok(runs.every(({ figures }) => figures['writes']! > 0 && figures['slicesP99']! > 0));
      assert.match(readFileSync(page!, 'utf8'), /<rect class="heat s0"/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
