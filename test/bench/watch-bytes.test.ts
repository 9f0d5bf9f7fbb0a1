import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from './run-bench.ts';

test('the bench of bytes to watchers counts what they get, beside the prediction', async () => {
  const { status, out } = await bench('watch-bytes', '--watchers=2');
  assert.equal(status, 0, out);
  const rows = [...out.matchAll(/^(endpoints|slices) +(protobuf|json) +2 +(\d+) +(\d+) +([\d.]+) +([\d.]+) /gm)];
  const kinds = rows.map(([, output, encoding]) => `${output} ${encoding}`);
  assert.deepEqual(kinds, ['endpoints protobuf', 'endpoints json', 'slices protobuf', 'slices json'], out);
  // The mark is for a minute on a quiet machine.
  for (const [, , , ...figures] of rows) {
    const [seen, predictedWrites, counted, predicted] = figures.map(Number);
    for (const ratio of [predictedWrites! / seen!, predicted! / counted!]) assert.ok(ratio > 0.7 && ratio < 1.4, out);
  }
  const [protobuf, json] = rows.map(([, , , , , counted]) => Number(counted));
  assert.ok(json! > protobuf!, out);
  assert.match(out, /^[0-4] of 4 are within 5 % \(the mark\)$/m);
});
