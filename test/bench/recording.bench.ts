import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from './run-bench.ts';

test('the bench of a recording tells bytes, CPU and collisions, and a process', async () => {
  const { status, out } = await bench('recording');
  assert.equal(status, 0, out);
  const figureOf = (line: RegExp): number => Number(line.exec(out)?.[1]);
  // Few objects have as many bytes each as many.
  const ofList = figureOf(/^first list: ([\d.]+) bytes for each of 560 objects \(mark: 100\)$/m);
  const ofChange = figureOf(/^changes: ([\d.]+) bytes for each of 501 events \(mark: 60\)$/m);
  assert.ok(ofList > 1 && ofList < 100 && ofChange > 1 && ofChange < 60, out);
  assert.match(out, /^CPU: \d+\.\d\d % of a core at 500 events a second, /m);
  assert.match(out, /^pseudonyms: 0 collisions among 1000 pods /m);
  const process = /^endpointd record as a process, .*: ([\d.]+) % of .*, ([\d.]+) % .*, at (\d+) events a second /m;
  const [, first, second, perSecond] = process.exec(out)!.map(Number);
  assert.ok(first! > 0 && second! > 0 && perSecond! > 0, out);
  const [, change, listed] = /, ([\d.]+) bytes a change, ([\d.]+) bytes an object /.exec(out)!.map(Number);
  assert.ok(change! > 1 && change! < 60 && listed! > 1 && listed! < 100, out);
});
