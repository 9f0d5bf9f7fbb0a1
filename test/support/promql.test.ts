import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsIn, unknownIn } from './promql.ts';

const EXPORTED = new Map([
  ['writes_total', new Set(['verb'])],
  ['leads', new Set(['name'])],
]);

test('metrics and labels that exist are no problem, nor those of Prometheus', () => {
  const expression =
    'sum by (verb, job) (rate(writes_total{verb!="get"}[5m])) > 2 unless on (cluster) (leads{name="x"} == 0) or up';
  assert.deepEqual(unknownIn(expression, EXPORTED), []);
  assert.deepEqual(metricsIn(expression), ['writes_total', 'leads', 'up']);
});

for (const [expression, problems] of Object.entries({
  'rate(reads_total[5m])': ['metric reads_total'],
  'writes_total{name="x"}': ['label name of writes_total'],
  'sum by (name) (writes_total)': ['label name of writes_total'],
  'writes_total unless on (host) leads': ['label host of writes_total, leads'],
  'sum(writes_total': ['no PromQL: '],
})) {
  test(`${expression} has the problems: ${problems.join()}`, () =>
    assert.deepEqual(unknownIn(expression, EXPORTED), problems));
}
