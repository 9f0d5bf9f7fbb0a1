import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMetrics, type Sample } from '../../src/metrics/text.ts';

const CASES: readonly (readonly [line: string, name: string, sample: Sample])[] = [
  ['x 5', 'x', { labels: {}, value: 5 }],
  ['x{a="b"} 5 1700000000000', 'x', { labels: { a: 'b' }, value: 5 }],
  ['x{a="b" , c="}"} 8\r', 'x', { labels: { a: 'b', c: '}' }, value: 8 }],
  ['x{a="\\"}\\n\\\\"} 1e3', 'x', { labels: { a: '"}\n\\' }, value: 1000 }],
  // The exemplar of an OpenMetrics bucket has labels and a value of its own.
  ['x_bucket{le="0.1"} 120 # {trace_id="abc"} 0.043 1700000000.1', 'x_bucket', { labels: { le: '0.1' }, value: 120 }],
  ['x_total 5 # {} 1', 'x_total', { labels: {}, value: 5 }],
  [' \tx 5', 'x', { labels: {}, value: 5 }],
  ['x {a="b"} 7', 'x', { labels: { a: 'b' }, value: 7 }],
  ['x{a="b"}\t+Inf', 'x', { labels: { a: 'b' }, value: Infinity }],
];

test('a sample is its name, its labels and its value, whatever else its line has', () => {
  for (const [line, name, sample] of CASES) assert.deepEqual([...parseMetrics(line)], [[name, [sample]]], line);
});

test('lines that are no samples are passed over', () => {
  for (const line of ['', '# HELP x of 5', ' # TYPE x gauge', 'x', 'x NaN', 'x{a="b" 5', '{"kind":"Status"}'])
    assert.deepEqual([...parseMetrics(line)], [], line);
});
